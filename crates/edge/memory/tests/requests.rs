//! What a put costs in requests to servers, as these count them.
#![allow(clippy::print_stdout, reason = "it says what it counted")]

#[path = "support/load.rs"]
mod load;
mod support;

use bytes::Bytes;
use futures::{StreamExt as _, stream};
use load::{AT_ONCE, said};
use ripstop_memory::{CodedMemory, Presence};
use support::{Server, is_there, memory};

const KEYS: usize = 12_000;

/// Gets, sets and deletions that all servers did.
async fn requests(servers: &[Server]) -> [f64; 3] {
    let mut sums = [0.0; 3];
    for server in servers {
        let text = said(server, "stats\r\n").await;
        let count = |name: &str| -> f64 {
            let line = text.lines().find_map(|line| line.strip_prefix(&format!("STAT {name} ")));
            line.and_then(|count| count.parse().ok()).expect("it counts this")
        };
        sums[0] += count("cmd_get");
        sums[1] += count("cmd_set");
        sums[2] += count("delete_hits") + count("delete_misses");
    }
    sums
}

/// Puts to every key once, or to as many keys as dice say.
async fn put_each(memory: &CodedMemory, dice: Option<u64>, len: usize) {
    let key = |number: usize| match dice {
        None => number,
        Some(seed) => {
            let scattered = (seed + number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            ((scattered ^ scattered >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33) as usize
                % KEYS
        }
    };
    let puts = stream::iter(0..KEYS).map(|number| async move {
        let name = format!("key-{:05}", key(number));
        let value = Bytes::from(vec![number as u8; len]);
        memory.put(name.as_bytes(), value, Presence::Any).await.expect("servers are well");
    });
    puts.buffer_unordered(AT_ONCE).for_each(|()| async {}).await;
}

/// Requests for each of these puts: gets, sets, deletions.
async fn cost(
    (servers, memory): (&[Server], &CodedMemory),
    dice: Option<u64>,
    len: usize,
) -> [f64; 3] {
    let before = requests(servers).await;
    put_each(memory, dice, len).await;
    // What is deleted a little later counts too.
    tokio::time::sleep(std::time::Duration::from_millis(700)).await;
    let after = requests(servers).await;
    std::array::from_fn(|at| (after[at] - before[at]) / KEYS as f64)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_put_is_one_store_and_one_for_each_copy_and_little_more() {
    if !is_there() {
        return;
    }
    for len in [64, 1024] {
        let (servers, memory) = memory((5, 3), 5);
        let both = (&servers[..], &memory);
        let new = cost(both, None, len).await;
        let mut over = [0.0; 3];
        for round in 1..=4 {
            over = cost(both, Some(round * 1_000_003), len).await;
        }
        println!("{len} bytes: new {new:.2?}, over earlier ones {over:.2?}");
        let [gets, sets, deletions] = new;
        assert!(gets == 0.0, "nothing is read: {new:?}");
        // Three stores, and parity: two strips for three chunks of objects.
        let parity = 2.0 / 3.0 / (4096 / (len + 4)) as f64;
        assert!(sets < 3.0 + 1.1 * parity + 0.02, "{new:?}");
        assert!(deletions < 0.2, "{new:?}");
        // Where dice say which key is next, cleaning stores about one object more for each put,
        // which it reads once.
        assert!(over[0] < 1.5 && over.iter().sum::<f64>() < 11.0, "{over:?}");
    }
}
