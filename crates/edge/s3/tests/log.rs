//! What the log holds of a request. Alone in its program: other tests' threads have no subscriber, and
//! what each place in the code is wanted for is known to all threads at once.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

#[path = "common/client.rs"]
#[allow(dead_code, reason = "each user takes its part")]
mod client;
#[path = "common/mod.rs"]
mod common;

use client::Call;
use ripstop_s3::{Credentials, Settings, Unobserved, serve};
use std::{
    io::Write,
    sync::{Arc, Mutex},
};
use tokio_util::sync::CancellationToken;
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

/// What is logged of one request under a filter, and the request's id. Runs on the test's own thread,
/// whose subscriber it is.
async fn logged(filter: &str) -> (String, String) {
    let lines = Lines::default();
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(filter))
        .with_ansi(false)
        .with_writer(lines.clone());
    let _default = tracing::subscriber::set_default(subscriber.finish());
    let folder = tempfile::tempdir().unwrap();
    let (store, _nodes) = common::store(folder.path(), ripstop_store::Settings::default());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let to = listener.local_addr().unwrap();
    let credentials: Credentials = [("test", "testtest")].into_iter().collect();
    let (settings, shutdown) = (Settings::default(), CancellationToken::new());
    let observer = Arc::new(Unobserved);
    let served = serve(listener, store, credentials, settings, observer, shutdown.clone());
    let server = tokio::spawn(served);
    let answer = Call::new("GET", "/bkt/nothing").send(to, b"").await;
    shutdown.cancel();
    server.await.unwrap();
    let lines = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    (lines, answer.header("x-amz-request-id").unwrap().to_owned())
}

#[tokio::test]
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
