//! Access logs of buckets, delivered into buckets.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

#[path = "common/client.rs"]
#[allow(dead_code, reason = "each user takes its part")]
mod client;
#[path = "common/mod.rs"]
mod common;

use client::{Answer, Call};
use ripstop_s3::{
    Credentials, EncryptionSettings, FrontSettings, KeyRing, ObjectKeys, Unobserved, serve,
};
use std::{net::SocketAddr, sync::Arc, time::Duration};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;

struct Face {
    to: SocketAddr,
    store: ripstop_store::Store,
    stop: CancellationToken,
    served: JoinHandle<()>,
    _folder: tempfile::TempDir,
}

/// A face with buckets `bkt` and `logs` that delivers this often.
async fn face(access_log_every: Duration) -> Face {
    face_with(FrontSettings { access_log_every, ..FrontSettings::default() }).await
}

async fn face_with(settings: FrontSettings) -> Face {
    let folder = tempfile::tempdir().unwrap();
    let (store, _nodes) = common::store(folder.path(), ripstop_store::StoreSettings::default());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let to = listener.local_addr().unwrap();
    let credentials: Credentials = [("test", "testtest")].into_iter().collect();
    let (stop, observer) = (CancellationToken::new(), Arc::new(Unobserved));
    let face = serve(listener, store.clone(), credentials, settings, observer, stop.clone());
    let served = tokio::spawn(face);
    for bucket in ["/bkt", "/logs"] {
        assert_eq!(Call::new("PUT", bucket).send(to, b"").await.status, 200);
    }
    Face { to, store, stop, served, _folder: folder }
}

fn text(answer: &Answer) -> String {
    String::from_utf8_lossy(&answer.body).into_owned()
}

fn logging(method: &'static str) -> Call {
    Call::new(method, "/bkt").query("logging=")
}

const ON: &str = "<BucketLoggingStatus><LoggingEnabled><TargetBucket>logs</TargetBucket>\
    <TargetPrefix>p/</TargetPrefix></LoggingEnabled></BucketLoggingStatus>";
const OFF: &str = "<BucketLoggingStatus/>";

impl Face {
    async fn keys(&self) -> Vec<String> {
        let request = ripstop_catalog::ListingRequest {
            bucket: "logs".into(),
            max: 1000,
            ..ripstop_catalog::ListingRequest::default()
        };
        let found = self.store.list(&request).await.unwrap();
        found.objects.into_iter().map(|(key, _)| key).collect()
    }

    /// All records that were delivered.
    async fn records(&self) -> Vec<String> {
        let mut records = Vec::new();
        for key in self.keys().await {
            let answer = Call::new("GET", &format!("/logs/{key}")).send(self.to, b"").await;
            records.extend(text(&answer).lines().map(str::to_owned));
        }
        records
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_of_a_bucket_is_recorded_in_another() {
    let face = face(Duration::from_millis(50)).await;
    let to = face.to;
    Call::new("PUT", "/bkt/before").send(to, b"x").await;
    assert!(text(&logging("GET").send(to, b"").await).ends_with("BucketLoggingStatus>"));
    assert_eq!(logging("PUT").send(to, ON.as_bytes()).await.status, 200);
    assert!(
        text(&logging("GET").send(to, b"").await).contains("<TargetBucket>logs</TargetBucket>")
    );
    Call::new("PUT", "/bkt/a%20key").send(to, b"seven..").await;
    Call::new("GET", "/bkt/a%20key").header("range", "bytes=0-1").send(to, b"").await;
    Call::new("GET", "/bkt/none").send(to, b"").await;
    Call::new("GET", "/bkt/a%20key").send_unsigned(to, b"").await;
    let mut records = Vec::new();
    for _ in 0..200 {
        records = face.records().await;
        if records.len() >= 5 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let has = |operation: &str, key: &str, rest: &str| {
        let found = |record: &&String| {
            record.contains(&format!(" {operation} {key} ")) && record.contains(rest)
        };
        assert!(records.iter().any(|record| found(&record)), "{operation} {rest}: {records:#?}");
    };
    has("REST.PUT.OBJECT", "a%20key", " HTTP/1.1\" 200 - - 7 ");
    has("REST.GET.OBJECT", "a%20key", " HTTP/1.1\" 206 - 2 7 ");
    has("REST.GET.OBJECT", "none", " HTTP/1.1\" 404 NoSuchKey ");
    has("REST.GET.OBJECT", "a%20key", " HTTP/1.1\" 403 AccessDenied ");
    has("REST.GET.LOGGING", "-", " HTTP/1.1\" 200 - ");
    assert!(records.iter().all(|record| record.starts_with("ripstop bkt [")), "{records:#?}");
    assert!(!records.iter().any(|record| record.contains("before")));
    assert!(face.keys().await.iter().all(|key| key.starts_with("p/20")));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_face_delivers_what_waits_and_a_log_that_is_off_is_none() {
    let face = face(Duration::from_hours(1)).await;
    let to = face.to;
    assert_eq!(logging("PUT").send(to, ON.as_bytes()).await.status, 200);
    Call::new("PUT", "/bkt/seen").send(to, b"x").await;
    assert_eq!(logging("PUT").send(to, OFF.as_bytes()).await.status, 200);
    Call::new("PUT", "/bkt/unseen").send(to, b"x").await;
    assert!(face.keys().await.is_empty(), "it is not time yet");
    face.stop.cancel();
    face.served.await.unwrap();
    let request = ripstop_catalog::ListingRequest {
        bucket: "logs".into(),
        max: 9,
        ..ripstop_catalog::ListingRequest::default()
    };
    let found = face.store.list(&request).await.unwrap().objects;
    let [(_, part)] = &found[..] else { panic!("{found:?}") };
    assert!(part.len > 200, "{part:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn records_are_encrypted_as_the_bucket_wants_it_that_they_go_to() {
    let keys = ObjectKeys::new(KeyRing::generate());
    let encryption = EncryptionSettings { keys, ..EncryptionSettings::default() };
    let access_log_every = Duration::from_millis(50);
    let settings = FrontSettings { access_log_every, encryption, ..FrontSettings::default() };
    let face = face_with(settings).await;
    let to = face.to;
    let by_default =
        b"<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault>\
        <SSEAlgorithm>AES256</SSEAlgorithm></ApplyServerSideEncryptionByDefault></Rule>\
        </ServerSideEncryptionConfiguration>";
    let put = Call::new("PUT", "/logs").query("encryption=").send(to, by_default).await;
    assert_eq!(put.status, 200, "{put:?}");
    assert_eq!(logging("PUT").send(to, ON.as_bytes()).await.status, 200);
    Call::new("PUT", "/bkt/k").send(to, b"x").await;
    let mut keys = Vec::new();
    for _ in 0..200 {
        keys = face.keys().await;
        if !keys.is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let head = Call::new("HEAD", &format!("/logs/{}", keys[0])).send(to, b"").await;
    assert_eq!(head.header("x-amz-server-side-encryption"), Some("AES256"), "{head:?}");
    assert!(face.records().await.iter().all(|record| record.starts_with("ripstop bkt [")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_without_a_place_to_go_is_refused() {
    let face = face(Duration::from_hours(1)).await;
    let to = face.to;
    let elsewhere = ON.replace("logs", "nowhere");
    let answer = logging("PUT").send(to, elsewhere.as_bytes()).await;
    assert_eq!((answer.status, answer.code()), (400, "InvalidTargetBucketForLogging".to_owned()));
    let answer = logging("PUT").send(to, b"<LoggingEnabled/>").await;
    assert_eq!(answer.code(), "MalformedXML");
    assert!(!text(&logging("GET").send(to, b"").await).contains("LoggingEnabled"));
    let none = Call::new("PUT", "/none").query("logging=").send(to, ON.as_bytes()).await;
    assert_eq!(none.code(), "NoSuchBucket");
}
