//! Which pages of other origins are let in, as S3 documents it and suites of tests ask.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

#[path = "common/client.rs"]
#[allow(dead_code, reason = "each user takes its part")]
mod client;
#[path = "common/mod.rs"]
mod common;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use client::{Answer, Call};
use md5::Digest as _;
use ripstop_identity::{BucketRights, Right, Rights};
use ripstop_s3::{Credentials, FrontSettings, Unobserved, serve};
use std::{net::SocketAddr, path::Path, slice, sync::Arc};
use tokio_util::sync::CancellationToken;

/// A face over what is in a folder; anybody may read in `bkt`.
async fn open(folder: &Path) -> SocketAddr {
    let (store, _nodes) = common::store(folder, ripstop_store::StoreSettings::default());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut credentials: Credentials = [("test", "testtest")].into_iter().collect();
    let rule = BucketRights::new("bkt".parse().unwrap(), [Right::Read]);
    credentials.grant_unsigned(Rights::of(vec![rule]).unwrap()).unwrap();
    let (settings, shutdown) = (FrontSettings::default(), CancellationToken::new());
    tokio::spawn(serve(listener, store, credentials, settings, Arc::new(Unobserved), shutdown));
    address
}

/// The same with a bucket `bkt`.
async fn face() -> (SocketAddr, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let address = open(folder.path()).await;
    assert_eq!(Call::new("PUT", "/bkt").send(address, b"").await.status, 200);
    (address, folder)
}

fn text(answer: &Answer) -> String {
    String::from_utf8_lossy(&answer.body).into_owned()
}

fn rule(fields: &[(&str, &str)]) -> String {
    let fields = fields.iter().map(|(name, value)| format!("<{name}>{value}</{name}>"));
    format!("<CORSRule>{}</CORSRule>", fields.collect::<String>())
}

async fn put(to: SocketAddr, rules: &[String]) -> Answer {
    let document = format!("<CORSConfiguration>{}</CORSConfiguration>", rules.concat());
    put_document(to, "/bkt", document.as_bytes()).await
}

async fn put_document(to: SocketAddr, path: &str, document: &[u8]) -> Answer {
    let md5 = STANDARD.encode(md5::Md5::digest(document));
    Call::new("PUT", path).query("cors=").header("content-md5", md5).send(to, document).await
}

fn cors(method: &'static str) -> Call {
    Call::new(method, "/bkt").query("cors=")
}

/// What an answer tells a browser: origin, methods, headers, exposed headers, age, credentials.
fn told(answer: &Answer) -> [Option<&str>; 6] {
    [
        "allow-origin",
        "allow-methods",
        "allow-headers",
        "expose-headers",
        "max-age",
        "allow-credentials",
    ]
    .map(|name| answer.header(&format!("access-control-{name}")))
}

async fn preflight(to: SocketAddr, origin: &str, method: &str, headers: &str) -> Answer {
    let call = Call::new("OPTIONS", "/bkt/key").header("origin", origin);
    let call = call.header("access-control-request-method", method);
    let call = if headers.is_empty() {
        call
    } else {
        call.header("access-control-request-headers", headers)
    };
    call.send_unsigned(to, b"").await
}

#[tokio::test]
async fn a_configuration_is_put_read_replaced_and_deleted() {
    let (to, _folder) = face().await;
    let none = cors("GET").send(to, b"").await;
    assert_eq!((none.status, none.code().as_str()), (404, "NoSuchCORSConfiguration"));
    assert_eq!(cors("DELETE").send(to, b"").await.status, 204, "it is deleted already");
    let all = rule(&[
        ("ID", "my-id"),
        ("AllowedOrigin", "http://*.example.com"),
        ("AllowedOrigin", "something.net"),
        ("AllowedMethod", "GET"),
        ("AllowedMethod", "PUT"),
        ("AllowedHeader", "x-amz-*"),
        ("ExposeHeader", "ETag"),
        ("MaxAgeSeconds", "3000"),
    ]);
    assert_eq!(put(to, slice::from_ref(&all)).await.status, 200);
    let got = cors("GET").send(to, b"").await;
    assert_eq!((got.status, got.header("content-type")), (200, Some("application/xml")));
    let namespace = "<CORSConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
    assert!(
        text(&got).contains(&format!("{namespace}{all}</CORSConfiguration>")),
        "{}",
        text(&got)
    );
    let other = rule(&[("AllowedOrigin", "*"), ("AllowedMethod", "HEAD")]);
    assert_eq!(put(to, slice::from_ref(&other)).await.status, 200);
    let got = text(&cors("GET").send(to, b"").await);
    assert!(got.contains(&other) && !got.contains("my-id"), "{got}");
    assert_eq!(cors("DELETE").send(to, b"").await.status, 204);
    assert_eq!(cors("GET").send(to, b"").await.code(), "NoSuchCORSConfiguration");
    for method in ["GET", "DELETE"] {
        let answer = Call::new(method, "/none-here").query("cors=").send(to, b"").await;
        assert_eq!(answer.code(), "NoSuchBucket", "{method}");
    }
    let document = format!("<CORSConfiguration>{other}</CORSConfiguration>");
    assert_eq!(put_document(to, "/none-here", document.as_bytes()).await.code(), "NoSuchBucket");
}

#[tokio::test]
async fn a_configuration_is_there_after_a_restart_and_goes_with_its_bucket() {
    let (to, folder) = face().await;
    let any = rule(&[("AllowedOrigin", "*"), ("AllowedMethod", "GET")]);
    assert_eq!(put(to, &[any]).await.status, 200);
    // The catalog alone has it: the nodes of the next face are empty.
    let copy = tempfile::tempdir().unwrap();
    std::fs::copy(folder.path().join("catalog"), copy.path().join("catalog")).unwrap();
    let again = open(copy.path()).await;
    assert_eq!(cors("GET").send(again, b"").await.status, 200);
    assert_eq!(preflight(again, "http://a", "GET", "").await.status, 200);
    assert_eq!(Call::new("DELETE", "/bkt").send(to, b"").await.status, 204);
    assert_eq!(Call::new("PUT", "/bkt").send(to, b"").await.status, 200);
    assert_eq!(cors("GET").send(to, b"").await.code(), "NoSuchCORSConfiguration");
}

#[tokio::test]
async fn a_configuration_that_is_none_is_refused_and_the_old_one_stays() {
    let (to, _folder) = face().await;
    let good = rule(&[("AllowedOrigin", "*"), ("AllowedMethod", "GET")]);
    assert_eq!(put(to, slice::from_ref(&good)).await.status, 200);
    let with =
        |name, value| rule(&[("AllowedOrigin", "o"), ("AllowedMethod", "PUT"), (name, value)]);
    for (rules, code, message) in [
        (vec![], "MalformedXML", ""),
        (vec![rule(&[("AllowedMethod", "PUT")])], "MalformedXML", ""),
        (vec![rule(&[("AllowedOrigin", "o")])], "MalformedXML", ""),
        (
            vec![good.clone(); 101],
            "InvalidRequest",
            "The number of CORS rules should not exceed allowed limit of 100 rules.",
        ),
        (
            vec![with("AllowedOrigin", "*a*")],
            "InvalidRequest",
            "AllowedOrigin &quot;*a*&quot; can not have more than one wildcard.",
        ),
        (
            vec![good.clone(), with("AllowedMethod", "OPTIONS")],
            "InvalidRequest",
            "Found unsupported HTTP method in CORS config. Unsupported method is OPTIONS",
        ),
        (
            vec![with("AllowedHeader", "X(Custom)")],
            "InvalidRequest",
            "AllowedHeader &quot;X(Custom)&quot; contains invalid character.",
        ),
        (
            vec![with("ExposeHeader", "*")],
            "InvalidRequest",
            "ExposeHeader &quot;*&quot; contains wildcard.",
        ),
    ] {
        let answer = put(to, &rules).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, code), "{}", text(&answer));
        assert!(text(&answer).contains(message), "{}", text(&answer));
    }
    assert_eq!(put(to, &vec![good.clone(); 100]).await.status, 200);
    assert_eq!(put(to, slice::from_ref(&good)).await.status, 200);
    let long = "x".repeat(64 << 10);
    assert_eq!(put_document(to, "/bkt", long.as_bytes()).await.code(), "MalformedXML");
    let longer = "x".repeat((64 << 10) + 1);
    assert_eq!(
        put_document(to, "/bkt", longer.as_bytes()).await.code(),
        "MaxMessageLengthExceeded"
    );
    let document = format!("<CORSConfiguration>{good}</CORSConfiguration>");
    let unvouched = cors("PUT").send(to, document.as_bytes()).await;
    assert_eq!(unvouched.code(), "InvalidRequest", "no checksum");
    for (md5, code) in [
        ("invalid", "InvalidDigest"),
        ("uU0nuZNNPgilLlLX2n2r+g==", "BadDigest"),
        ("uU0nuZNNPgilLlLX2n2r+s==", "BadDigest"),
    ] {
        let answer = cors("PUT").header("content-md5", md5).send(to, document.as_bytes()).await;
        assert_eq!(answer.code(), code, "{md5}");
    }
    assert!(text(&cors("GET").send(to, b"").await).contains(&good));
}

/// Three rules, of which the first lets two origins in, the second any, the third many.
fn three_rules() -> [String; 3] {
    [
        rule(&[
            ("AllowedOrigin", "http://example.com"),
            ("AllowedOrigin", "https://example.com"),
            ("AllowedMethod", "GET"),
            ("AllowedMethod", "HEAD"),
            ("AllowedHeader", "X-Amz-Date"),
            ("AllowedHeader", "X-Amz-Content-Sha256"),
            ("ExposeHeader", "Content-Type"),
            ("ExposeHeader", "ETag"),
            ("MaxAgeSeconds", "100"),
        ]),
        rule(&[
            ("AllowedOrigin", "*"),
            ("AllowedMethod", "HEAD"),
            ("AllowedHeader", "X-Amz-Meta-Something"),
        ]),
        rule(&[
            ("AllowedOrigin", "http://www*"),
            ("AllowedMethod", "GET"),
            ("AllowedHeader", "x-amz-*"),
            ("MaxAgeSeconds", "5000"),
        ]),
    ]
}

#[tokio::test]
async fn a_preflight_is_answered_by_the_first_rule_that_fits() {
    let (to, _folder) = face().await;
    assert_eq!(put(to, &three_rules()).await.status, 200);
    let exposed = Some("Content-Type, ETag");
    let first = |origin, headers| {
        [Some(origin), Some("GET, HEAD"), headers, exposed, Some("100"), Some("true")]
    };
    for (origin, method, headers, expected) in [
        (
            "http://example.com",
            "GET",
            "X-Amz-Date",
            first("http://example.com", Some("x-amz-date")),
        ),
        (
            "https://example.com",
            "GET",
            "X-Amz-Date,X-Amz-Content-Sha256",
            first("https://example.com", Some("x-amz-date, x-amz-content-sha256")),
        ),
        ("http://example.com", "HEAD", "", first("http://example.com", None)),
        (
            "http://anything.com",
            "HEAD",
            "X-Amz-Meta-Something",
            [Some("*"), Some("HEAD"), Some("x-amz-meta-something"), None, None, None],
        ),
        (
            "http://www.hello.world.com",
            "GET",
            "X-Amz-Anything",
            [
                Some("http://www.hello.world.com"),
                Some("GET"),
                Some("x-amz-anything"),
                None,
                Some("5000"),
                Some("true"),
            ],
        ),
    ] {
        let answer = preflight(to, origin, method, headers).await;
        assert_eq!((answer.status, told(&answer)), (200, expected), "{origin} {method} {headers}");
        let vary = "Origin, Access-Control-Request-Headers, Access-Control-Request-Method";
        assert_eq!(answer.header("vary"), Some(vary));
        assert!(answer.body.is_empty());
    }
}

#[tokio::test]
async fn a_preflight_that_no_rule_fits_is_refused() {
    let (to, _folder) = face().await;
    let none = preflight(to, "http://example.com", "GET", "").await;
    assert_eq!((none.status, none.code().as_str()), (403, "AccessForbidden"));
    assert!(text(&none).contains("CORSResponse: CORS is not enabled for this bucket."));
    assert_eq!(put(to, &three_rules()).await.status, 200);
    for (origin, method, headers) in [
        ("http://other.net", "GET", "X-Amz-Date"),
        ("http://example.com", "PUT", ""),
        ("http://example.com", "GET", "X-Amz-Date,Extra"),
        ("http://any.com", "HEAD", "X-Amz-Extra"),
        ("http://www.a.com", "GET", "X-Amz"),
        ("xhttp://www.a.com", "GET", ""),
    ] {
        let answer = preflight(to, origin, method, headers).await;
        assert_eq!((answer.status, answer.code().as_str()), (403, "AccessForbidden"), "{origin}");
        let said = "CORSResponse: This CORS request is not allowed. This is usually because the \
            evalution of Origin, request method / Access-Control-Request-Method or \
            Access-Control-Request-Headers are not whitelisted by the resource&apos;s CORS spec.";
        assert!(text(&answer).replace('\'', "&apos;").contains(said), "{}", text(&answer));
        let of = format!("<Method>{method}</Method><ResourceType>OBJECT</ResourceType>");
        assert!(text(&answer).contains(&of), "{}", text(&answer));
        assert_eq!(told(&answer), [None; 6]);
    }
    for (origin, method, headers, said) in [
        ("", "GET", "", "Insufficient information. Origin request header needed."),
        ("http://example.com", "get", "", "Invalid Access-Control-Request-Method: get"),
        ("http://example.com", "PATCH", "", "Invalid Access-Control-Request-Method: PATCH"),
        (
            "http://example.com",
            "GET",
            "a,b c",
            "Access-Control-Request-Headers &quot;b c&quot; contains invalid character.",
        ),
    ] {
        let answer = preflight(to, origin, method, headers).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "BadRequest"), "{said}");
        assert!(text(&answer).contains(said), "{}", text(&answer));
    }
}

#[tokio::test]
async fn answers_and_failures_tell_the_browser_whom_they_may_be_shown_to() {
    let (to, _folder) = face().await;
    assert_eq!(Call::new("PUT", "/bkt/there").send(to, b"bytes").await.status, 200);
    let rules = [
        rule(&[
            ("AllowedOrigin", "*suffix"),
            ("AllowedMethod", "GET"),
            ("ExposeHeader", "ETag"),
            ("MaxAgeSeconds", "7"),
        ]),
        rule(&[("AllowedOrigin", "*.put"), ("AllowedMethod", "PUT")]),
    ];
    assert_eq!(put(to, &rules).await.status, 200);
    let get = [Some("foo.suffix"), Some("GET"), None, Some("ETag"), Some("7"), Some("true")];
    let put_rule = [Some("foo.put"), Some("PUT"), None, None, None, Some("true")];
    for (method, path, origin, asked, status, expected) in [
        ("GET", "/bkt", "foo.suffix", "", 200, get),
        ("GET", "/bkt/there", "foo.suffix", "", 200, get),
        ("GET", "/bkt/none", "foo.suffix", "", 404, get),
        ("GET", "/bkt", "foo.suffix.get", "", 200, [None; 6]),
        ("GET", "/bkt", "", "", 200, [None; 6]),
        ("GET", "/none-here", "foo.suffix", "", 403, [None; 6]),
        ("PUT", "/bkt/k", "foo.suffix", "GET", 403, get),
        ("PUT", "/bkt/k", "foo.suffix", "PUT", 403, [None; 6]),
        ("PUT", "/bkt/k", "foo.suffix", "", 403, [None; 6]),
        ("PUT", "/bkt/k", "foo.put", "", 403, put_rule),
    ] {
        let call = Call::new(method, path);
        let call = if origin.is_empty() { call } else { call.header("origin", origin) };
        let call = if asked.is_empty() {
            call
        } else {
            call.header("access-control-request-method", asked)
        };
        let answer = call.send_unsigned(to, b"").await;
        let said = format!("{method} {path} {origin} {asked}");
        assert_eq!((answer.status, told(&answer)), (status, expected), "{said}: {answer:?}");
        assert_eq!(answer.header("vary").is_some(), expected[0].is_some(), "{said}");
    }
    // What was asked before may be said again.
    for (name, expected) in [("x-amz-meta-a", None), ("no name", None)] {
        let call = Call::new("GET", "/bkt").header("origin", "foo.suffix");
        let answer =
            call.header("access-control-request-headers", name).send_unsigned(to, b"").await;
        assert_eq!((answer.status, told(&answer)[0]), (200, expected), "{name}");
    }
    // The same for who signs, and of what is no request at all.
    let put = Call::new("PUT", "/bkt/k").header("origin", "foo.put").send(to, b"x").await;
    assert_eq!((put.status, told(&put)), (200, put_rule));
    let wrong = Call::new("PUT", "/bkt/k").header("origin", "foo.put").secret("wrong");
    let wrong = wrong.send(to, b"x").await;
    assert_eq!((wrong.code().as_str(), told(&wrong)), ("SignatureDoesNotMatch", put_rule));
}
