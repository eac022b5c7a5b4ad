//! Who may not ask, and who does not end what they began.

use super::{Served, no_check, slow_check};
use crate::{AdminSettings, AdminToken, Metrics};
use std::{sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::{Notify, mpsc},
};

#[tokio::test]
async fn strangers_pages_and_nonsense_are_refused() {
    let settings = AdminSettings { names: vec!["Ripstop.Test".to_owned()], ..Default::default() };
    let served = Served::new(Metrics::new("1.2.3", &[]), no_check(), settings).await;
    for (line, headers, expected) in [
        ("POST /check", "host: evil.example\r\n", 421),
        ("POST /check", "host: localhost\r\norigin: http://localhost\r\n", 403),
        ("POST /check", "host: ripstop.test:9100\r\n", 200),
        ("POST /check?repair=maybe", "host: localhost\r\n", 400),
        ("POST /check?fix=true", "host: localhost\r\n", 400),
        ("GET /check", "host: localhost\r\n", 405),
        ("POST /status", "host: localhost\r\n", 405),
        ("POST /reload", "host: evil.example\r\n", 421),
        ("POST /reload", "host: localhost\r\nsec-fetch-site: none\r\n", 403),
        ("POST /reload", "host: localhost\r\n", 501),
        ("GET /reload", "host: localhost\r\n", 405),
        ("POST /snapshot", "host: evil.example\r\n", 421),
        ("POST /snapshot", "host: localhost\r\norigin: null\r\n", 403),
        ("POST /snapshot", "host: localhost\r\n", 501),
        ("GET /snapshot", "host: localhost\r\n", 405),
        ("GET /", "host: localhost\r\n", 404),
        ("GET /status", "host: evil.example\r\n", 421),
        ("GET /metrics", "host: evil.example\r\n", 421),
        ("GET /livez", "host: evil.example\r\n", 421),
        ("GET /none", "host: evil.example\r\n", 421),
        ("GET /status", "host: ripstop.test\r\n", 200),
    ] {
        assert_eq!(served.ask(line, headers).await.0, expected, "{line} {headers}");
    }
    let many = "x: y\r\n".repeat(100);
    assert_eq!(served.ask("GET /livez", &many).await.0, 431);
}

#[tokio::test]
async fn idle_connections_do_not_stand_between_the_gateway_and_its_health_checks() {
    let served =
        Served::new(Metrics::new("1.2.3", &[]), no_check(), AdminSettings::default()).await;
    let mut idle = Vec::new();
    for _ in 0..2 * AdminSettings::default().connections_max {
        idle.push(TcpStream::connect(served.at).await.unwrap());
    }
    let answered = tokio::time::timeout(Duration::from_secs(5), served.get("/livez")).await;
    assert_eq!(answered.expect("answered in time").0, 200);
}

#[tokio::test]
async fn with_a_token_nobody_else_learns_or_changes_anything() {
    let token = Some(AdminToken::new("0123456789abcdef"));
    let settings = AdminSettings { token, ..AdminSettings::default() };
    let served = Served::new(Metrics::new("1.2.3", &[]), no_check(), settings).await;
    let host = "host: localhost\r\n";
    let (status, answer) = served.ask("GET /status", host).await;
    assert!(status == 401 && answer.contains("www-authenticate: Bearer"), "{answer}");
    assert!(!answer.contains("1.2.3"), "{answer}");
    assert_eq!(served.ask("POST /check", host).await.0, 401);
    assert_eq!(served.ask("GET /livez", host).await.0, 200);
    let shown = format!("{host}authorization: Bearer 0123456789abcdef\r\n");
    assert_eq!(served.ask("GET /status", &shown).await.0, 200);
    assert_eq!(served.ask("POST /check", &shown).await.0, 200);
}

#[tokio::test]
async fn a_silent_connection_is_closed_and_a_shutdown_ends_even_a_running_check() {
    let (dropped, _drops) = mpsc::unbounded_channel();
    let check = slow_check(Arc::new(Notify::new()), dropped);
    let settings =
        AdminSettings { head_timeout: Duration::from_millis(50), ..AdminSettings::default() };
    let served = Served::new(Metrics::new("1.2.3", &[]), check, settings).await;
    let mut silent = TcpStream::connect(served.at).await.unwrap();
    silent.write_all(b"GET /livez HTT").await.unwrap();
    let mut answer = [0; 1024];
    let closed = silent.read(&mut answer);
    // An answer or none: what counts is that the connection does not stay.
    tokio::time::timeout(Duration::from_secs(20), closed).await.unwrap().ok();

    let mut running = served.send("POST /check", "host: localhost\r\n").await;
    assert!(running.read(&mut [0; 64]).await.unwrap() > 0);
    served.shutdown.cancel();
    tokio::time::timeout(Duration::from_secs(20), served.ended).await.unwrap().unwrap();
    let mut answer = String::new();
    running.read_to_string(&mut answer).await.unwrap();
    assert!(answer.contains("{\"error\":\"shutting down\"}"), "{answer}");
    assert!(TcpStream::connect(served.at).await.is_err());
}
