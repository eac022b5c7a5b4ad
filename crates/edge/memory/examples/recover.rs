//! How long it takes until a memory has its index back from its servers, and whether it equals
//! what was put: `recover [ITEMS [VALUE_LEN]]`.

#![allow(clippy::print_stdout, reason = "it prints what it measured")]

#[path = "../tests/support/mod.rs"]
mod support;

use bytes::Bytes;
use ripstop_memory::{CodedMemory, CodedMemorySettings, LinkSettings, Presence};
use std::{env, sync::Arc, time::Instant};
use support::Server;

const SERVERS: usize = 10;
const AT_ONCE: usize = 256;
/// Keys that are read at once.
const MANY: usize = 500;

fn key(number: usize) -> String {
    format!("user{number:016}")
}

/// Bytes that tell the key and how often it was written.
fn value(number: usize, turn: usize, len: usize) -> Bytes {
    let mut bytes = vec![number as u8; len.max(16)];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    bytes[8..16].copy_from_slice(&turn.to_le_bytes());
    bytes.into()
}

/// Every tenth key is written once more, and every hundredth deleted.
const fn turn_of(number: usize) -> Option<usize> {
    match number {
        _ if number % 100 == 7 => None,
        _ if number.is_multiple_of(10) => Some(2),
        _ => Some(1),
    }
}

async fn fill(memory: &CodedMemory, items: usize, len: usize) {
    let memory = Arc::new(memory.clone());
    let tasks: Vec<_> = (0..AT_ONCE)
        .map(|task| {
            let memory = memory.clone();
            tokio::spawn(async move {
                for number in (task..items).step_by(AT_ONCE) {
                    let key = key(number);
                    let put =
                        |turn| memory.put(key.as_bytes(), value(number, turn, len), Presence::Any);
                    put(1).await.expect("servers are well");
                    match turn_of(number) {
                        None => {
                            memory.delete(key.as_bytes(), Presence::Any).await.expect("it was put");
                        }
                        Some(2) => {
                            put(2).await.expect("servers are well");
                        }
                        Some(_) => {}
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("nothing fails");
    }
}

/// Every key has its value, and no other is there.
async fn audit(memory: &CodedMemory, items: usize, len: usize) {
    let numbers: Vec<usize> = (0..items).collect();
    for numbers in numbers.chunks(MANY) {
        let names: Vec<String> = numbers.iter().map(|number| key(*number)).collect();
        let keys: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
        let found = memory.get_many(&keys).await.expect("K rings are there");
        for (number, found) in numbers.iter().zip(found) {
            let expected = turn_of(*number).map(|turn| value(*number, turn, len));
            assert!(found.map(|found| found.bytes) == expected, "key {number}");
        }
    }
    let there = (0..items).filter(|number| turn_of(*number).is_some()).count();
    assert_eq!(memory.status().keys, there);
}

/// Seconds of a processor that this process took.
fn processor_s() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").expect("it is Linux");
    let (_, rest) = text.rsplit_once(") ").expect("its form is known");
    let ticks = |at| rest.split(' ').nth(at).and_then(|it| it.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

#[tokio::main(worker_threads = 2)]
async fn main() {
    let number =
        |at, default| env::args().nth(at).map_or(default, |it| it.parse().expect("a number"));
    let (items, len) = (number(1, 1_000_000), number(2, 64));
    let mut servers: Vec<Server> = (0..SERVERS).map(|_| Server::start()).collect();
    let settings = || CodedMemorySettings {
        link: LinkSettings::default(),
        ..support::settings((5, 3), &servers)
    };
    let settings = [settings(), settings(), settings()];
    for (at, settings) in settings.into_iter().enumerate() {
        if at == 2 {
            servers[0].kill();
            servers[1].kill();
        }
        let (begun, before) = (Instant::now(), processor_s());
        let memory = CodedMemory::recover(settings, &support::key()).await.expect("settings");
        let (took, taken) = (begun.elapsed(), processor_s() - before);
        if at == 0 {
            fill(&memory, items, len).await;
            println!("{items} keys of {len} bytes put in {:.1?}", begun.elapsed());
            continue;
        }
        let begun = Instant::now();
        audit(&memory, items, len).await;
        let (lost, status) = (2 * (at - 1), memory.status());
        println!(
            "{lost} of {SERVERS} servers lost: the index of {} keys is back after {took:.1?}, \
             {taken:.1} s of it of this process's; all keys read in {:.1?}, as they were put",
            status.keys,
            begun.elapsed()
        );
    }
}
