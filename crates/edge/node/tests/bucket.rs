//! Buckets against a real server of S3, named by environment variables:
//! `RIPSTOP_TEST_S3_ENDPOINT` and `RIPSTOP_TEST_S3_BUCKET` (which must be there), with
//! `RIPSTOP_TEST_S3_ACCESS_KEY_ID` and `RIPSTOP_TEST_S3_SECRET_ACCESS_KEY`.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "functions that only tests call")]

use bytes::Bytes;
use futures::TryStreamExt;
use ripstop_model::{FragmentId, StripeId};
use ripstop_node::{
    BucketCredentials, BucketError, BucketNode, BucketSettings, Node, NodeError,
    conformance::{Scale, check},
};
use std::{
    env,
    io::{Read, Write},
    net::TcpListener,
    sync::Arc,
    time::Duration,
};

/// Of a folder in the bucket that no other test uses; none without a server.
fn settings(test: &str) -> Option<BucketSettings> {
    let (Ok(endpoint), Ok(bucket)) =
        (env::var("RIPSTOP_TEST_S3_ENDPOINT"), env::var("RIPSTOP_TEST_S3_BUCKET"))
    else {
        println!("SKIPPED {test}: RIPSTOP_TEST_S3_ENDPOINT and _BUCKET name no server");
        return None;
    };
    let credentials = BucketCredentials::from_environment("RIPSTOP_TEST_S3").expect("credentials");
    let run = getrandom::u64().unwrap();
    Some(BucketSettings {
        endpoint,
        region: "us-east-1".into(),
        bucket,
        prefix: format!("conformance/{test}-{run:016x}"),
        credentials,
        allow_http: true,
        path_style: true,
        sign_payload: false,
    })
}

/// Settings for a server that needs no credentials, if it is there at all.
fn nowhere(endpoint: &str) -> BucketSettings {
    let (access_key, secret_key) = ("access".to_owned(), "hush".to_owned().into());
    BucketSettings {
        endpoint: endpoint.into(),
        region: "us-east-1".into(),
        bucket: "fragments".into(),
        prefix: String::new(),
        credentials: BucketCredentials { access_key, secret_key, token: None },
        allow_http: true,
        path_style: true,
        sign_payload: false,
    }
}

const NAME: FragmentId = FragmentId { stripe: StripeId(0xabc), index: 1 };

async fn listed(node: &BucketNode) -> Result<Vec<FragmentId>, NodeError> {
    node.list().map_ok(|listed| listed.name).try_collect().await
}

/// How each operation ends.
async fn outcomes(node: &BucketNode) -> [Result<(), NodeError>; 6] {
    [
        node.get(NAME, 0..1).await.map(drop),
        node.get(NAME, 0..0).await.map(drop),
        node.put(NAME, vec![Bytes::from_static(b"x")]).await,
        node.delete(NAME).await,
        listed(node).await.map(drop),
        node.health().await,
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_conforms() {
    let Some(settings) = settings("conforms") else { return };
    let node: Arc<dyn Node> = Arc::new(BucketNode::new(settings).unwrap());
    // Two pages of a listing.
    check(&node, Scale { fragments: 1100, rounds: 30, seed: 7 }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_with_signed_payloads_conforms() {
    let Some(settings) = settings("signed") else { return };
    let settings = BucketSettings { sign_payload: true, ..settings };
    let node: Arc<dyn Node> = Arc::new(BucketNode::new(settings).unwrap());
    check(&node, Scale { fragments: 50, rounds: 10, seed: 8 }).await;
}

#[tokio::test]
async fn foreign_objects_are_passed_over() {
    let Some(settings) = settings("foreign") else { return };
    let below = BucketSettings { prefix: format!("{}/bc", settings.prefix), ..settings.clone() };
    let (node, foreign) = (BucketNode::new(settings).unwrap(), BucketNode::new(below).unwrap());
    foreign.put(NAME, vec![Bytes::from_static(b"foreign")]).await.unwrap();
    node.put(NAME, vec![Bytes::from_static(b"own")]).await.unwrap();
    assert_eq!(listed(&node).await.unwrap(), [NAME]);
    assert_eq!(listed(&foreign).await.unwrap(), [NAME]);
    assert_eq!(node.get(NAME, 0..3).await.unwrap(), "own");
    node.delete(NAME).await.unwrap();
    assert_eq!(listed(&node).await.unwrap(), []);
    foreign.delete(NAME).await.unwrap();
}

#[tokio::test]
async fn megabytes_come_back_as_they_went() {
    let Some(settings) = settings("megabytes") else { return };
    let node = BucketNode::new(settings).unwrap();
    let body: Bytes = (0..9_000_000u32).map(|i| (i ^ (i >> 9)) as u8).collect::<Vec<_>>().into();
    let segments =
        vec![Bytes::from_static(b"head"), body.slice(..5_000_000), body.slice(5_000_000..)];
    node.put(NAME, segments).await.unwrap();
    assert!(node.get(NAME, 4..9_000_004).await.unwrap() == body);
    assert!(node.get(NAME, 1_000_004..4_000_004).await.unwrap() == body[1_000_000..4_000_000]);
    for wait_us in (0..20_000).step_by(1000) {
        let get = node.get(NAME, 0..9_000_004);
        let _ = tokio::time::timeout(Duration::from_micros(wait_us), get).await;
    }
    assert_eq!(node.get(NAME, 0..4).await.unwrap(), "head");
    node.delete(NAME).await.unwrap();
}

#[tokio::test]
async fn a_bucket_that_is_not_there_is_unavailable_and_nothing_is_missing() {
    let Some(settings) = settings("gone") else { return };
    let settings = BucketSettings { bucket: "no-such-bucket-here".into(), ..settings };
    let node = BucketNode::new(settings).unwrap();
    for (at, outcome) in outcomes(&node).await.iter().enumerate() {
        assert!(matches!(outcome, Err(NodeError::Unavailable { .. })), "{at}: {outcome:?}");
    }
}

#[tokio::test]
async fn wrong_credentials_are_refused_and_not_printed() {
    let Some(settings) = settings("wrong") else { return };
    let credentials = BucketCredentials {
        secret_key: "nobody-knows".to_owned().into(),
        ..settings.credentials.clone()
    };
    let settings = BucketSettings { credentials, ..settings };
    assert!(!format!("{settings:?}").contains("nobody-knows"));
    let node = BucketNode::new(settings).unwrap();
    for (at, outcome) in outcomes(&node).await.iter().enumerate() {
        assert!(matches!(outcome, Err(NodeError::Refused { .. })), "{at}: {outcome:?}");
        assert!(!format!("{outcome:?}").contains("nobody-knows"));
    }
    assert!(!format!("{node:?}").contains("nobody-knows"));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unavailable() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let node = BucketNode::new(nowhere(&endpoint)).unwrap();
    let error = node.get(NAME, 0..1).await.unwrap_err();
    assert!(matches!(error, NodeError::Unavailable { .. }), "{error}");
    assert!(matches!(node.health().await, Err(NodeError::Unavailable { .. })));
}

/// The outcome of a get of `range` from a server that gives everybody this answer.
async fn answered(answer: String, range: std::ops::Range<u64>) -> Result<Bytes, NodeError> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let _ = connection.read(&mut [0; 4096]);
            let _ = connection.write_all(answer.as_bytes());
        }
    });
    BucketNode::new(nowhere(&endpoint)).unwrap().get(NAME, range).await
}

fn partial(range: &str, len: usize, body: &str) -> String {
    format!(
        "HTTP/1.1 206 Partial Content\r\ncontent-range: bytes {range}\r\ncontent-length: {len}\r\n\
         last-modified: Fri, 20 Nov 2026 10:00:00 GMT\r\netag: \"e\"\r\n\r\n{body}"
    )
}

#[tokio::test]
async fn an_answer_that_is_not_the_range_is_an_error() {
    let whole = answered(partial("0-9/20", 10, "0123456789"), 0..10).await;
    assert_eq!(whole.unwrap(), "0123456789");
    for (fault, answer) in [
        ("cut short", partial("0-9/20", 10, "01234")),
        ("fewer bytes than it says", partial("0-9/20", 5, "01234")),
        ("more bytes than it says", partial("0-9/20", 15, "0123456789abcde")),
        ("another range", partial("5-14/20", 10, "0123456789")),
        ("no range", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n01234".to_owned()),
        ("no HTTP", "hello".to_owned()),
        ("nothing", String::new()),
    ] {
        let outcome = answered(answer, 0..10).await;
        assert!(matches!(outcome, Err(NodeError::Unavailable { .. })), "{fault}: {outcome:?}");
    }
    let ends_before = answered(partial("0-4/5", 5, "01234"), 0..10).await;
    assert!(matches!(ends_before, Err(NodeError::Short { len: 5, asked: 10 })), "{ends_before:?}");
}

#[tokio::test]
async fn a_404_from_somebody_who_does_not_know_keys_is_not_missing() {
    let answer = "HTTP/1.1 404 Not Found\r\ncontent-length: 5\r\nconnection: close\r\n\r\nnginx";
    let outcome = answered(answer.into(), 0..10).await;
    assert!(matches!(outcome, Err(NodeError::Unavailable { .. })), "{outcome:?}");
}

#[test]
fn settings_that_describe_no_bucket_are_refused() {
    for (settings, expected) in [
        (nowhere("localhost:9000"), "not an http:// or https:// address"),
        (nowhere("ftp://localhost"), "not an http:// or https:// address"),
        (nowhere("http://key:secret@host"), "not an http:// or https:// address"),
        (
            BucketSettings { allow_http: false, ..nowhere("http://localhost") },
            "allow_http accepts that",
        ),
        (BucketSettings { bucket: "a/b".into(), ..nowhere("http://h") }, "not a bucket's name"),
        (BucketSettings { prefix: "a//b".into(), ..nowhere("http://h") }, "non-empty parts"),
    ] {
        let error: BucketError = BucketNode::new(settings).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(!format!("{error:?}").contains("secret"), "{error:?}");
    }
}
