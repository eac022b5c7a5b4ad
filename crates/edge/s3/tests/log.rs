//! What the log holds of a request. Alone in its program: other tests' threads have no subscriber,
//! and what each place in the code is wanted for is known to all threads at once.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

#[path = "common/client.rs"]
#[allow(dead_code, reason = "each user takes its part")]
mod client;
#[path = "common/mod.rs"]
mod common;

use client::{Call, read_answer};
use ripstop_s3::{Credentials, FrontSettings, Unobserved, serve};
use std::{
    io::Write,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
use tokio::{io::AsyncWriteExt as _, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::{EnvFilter, fmt::MakeWriter};

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// A face whose log is kept, on the test's own thread, whose subscriber it is.
struct Logged {
    to: SocketAddr,
    lines: Lines,
    shutdown: CancellationToken,
    server: JoinHandle<()>,
    _folder: tempfile::TempDir,
    _default: DefaultGuard,
}

impl Logged {
    async fn under(filter: &str, settings: FrontSettings) -> Self {
        let lines = Lines::default();
        let subscriber = tracing_subscriber::fmt()
            .with_env_filter(EnvFilter::new(filter))
            .with_ansi(false)
            .with_writer(lines.clone());
        let default = tracing::subscriber::set_default(subscriber.finish());
        let folder = tempfile::tempdir().unwrap();
        let (store, _nodes) = common::store(folder.path(), ripstop_store::StoreSettings::default());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let to = listener.local_addr().unwrap();
        let credentials: Credentials = [("test", "testtest")].into_iter().collect();
        let (shutdown, observer) = (CancellationToken::new(), Arc::new(Unobserved));
        let served = serve(listener, store, credentials, settings, observer, shutdown.clone());
        let server = tokio::spawn(served);
        Self { to, lines, shutdown, server, _folder: folder, _default: default }
    }

    /// All that was logged, once all has ended.
    async fn end(self) -> String {
        self.shutdown.cancel();
        self.server.await.unwrap();
        String::from_utf8(self.lines.0.lock().unwrap().clone()).unwrap()
    }
}

/// What is logged of one request under a filter, and the request's id.
async fn logged(filter: &str) -> (String, String) {
    let logged = Logged::under(filter, FrontSettings::default()).await;
    let answer = Call::new("GET", "/bkt/nothing").send(logged.to, b"").await;
    let id = answer.header("x-amz-request-id").unwrap().to_owned();
    (logged.end().await, id)
}

async fn each_request_has_one_line_with_its_id_which_can_be_filtered() {
    let (lines, id) = logged("info").await;
    let found = lines.lines().filter(|line| line.contains("ripstop_s3::access"));
    let found: Vec<_> =
        found.filter(|line| line.contains(&format!("request_id=\"{id}\""))).collect();
    assert_eq!(found.len(), 1, "{lines}");
    assert!(found[0].contains("status=404"), "{lines}");
    let (lines, _) = logged("info,ripstop_s3::access=off").await;
    assert!(!lines.contains("answered"), "{lines}");
    let (lines, id) = logged("warn,ripstop_s3::access=info").await;
    assert!(lines.contains(&id), "the span is there at any level: {lines}");
}

async fn a_line_says_who_asked_from_where_with_what_and_what_was_wrong() {
    let settings = FrontSettings {
        trusted_proxies: vec!["127.0.0.1".parse().unwrap()],
        ..FrontSettings::default()
    };
    let logged = Logged::under("info", settings).await;
    let call = |key| {
        let call = Call::new("GET", key).header("user-agent", "U".repeat(500));
        call.header("x-forwarded-for", "6.6.6.6, 203.0.113.9")
    };
    assert_eq!(call("/bkt/good").send(logged.to, b"").await.code(), "NoSuchBucket");
    assert_eq!(call("/bkt/bad").secret("wrong").send(logged.to, b"").await.status, 403);
    let lines = logged.end().await;
    let line = |path: &str| lines.lines().find(|line| line.contains(path)).unwrap().to_owned();
    let (good, bad) = (line("/bkt/good"), line("/bkt/bad"));
    for said in [" access_key=\"test\"", "code=\"NoSuchBucket\"", "operation=\"GetObject\""] {
        assert!(good.contains(said), "{said}: {good}");
    }
    for said in [" claimed_key=\"test\"", "code=\"SignatureDoesNotMatch\"", "status=403"] {
        assert!(bad.contains(said), "{said}: {bad}");
    }
    assert!(!bad.contains(" access_key="), "nobody vouches for it: {bad}");
    for line in [good, bad] {
        assert!(line.contains("client=203.0.113.9 proxy=127.0.0.1"), "{line}");
        let agent = format!("user_agent=\"{}\"", "U".repeat(128));
        assert!(line.contains(&agent), "{line}");
    }
}

async fn strangers_cannot_fill_the_log() {
    let logged = Logged::under("info", FrontSettings::default()).await;
    let path = format!("/bkt/{}", "k".repeat(4000));
    let head =
        format!("GET {path} HTTP/1.1\r\nhost: x\r\nuser-agent: {}\r\n\r\n", "U".repeat(9000));
    let mut stream = tokio::net::TcpStream::connect(logged.to).await.unwrap();
    let begun = Instant::now();
    let mut asked = 0_u64;
    while begun.elapsed() < Duration::from_secs(2) {
        stream.write_all(head.as_bytes()).await.unwrap();
        let answer = read_answer(&mut stream, false).await;
        assert_eq!(answer.code(), "KeyTooLongError");
        let body = String::from_utf8(answer.body).unwrap();
        let (_, resource) = body.split_once("<Resource>").unwrap();
        let (resource, _) = resource.split_once("</Resource>").unwrap();
        assert_eq!(resource, &path[..1024], "no more is echoed than a key may have");
        asked += 1;
    }
    tokio::time::sleep(Duration::from_millis(1200)).await;
    let took = begun.elapsed().as_secs() as usize;
    let lines = logged.end().await;
    assert!(lines.len() < (32 << 10) + (took + 2) * (6 << 10), "{} bytes, {asked}", lines.len());
    let counted =
        lines.lines().filter_map(|line| line.split_once(" refused=")?.1.parse::<u64>().ok());
    let own = lines.matches(" status=400").count() as u64;
    assert_eq!(counted.sum::<u64>() + own, asked, "each is told of or counted");
}

#[tokio::test]
async fn the_log() {
    each_request_has_one_line_with_its_id_which_can_be_filtered().await;
    a_line_says_who_asked_from_where_with_what_and_what_was_wrong().await;
    strangers_cannot_fill_the_log().await;
}
