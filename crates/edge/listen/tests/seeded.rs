//! Connections without a network, under a clock that only waiting moves: what a slow client is
//! told, and when, to the millisecond.

use http::{Request, Response};
use hyper::body::Incoming;
use ripstop_host::{Host, now, rehearse, since, spawn};
use ripstop_listen::{Handed, ListenSettings, Listener, Peer, serve};
use std::time::{Duration, UNIX_EPOCH};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream},
    sync::mpsc,
    time::sleep,
};
use tokio_util::sync::CancellationToken;

const PATIENCE: Duration = Duration::from_secs(7);

/// A port whose answers take a second, and tell the address that they are for.
fn open(shutdown: &CancellationToken) -> mpsc::Sender<Handed> {
    let (to, handed) = mpsc::channel(1);
    let settings = ListenSettings {
        first_byte_timeout: PATIENCE,
        head_timeout: PATIENCE,
        ..ListenSettings::default()
    };
    let answer = |_: Request<Incoming>, peer: Peer| async move {
        sleep(Duration::from_secs(1)).await;
        Response::new(format!("{:?}", peer.address()))
    };
    spawn(serve(Listener::from(handed), settings, answer, shutdown.clone()));
    to
}

async fn connect(port: &mpsc::Sender<Handed>) -> DuplexStream {
    let (mine, end) = tokio::io::duplex(1 << 16);
    let address = Some([192, 0, 2, 7].into());
    port.send(Handed { end, address }).await.expect("the port is open");
    mine
}

/// What one who asks at once got, what one who says nothing got, and when.
async fn course() -> Vec<(String, Duration)> {
    let shutdown = CancellationToken::new();
    let (port, begun) = (open(&shutdown), now());
    let mut prompt = connect(&port).await;
    let mut silent = connect(&port).await;
    let mut told = Vec::new();
    prompt
        .write_all(b"GET / HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n")
        .await
        .expect("sent");
    for client in [&mut prompt, &mut silent] {
        let mut got = String::new();
        let _ = client.read_to_string(&mut got).await;
        told.push((got.lines().last().unwrap_or_default().to_owned(), since(begun)));
    }
    shutdown.cancel();
    told
}

#[test]
fn a_port_is_played_without_a_network() {
    let play = || rehearse(async { Host::new(1, UNIX_EPOCH).run(course()).await });
    let told = play();
    assert_eq!(told[0], ("Some(192.0.2.7)".into(), Duration::from_secs(1)));
    assert_eq!(told[1].0, "");
    assert!((PATIENCE..PATIENCE + Duration::from_millis(2)).contains(&told[1].1), "{told:?}");
    assert_eq!(told, play());
}
