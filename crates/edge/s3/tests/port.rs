//! What the S3 port lets through.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

#[path = "common/client.rs"]
#[allow(dead_code, reason = "each user takes its part")]
mod client;
#[path = "common/mod.rs"]
mod common;

use client::{Call, UNSIGNED, exchange, sha256};
use ripstop_s3::{Credentials, FrontSettings, Unobserved, serve};
use std::{net::SocketAddr, sync::Arc, time::Duration};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

/// A face with a bucket `bkt`; gone with the folder.
async fn face(settings: FrontSettings) -> (SocketAddr, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let (store, _nodes) = common::store(folder.path(), ripstop_store::StoreSettings::default());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let credentials: Credentials = [("test", "testtest")].into_iter().collect();
    let shutdown = CancellationToken::new();
    tokio::spawn(serve(listener, store, credentials, settings, Arc::new(Unobserved), shutdown));
    assert_eq!(Call::new("PUT", "/bkt").send(address, b"").await.status, 200);
    (address, folder)
}

#[tokio::test]
async fn heads_are_limited_before_anybody_is_asked_who_they_are() {
    let (to, _folder) = face(FrontSettings::default()).await;
    let with = |len: usize| {
        let lines = (0..len / 1000).map(|line| format!("x-{line}: {}\r\n", "v".repeat(990)));
        format!("GET /bkt HTTP/1.1\r\nhost: x\r\n{}\r\n", lines.collect::<String>())
    };
    assert_eq!(exchange(to, &[with(30_000).as_bytes()], false).await.status, 403);
    assert_eq!(exchange(to, &[with(40_000).as_bytes()], false).await.status, 431);
}

#[tokio::test]
async fn addresses_longer_than_any_request_needs_are_refused() {
    let (to, _folder) = face(FrontSettings::default()).await;
    let get = |target: String| format!("GET {target} HTTP/1.1\r\nhost: x\r\n\r\n");
    for (path, query, status, code) in [
        // The longest key, each byte of which is percent-encoded, and what a listing may ask for.
        (5 + 3 * 1024, 12 << 10, 403, "AccessDenied"),
        ((4 << 10) + 1, 0, 414, "URITooLong"),
        (5, (12 << 10) + 1, 414, "URITooLong"),
    ] {
        let target = format!("/bkt/{}?{}", "%41".repeat((path - 5) / 3), "a".repeat(query));
        let padded = format!("/bkt/{}?{}", "k".repeat(path - 5), "a".repeat(query));
        let target = if status == 414 { padded } else { target };
        let answer = exchange(to, &[get(target).as_bytes()], false).await;
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{path} {query}");
    }
}

#[tokio::test]
async fn connections_without_a_signature_leave_clients_served() {
    let settings = FrontSettings { connections_max: 32, ..FrontSettings::default() };
    let (to, _folder) = face(settings).await;
    let mut strangers = Vec::new();
    for _ in 0..100 {
        strangers.push(TcpStream::connect(to).await.unwrap());
    }
    for round in 0..50 {
        let put = Call::new("PUT", "/bkt/k").send(to, b"body");
        let answer = tokio::time::timeout(Duration::from_secs(5), put).await;
        assert_eq!(answer.map(|answer| answer.status), Ok(200), "round {round}");
    }
}

#[tokio::test]
async fn bodies_that_are_not_signed_can_be_kept_to_tls() {
    let settings = FrontSettings {
        unsigned_payload_needs_tls: true,
        trusted_proxies: vec!["127.0.0.1".parse().unwrap()],
        ..FrontSettings::default()
    };
    let (to, _folder) = face(settings).await;
    let put = || Call::new("PUT", "/bkt/k");
    let refused = put().payload(UNSIGNED).send(to, b"body").await;
    assert_eq!((refused.status, refused.code().as_str()), (403, "AccessDenied"));
    let chunks = put().payload("STREAMING-UNSIGNED-PAYLOAD-TRAILER").send(to, b"body").await;
    assert_eq!((chunks.status, chunks.code().as_str()), (403, "AccessDenied"));
    assert_eq!(Call::new("GET", "/bkt/k").payload(UNSIGNED).send(to, b"").await.status, 404);
    let signed = put().payload(&sha256(b"body")).send(to, b"body").await;
    assert_eq!(signed.status, 200);
    let beyond = put().payload(UNSIGNED).header("x-forwarded-proto", "https").send(to, b"b").await;
    assert_eq!(beyond.status, 200, "the proxy has spoken TLS");
}
