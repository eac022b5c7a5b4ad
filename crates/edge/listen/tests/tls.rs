//! TLS and HTTP/2 with real clients.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

mod common;

use bytes::Bytes;
use common::{Endless, Port, hello, read_head};
use http::{Request, Response, Version};
use http_body_util::{BodyExt as _, Empty, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use ripstop_listen::{ListenSettings, Pace, Pinned, Pressure, Tls};
use rustls::{ClientConfig, RootCertStore, pki_types::ServerName};
use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

const SOON: Duration = Duration::from_secs(10);

/// A certificate for `localhost`, signed by itself, and its key.
struct Pair {
    folder: tempfile::TempDir,
    certificate: rustls::pki_types::CertificateDer<'static>,
}

impl Pair {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let pair = Self { folder, certificate: made.cert.der().clone() };
        fs::write(pair.certificate(), made.cert.pem()).unwrap();
        fs::write(pair.key(), made.signing_key.serialize_pem()).unwrap();
        fs::set_permissions(pair.key(), fs::Permissions::from_mode(0o600)).unwrap();
        pair
    }

    fn certificate(&self) -> PathBuf {
        self.folder.path().join("certificate")
    }

    fn key(&self) -> PathBuf {
        self.folder.path().join("key")
    }

    fn tls(&self) -> Tls {
        Tls::load(&self.certificate(), &self.key()).unwrap()
    }

    /// A connection of a client that trusts this certificate alone.
    async fn connect(&self, port: &Port, protocol: &str) -> std::io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider);
        let config = config.with_safe_default_protocol_versions().unwrap();
        let mut config = config.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, port.connect().await).await
    }
}

fn with(tls: Tls) -> ListenSettings {
    ListenSettings { tls: Some(tls), ..ListenSettings::default() }
}

type Sender = http2::SendRequest<Empty<Bytes>>;

async fn http2(stream: TlsStream<TcpStream>) -> Sender {
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let (sender, connection) =
        http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    sender
}

fn get(path: &str) -> Request<Empty<Bytes>> {
    Request::get(format!("https://localhost{path}")).body(Empty::new()).unwrap()
}

#[tokio::test]
async fn both_versions_of_http_are_spoken_over_tls_and_the_service_knows() {
    let pair = Pair::new();
    let port = Port::open(with(pair.tls()), |request, peer| async move {
        let told = format!("{:?} {}", request.version(), peer.secure());
        Response::new(Full::new(Bytes::from(told)))
    })
    .await;
    let mut sender = http2(pair.connect(&port, "h2").await.unwrap()).await;
    let response = sender.send_request(get("/")).await.unwrap();
    assert_eq!(response.version(), Version::HTTP_2);
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "HTTP/2.0 true");
    let mut stream = pair.connect(&port, "http/1.1").await.unwrap();
    let asked = b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    stream.write_all(asked).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.ends_with("HTTP/1.1 true"), "{answer}");
}

#[tokio::test]
async fn plain_http_and_silence_get_nothing_where_tls_is_spoken() {
    let pair = Pair::new();
    let first_byte_timeout = Duration::from_millis(200);
    let settings = ListenSettings { first_byte_timeout, ..with(pair.tls()) };
    let port = Port::open(settings, |_, _| async { hello() }).await;
    let mut plain = port.connect().await;
    plain.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    let _ = timeout(SOON, plain.read_to_end(&mut answer)).await.expect("closed in time");
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    let mut halting = port.connect().await;
    // The beginning of a handshake: a record of which nothing more comes.
    halting.write_all(&[22, 3, 1, 2, 0, 1, 0]).await.unwrap();
    let _ = timeout(SOON, halting.read_to_end(&mut answer)).await.expect("closed in time");
}

#[tokio::test]
async fn another_pair_serves_new_connections_and_one_that_cannot_be_used_changes_nothing() {
    let (first, second) = (Pair::new(), Pair::new());
    let tls = first.tls();
    let port = Port::open(with(tls.clone()), |_, _| async { hello() }).await;
    let mut old = first.connect(&port, "http/1.1").await.unwrap();
    let unlike = tls.renewal(&second.certificate(), &first.key()).unwrap_err();
    assert!(unlike.to_string().contains("cannot be used"), "{unlike}");
    assert!(first.connect(&port, "http/1.1").await.is_ok());
    tls.renewal(&second.certificate(), &second.key()).unwrap().adopt();
    assert!(first.connect(&port, "http/1.1").await.is_err());
    assert!(second.connect(&port, "http/1.1").await.is_ok());
    old.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    assert!(read_head(&mut old).await.starts_with("HTTP/1.1 200"), "who was there goes on");
}

#[test]
fn files_that_are_no_pair_are_refused_by_name() {
    let pair = Pair::new();
    let refusal = |certificate: &Path, key: &Path| {
        Tls::load(certificate, key).expect_err("refused").to_string()
    };
    let (certificate, key) = (pair.certificate(), pair.key());
    let missing = pair.folder.path().join("missing");
    assert!(refusal(&missing, &key).contains("missing"));
    assert!(refusal(&certificate, &missing).contains("missing"));
    assert!(refusal(&key, &key).contains("no certificate"));
    assert!(refusal(&certificate, &certificate).contains("mode 644"));
    fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).unwrap();
    assert!(refusal(&certificate, &key).contains("mode 640"));
    fs::set_permissions(&certificate, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(refusal(&certificate, &certificate).contains("no private key"));
}

#[tokio::test]
async fn a_pinned_client_talks_to_that_server_alone() {
    let (ours, other) = (Pair::new(), Pair::new());
    let port = Port::open(with(ours.tls()), |_, _| async { hello() }).await;
    let pinned = Pinned::load(&ours.certificate()).unwrap();
    let mut stream = pinned.connect(port.connect().await, "127.0.0.1").await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    assert!(read_head(&mut stream).await.starts_with("HTTP/1.1 200"));
    let pinned = Pinned::load(&other.certificate()).unwrap();
    assert!(pinned.connect(port.connect().await, "127.0.0.1").await.is_err());
}

#[tokio::test]
async fn heads_over_http2_are_short_too() {
    let pair = Pair::new();
    let port = Port::open(with(pair.tls()), |_, _| async { hello() }).await;
    let mut sender = http2(pair.connect(&port, "h2").await.unwrap()).await;
    let long = Request::get("https://localhost/").header("x", "v".repeat(40 << 10));
    let answered = sender.send_request(long.body(Empty::new()).unwrap()).await;
    let refused = answered.as_ref().map_or(true, |response| response.status() == 431);
    assert!(refused, "{answered:?}");
    let mut sender = http2(pair.connect(&port, "h2").await.unwrap()).await;
    assert_eq!(sender.send_request(get("/")).await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_stream_that_nobody_reads_is_given_up_while_others_of_its_connection_go_on() {
    let pair = Pair::new();
    let (told, mut gone) = tokio::sync::mpsc::unbounded_channel();
    let pace = Pace {
        wait_max: Duration::from_mins(1),
        bytes_per_s_min: 0,
        pressure: Pressure::new(|| 1.0),
    };
    let port = Port::open(ListenSettings { pace, ..with(pair.tls()) }, move |request, _| {
        let left = if request.uri().path() == "/long" { 64 << 20 } else { 64 << 10 };
        let body = Endless { left, told: told.clone() };
        async { Response::new(body) }
    })
    .await;
    let mut sender = http2(pair.connect(&port, "h2").await.unwrap()).await;
    let begun = Instant::now();
    let long = sender.send_request(get("/long")).await.unwrap();
    let mut long = long.into_body();
    let given_up = loop {
        let short = sender.send_request(get("/short")).await.unwrap();
        assert_eq!(short.into_body().collect().await.unwrap().to_bytes().len(), 64 << 10);
        match timeout(Duration::from_millis(50), gone.recv()).await {
            Ok(Some(left)) if left > 0 => break left,
            _ => assert!(begun.elapsed() < SOON, "it is kept"),
        }
    };
    assert!(given_up > 32 << 20, "{given_up}");
    assert!(begun.elapsed() > Duration::from_secs(1), "{:?}", begun.elapsed());
    let end = loop {
        match long.frame().await {
            Some(Ok(_)) => {}
            other => break other,
        }
    };
    assert!(end.is_some_and(|frame| frame.is_err()), "it breaks off");
}

#[tokio::test]
async fn http2_answers_that_run_are_finished_on_shutdown() {
    let pair = Pair::new();
    let port = Port::open(with(pair.tls()), |_, _| async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        hello()
    })
    .await;
    let mut sender = http2(pair.connect(&port, "h2").await.unwrap()).await;
    let running =
        tokio::spawn(async move { sender.send_request(get("/")).await.map(|it| it.status()) });
    tokio::time::sleep(Duration::from_millis(100)).await;
    port.shutdown.cancel();
    assert_eq!(running.await.unwrap().unwrap(), 200);
    timeout(SOON, port.ended).await.expect("ended in time").unwrap();
}
