//! Places, heads and patience over real connections.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

mod common;

use common::{Port, hello, read_head};
use ripstop_listen::{ListenSettings, Pace, Pressure};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

const SOON: Duration = Duration::from_secs(5);

async fn ask(stream: &mut TcpStream) -> String {
    stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    timeout(SOON, read_head(stream)).await.expect("answered in time")
}

#[tokio::test]
async fn idle_connections_of_strangers_make_room_at_once_and_known_clients_stay() {
    let settings = ListenSettings { connections_max: 16, ..ListenSettings::default() };
    let port = Port::open(settings, |_, peer| {
        peer.vouch();
        async { hello() }
    })
    .await;
    let mut known = port.connect().await;
    assert!(ask(&mut known).await.starts_with("HTTP/1.1 200"));
    let mut idle = Vec::new();
    for _ in 0..100 {
        idle.push(port.connect().await);
    }
    for _ in 0..20 {
        let begun = Instant::now();
        let mut new = port.connect().await;
        assert!(ask(&mut new).await.starts_with("HTTP/1.1 200"));
        assert!(begun.elapsed() < Duration::from_secs(2));
    }
    // Fifteen known ones have come since, all of which the idle strangers made room for.
    assert!(ask(&mut known).await.starts_with("HTTP/1.1 200"));
    drop(idle);
}

#[tokio::test]
async fn heads_that_are_never_finished_make_room_too() {
    let settings = ListenSettings { connections_max: 4, ..ListenSettings::default() };
    let port = Port::open(settings, |_, _| async { hello() }).await;
    let mut slow = Vec::new();
    for _ in 0..4 {
        let mut stream = port.connect().await;
        stream.write_all(b"GET / HTTP/1.1\r\nhost:").await.unwrap();
        slow.push(stream);
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    let mut new = port.connect().await;
    assert!(ask(&mut new).await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn clients_that_wait_for_a_place_get_one_with_the_next_answer_that_ends() {
    let settings = ListenSettings { connections_max: 1, ..ListenSettings::default() };
    let port = Port::open(settings, |_, _| async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        hello()
    })
    .await;
    let mut first = port.connect().await;
    first.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let mut second = port.connect().await;
    let waited = ask(&mut second);
    let (head, waited) = tokio::join!(read_head(&mut first), waited);
    assert!(head.contains("connection: close"), "it is told to leave: {head}");
    assert!(waited.starts_with("HTTP/1.1 200"), "{waited}");
}

#[tokio::test]
async fn an_address_has_no_more_than_its_part() {
    let settings = ListenSettings {
        connections_max: 64,
        connections_per_address_max: Some(2),
        ..ListenSettings::default()
    };
    let held = Arc::new(AtomicBool::new(true));
    let holds = held.clone();
    let port = Port::open(settings, move |_, _| {
        let holds = holds.clone();
        async move {
            while holds.load(SeqCst) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            hello()
        }
    })
    .await;
    let mut running = Vec::new();
    for _ in 0..2 {
        let mut stream = port.connect().await;
        stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        running.push(stream);
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    let mut third = port.connect().await;
    let closed = timeout(SOON, third.read(&mut [0; 64])).await.expect("it is not left waiting");
    assert!(matches!(closed, Ok(0) | Err(_)), "{closed:?}");
    held.store(false, SeqCst);
    for stream in &mut running {
        assert!(read_head(stream).await.starts_with("HTTP/1.1 200"));
    }
    assert!(ask(&mut port.connect().await).await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn a_connection_that_says_nothing_is_closed_long_before_an_idle_one() {
    let settings = ListenSettings {
        first_byte_timeout: Duration::from_millis(100),
        ..ListenSettings::default()
    };
    let port = Port::open(settings, |_, _| async { hello() }).await;
    let mut known = port.connect().await;
    assert!(ask(&mut known).await.starts_with("HTTP/1.1 200"));
    let mut silent = port.connect().await;
    let closed = timeout(SOON, silent.read(&mut [0; 64])).await.expect("closed in time");
    assert!(matches!(closed, Ok(0) | Err(_)), "{closed:?}");
    assert!(ask(&mut known).await.starts_with("HTTP/1.1 200"), "idle is not silent");
}

#[tokio::test]
async fn heads_are_short() {
    let port = Port::open(ListenSettings::default(), |_, _| async { hello() }).await;
    for (filling, status) in [(30 << 10, "200"), (33 << 10, "431"), (1 << 20, "431")] {
        let mut stream = port.connect().await;
        let mut head = "GET / HTTP/1.1\r\nhost: x\r\n".to_owned();
        for line in 0..filling / 1000 {
            head.extend([&format!("x-{line:04}: "), &"v".repeat(992), "\r\n"]);
        }
        head += "\r\n";
        // A server that has refused it need not read it all.
        let _ = stream.write_all(head.as_bytes()).await;
        let answered = timeout(SOON, read_head(&mut stream)).await.expect("answered in time");
        let refused = status == "431" && answered.is_empty() && filling > 64 << 10;
        let expected = format!("HTTP/1.1 {status}");
        assert!(refused || answered.starts_with(&expected), "{filling}: {answered}");
    }
}

/// How long it takes until an answer of 64 MiB that nobody reads is given up.
async fn unread(pace: Pace) -> Duration {
    let (told, mut gone) = tokio::sync::mpsc::unbounded_channel();
    let port = Port::open(ListenSettings { pace, ..ListenSettings::default() }, move |_, _| {
        let body = common::Endless { left: 64 << 20, told: told.clone() };
        async { http::Response::new(body) }
    })
    .await;
    let mut stream = port.connect().await;
    let begun = Instant::now();
    stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    timeout(2 * SOON, gone.recv()).await.expect("given up in time");
    begun.elapsed()
}

#[tokio::test]
async fn readers_that_take_nothing_are_cut_off_within_seconds_under_pressure() {
    let wait_max = Duration::from_mins(1);
    let pressure = Pressure::new(|| 1.0);
    let took = unread(Pace { wait_max, bytes_per_s_min: 0, pressure }).await;
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[tokio::test]
async fn pressure_that_rises_is_noticed_while_a_reader_is_waited_for() {
    let wait_max = Duration::from_mins(1);
    let begun = Instant::now();
    let pressure = Pressure::new(move || f64::from(begun.elapsed() > Duration::from_secs(1)));
    let took = unread(Pace { wait_max, bytes_per_s_min: 0, pressure }).await;
    assert!(took > Duration::from_secs(1) && took < Duration::from_secs(6), "{took:?}");
}

#[tokio::test]
async fn a_reader_slower_than_the_least_pace_is_cut_off_though_it_never_stops() {
    let (told, mut gone) = tokio::sync::mpsc::unbounded_channel();
    let pace = Pace {
        wait_max: Duration::from_millis(600),
        bytes_per_s_min: 64 << 20,
        pressure: Pressure::default(),
    };
    let port = Port::open(ListenSettings { pace, ..ListenSettings::default() }, move |_, _| {
        let body = common::Endless { left: 1 << 30, told: told.clone() };
        async { http::Response::new(body) }
    })
    .await;
    let mut stream = port.connect().await;
    stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut taken = vec![0; 64 << 10];
    let reads = async {
        loop {
            // About 6 MiB a second, and never a pause of as long as the longest wait.
            if stream.read(&mut taken).await.unwrap_or(0) == 0 {
                std::future::pending::<()>().await;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        told = timeout(2 * SOON, gone.recv()) => assert!(told.is_ok(), "it went on"),
        () = reads => {}
    }
}
