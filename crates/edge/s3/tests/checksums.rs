//! Every checksum function that S3 has: verified, kept, shown.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

#[path = "common/client.rs"]
#[allow(dead_code, reason = "each user takes its part")]
mod client;
#[path = "common/mod.rs"]
mod common;
#[path = "common/served.rs"]
mod served;

use client::{Answer, Call};
use served::face;
use std::net::SocketAddr;

/// Name, and value of `the object data` and of nothing.
const FUNCTIONS: [(&str, &str, &str); 10] = [
    ("CRC32", "z3mWAA==", "AAAAAA=="),
    ("CRC32C", "rxvjPA==", "AAAAAA=="),
    ("CRC64NVME", "dYnI3/Fh0gM=", "AAAAAAAAAAA="),
    ("SHA1", "8O8FwCfmd5fCbCBvH09mrKMVoHU=", "2jmj7l5rSw0yVb/vlWAYkK/YBwk="),
    (
        "SHA256",
        "OoSow5X4zTIPl27MtdFdYT+9O3C367C75+Cb2MFtRBc=",
        "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
    ),
    (
        "SHA512",
        "uiz+VuENyLjzFxWrdmbN/NdIdldj/V3saJF6FsckcYu6xu26fM0CfAaTySaoFJmIdI2m5wbYMJxtShQ1PXk3Tg==",
        "z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
    ),
    ("MD5", "EtWtthXtCk3RxUiXKw+ydw==", "1B2M2Y8AsgTpgAmY7PhCfg=="),
    ("XXHASH64", "McmxUfNFLUs=", "70bbN1HY6Zk="),
    ("XXHASH3", "tLh+aNltTM4=", "LQaAAFNC1sI="),
    ("XXHASH128", "MXqrLVobrQkTBf82+7i9AQ==", "magG1AGqZtNPdp//UX9rcg=="),
];
const BODY: &[u8] = b"the object data";

fn header(name: &str) -> String {
    format!("x-amz-checksum-{}", name.to_lowercase())
}

fn text(answer: &Answer) -> String {
    String::from_utf8_lossy(&answer.body).into_owned()
}

fn field(document: &str, name: &str) -> String {
    let (_, rest) = document.split_once(&format!("<{name}>")).unwrap_or_default();
    rest.split('<').next().unwrap().to_owned()
}

async fn shown(to: SocketAddr, path: &str, name: &str) -> (Option<String>, Option<String>) {
    let get = Call::new("GET", path).header("x-amz-checksum-mode", "ENABLED");
    let got = get.send(to, b"").await;
    assert_eq!(got.status, 200);
    let of = |name: &str| got.header(name).map(str::to_owned);
    (of(&header(name)), of("x-amz-checksum-type"))
}

#[tokio::test]
async fn a_value_in_a_header_is_verified_kept_and_shown_as_of_the_whole() {
    let (to, _folder) = face().await;
    for (name, value, of_nothing) in FUNCTIONS {
        let put = |value: &str| Call::new("PUT", "/bkt/k").header(&header(name), value);
        let wrong = put(of_nothing).send(to, BODY).await;
        assert_eq!((wrong.status, wrong.code()), (400, "BadDigest".to_owned()), "{name}");
        let words = format!("The {name} you specified did not match the calculated checksum.");
        assert_eq!(field(&text(&wrong), "Message"), words);
        assert_eq!(put("no_base64!").send(to, BODY).await.code(), "InvalidRequest", "{name}");
        let other = put(value).header("x-amz-sdk-checksum-algorithm", "CRC16");
        assert!(text(&other.send(to, BODY).await).contains("[CRC32, CRC32C, CRC64NVME, MD5, SHA1"));
        let done = put(value).header("x-amz-sdk-checksum-algorithm", name).send(to, BODY).await;
        assert_eq!((done.status, done.header(&header(name))), (200, Some(value)), "{name}");
        let kept = (Some(value.to_owned()), Some("FULL_OBJECT".to_owned()));
        assert_eq!(shown(to, "/bkt/k", name).await, kept);
        let attributes = Call::new("GET", "/bkt/k").query("attributes=");
        let attributes = attributes.header("x-amz-object-attributes", "Checksum");
        let attributes = text(&attributes.send(to, b"").await);
        assert_eq!(field(&attributes, &format!("Checksum{name}")), value);
        assert_eq!(field(&attributes, "ChecksumType"), "FULL_OBJECT");
        let listed = text(&Call::new("GET", "/bkt").send(to, b"").await);
        assert_eq!(field(&listed, "ChecksumAlgorithm"), name);
    }
}

#[tokio::test]
async fn a_value_in_a_trailer_is_verified_and_kept() {
    let (to, _folder) = face().await;
    for (name, value, of_nothing) in FUNCTIONS {
        for (value, code) in [(value, ""), (of_nothing, "BadDigest"), ("bad", "InvalidRequest")] {
            let name = header(name);
            let end = format!("\r\n0\r\n{name}:{value}\r\n\r\n");
            let framed = [b"f\r\n", BODY, end.as_bytes()].concat();
            let put = Call::new("PUT", "/bkt/k")
                .payload("STREAMING-UNSIGNED-PAYLOAD-TRAILER")
                .header("x-amz-decoded-content-length", BODY.len())
                .header("x-amz-trailer", &name);
            assert_eq!(put.send(to, &framed).await.code(), code, "{name}: {value}");
        }
        assert_eq!(shown(to, "/bkt/k", name).await.0.as_deref(), Some(value));
    }
}

#[tokio::test]
async fn a_copy_may_ask_for_another_function() {
    let (to, _folder) = face().await;
    assert_eq!(Call::new("PUT", "/bkt/k").send(to, BODY).await.status, 200);
    for (name, value, _) in FUNCTIONS {
        let copy = Call::new("PUT", "/bkt/copy").header("x-amz-copy-source", "bkt/k");
        let copied = copy.header("x-amz-checksum-algorithm", name).send(to, b"").await;
        assert_eq!(field(&text(&copied), &format!("Checksum{name}")), value);
    }
}

#[tokio::test]
async fn an_upload_has_of_each_function_the_types_that_s3_has() {
    let (to, _folder) = face().await;
    for (name, _, _) in FUNCTIONS {
        let is_crc = name.starts_with("CRC");
        let begin = |kind: &str| {
            let call = Call::new("POST", "/bkt/k").query("uploads=");
            let call = call.header("x-amz-checksum-algorithm", name);
            call.header("x-amz-checksum-type", kind)
        };
        for (kind, possible) in [("COMPOSITE", name != "CRC64NVME"), ("FULL_OBJECT", is_crc)] {
            let answer = begin(kind).send(to, b"").await;
            if possible {
                assert_eq!(answer.header("x-amz-checksum-type"), Some(kind), "{name}");
                continue;
            }
            let words = format!(
                "The {kind} checksum type cannot be used with the {} checksum algorithm.",
                name.to_lowercase()
            );
            assert_eq!((answer.status, field(&text(&answer), "Message")), (400, words));
        }
    }
}

#[tokio::test]
async fn parts_are_verified_and_make_a_composite() {
    let (to, _folder) = face().await;
    for (name, value, of_nothing) in FUNCTIONS.into_iter().filter(|it| it.0 != "CRC64NVME") {
        let begin = Call::new("POST", "/bkt/k").query("uploads=");
        let begin = begin.header("x-amz-checksum-algorithm", name);
        let id = field(&text(&begin.send(to, b"").await), "UploadId");
        let query = format!("partNumber=1&uploadId={id}");
        let put =
            |value: &str| Call::new("PUT", "/bkt/k").query(&query).header(&header(name), value);
        assert_eq!(put(of_nothing).send(to, BODY).await.code(), "BadDigest", "{name}");
        let part = put(value).send(to, BODY).await;
        assert_eq!(part.header(&header(name)), Some(value));
        let document = format!(
            "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{}</ETag>\
             <Checksum{name}>{value}</Checksum{name}></Part></CompleteMultipartUpload>",
            part.header("etag").unwrap()
        );
        let complete = Call::new("POST", "/bkt/k").query(&format!("uploadId={id}"));
        let done = text(&complete.send(to, document.as_bytes()).await);
        assert_eq!(field(&done, "ChecksumType"), "COMPOSITE", "{done}");
        let composite = field(&done, &format!("Checksum{name}"));
        assert!(composite.ends_with("-1"), "{composite}");
        let kept = (Some(composite), Some("COMPOSITE".to_owned()));
        assert_eq!(shown(to, "/bkt/k", name).await, kept);
    }
}

#[tokio::test]
async fn what_is_known_of_parts_comes_in_pages() {
    let (to, _folder) = face().await;
    let begin = Call::new("POST", "/bkt/k").query("uploads=");
    let id = field(&text(&begin.send(to, b"").await), "UploadId");
    let mut parts = Vec::new();
    for number in [2, 5, 9] {
        let put = Call::new("PUT", "/bkt/k").query(&format!("partNumber={number}&uploadId={id}"));
        let part = put.send(to, &vec![number; 1500]).await;
        let etag = part.header("etag").unwrap();
        parts.push(format!("<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>"));
    }
    let parts = parts.concat();
    let document = format!("<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>");
    let complete = Call::new("POST", "/bkt/k").query(&format!("uploadId={id}"));
    assert_eq!(complete.send(to, document.as_bytes()).await.status, 200);
    let ask = |name: &str, value: &str| {
        let call = Call::new("GET", "/bkt/k").query("attributes=");
        let call =
            call.header("x-amz-object-attributes", "ETag,ObjectParts,ObjectSize,StorageClass");
        call.header(name, value)
    };
    let told = |document: &str| {
        ["PartsCount", "PartNumberMarker", "NextPartNumberMarker", "MaxParts", "IsTruncated"]
            .map(|name| field(document, name))
    };
    let first = text(&ask("x-amz-max-parts", "2").send(to, b"").await);
    assert_eq!(told(&first), ["3", "0", "5", "2", "true"]);
    assert_eq!(
        (field(&first, "ObjectSize"), field(&first, "StorageClass")),
        ("4500".into(), "STANDARD".into())
    );
    assert!(field(&first, "ETag").ends_with("-3"), "without quotation marks: {first}");
    let rest = text(&ask("x-amz-part-number-marker", "5").send(to, b"").await);
    assert_eq!(told(&rest), ["3", "5", "9", "1000", "false"]);
    assert_eq!(rest.matches("<Part>").count(), 1);
    for (name, value) in [("x-amz-max-parts", "-1"), ("x-amz-part-number-marker", "few")] {
        let answer = ask(name, value).send(to, b"").await;
        assert_eq!((answer.status, answer.code()), (400, "InvalidArgument".to_owned()), "{name}");
    }
    // S3 shows a part's own checksum where the whole's is made of them.
    let part = Call::new("GET", "/bkt/k").query("partNumber=5");
    let part = part.header("x-amz-checksum-mode", "ENABLED").send(to, b"").await;
    assert_eq!((part.status, part.header("x-amz-checksum-crc64nvme")), (206, None));
}
