//! The client against real servers.

mod support;

use bytes::Bytes;
use futures::future::join_all;
use ripstop_memory::{ClientError, LinkFault, LinkSettings, MemcachedClient};
use std::time::{Duration, Instant};
use support::{Server, is_there, link};

fn value(number: usize, len: usize) -> Bytes {
    (0..len).map(|at| (number * 31 + at) as u8).collect::<Vec<_>>().into()
}

#[tokio::test]
async fn items_are_stored_read_added_and_deleted() {
    if !is_there() {
        return;
    }
    let server = Server::start();
    let client = MemcachedClient::new(server.at(), link());
    for len in [0, 1, 1024, 1025, 70_000, 900_000] {
        let key = format!("key-{len}");
        assert_eq!(client.get(key.as_bytes()).await.unwrap(), None);
        client.set(key.as_bytes(), &value(len, len)).await.unwrap();
        assert_eq!(client.get(key.as_bytes()).await.unwrap(), Some(value(len, len)));
    }
    let line_ends = Bytes::from_static(b"\r\nEN\r\nVA 5\r\n");
    assert!(client.add(b"a", &line_ends).await.unwrap());
    assert!(!client.add(b"a", &value(1, 1)).await.unwrap());
    assert_eq!(client.get(b"a").await.unwrap(), Some(line_ends));
    assert!(client.delete(b"a").await.unwrap());
    assert!(!client.delete(b"a").await.unwrap());
    let long = [b'k'; 250];
    client.set(&long, &value(1, 10)).await.unwrap();
    assert_eq!(client.get(&long).await.unwrap(), Some(value(1, 10)));
    for key in [&b""[..], b"with space", b"\x01", &[b'k'; 251], "gr\u{fc}n".as_bytes()] {
        assert!(matches!(client.get(key).await, Err(ClientError::Key(_))), "{key:?}");
    }
    let refused = client.set(b"long", &value(1, 2 << 20)).await.unwrap_err().to_string();
    assert_eq!(refused, "the server could not: object too large for cache");
    // The connection went on.
    assert_eq!(client.get(&long).await.unwrap(), Some(value(1, 10)));
    assert_eq!(client.outstanding(), (0, 0));
}

#[tokio::test]
async fn quiet_deletions_are_done_when_the_fence_is_answered() {
    if !is_there() {
        return;
    }
    let server = Server::start();
    let client = MemcachedClient::new(server.at(), link());
    for number in 0..100 {
        client.set(format!("k{number}").as_bytes(), &value(number, 5)).await.unwrap();
    }
    for number in (0..200).step_by(2) {
        client.delete_quietly(format!("k{number}").as_bytes()).unwrap();
    }
    client.fence().await.unwrap();
    // Fenced by nothing but the client itself.
    client.delete_quietly(b"k1").unwrap();
    client.delete_quietly(b"none").unwrap();
    let begun = Instant::now();
    while client.outstanding() != (0, 0) {
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", client.outstanding());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let keys: Vec<String> = (0..100).map(|number| format!("k{number}")).collect();
    let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    let found = client.get_many(&keys).await.unwrap();
    for (number, found) in found.into_iter().enumerate() {
        let is_kept = number % 2 == 1 && number != 1;
        assert_eq!(found, is_kept.then(|| value(number, 5)), "{number}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousands_of_requests_at_once_each_get_their_own_answer() {
    if !is_there() {
        return;
    }
    let server = Server::start();
    let client = MemcachedClient::new(server.at(), link());
    let client = &client;
    let both = (0..5000).map(|number| async move {
        let (key, len) = (format!("key{number}"), [3, 64, 1500, 5000][number % 4]);
        client.set(key.as_bytes(), &value(number, len)).await.unwrap();
        assert_eq!(client.get(format!("none{number}").as_bytes()).await.unwrap(), None);
        assert_eq!(client.get(key.as_bytes()).await.unwrap(), Some(value(number, len)));
    });
    join_all(both).await;
}

#[tokio::test]
async fn more_than_may_be_outstanding_is_refused_as_busy() {
    if !is_there() {
        return;
    }
    let server = Server::start();
    let few = LinkSettings { requests_max: 10, bytes_max: 100_000, ..link() };
    let client = MemcachedClient::new(server.at(), few);
    let got = join_all((0..20).map(|_| client.get(b"key"))).await;
    let busy = got.iter().filter(|got| matches!(got, Err(ClientError::Busy))).count();
    assert_eq!(busy, 10, "{got:?}");
    let long = value(1, 90_000);
    let put = join_all((0..2).map(|_| client.set(b"key", &long))).await;
    assert!(put[0].is_ok() && matches!(put[1], Err(ClientError::Busy)), "{put:?}");
    assert_eq!(client.get(b"key").await.unwrap(), Some(long));
}

#[tokio::test]
async fn a_server_that_dies_fails_what_was_asked_and_is_used_again_when_it_is_back() {
    if !is_there() {
        return;
    }
    let mut server = Server::start();
    let client = MemcachedClient::new(server.at(), link());
    client.set(b"key", &value(1, 10)).await.unwrap();
    server.kill();
    let lost = client.get(b"key").await.unwrap_err();
    assert!(matches!(lost, ClientError::Lost(_)), "{lost:?}");
    server.restart();
    let begun = Instant::now();
    let back = loop {
        match client.get(b"key").await {
            Err(ClientError::Lost(_)) => assert!(begun.elapsed() < Duration::from_secs(5)),
            other => break other.unwrap(),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert_eq!(back, None, "it restarted empty");
}

#[tokio::test]
async fn a_server_that_hangs_loses_its_connection_and_answers_on_the_next() {
    if !is_there() {
        return;
    }
    let server = Server::start();
    let client = MemcachedClient::new(server.at(), link());
    client.set(b"key", &value(1, 10)).await.unwrap();
    server.stop();
    let begun = Instant::now();
    let ClientError::Lost(fault) = client.get(b"key").await.unwrap_err() else {
        panic!("a server that is stopped answered")
    };
    assert!(matches!(*fault, LinkFault::Silent { .. }), "{fault}");
    assert!((250..1500).contains(&begun.elapsed().as_millis()), "{:?}", begun.elapsed());
    server.go_on();
    // The old connection's answer is not taken for this one's.
    assert_eq!(client.get(b"none").await.unwrap(), None);
    assert_eq!(client.get(b"key").await.unwrap(), Some(value(1, 10)));
}
