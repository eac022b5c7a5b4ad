//! Servers that are none: garbage, halves, lengths that no value has, answers of others.

mod support;

use bytes::Bytes;
use ripstop_memory::{ClientError, MemcachedClient};
use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};
use support::link;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

/// What a forger answers to the requests on one connection: whatever it makes of what it read.
type Forge = fn(&str) -> Vec<u8>;

/// A server that answers the first connection as `first` says, others as `then`.
async fn forger(first: Forge, then: Forge) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let at = listener.local_addr().expect("it is bound");
    let forge = Arc::new(Mutex::new(vec![first]));
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let forge = forge.lock().expect("nobody panics under it").pop().unwrap_or(then);
            tokio::spawn(async move {
                let mut bytes = [0; 4096];
                while let Ok(count @ 1..) = stream.read(&mut bytes).await {
                    let answer = forge(&String::from_utf8_lossy(&bytes[..count]));
                    if answer.is_empty() || stream.write_all(&answer).await.is_err() {
                        break;
                    }
                }
            });
        }
    });
    at
}

/// The number of the first request.
fn opaque(requests: &str) -> &str {
    let line = requests.lines().next().expect("there is one");
    line.rsplit_once(" O").expect("it has a number").1
}

fn honest(requests: &str) -> Vec<u8> {
    format!("VA 4 O{}\r\ngood\r\n", opaque(requests)).into_bytes()
}

/// The error of a get that was answered so, and that the next connection is served.
async fn refused(forge: Forge) -> String {
    let at = forger(forge, honest).await;
    let client = MemcachedClient::new(at, link());
    let Err(ClientError::Lost(fault)) = client.get(b"key").await else {
        panic!("what was forged was taken")
    };
    let good = client.get(b"key").await.expect("the next connection is well");
    assert_eq!(good, Some(Bytes::from_static(b"good")));
    assert_eq!(client.outstanding(), (0, 0));
    fault.to_string().replace(&at.to_string(), "AT")
}

#[tokio::test]
async fn what_is_no_answer_costs_the_connection_and_says_so() {
    let said = refused(|_| b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()).await;
    assert_eq!(said, "memcached AT: it answered what is no answer: \"HTTP/1.1 400 Bad Request\"");
    let said = refused(|_| b"CLIENT_ERROR bad command line format\r\n".to_vec()).await;
    let words = "\"CLIENT_ERROR bad command line format\"";
    assert_eq!(said, format!("memcached AT: it answered what is no answer: {words}"));
    let said = refused(|_| vec![0xff; 100_000]).await;
    assert_eq!(said, "memcached AT: it sent a line of more than 2048 bytes");
    let said = refused(|asked| format!("HD O{}\r\n", opaque(asked)).into_bytes()).await;
    assert_eq!(said, "memcached AT: answered HD to mg");
    let said = refused(|_| b"MN\r\n".to_vec()).await;
    assert!(said.starts_with("memcached AT: it answered request of no number"), "{said}");
}

#[tokio::test]
async fn lengths_that_no_value_has_are_not_waited_for() {
    let said = refused(|_| b"VA 4294967296 O1\r\n".to_vec()).await;
    let told = "memcached AT: it announced a value of 4294967296 bytes, at most 4194304 are taken";
    assert_eq!(said, told);
    let said = refused(|_| b"VA -1 O1\r\n".to_vec()).await;
    assert_eq!(said, "memcached AT: it answered what is no answer: \"VA -1 O1\"");
    let said = refused(|asked| format!("VA 2 O{}\r\nlonger\r\n", opaque(asked)).into_bytes()).await;
    let told = "memcached AT: it sent a value that is longer than the 2 bytes it announced";
    assert_eq!(said, told);
}

#[tokio::test]
async fn answers_to_other_requests_are_not_taken() {
    let said = refused(|_| b"VA 3 Odead\r\nbad\r\n".to_vec()).await;
    assert!(said.starts_with("memcached AT: it answered request dead, whose turn"), "{said}");
    let said = refused(|_| b"VA 3\r\nbad\r\n".to_vec()).await;
    assert!(said.starts_with("memcached AT: it answered request of no number"), "{said}");
    // One more than was asked for: the first is taken, and then the connection is lost.
    let at = forger(|asked| [honest(asked), b"VA 3 O1\r\nbad\r\n".to_vec()].concat(), honest).await;
    let client = MemcachedClient::new(at, link());
    for _ in 0..3 {
        let got = client.get(b"key").await;
        assert_eq!(got.unwrap(), Some(Bytes::from_static(b"good")));
    }
}

#[tokio::test]
async fn halves_of_answers_are_waited_for_and_given_up() {
    let said = refused(|asked| format!("VA 4 O{}\r\ngo", opaque(asked)).into_bytes()).await;
    assert_eq!(said, "memcached AT: no answer within 300ms");
    let said = refused(|_| b"VA 4".to_vec()).await;
    assert_eq!(said, "memcached AT: no answer within 300ms");
    let said = refused(|_| Vec::new()).await;
    assert_eq!(said, "memcached AT: the connection broke: unexpected end of file");
}
