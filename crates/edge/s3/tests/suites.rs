//! What clients and their test suites hold against S3 besides its documentation.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

#[path = "common/client.rs"]
#[allow(dead_code, reason = "each user takes its part")]
mod client;
#[path = "common/mod.rs"]
mod common;
#[path = "common/served.rs"]
mod served;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use client::{Answer, Call, exchange};
use served::face;
use sha2::{Digest as _, Sha256};
use std::net::SocketAddr;

fn text(answer: &Answer) -> String {
    String::from_utf8_lossy(&answer.body).into_owned()
}

fn sha256(bytes: &[u8]) -> String {
    STANDARD.encode(Sha256::digest(bytes))
}

fn md5(bytes: &[u8]) -> String {
    STANDARD.encode(md5::Md5::digest(bytes))
}

/// An upload of `bkt/k`, begun with these headers.
async fn begin(to: SocketAddr, headers: &[(&str, &str)]) -> String {
    let call = Call::new("POST", "/bkt/k").query("uploads=");
    let call = headers.iter().fold(call, |call, (name, value)| call.header(name, value));
    let answer = text(&call.send(to, b"").await);
    let (_, rest) = answer.split_once("<UploadId>").unwrap();
    rest.split_once("</UploadId>").unwrap().0.to_owned()
}

fn complete(id: &str) -> Call {
    Call::new("POST", "/bkt/k").query(&format!("uploadId={id}"))
}

fn document(parts: &[String]) -> Vec<u8> {
    let parts = parts.join("</Part><Part>");
    format!("<CompleteMultipartUpload><Part>{parts}</Part></CompleteMultipartUpload>").into_bytes()
}

#[tokio::test]
async fn an_upload_of_composite_checksum_wants_one_of_each_part_and_hands_them_back() {
    let (to, _folder) = face().await;
    let id = begin(to, &[("x-amz-checksum-algorithm", "SHA256")]).await;
    let bodies = [vec![1_u8; 2000], vec![2; 500]];
    let (mut parts, mut bare) = (Vec::new(), Vec::new());
    for (number, body) in (1..).zip(&bodies) {
        let query = format!("partNumber={number}&uploadId={id}");
        let put = || Call::new("PUT", "/bkt/k").query(&query);
        assert_eq!(put().send(to, body).await.code(), "InvalidRequest", "without a checksum");
        let put = put().header("x-amz-checksum-sha256", sha256(body)).send(to, body).await;
        let etag = put.header("etag").unwrap();
        let part = format!("<PartNumber>{number}</PartNumber><ETag>{etag}</ETag>");
        parts.push(format!("{part}<ChecksumSHA256>{}</ChecksumSHA256>", sha256(body)));
        bare.push(part);
    }
    let with_first = |checksums: &str| document(&[format!("{}{checksums}", bare[0])]);
    let sha1 = "<ChecksumSHA1>Kq5sNclPz7QV2+lfQIuc6R7oRu0=</ChecksumSHA1>";
    let of_second = format!("<ChecksumSHA256>{}</ChecksumSHA256>", sha256(&bodies[1]));
    for (document, code) in [
        (document(&bare), "InvalidRequest"),
        (with_first("<ChecksumSHA256>no_base64</ChecksumSHA256>"), "InvalidArgument"),
        (with_first(&format!("{sha1}{of_second}")), "InvalidArgument"),
        (with_first(sha1), "BadDigest"),
        (with_first(&of_second), "InvalidPart"),
    ] {
        assert_eq!(complete(&id).send(to, &document).await.code(), code);
    }
    let whole = document(&parts);
    for (name, value, code) in [
        ("x-amz-checksum-sha256", "bad", "BadDigest"),
        ("x-amz-checksum-sha256", "no_base64", "InvalidRequest"),
        ("x-amz-checksum-sha256", &format!("{}-1-2", sha256(b"")), "InvalidRequest"),
        ("x-amz-checksum-sha256", &format!("{}-2", sha256(b"")), "BadDigest"),
        ("x-amz-checksum-type", "FULL_OBJECT", "InvalidRequest"),
        ("x-amz-checksum-type", "SOME_OBJECT", "InvalidRequest"),
        ("x-amz-mp-object-size", "-1", "InvalidRequest"),
        ("x-amz-mp-object-size", "2501", "InvalidRequest"),
    ] {
        let answer = complete(&id).header(name, value).send(to, &whole).await;
        assert_eq!(answer.code(), code, "{name}: {value}");
    }
    assert_eq!(complete(&id).send(to, &whole).await.status, 200);
    for (number, body) in (1..).zip(&bodies) {
        let get = Call::new("GET", "/bkt/k").query(&format!("partNumber={number}"));
        let got = get.header("x-amz-checksum-mode", "ENABLED").send(to, b"").await;
        assert_eq!((got.status, &got.body), (206, body));
        assert_eq!(got.header("x-amz-checksum-sha256"), Some(sha256(body).as_str()));
        assert_eq!(got.header("x-amz-checksum-type"), Some("COMPOSITE"));
    }
    let range = Call::new("GET", "/bkt/k").header("range", "bytes=0-9");
    let got = range.header("x-amz-checksum-mode", "ENABLED").send(to, b"").await;
    assert_eq!(got.header("x-amz-checksum-sha256"), None, "nothing is known of these bytes alone");
}

#[tokio::test]
async fn what_is_gone_is_deleted_whatever_was_demanded_of_it() {
    let (to, _folder) = face().await;
    let delete = || Call::new("DELETE", "/bkt/k");
    let demands = [("if-match", "*"), ("if-match", "\"x\""), ("x-amz-if-match-size", "9")];
    for (name, value) in demands {
        assert_eq!(delete().header(name, value).send(to, b"").await.status, 204, "{name}");
    }
    assert_eq!(Call::new("PUT", "/bkt/k").send(to, b"1").await.status, 200);
    for (name, value) in &demands[1..] {
        assert_eq!(delete().header(name, value).send(to, b"").await.status, 412, "{name}");
    }
    let document = b"<Delete><Object><Key>k</Key><ETag>x</ETag></Object>\
                     <Object><Key>gone</Key><ETag>x</ETag></Object></Delete>";
    let delete = || Call::new("POST", "/bkt").query("delete=");
    let unvouched = delete().send(to, document).await;
    assert_eq!((unvouched.status, unvouched.code()), (400, "InvalidRequest".to_owned()));
    let answer = text(&delete().header("content-md5", md5(document)).send(to, document).await);
    assert!(answer.contains("<Deleted><Key>gone</Key></Deleted>"), "{answer}");
    assert!(answer.contains("<Key>k</Key><Code>PreconditionFailed</Code>"), "{answer}");
}

#[tokio::test]
async fn a_client_that_waits_in_vain_to_continue_is_told_that_the_connection_ends() {
    let (to, _folder) = face().await;
    for (path, len, status) in [("/bkt/empty", 0, 200), ("/nobucket/k", 9, 404)] {
        let call = Call::new("PUT", path).header("expect", "100-continue");
        let head = call.header("content-length", len).sign().head;
        let answer = exchange(to, &[head.as_bytes()], false).await;
        assert_eq!((answer.status, answer.header("connection")), (status, Some("close")));
    }
    let answer = Call::new("PUT", "/bkt/k").send(to, b"body").await;
    assert_eq!((answer.status, answer.header("connection")), (200, None));
}

#[tokio::test]
async fn requests_may_have_twice_a_hundred_headers_and_no_more() {
    let (to, _folder) = face().await;
    for (count, status) in [(150, 200), (300, 431)] {
        let call = (0..count).fold(Call::new("PUT", "/bkt/k"), |call, number| {
            call.header(&format!("x-amz-meta-{number:03}"), "v")
        });
        assert_eq!(call.send(to, b"1").await.status, status, "{count}");
    }
}

#[tokio::test]
async fn a_listings_prefix_reads_the_same_to_clients_that_do_not_decode_it() {
    let (to, _folder) = face().await;
    for (version, prefix, shown) in [
        ("1", "a%20b%C3%A9%0A", "a bé\n"),
        ("1", "a%2Bb", "a%2Bb"),
        ("1", "50%25", "50%25"),
        ("1", "%01", "%01"),
        ("1", "%00", "%00"),
        ("2", "a%20b", "a%20b"),
    ] {
        let query = format!("encoding-type=url&list-type={version}&prefix={prefix}");
        let answer = text(&Call::new("GET", "/bkt").query(&query).send(to, b"").await);
        assert!(answer.contains(&format!("<Prefix>{shown}</Prefix>")), "{query}: {answer}");
    }
}

#[tokio::test]
async fn nonsense_gets_the_code_that_s3_gives_it() {
    let (to, _folder) = face().await;
    assert_eq!(Call::new("PUT", "/bkt/k").send(to, b"0123456789").await.status, 200);
    let put = || Call::new("PUT", "/bkt/k");
    let get = || Call::new("GET", "/bkt/k");
    for (call, code) in [
        (put().query("partNumber=1"), "InvalidArgument"),
        (put().header("x-amz-tagging", "a=1&a=2"), "InvalidArgument"),
        (put().header("x-amz-tagging", "a=("), "InvalidTag"),
        (put().header("x-amz-copy-source", "no(bucket)/k"), "InvalidArgument"),
        (put().header("x-amz-checksum-crc32", "bad"), "BadDigest"),
        (put().header("x-amz-checksum-crc32", "no_base64!"), "InvalidRequest"),
        (put().header("x-amz-checksum-crc32", ""), "InvalidRequest"),
        (put().header("x-amz-checksum-crc32", "c2RhZnNhZGZzZGFm"), "InvalidRequest"),
        (put().query("tagging="), "InvalidRequest"),
        (put().query("uploadId=u"), "MethodNotAllowed"),
        (get().header("x-amz-copy-source", "bkt/k"), "InvalidArgument"),
        (put().header("cache-control", "x".repeat(9000)), "RequestHeaderSectionTooLarge"),
        (put().header("x-amz-meta-a", "x".repeat(3000)), "MetadataTooLarge"),
        (get().header("x-amz-security-token", "t"), "InvalidToken"),
        (get().query(&vec!["a="; 101].join("&")), "InvalidURI"),
        (get().query("attributes="), "InvalidRequest"),
        (
            get().query("attributes=").header("x-amz-object-attributes", "ETag,Colour"),
            "InvalidArgument",
        ),
        (get().query("partNumber=2"), "InvalidPartNumber"),
    ] {
        assert_eq!(call.send(to, b"").await.code(), code);
    }
    for range in ["bytes= -1", "bytes=0 -1", "bytes=0--1"] {
        let answer = get().header("range", range).send(to, b"").await;
        assert_eq!((answer.status, answer.body.len()), (200, 10), "{range}");
    }
}

/// Whether every character is one that XML 1.0 has, and no reference stands for another.
fn is_xml(document: &str) -> bool {
    let holds = |c: char| c >= ' ' && !matches!(c, '\u{fffe}' | '\u{ffff}') || "\t\n\r".contains(c);
    let references = document.split("&#x").skip(1).map(|rest| rest.split(';').next().unwrap());
    let meant = references.map(|hex| u32::from_str_radix(hex, 16).ok().and_then(char::from_u32));
    document.chars().all(holds) && meant.into_iter().all(|c| c.is_some_and(holds))
}

#[tokio::test]
async fn keys_that_xml_cannot_hold_are_listed_as_urls_have_them_and_every_answer_can_be_read() {
    let (to, _folder) = face().await;
    for path in ["/bkt/a%00b", "/bkt/plain", "/bkt/dir%01/x"] {
        assert_eq!(Call::new("PUT", path).send(to, b"1").await.status, 200, "{path}");
    }
    let begun = Call::new("POST", "/bkt/up%02").query("uploads=").send(to, b"").await;
    assert!(is_xml(&text(&begun)), "{begun:?}");
    for (query, shown) in [
        ("", "<Key>a%00b</Key>"),
        ("list-type=2", "<Key>dir%01/x</Key>"),
        ("delimiter=%2F", "<Prefix>dir%01/</Prefix>"),
        ("list-type=2&start-after=%1F", "<StartAfter>%1F</StartAfter>"),
        ("marker=%1F", "<Marker>%1F</Marker>"),
        ("versions=", "<Key>a%00b</Key>"),
        ("uploads=", "<Key>up%02</Key>"),
    ] {
        let answer = text(&Call::new("GET", "/bkt").query(query).send(to, b"").await);
        assert!(is_xml(&answer) && answer.contains(shown), "{query}: {answer}");
        assert!(answer.contains("<EncodingType>url</EncodingType>"), "{query}: {answer}");
    }
    let plain = text(&Call::new("GET", "/bkt").query("prefix=plain").send(to, b"").await);
    assert!(!plain.contains("EncodingType"), "{plain}");
    let missing = Call::new("GET", "/bkt/none%03").send(to, b"").await;
    assert!(missing.status == 404 && is_xml(&text(&missing)), "{missing:?}");
    let document = b"<Delete><Object><Key>a&#0;b</Key></Object></Delete>";
    let delete = Call::new("POST", "/bkt").query("delete=").header("content-md5", md5(document));
    let deleted = delete.send(to, document).await;
    assert!(deleted.status == 200 && is_xml(&text(&deleted)), "{deleted:?}");
    assert_eq!(Call::new("HEAD", "/bkt/a%00b").send(to, b"").await.status, 404);
}

#[tokio::test]
async fn what_s3_refuses_by_documentation_is_refused_here() {
    let (to, _folder) = face().await;
    assert_eq!(Call::new("PUT", "/bkt/k").send(to, b"1").await.status, 200);
    let put = || Call::new("PUT", "/bkt/k");
    let get = || Call::new("GET", "/bkt/k");
    let located = |text: &str| {
        format!("<CreateBucketConfiguration>{text}</CreateBucketConfiguration>").into_bytes()
    };
    let region = located("<LocationConstraint>us-east-1</LocationConstraint>");
    let nothing = Vec::new();
    for (call, body, code) in [
        (put().header("x-amz-checksum-colour", "red"), &nothing, "InvalidRequest"),
        (Call::new("PUT", "/bkt/../etc"), &nothing, "InvalidURI"),
        (Call::new("PUT", "/bkt/a/../../etc"), &nothing, "InvalidURI"),
        (get().query("uploads="), &nothing, "InvalidRequest"),
        (get().query("versions="), &nothing, "InvalidRequest"),
        (Call::new("PUT", "/other"), &region, "InvalidLocationConstraint"),
    ] {
        assert_eq!(call.send(to, body).await.code(), code);
    }
    assert_eq!(get().send(to, b"").await.body, b"1");
    assert_eq!(Call::new("PUT", "/bkt/a/../etc").send(to, b"1").await.status, 200);
}

#[tokio::test]
async fn a_bucket_made_again_by_its_owner_is_answered_as_in_s3s_oldest_region() {
    let (to, _folder) = face().await;
    let again = Call::new("PUT", "/bkt").send(to, b"").await;
    assert_eq!((again.status, again.header("x-amz-bucket-arn")), (200, Some("arn:aws:s3:::bkt")));
}

#[tokio::test]
async fn the_coding_of_an_object_comes_back_as_it_was_written() {
    let (to, _folder) = face().await;
    for coding in ["deflate, gzip", "aws-chunked, deflate, gzip"] {
        let put = Call::new("PUT", "/bkt/k").header("content-encoding", coding);
        assert_eq!(put.send(to, b"1").await.status, 200);
        let got = Call::new("GET", "/bkt/k").send(to, b"").await;
        assert_eq!(got.header("content-encoding"), Some("deflate, gzip"), "{coding}");
    }
}

#[tokio::test]
async fn a_digest_that_differs_is_told_beside_the_computed_one() {
    let (to, _folder) = face().await;
    let put = || Call::new("PUT", "/bkt/k");
    let answer = text(&put().header("content-md5", md5(b"other")).send(to, b"body").await);
    assert!(answer.contains(&format!("<CalculatedDigest>{}<", md5(b"body"))), "{answer}");
    assert!(answer.contains("<ExpectedDigest>795f3202b17cb6bc3d4b771d8c6c9eaf<"), "{answer}");
    let other = client::sha256(b"other");
    let answer = text(&put().payload(&other).send(to, b"body").await);
    assert!(answer.contains(&format!("<ClientComputedContentSHA256>{other}<")), "{answer}");
    let computed = client::sha256(b"body");
    assert!(answer.contains(&format!("<S3ComputedContentSHA256>{computed}<")), "{answer}");
}

#[tokio::test]
async fn failures_are_told_in_s3s_own_words() {
    let (to, _folder) = face().await;
    let get = Call::new("GET", "/bkt").query("uploads=").secret("wrong").send(to, b"").await;
    assert!(text(&get).contains("you provided. Check your key and signing method.<"), "{get:?}");
    let put = Call::new("PUT", "/bkt/k").header("if-match", "*");
    let missing = put.send(to, b"1").await;
    assert_eq!(missing.code(), "NoSuchKey");
    assert_eq!(Call::new("PUT", "/bkt/k").send(to, b"1").await.status, 200);
    let failed = Call::new("PUT", "/bkt/k").header("if-none-match", "*").send(to, b"1").await;
    let words = "<Message>At least one of the pre-conditions you specified did not hold</Message>";
    assert!(text(&failed).contains(words), "{failed:?}");
    let head = Call::new("GET", "/bkt").header("authorization", "Basic c2VjcmV0").unsigned();
    let basic = text(&exchange(to, &[head.as_bytes()], false).await);
    assert!(basic.contains("<ArgumentValue>Basic</ArgumentValue>"), "{basic}");
    for (header, shown) in [("some_word", "some_word"), ("AWS4-HMAC-SHA256_Signature=00", "")] {
        let head = Call::new("GET", "/bkt").header("authorization", header).unsigned();
        let told = text(&exchange(to, &[head.as_bytes()], false).await);
        let shown = format!("<ArgumentValue>{shown}</ArgumentValue>");
        assert!(told.contains("one and only one") && told.contains(&shown), "{told}");
    }
    let part = text(&Call::new("PUT", "/bkt/k").query("partNumber=1").send(to, b"").await);
    assert!(part.contains("<ArgumentValue>partNumber</ArgumentValue>"), "{part}");
}

#[tokio::test]
async fn uploads_of_a_key_are_listed_as_they_began_and_a_marker_is_one_of_them() {
    let (to, _folder) = face().await;
    let mut begun = Vec::new();
    for _ in 0..6 {
        begun.push(begin(to, &[]).await);
    }
    let list = |query: &str| Call::new("GET", "/bkt").query(&format!("{query}&uploads="));
    let shown = |answer: &Answer| -> Vec<String> {
        let text = text(answer);
        let ids = text.split("<UploadId>").skip(1);
        ids.map(|rest| rest.split('<').next().unwrap().to_owned()).collect()
    };
    let all = list("prefix=k").send(to, b"").await;
    assert_eq!(shown(&all), begun);
    let after = list(&format!("key-marker=k&upload-id-marker={}", begun[3])).send(to, b"").await;
    assert_eq!(shown(&after), begun[4..]);
    for marker in ["nonsense", "zz345678901234567890123456789012"] {
        let query = format!("key-marker=k&upload-id-marker={marker}");
        let answer = list(&query).send(to, b"").await;
        assert_eq!((answer.status, answer.code()), (400, "InvalidArgument".to_owned()));
        assert!(text(&answer).contains("<Message>Invalid uploadId marker</Message>"), "{marker}");
    }
    let of_k = format!("key-marker=another&upload-id-marker={}", begun[3]);
    assert_eq!(list(&of_k).send(to, b"").await.code(), "InvalidArgument");
    let abort = Call::new("DELETE", "/bkt/k").query(&format!("uploadId={}", begun[3]));
    assert_eq!(abort.send(to, b"").await.status, 204);
    let after = list(&format!("key-marker=k&upload-id-marker={}", begun[3])).send(to, b"").await;
    assert_eq!(shown(&after), begun[4..], "the marker has ended since");
    begun.remove(3);
    let ignored = list("upload-id-marker=nonsense").send(to, b"").await;
    assert_eq!(shown(&ignored), begun, "it means nothing without a key");
}

#[tokio::test]
async fn pages_of_uploads_end_at_prefixes_too_and_go_on_after_them() {
    let (to, _folder) = face().await;
    for key in ["a", "b/1", "b/2", "c", "d/1"] {
        let call = Call::new("POST", &format!("/bkt/{key}")).query("uploads=");
        assert_eq!(call.send(to, b"").await.status, 200);
    }
    let field = |text: &str, name: &str| {
        let found = text.split_once(&format!("<{name}>")).map(|(_, rest)| rest);
        found.and_then(|rest| rest.split('<').next()).unwrap_or_default().to_owned()
    };
    let (mut after, mut id, mut markers) = (String::new(), String::new(), Vec::new());
    for _ in 0..4 {
        let query = format!(
            "delimiter=%2F&key-marker={after}&max-uploads=1&upload-id-marker={id}&uploads="
        );
        let page = text(&Call::new("GET", "/bkt").query(&query).send(to, b"").await);
        let key = field(&page, "NextKeyMarker");
        if field(&page, "IsTruncated") == "false" {
            assert!(page.contains("<CommonPrefixes><Prefix>d/</Prefix>"), "{page}");
            break;
        }
        (after, id) = (key.replace('/', "%2F"), field(&page, "NextUploadIdMarker"));
        markers.push(key);
    }
    assert_eq!(markers, ["a", "b/", "c"]);
}

#[tokio::test]
async fn what_is_wrong_with_a_request_alone_is_told_before_what_is_not_there() {
    let (to, _folder) = face().await;
    let get = Call::new("GET", "/bkt/none").query("partNumber=-3").send(to, b"").await;
    assert_eq!((get.status, get.code()), (400, "InvalidArgument".to_owned()));
    let head = Call::new("HEAD", "/bkt/none").query("partNumber=-3").send(to, b"").await;
    assert_eq!(head.status, 400);
    let copy = Call::new("PUT", "/nobucket/k").query("partNumber=1&uploadId=u");
    let copy = copy.header("x-amz-copy-source", "nonsense").send(to, b"").await;
    assert_eq!((copy.status, copy.code()), (404, "NoSuchBucket".to_owned()));
    let tagged = Call::new("PUT", "/bkt/none").query("tagging=").payload(&client::sha256(b"x"));
    assert_eq!(tagged.send(to, b"").await.code(), "XAmzContentSHA256Mismatch");
    let listed = Call::new("GET", "/bkt").query("allow-unordered=true&delimiter=%2F");
    assert_eq!(listed.send(to, b"").await.code(), "InvalidArgument");
}

#[tokio::test]
async fn the_last_bytes_of_an_empty_object_are_all_of_it() {
    let (to, _folder) = face().await;
    assert_eq!(Call::new("PUT", "/bkt/k").send(to, b"").await.status, 200);
    for method in ["GET", "HEAD"] {
        for (range, status) in [("bytes=-1", 200), ("bytes=-0", 416), ("bytes=0-0", 416)] {
            let answer = Call::new(method, "/bkt/k").header("range", range).send(to, b"").await;
            assert_eq!(answer.status, status, "{method} {range}");
        }
    }
}

#[tokio::test]
async fn a_part_that_is_named_twice_is_the_later_one() {
    let (to, _folder) = face().await;
    let id = begin(to, &[]).await;
    let query = format!("partNumber=1&uploadId={id}");
    let mut named = Vec::new();
    for body in [b"earlier", b"later !"] {
        let part = Call::new("PUT", "/bkt/k").query(&query).send(to, body).await;
        let etag = part.header("etag").unwrap();
        named.push(format!("<PartNumber>1</PartNumber><ETag>{etag}</ETag>"));
    }
    let turned = [named[1].clone(), named[0].clone()];
    assert_eq!(complete(&id).send(to, &document(&turned)).await.code(), "InvalidPart");
    assert_eq!(complete(&id).send(to, &document(&named)).await.status, 200);
    assert_eq!(Call::new("GET", "/bkt/k").send(to, b"").await.body, b"later !");
}

#[tokio::test]
async fn an_upload_is_abandoned_only_if_it_began_when_its_client_says() {
    let (to, _folder) = face().await;
    let abort = |id: &str, date: &str| {
        let call = Call::new("DELETE", "/bkt/k").query(&format!("uploadId={id}"));
        call.header("x-amz-if-match-initiated-time", date)
    };
    let id = begin(to, &[]).await;
    let past = abort(&id, "Sun, 06 Nov 1994 08:49:37 GMT").send(to, b"").await;
    assert_eq!((past.status, past.code()), (412, "PreconditionFailed".to_owned()));
    let listed = text(&Call::new("GET", "/bkt").query("uploads=").send(to, b"").await);
    let (_, initiated) = listed.split_once("<Initiated>").unwrap();
    let initiated = initiated.split('<').next().unwrap();
    assert_eq!(abort(&id, initiated).send(to, b"").await.status, 204);
    let id = begin(to, &[]).await;
    assert_eq!(abort(&id, "Fri, 01 Jan 2999 00:00:00 GMT").send(to, b"").await.status, 204);
}

#[tokio::test]
async fn tags_are_listed_by_key() {
    let (to, _folder) = face().await;
    let put = Call::new("PUT", "/bkt/k").header("x-amz-tagging", "foo=bar&bar=");
    assert_eq!(put.send(to, b"1").await.status, 200);
    let tags = text(&Call::new("GET", "/bkt/k").query("tagging=").send(to, b"").await);
    let sorted = "<Tag><Key>bar</Key><Value/></Tag><Tag><Key>foo</Key>";
    assert!(tags.replace("<Value></Value>", "<Value/>").contains(sorted), "{tags}");
}

#[tokio::test]
async fn where_visitors_of_a_website_go_is_kept_and_no_copy_takes_it() {
    const NAME: &str = "x-amz-website-redirect-location";
    let (to, _folder) = face().await;
    let put = |value: &str| Call::new("PUT", "/bkt/k").header(NAME, value).send(to, b"x");
    let long = format!("/{}", "x".repeat(2048));
    for bad in ["elsewhere", "ftp://example.com", long.as_str()] {
        assert_eq!(put(bad).await.code(), "InvalidRedirectLocation", "{bad}");
    }
    assert_eq!(put("https://example.com/").await.status, 200);
    let told = async |method, path| {
        Call::new(method, path).send(to, b"").await.header(NAME).map(str::to_owned)
    };
    for method in ["GET", "HEAD"] {
        assert_eq!(told(method, "/bkt/k").await.as_deref(), Some("https://example.com/"));
    }
    let copy = || Call::new("PUT", "/bkt/copy").header("x-amz-copy-source", "/bkt/k");
    assert_eq!(copy().send(to, b"").await.status, 200);
    assert_eq!(told("HEAD", "/bkt/copy").await, None);
    assert_eq!(copy().header(NAME, "/its-own").send(to, b"").await.status, 200);
    assert_eq!(told("HEAD", "/bkt/copy").await.as_deref(), Some("/its-own"));
    // Onto itself it is a change.
    let itself = Call::new("PUT", "/bkt/k").header("x-amz-copy-source", "/bkt/k");
    assert_eq!(itself.header(NAME, "/new").send(to, b"").await.status, 200);
    assert_eq!(told("HEAD", "/bkt/k").await.as_deref(), Some("/new"));
}
