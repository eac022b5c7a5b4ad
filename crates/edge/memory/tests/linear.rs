//! Clients that share keys while servers die, restart and hang: one order explains what they saw.

#[path = "support/history.rs"]
mod history;
mod support;

use bytes::Bytes;
use futures::future::join_all;
use history::{Call, Deed, is_linearizable};
use ripstop_memory::{CodedMemory, CodedMemoryError, Presence};
use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};
use support::{Server, is_there, memory};

const CLIENTS: u64 = 12;
const KEYS: usize = 24;
/// How long clients ask.
const SPAN: Duration = Duration::from_millis(700);

/// Counts what happens, so that its numbers are times.
static CLOCK: AtomicU64 = AtomicU64::new(1);

fn tick() -> u64 {
    CLOCK.fetch_add(1, Ordering::SeqCst)
}

/// A value that tells its write, some of which are long.
fn value(number: u64) -> Bytes {
    let mut bytes = vec![number as u8; [8, 100, 900, 3000][number as usize % 4]];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    bytes.into()
}

fn number(value: &Bytes) -> u64 {
    let number = u64::from_le_bytes(*value.first_chunk().expect("no value is shorter"));
    assert!(*value == self::value(number), "a value that nobody wrote");
    number
}

/// What a call did, and whether that is known.
async fn act(memory: &CodedMemory, key: &str, dice: u64, write: u64) -> (Deed, bool) {
    let key = key.as_bytes();
    let done = |deed| (deed, true);
    let unknown = |deed, error| {
        assert_eq!(error, CodedMemoryError::Unavailable);
        (deed, false)
    };
    match dice % 10 {
        0 => match memory.delete(key, Presence::Any).await {
            Ok(_) => done(Deed::Write(None)),
            Err(error) => unknown(Deed::Write(None), error),
        },
        1 => match memory.put(key, value(write), Presence::Absent).await {
            Ok(_) => done(Deed::Add(write)),
            Err(CodedMemoryError::Condition(Some(_))) => done(Deed::NotAdded),
            Err(error) => unknown(Deed::Add(write), error),
        },
        2..5 => match memory.put(key, value(write), Presence::Any).await {
            Ok(_) => done(Deed::Write(Some(write))),
            Err(error) => unknown(Deed::Write(Some(write)), error),
        },
        _ => match memory.get(key).await {
            Ok(found) => done(Deed::Read(found.map(|found| number(&found.bytes)))),
            Err(error) => panic!("a read is refused though two servers are lost: {error}"),
        },
    }
}

/// One client's calls, each with its key.
async fn client(memory: &CodedMemory, seed: u64) -> Vec<(usize, Call)> {
    let (mut calls, mut dice) = (Vec::new(), seed);
    let begun = tokio::time::Instant::now();
    while begun.elapsed() < SPAN {
        dice = dice.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let key = (dice >> 40) as usize % KEYS;
        let asked = tick();
        let (deed, is_known) = act(memory, &format!("key {key}"), dice >> 33, asked).await;
        let now = tick();
        calls.push((key, Call { asked, answered: is_known.then_some(now), deed }));
    }
    calls
}

/// What is done to the servers meanwhile.
async fn harm(servers: &mut [Server], how: usize) {
    let pause = || tokio::time::sleep(Duration::from_millis(120));
    pause().await;
    match how {
        0 => {
            servers[0].kill();
            pause().await;
            servers[4].kill();
        }
        1 => {
            servers[1].restart();
            pause().await;
            servers[3].kill();
        }
        2 => {
            servers[2].stop();
            pause().await;
            servers[2].go_on();
            pause().await;
            servers[0].kill();
        }
        _ => pause().await,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_clients_see_of_a_key_is_explained_by_one_order_whatever_two_servers_do() {
    if !is_there() {
        return;
    }
    for how in 0..4 {
        let (mut servers, memory) = memory((5, 3), 5);
        let clients = join_all((0..CLIENTS).map(|seed| client(&memory, seed + 100 * how as u64)));
        let (calls, ()) = tokio::join!(clients, harm(&mut servers, how));
        let calls: Vec<(usize, Call)> = calls.into_iter().flatten().collect();
        assert!(calls.len() > 1000, "{}", calls.len());
        for key in 0..KEYS {
            let of_key = calls.iter().filter(|call| call.0 == key).map(|call| call.1);
            let history: Vec<Call> = of_key.collect();
            assert!(is_linearizable(&history), "harm {how}, key {key}: {history:?}");
        }
    }
}
