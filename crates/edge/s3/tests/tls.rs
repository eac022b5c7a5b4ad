//! S3 over TLS and HTTP/2, as clients speak it.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

#[path = "common/client.rs"]
#[allow(dead_code, reason = "each user takes its part")]
mod client;
#[path = "common/mod.rs"]
mod common;

use bytes::Bytes;
use client::Call;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::{body::Incoming, client::conn::http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use ripstop_listen::{Pinned, Tls};
use ripstop_s3::{Credentials, FrontSettings, Unobserved, serve};
use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, sync::Arc};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

type Sender = http2::SendRequest<Full<Bytes>>;

/// A face that speaks TLS with a fresh certificate, whose bodies must be signed otherwise, and a
/// client of HTTP/2.
async fn face(folder: &Path) -> Sender {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (certificate, key) = (folder.join("certificate"), folder.join("key"));
    fs::write(&certificate, made.cert.pem()).unwrap();
    fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let settings = FrontSettings {
        tls: Some(Tls::load(&certificate, &key).unwrap()),
        unsigned_payload_needs_tls: true,
        part_len_min: 1,
        ..FrontSettings::default()
    };
    let (store, _nodes) = common::store(folder, ripstop_store::StoreSettings::default());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let to = listener.local_addr().unwrap();
    let credentials: Credentials = [("test", "testtest")].into_iter().collect();
    let (observer, shutdown) = (Arc::new(Unobserved), CancellationToken::new());
    tokio::spawn(serve(listener, store, credentials, settings, observer, shutdown));
    let pinned = Pinned::load_http2(&certificate).unwrap();
    let stream = pinned.connect(TcpStream::connect(to).await.unwrap(), "localhost").await.unwrap();
    let (sender, connection) =
        http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    sender
}

/// Sends a signed call as HTTP/2: the host is in the address, and is no header.
async fn send(to: &mut Sender, call: Call, body: &[u8]) -> Response<Incoming> {
    let head = call.sign().head;
    let mut lines = head.lines();
    let mut first = lines.next().unwrap().split(' ');
    let (method, target) = (first.next().unwrap(), first.next().unwrap());
    let mut request = Request::builder().method(method).uri(format!("https://localhost{target}"));
    for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
        if name != "host" {
            request = request.header(name, value);
        }
    }
    let body = Full::new(Bytes::copy_from_slice(body));
    to.send_request(request.body(body).unwrap()).await.unwrap()
}

async fn text(response: Response<Incoming>) -> String {
    let body = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(body.to_vec()).unwrap()
}

#[tokio::test]
async fn objects_come_and_go_over_http2_and_locations_say_https() {
    let folder = tempfile::tempdir().unwrap();
    let mut to = face(folder.path()).await;
    assert_eq!(send(&mut to, Call::new("PUT", "/bkt"), b"").await.status(), 200);
    let body: Vec<u8> = (0..2 << 20).map(|at: u32| (at % 251) as u8).collect();
    // Unsigned: that is what clients send over TLS.
    assert_eq!(send(&mut to, Call::new("PUT", "/bkt/k"), &body).await.status(), 200);
    let got = send(&mut to, Call::new("GET", "/bkt/k"), b"").await;
    assert_eq!(got.version(), http::Version::HTTP_2);
    assert!(got.into_body().collect().await.unwrap().to_bytes() == body);

    let begun = text(send(&mut to, Call::new("POST", "/bkt/m").query("uploads="), b"").await).await;
    let (_, id) = begun.split_once("<UploadId>").unwrap();
    let (id, _) = id.split_once("</UploadId>").unwrap();
    let query = format!("partNumber=1&uploadId={id}");
    let part = send(&mut to, Call::new("PUT", "/bkt/m").query(&query), b"part").await;
    let etag = part.headers()["etag"].to_str().unwrap();
    let document = format!(
        "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{etag}</ETag></Part>\
         </CompleteMultipartUpload>"
    );
    let call = Call::new("POST", "/bkt/m").query(&format!("uploadId={id}"));
    let done = text(send(&mut to, call, document.as_bytes()).await).await;
    assert!(done.contains("<Location>https://localhost/bkt/m</Location>"), "{done}");
}

#[tokio::test]
async fn a_wrong_signature_is_refused_over_http2_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let mut to = face(folder.path()).await;
    let refused = send(&mut to, Call::new("GET", "/bkt").secret("wrong"), b"").await;
    assert_eq!(refused.status(), 403);
    assert!(text(refused).await.contains("SignatureDoesNotMatch"));
}
