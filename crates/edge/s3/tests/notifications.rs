//! Webhooks that are told what happens to objects.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

#[path = "common/client.rs"]
#[allow(dead_code, reason = "each user takes its part")]
mod client;
#[path = "common/mod.rs"]
mod common;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use client::{Answer, Call};
use md5::Digest as _;
use ripstop_s3::{Credentials, FrontSettings, Unobserved, Webhook, Webhooks, serve};
use std::{net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

/// What a webhook was sent: its head, and its document.
type Told = (String, serde_json::Value);

/// A server that answers so many first requests with 500, and hands on what it is sent.
async fn webhook(failures: usize) -> (SocketAddr, mpsc::UnboundedReceiver<Told>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (to, told) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut failures = failures;
        while let Ok((mut stream, _)) = listener.accept().await {
            while let Some(request) = request(&mut stream).await {
                let fails = failures > 0;
                failures = failures.saturating_sub(1);
                if !fails && to.send(request).is_err() {
                    return;
                }
                let status = if fails { "500 Trouble" } else { "204 Fine" };
                let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
                if stream.write_all(answer.as_bytes()).await.is_err() {
                    break;
                }
            }
        }
    });
    (address, told)
}

async fn request(stream: &mut TcpStream) -> Option<Told> {
    let (mut bytes, mut piece) = (Vec::new(), vec![0; 4096]);
    loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8(bytes[..at].to_vec()).unwrap();
            let len = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if let Ok(document) = serde_json::from_slice(&bytes[at + 4..]) {
                assert_eq!(len.unwrap().parse(), Ok(bytes.len() - at - 4));
                return Some((head, document));
            }
        }
        match stream.read(&mut piece).await {
            Ok(read) if read > 0 => bytes.extend_from_slice(&piece[..read]),
            Ok(_) | Err(_) => return None,
        }
    }
}

async fn next(told: &mut mpsc::UnboundedReceiver<Told>) -> Told {
    timeout(Duration::from_secs(20), told.recv()).await.expect("it is told").unwrap()
}

/// The next record's name, key and version.
async fn event(told: &mut mpsc::UnboundedReceiver<Told>) -> (String, String, Option<String>) {
    let (_, document) = next(told).await;
    let record = &document["Records"][0];
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    let object = &record["s3"]["object"];
    let (name, key) = (text(&record["eventName"]).unwrap(), text(&object["key"]).unwrap());
    (name, key, text(&object["versionId"]))
}

/// A face with a bucket `bkt` that knows this webhook as `hook`.
async fn face(hook: SocketAddr) -> (SocketAddr, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let (store, _nodes) = common::store(folder.path(), ripstop_store::StoreSettings::default());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let to = listener.local_addr().unwrap();
    let credentials: Credentials = [("test", "testtest")].into_iter().collect();
    let url = format!("http://{hook}/events?from=ripstop").parse().unwrap();
    let token = Some("a-secret-token".to_owned());
    let webhooks = Webhooks::begin(vec![Webhook { name: "hook".into(), url, token }]).unwrap();
    let settings = FrontSettings { webhooks, part_len_min: 1, ..FrontSettings::default() };
    let (stop, observer) = (CancellationToken::new(), Arc::new(Unobserved));
    tokio::spawn(serve(listener, store, credentials, settings, observer, stop));
    assert_eq!(Call::new("PUT", "/bkt").send(to, b"").await.status, 200);
    (to, folder)
}

async fn configure(to: SocketAddr, events: &[&str], filter: &str) -> Answer {
    let events: Vec<_> = events.iter().map(|event| format!("<Event>{event}</Event>")).collect();
    let events = events.concat();
    let document = format!(
        "<NotificationConfiguration><QueueConfiguration><Id>one</Id>\
         <Queue>arn:ripstop:webhook:::hook</Queue>{events}{filter}</QueueConfiguration>\
         </NotificationConfiguration>"
    );
    Call::new("PUT", "/bkt").query("notification=").send(to, document.as_bytes()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_happens_to_objects_is_told_in_order() {
    let (hook, mut told) = webhook(0).await;
    let (to, _folder) = face(hook).await;
    let all = ["s3:ObjectCreated:*", "s3:ObjectRemoved:*", "s3:ObjectTagging:*"];
    Call::new("PUT", "/bkt/before").send(to, b"x").await;
    assert_eq!(configure(to, &all, "").await.status, 200);
    let (head, test) = next(&mut told).await;
    assert_eq!(test["Event"], "s3:TestEvent");
    assert!(head.starts_with("POST /events?from=ripstop HTTP/1.1\r\n"), "{head}");
    assert!(head.to_lowercase().contains("\r\nauthorization: bearer a-secret-token"), "{head}");
    Call::new("PUT", "/bkt/a%20b").send(to, b"seven..").await;
    let (_, document) = next(&mut told).await;
    let record = &document["Records"][0];
    assert_eq!(record["eventName"], "ObjectCreated:Put");
    assert_eq!(record["userIdentity"]["principalId"], "test");
    assert_eq!(record["requestParameters"]["sourceIPAddress"], "127.0.0.1");
    assert_eq!(record["s3"]["configurationId"], "one");
    assert_eq!(
        (&record["s3"]["object"]["key"], &record["s3"]["object"]["size"]),
        (&"a+b".into(), &7.into())
    );
    let copy = Call::new("PUT", "/bkt/copy").header("x-amz-copy-source", "/bkt/a%20b");
    assert_eq!(copy.send(to, b"").await.status, 200);
    let tags = b"<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>";
    let md5 = STANDARD.encode(md5::Md5::digest(tags));
    let call = Call::new("PUT", "/bkt/copy").query("tagging=").header("content-md5", md5);
    assert_eq!(call.send(to, tags).await.status, 200);
    Call::new("DELETE", "/bkt/copy").query("tagging=").send(to, b"").await;
    Call::new("DELETE", "/bkt/copy").send(to, b"").await;
    Call::new("DELETE", "/bkt/none").send(to, b"").await;
    let many = b"<Delete><Object><Key>a b</Key></Object></Delete>";
    let md5 = STANDARD.encode(md5::Md5::digest(many));
    let call = Call::new("POST", "/bkt").query("delete=").header("content-md5", md5);
    assert_eq!(call.send(to, many).await.status, 200);
    for (name, key) in [
        ("ObjectCreated:Copy", "copy"),
        ("ObjectTagging:Put", "copy"),
        ("ObjectTagging:Delete", "copy"),
        ("ObjectRemoved:Delete", "copy"),
        ("ObjectRemoved:Delete", "a+b"),
    ] {
        assert_eq!(event(&mut told).await, (name.to_owned(), key.to_owned(), None));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_was_asked_for_is_told_and_a_marker_is_one() {
    let (hook, mut told) = webhook(0).await;
    let (to, _folder) = face(hook).await;
    let versioning = b"<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
    Call::new("PUT", "/bkt").query("versioning=").send(to, versioning).await;
    let filter = "<Filter><S3Key><FilterRule><Name>suffix</Name><Value>.jpg</Value></FilterRule>\
        </S3Key></Filter>";
    let events = ["s3:ObjectCreated:Put", "s3:ObjectRemoved:DeleteMarkerCreated"];
    assert_eq!(configure(to, &events, filter).await.status, 200);
    assert_eq!(next(&mut told).await.1["Event"], "s3:TestEvent");
    Call::new("PUT", "/bkt/a.png").send(to, b"x").await;
    let put = Call::new("PUT", "/bkt/a.jpg").send(to, b"x").await;
    let version = put.header("x-amz-version-id").map(str::to_owned);
    assert!(version.is_some());
    let copy = Call::new("PUT", "/bkt/b.jpg").header("x-amz-copy-source", "/bkt/a.jpg");
    copy.send(to, b"").await;
    let deleted = Call::new("DELETE", "/bkt/a.jpg").send(to, b"").await;
    let marker = deleted.header("x-amz-version-id").map(str::to_owned);
    assert_eq!(event(&mut told).await, ("ObjectCreated:Put".into(), "a.jpg".into(), version));
    let name = "ObjectRemoved:DeleteMarkerCreated".to_owned();
    assert_eq!(event(&mut told).await, (name, "a.jpg".into(), marker));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_that_fails_is_told_again() {
    let (hook, mut told) = webhook(2).await;
    let (to, _folder) = face(hook).await;
    assert_eq!(configure(to, &["s3:ObjectCreated:*"], "").await.status, 200);
    Call::new("PUT", "/bkt/key").send(to, b"x").await;
    assert_eq!(next(&mut told).await.1["Event"], "s3:TestEvent");
    assert_eq!(event(&mut told).await.1, "key");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_is_put_read_and_taken_back() {
    let (hook, mut told) = webhook(0).await;
    let (to, _folder) = face(hook).await;
    let get = || Call::new("GET", "/bkt").query("notification=").send(to, b"");
    let text = |answer: Answer| String::from_utf8(answer.body).unwrap();
    assert!(!text(get().await).contains("Queue"));
    assert_eq!(configure(to, &["s3:ObjectCreated:*"], "").await.status, 200);
    assert_eq!(next(&mut told).await.1["Event"], "s3:TestEvent");
    assert!(text(get().await).contains("<Queue>arn:ripstop:webhook:::hook</Queue>"));
    let answer = configure(to, &["s3:ObjectRestore:Post"], "").await;
    assert_eq!((answer.status, answer.code()), (501, "NotImplemented".to_owned()));
    let other = b"<NotificationConfiguration><TopicConfiguration><Topic>arn:a:other</Topic>\
        <Event>s3:ObjectCreated:*</Event></TopicConfiguration></NotificationConfiguration>";
    let put = |call: Call, document: &'static [u8]| async move { call.send(to, document).await };
    let call = || Call::new("PUT", "/bkt").query("notification=");
    let answer = put(call(), other).await;
    assert_eq!((answer.status, answer.code()), (400, "InvalidArgument".to_owned()));
    assert!(text(get().await).contains(":hook"), "nothing changed");
    let answer = put(call(), b"<NotificationConfiguration/>").await;
    assert_eq!(answer.status, 200);
    assert!(!text(get().await).contains("Queue"));
    Call::new("PUT", "/bkt/untold").send(to, b"x").await;
    let nothing = timeout(Duration::from_millis(300), told.recv()).await;
    assert!(nothing.is_err(), "{nothing:?}");
}
