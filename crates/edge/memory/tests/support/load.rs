//! What the tests of a coded memory put, read and wait for.

#![allow(dead_code, reason = "no test uses all of it")]

use super::support::Server;
use bytes::Bytes;
use futures::{StreamExt as _, stream};
use ripstop_memory::{CodedMemory, Presence, Version};
use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// Requests that are under way at once.
pub(crate) const AT_ONCE: usize = 64;

pub(crate) fn name(number: usize) -> String {
    format!("a caller's key, with spaces and \u{e9}: {number}")
}

/// Bytes that tell the key and how often it was written.
pub(crate) fn value(number: usize, turn: usize) -> Bytes {
    let len = [8, 64, 256, 1000, 4000][(number + turn) % 5];
    let mut bytes: Vec<u8> = (0..len).map(|at| (number * 7 + turn * 13 + at) as u8).collect();
    bytes[..4].copy_from_slice(&(number as u32).to_le_bytes());
    bytes[4..8].copy_from_slice(&(turn as u32).to_le_bytes());
    bytes.into()
}

pub(crate) async fn put(memory: &CodedMemory, number: usize, turn: usize) -> Version {
    let put = memory.put(name(number).as_bytes(), value(number, turn), Presence::Any).await;
    put.unwrap_or_else(|error| panic!("put {number}: {error}"))
}

pub(crate) async fn put_all(memory: &CodedMemory, numbers: std::ops::Range<usize>, turn: usize) {
    let puts = stream::iter(numbers).map(|number| put(memory, number, turn));
    puts.buffer_unordered(AT_ONCE).for_each(|_| async {}).await;
}

/// Every key has the value of this turn.
pub(crate) async fn read_all(memory: &CodedMemory, numbers: std::ops::Range<usize>, turn: usize) {
    let reads = stream::iter(numbers).map(|number| async move {
        let got = memory.get(name(number).as_bytes()).await;
        let got = got.unwrap_or_else(|error| panic!("get {number}: {error}"));
        let got = got.unwrap_or_else(|| panic!("get {number}: it has no value"));
        assert!(got.bytes == value(number, turn), "get {number}: another value");
    });
    reads.buffer_unordered(AT_ONCE).for_each(|()| async {}).await;
}

/// Until what was begun is over.
pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(20), "not after 20 s: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Writers write key after key until told to stop; what each was answered last, by key.
pub(crate) async fn write_until(
    memory: &CodedMemory,
    is_over: &AtomicBool,
    numbers: Vec<usize>,
) -> Vec<usize> {
    let mut turns = vec![0; numbers.len()];
    for round in 1.. {
        for (at, &number) in numbers.iter().enumerate() {
            if is_over.load(Ordering::Relaxed) {
                return turns;
            }
            put(memory, number, round).await;
            turns[at] = round;
        }
    }
    turns
}

/// What a server answers to a command of the older protocol, up to its end.
pub(crate) async fn said(server: &Server, command: &str) -> String {
    let mut stream = TcpStream::connect(server.at()).await.expect("it is there");
    stream.write_all(command.as_bytes()).await.expect("it reads");
    let mut text = Vec::new();
    while !text.ends_with(b"END\r\n") {
        let count = stream.read_buf(&mut text).await.expect("it answers");
        assert!(count > 0, "the server ended the connection");
    }
    String::from_utf8(text).expect("it is text")
}

/// Items that a server has, by its own statistics.
pub(crate) async fn items(server: &Server) -> usize {
    let text = said(server, "stats\r\n").await;
    let count = text.lines().find_map(|line| line.strip_prefix("STAT curr_items "));
    count.and_then(|count| count.parse().ok()).expect("it counts its items")
}
