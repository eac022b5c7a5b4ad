//! Objects out of browsers' forms, as S3 documents them and suites of tests send them.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

#[path = "common/client.rs"]
#[allow(dead_code, reason = "each user takes its part")]
mod client;
#[path = "common/mod.rs"]
mod common;
#[path = "common/form.rs"]
mod form;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use client::{Call, exchange};
use form::{Face, Form, date, text};
use ripstop_catalog::Quota;
use ripstop_s3::FrontSettings;
use ripstop_store::{PackSettings, Quotas, StoreSettings};
use std::collections::BTreeMap;

fn content(len: usize) -> Vec<u8> {
    // Line ends and dashes often.
    (0..len).map(|at| b"\r\n--ba"[(at * 7 + at / 5) % 6]).collect()
}

#[tokio::test]
async fn a_signed_form_is_put_as_what_its_fields_say() {
    let face = Face::new().await;
    let tags = "<Tagging><TagSet><Tag><Key>env</Key><Value>test</Value></Tag></TagSet></Tagging>";
    let form = Form::new("a/b c", b"some bytes")
        .field("acl", "private")
        .field("Content-Type", "image/png")
        .field("Cache-Control", "max-age=100")
        .field("Content-Disposition", "inline")
        .field("Content-Encoding", "gzip")
        .field("Content-Language", "en-US")
        .field("Expires", "Fri, 21 Mar 2036 00:00:00 GMT")
        .field("x-amz-meta-foo", "bar")
        .field("x-amz-storage-class", "STANDARD")
        .field("x-amz-website-redirect-location", "/elsewhere")
        .field("x-amz-checksum-crc32", "/CXFLw==")
        .field("x-ignore-this", "x")
        .field("tagging", tags);
    let wrong = face.send(&form.clone().signed()).await;
    assert_eq!(wrong.code(), "BadDigest", "{wrong:?}");
    assert_eq!(face.keys().await, [""; 0]);
    let crc32 = STANDARD.encode(crc_of(b"some bytes").to_be_bytes());
    let answer = face.send(&form.field("x-amz-checksum-crc32", &crc32).signed()).await;
    assert_eq!((answer.status, answer.body.len()), (204, 0), "{answer:?}");
    assert_eq!(answer.header("location"), Some("http://localhost/bkt/a/b%20c"));
    let got = face.get("a/b%20c").await;
    assert_eq!((got.status, got.body.as_slice()), (200, &b"some bytes"[..]));
    assert_eq!(got.header("etag"), answer.header("etag"));
    for (name, value) in [
        ("content-type", "image/png"),
        ("cache-control", "max-age=100"),
        ("content-disposition", "inline"),
        ("content-encoding", "gzip"),
        ("content-language", "en-US"),
        ("expires", "Fri, 21 Mar 2036 00:00:00 GMT"),
        ("x-amz-meta-foo", "bar"),
        ("x-amz-website-redirect-location", "/elsewhere"),
        ("x-amz-tagging-count", "1"),
    ] {
        assert_eq!(got.header(name), Some(value), "{name}");
    }
    assert_eq!(face.keys().await, ["a/b c"]);
    // Without a type it has the default one, and the file's own is not looked at.
    assert_eq!(face.send(&Form::new("plain", b"").signed_v2()).await.status, 204);
    let got = face.get("plain").await;
    assert_eq!((got.header("content-type"), got.body.len()), (Some("binary/octet-stream"), 0));
}

fn crc_of(bytes: &[u8]) -> u32 {
    let mut crc = !0_u32;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    !crc
}

#[tokio::test]
async fn files_of_any_length_come_as_they_were_sent_packed_or_not() {
    let packs = [(ripstop_model::PoolId(0), PackSettings::default())].into();
    for packs in [packs, BTreeMap::default()] {
        let of_store = StoreSettings { stripe_max: 1 << 20, packs, ..StoreSettings::default() };
        let face = Face::with(of_store, FrontSettings::default()).await;
        for len in [0, 1, 5, 1000, 16 << 10, 70_000, 1 << 20, (5 << 20) + 1] {
            let bytes = content(len);
            let cut = bytes.windows(5).position(|five| five == b"\r\n--b").unwrap_or(len);
            for after in ["\r\n--b--\r\n", "\r\n--b--", "\r\n--b--\r\ntail data that is ignored"] {
                let form = Form { after: after.into(), ..Form::new("k", &bytes).signed() };
                let answer = face.send(&form).await;
                assert_eq!(answer.status, 204, "{len} {after:?}: {}", text(&answer));
                assert!(face.get("k").await.body == bytes[..cut], "{len} {after:?}");
            }
        }
        // What follows the file is not looked at, be it a field or another file.
        let after = "\r\n--b\r\nContent-Disposition: form-data; name=\"key\"\r\n\r\nother\r\n--b--";
        let form = Form { after: after.into(), ..Form::new("first", b"1").signed() };
        assert_eq!(face.send(&form).await.status, 204);
        assert_eq!(face.keys().await, ["first", "k"]);
        assert_eq!(face.get("first").await.body, b"1");
    }
}

#[tokio::test]
async fn the_answer_is_as_the_form_wishes() {
    let face = Face::new().await;
    for (status, expected) in [("200", 200), ("204", 204), ("404", 204), ("", 204)] {
        let form = Form::new("k", b"x").field("success_action_status", status).signed();
        let answer = face.send(&form).await;
        assert_eq!((answer.status, answer.body.len()), (expected, 0), "{status}");
        assert!(answer.header("etag").is_some() && answer.header("location").is_some());
    }
    let form = Form::new("a b&c", b"x").field("success_action_status", "201").signed();
    let answer = face.send(&form).await;
    let body = text(&answer);
    assert_eq!((answer.status, answer.header("content-type")), (201, Some("application/xml")));
    let etag = "&quot;9dd4e461268c8034f5c8564e155c67a6&quot;";
    let expected = format!(
        "<PostResponse><Location>http://localhost/bkt/a%20b%26c</Location><Bucket>bkt</Bucket>\
         <Key>a b&amp;c</Key><ETag>{etag}</ETag></PostResponse>"
    );
    assert!(body.ends_with(&expected), "{body}");
    let query = "bucket=bkt&key=a%2Fb&etag=%229dd4e461268c8034f5c8564e155c67a6%22";
    for (name, to, expected) in [
        (
            "success_action_redirect",
            "http://example.com/done",
            format!("http://example.com/done?{query}"),
        ),
        ("redirect", "https://example.com/?x=y", format!("https://example.com/?x=y&{query}")),
    ] {
        let form = Form::new("a/b", b"x").field("success_action_status", "201").field(name, to);
        let answer = face.send(&form.signed()).await;
        assert_eq!((answer.status, answer.header("location")), (303, Some(expected.as_str())));
        assert_eq!(answer.body.len(), 0);
    }
    let form = Form::new("k", b"x").field("success_action_redirect", "nowhere").signed();
    assert_eq!(face.send(&form).await.status, 204, "what is no address is as if it were not there");
}

#[tokio::test]
async fn the_files_name_takes_its_place_in_the_key() {
    let face = Face::new().await;
    let form = Form::new("user/${filename}", b"x").signed_v2();
    for (filename, key) in [("foo.txt", "user/foo.txt"), ("C:\\tmp\\bar.txt", "user/bar.txt")] {
        let form = Form { filename: filename.into(), ..form.clone() };
        assert_eq!(face.send(&form).await.status, 204);
        assert_eq!(face.get(key).await.status, 200, "{key}");
    }
    let escaping = Form { filename: "..".into(), ..Form::new("${filename}", b"x").signed() };
    assert_eq!(face.send(&escaping).await.code(), "InvalidURI");
}

#[tokio::test]
async fn a_form_needs_a_key_a_file_and_a_whole_signature() {
    let face = Face::new().await;
    let form = || Form::new("k", b"x").signed();
    let field = |name: &str| {
        format!(
            "Bucket POST must contain a field named '{name}'.  If it is specified, please check the order of the fields."
        )
    };
    face.assert_refused(&form().without("key"), "InvalidArgument", &field("key")).await;
    face.assert_refused(&form().field("key", ""), "InvalidArgument", &field("key")).await;
    for name in ["policy", "x-amz-signature", "x-amz-credential", "x-amz-date", "x-amz-algorithm"] {
        face.assert_refused(&form().without(name), "InvalidArgument", &field(name)).await;
    }
    let legacy = || Form::new("k", b"x").signed_v2();
    for name in ["policy", "signature"] {
        face.assert_refused(&legacy().without(name), "InvalidArgument", &field(name)).await;
    }
    let nothing = Form { file: None, after: "--b--\r\n".into(), ..form() };
    let said = "POST requires exactly one file upload per request.";
    face.assert_refused(&nothing, "IncorrectNumberOfFilesInPostRequest", said).await;
    let unsigned = Form::new("k", b"x");
    face.assert_refused(&unsigned, "AccessDenied", "Access Denied").await;
    let token = form().field("x-amz-security-token", "x");
    face.assert_refused(&token, "InvalidToken", "").await;
}

#[tokio::test]
async fn a_signature_is_verified_and_says_what_is_wrong_with_it() {
    let face = Face::new().await;
    let form = || Form::new("k", b"x").signed();
    for (name, value, said) in [
        ("x-amz-algorithm", "invalid", "Only AWS4-HMAC-SHA256 is supported"),
        ("x-amz-date", "invalid_date", "X-Amz-Date must be formated via ISO8601 Long format"),
        ("x-amz-credential", "malformed-no-slashes", "the Credential is mal-formed; expecting"),
        ("x-amz-credential", "test/20200101/us-east-1/s3/aws4_request", "Invalid credential date"),
    ] {
        face.assert_refused(&form().field(name, value), "InvalidArgument", said).await;
    }
    let elsewhere = Form::new("k", b"x").signed_for("test", "us-west-2", "testtest");
    let said = "the region \"us-west-2\" is wrong; expecting \"us-east-1\"";
    face.assert_refused(&elsewhere, "InvalidArgument", said).await;
    let stranger = Form::new("k", b"x").signed_for("nobody", "us-east-1", "secret");
    face.assert_refused(&stranger, "InvalidAccessKeyId", "<AWSAccessKeyId>nobody<").await;
    let said = "<SignatureProvided>00</SignatureProvided>";
    let wrong = form().field("x-amz-signature", "00");
    face.assert_refused(&wrong, "SignatureDoesNotMatch", said).await;
    let other = Form::new("k", b"x").signed_for("test", "us-east-1", "other");
    face.assert_refused(&other, "SignatureDoesNotMatch", "<StringToSign>").await;
    let legacy = Form::new("k", b"x").signed_v2().field("signature", "AAAA");
    face.assert_refused(&legacy, "SignatureDoesNotMatch", "").await;
    let legacy = Form::new("k", b"x").signed_v2().field("AWSAccessKeyId", "nobody");
    face.assert_refused(&legacy, "InvalidAccessKeyId", "").await;
    let strict = FrontSettings { signature_v2: false, ..FrontSettings::default() };
    let strict = Face::with(StoreSettings::default(), strict).await;
    let legacy = Form::new("k", b"x").signed_v2();
    strict.assert_refused(&legacy, "InvalidRequest", "Please use AWS4-HMAC-SHA256.").await;
    assert_eq!(face.send(&legacy).await.status, 204);
}

#[tokio::test]
async fn the_policy_says_what_a_form_may_be() {
    let face = Face::new().await;
    let form = || Form::new("k", b"0123456789");
    let denied = "AccessDenied";
    for (form, code, said) in [
        (
            form().condition("[\"eq\", \"$acl\", \"private\"]").signed(),
            denied,
            "Invalid according to Policy: Policy Condition failed: [\"eq\",\"$acl\",\"private\"]",
        ),
        (
            form().condition("[\"starts-with\", \"$key\", \"user/\"]").signed(),
            denied,
            "Policy Condition failed: [\"starts-with\",\"$key\",\"user/\"]",
        ),
        (
            form().condition("{\"bucket\": \"other\"}").signed(),
            denied,
            "Policy Condition failed: [\"eq\", \"$bucket\", \"other\"]",
        ),
        (
            form().signed().field("x-amz-meta-a", "b"),
            denied,
            "Invalid according to Policy: Extra input fields: x-amz-meta-a",
        ),
        (
            form().signed().field("Content-Type", "text/plain"),
            denied,
            "Extra input fields: content-type",
        ),
        (Form { conditions: vec![], ..form() }.signed(), denied, "Extra input fields: bucket"),
        (
            form().condition("[\"content-length-range\", 0, 9]").signed(),
            "EntityTooLarge",
            "<ProposedSize>10</ProposedSize><MaxSizeAllowed>9</MaxSizeAllowed>",
        ),
        (
            form().condition("[\"content-length-range\", 11, 20]").signed(),
            "EntityTooSmall",
            "<ProposedSize>10</ProposedSize><MinSizeAllowed>11</MinSizeAllowed>",
        ),
        (
            form().condition("[\"content-length-range\", 100, 200]").signed(),
            "EntityTooSmall",
            "<MinSizeAllowed>100</MinSizeAllowed>",
        ),
        (
            form().condition("[\"content-length-range\", -1, 0]").signed(),
            "InvalidPolicyDocument",
            "Invalid Policy: Invalid JSON.",
        ),
        (
            form().condition("{}").signed(),
            "InvalidPolicyDocument",
            "Simple-Conditions must have exactly one property specified.",
        ),
    ] {
        face.assert_refused(&form, code, said).await;
    }
    let ranged = form().condition("[\"content-length-range\", 10, 10]").signed();
    assert_eq!(face.send(&ranged).await.status, 204);
}

#[tokio::test]
async fn a_policy_that_has_ended_or_is_none_lets_nothing_in() {
    let face = Face::new().await;
    let form = || Form::new("k", b"0123456789");
    let signed = |policy: &str| form().signed().with_policy(policy, "us-east-1", "testtest");
    let ended = form().signed().policy(&date(-5));
    face.assert_refused(
        &signed(&ended),
        "AccessDenied",
        "Invalid according to Policy: Policy expired.",
    )
    .await;
    for (policy, said) in [
        ("", "Invalid Policy: Expecting '{' but found End-of-Input"),
        ("no_base64", "Invalid Policy: invalid Base64 encoding."),
        ("aW52YWxpZCBqc29u", "Invalid Policy: Invalid JSON."),
    ] {
        face.assert_refused(&signed(policy), "InvalidPolicyDocument", said).await;
    }
}

#[tokio::test]
async fn fields_are_refused_as_headers_of_a_put_are() {
    let face = Face::new().await;
    let form = |name: &str, value: &str| Form::new("k", b"x").field(name, value).signed();
    for (name, value, code) in [
        ("acl", "public-read", "AccessControlListNotSupported"),
        ("x-amz-storage-class", "GLACIER", "InvalidStorageClass"),
        ("x-amz-server-side-encryption", "AES256", "NotImplemented"),
        ("x-amz-website-redirect-location", "ftp://example.com", "InvalidRedirectLocation"),
        ("tagging", "invalid", "MalformedXML"),
        ("x-amz-checksum-crc32", "no_base64", "InvalidRequest"),
        ("x-amz-checksum-sha256", "invalid", "InvalidRequest"),
        ("x-amz-checksum-invalid", "invalid", "InvalidRequest"),
        ("x-amz-meta-a", "a\nb", "InvalidArgument"),
    ] {
        // Line ends have another form in JSON.
        let form = if value.contains('\n') {
            let condition = "[\"starts-with\", \"$x-amz-meta-a\", \"a\"]";
            Form::new("k", b"x").condition(condition).signed().field(name, value)
        } else {
            form(name, value)
        };
        face.assert_refused(&form, code, "").await;
    }
    let two = Form::new("k", b"x").field("x-amz-checksum-crc32", "0wiusg==");
    let two = two.field("x-amz-checksum-crc32c", "M3m0yg==").signed();
    face.assert_refused(&two, "InvalidRequest", "Expecting a single x-amz-checksum- header").await;
    let long = Form::new(&"k".repeat(1025), b"x").signed();
    face.assert_refused(&long, "KeyTooLongError", "").await;
    let elsewhere = Form::new("k", b"x").condition("[\"starts-with\", \"$bucket\", \"\"]");
    let elsewhere = Form { conditions: elsewhere.conditions[1..].to_vec(), ..elsewhere }.signed();
    assert_eq!(face.post("/none-here", &elsewhere.bytes()).await.code(), "NoSuchBucket");
    let others = Quota { bytes: Some(5), objects: None };
    let quotas = Quotas { others, ..Quotas::default() };
    face.store.set_quotas(quotas);
    let large = Form::new("k", b"six bytes").signed();
    face.assert_refused(&large, "QuotaExceeded", "").await;
}

#[tokio::test]
async fn what_is_no_form_is_refused() {
    let face = Face::new().await;
    let form = Form::new("k", b"x").signed().bytes();
    let post = |kind: &str| {
        let call = Call::new("POST", "/bkt").header("content-type", kind);
        call.send_unsigned(face.to, &form)
    };
    let plain = post("application/json").await;
    assert_eq!((plain.status, plain.code().as_str()), (412, "PreconditionFailed"));
    let condition = "<Condition>Bucket POST must be of the enclosure-type multipart/form-data<";
    assert!(text(&plain).contains(condition), "{}", text(&plain));
    for kind in
        ["multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; boundary=c"]
    {
        let answer = post(kind).await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (400, "MalformedPOSTRequest"),
            "{kind}"
        );
    }
    let head = "POST /bkt HTTP/1.1\r\nhost: localhost\r\ncontent-type: multipart/form-data; \
                boundary=b\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n";
    let chunked = exchange(face.to, &[head.as_bytes()], false).await;
    assert_eq!(chunked.code(), "MissingContentLength");
    assert_eq!(face.post("/Not_A_Name", &form).await.status, 403, "nobody's policy says so");
    // Two dashes of its own, as some write it.
    let dashes = String::from_utf8(form.clone()).unwrap().replace("--b", "----c");
    let call =
        Call::new("POST", "/bkt").header("content-type", "multipart/form-data; boundary=\"--c\"");
    assert_eq!(call.send_unsigned(face.to, dashes.as_bytes()).await.status, 204);
}
