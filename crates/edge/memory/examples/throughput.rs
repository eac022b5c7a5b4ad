//! Requests a second through the tier, beside its uncoded mode and the client alone, against the
//! same servers in one run: `throughput [SECONDS [VALUE_LEN [AT_ONCE [TARGET [PUTS_PERCENT]]]]]`,
//! where the last two measure only some of it.

#![allow(clippy::print_stdout, reason = "it prints what it measured")]

#[path = "../tests/support/mod.rs"]
mod support;

use bytes::Bytes;
use ripstop_memory::{CodedMemory, CodedMemorySettings, LinkSettings, MemcachedClient, Presence};
use std::{
    env,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use support::Server;

const SERVERS: usize = 9;
const KEYS: u64 = 50_000;
const ROUNDS: usize = 3;
/// Puts of a hundred requests.
const MIXES: [u64; 4] = [0, 5, 50, 100];

/// What requests are sent to.
enum Target {
    Direct(Vec<MemcachedClient>),
    Tier(CodedMemory),
}

impl Target {
    async fn put(&self, number: u64, key: &[u8], value: &Bytes) {
        match self {
            Self::Direct(clients) => {
                let client = &clients[number as usize % clients.len()];
                client.set(key, value).await.expect("servers are well");
            }
            Self::Tier(memory) => {
                let put = memory.put(key, value.clone(), Presence::Any);
                put.await.expect("servers are well");
            }
        }
    }

    async fn get(&self, number: u64, key: &[u8]) {
        let found = match self {
            Self::Direct(clients) => {
                let client = &clients[number as usize % clients.len()];
                client.get(key).await.expect("servers are well").is_some()
            }
            Self::Tier(memory) => memory.get(key).await.expect("servers are well").is_some(),
        };
        assert!(found, "every key has a value");
    }
}

fn key(number: u64) -> String {
    format!("user{number:016}")
}

const fn next(seed: u64) -> u64 {
    seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f)
}

async fn load(target: &Arc<Target>, value: &Bytes, at_once: u64) {
    let loaders: Vec<_> = (0..at_once)
        .map(|task| {
            let (target, value) = (target.clone(), value.clone());
            tokio::spawn(async move {
                for number in (task..KEYS).step_by(at_once as usize) {
                    target.put(number, key(number).as_bytes(), &value).await;
                }
            })
        })
        .collect();
    for loader in loaders {
        loader.await.expect("no put fails");
    }
}

/// Requests a second, and the time that one takes, in microseconds on average.
async fn measure(
    target: &Arc<Target>,
    value: &Bytes,
    puts: u64,
    at_once: u64,
    span: Duration,
) -> f64 {
    let (is_over, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let begun = Instant::now();
    let tasks: Vec<_> = (0..at_once)
        .map(|task| {
            let (target, value) = (target.clone(), value.clone());
            let (is_over, count) = (is_over.clone(), count.clone());
            tokio::spawn(async move {
                let (mut seed, mut done) = (next(task + 1), 0);
                while !is_over.load(Ordering::Relaxed) {
                    seed = next(seed);
                    let number = (seed >> 33) % KEYS;
                    let key = key(number);
                    if (seed >> 16) % 100 < puts {
                        target.put(number, key.as_bytes(), &value).await;
                    } else {
                        target.get(number, key.as_bytes()).await;
                    }
                    done += 1;
                }
                count.fetch_add(done, Ordering::Relaxed);
            })
        })
        .collect();
    tokio::time::sleep(span).await;
    is_over.store(true, Ordering::Relaxed);
    for task in tasks {
        task.await.expect("no request fails");
    }
    count.load(Ordering::Relaxed) as f64 / begun.elapsed().as_secs_f64()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let argument = |at, usual: &str| env::args().nth(at).unwrap_or_else(|| usual.to_owned());
    let number = |at, usual| argument(at, usual).parse::<f64>().expect("a number is wanted");
    let span = Duration::from_secs_f64(number(1, "1"));
    let (len, at_once) = (number(2, "256") as usize, number(3, "128") as u64);
    let only = argument(4, "");
    let puts_only: Option<u64> = argument(5, "").parse().ok();
    let servers: Vec<Server> = (0..SERVERS).map(|_| Server::start()).collect();
    let value = Bytes::from(vec![7; len]);
    let link = LinkSettings { answer_timeout: Duration::from_secs(5), ..LinkSettings::default() };
    let tier = |name: &str, code| {
        let of = support::settings(code, &servers);
        let settings = CodedMemorySettings { name: name.to_owned(), is_shared: true, link, ..of };
        Target::Tier(CodedMemory::new(settings, &support::key()).expect("these are settings"))
    };
    let clients = servers.iter().map(|server| MemcachedClient::new(server.at(), link)).collect();
    let targets: Vec<(&str, Arc<Target>)> = [
        ("client alone", Target::Direct(clients)),
        ("uncoded (1,1)", tier("one", (1, 1))),
        ("uncoded (5,5)", tier("five", (5, 5))),
        ("coded (5,3)", tier("coded", (5, 3))),
    ]
    .into_iter()
    .filter(|(name, _)| name.contains(&only))
    .map(|(name, target)| (name, Arc::new(target)))
    .collect();
    for (_, target) in &targets {
        load(target, &value, at_once).await;
    }
    println!("{SERVERS} servers, {len}-byte values, {at_once} requests at once, {KEYS} keys");
    println!("requests/s (beside the first)     gets       95:5      50:50       puts");
    let mut results = vec![vec![Vec::new(); MIXES.len()]; targets.len()];
    for _ in 0..ROUNDS {
        let asked = |mix: &(usize, u64)| puts_only.is_none_or(|only| only == mix.1);
        for (mix, puts) in MIXES.into_iter().enumerate().filter(asked) {
            for (result, (_, target)) in results.iter_mut().zip(&targets) {
                result[mix].push(measure(target, &value, puts, at_once, span).await);
            }
        }
    }
    let medians: Vec<Vec<f64>> =
        results.into_iter().map(|result| result.into_iter().map(median).collect()).collect();
    for ((name, target), of) in targets.iter().zip(&medians) {
        let cell = |(now, first): (&f64, &f64)| format!("{now:7.0} {:.2}", now / first);
        let cells: Vec<String> = of.iter().zip(&medians[0]).map(cell).collect();
        println!("{name:<26} {}", cells.join(" "));
        if let Target::Tier(memory) = &**target {
            println!("{:?}", memory.status());
        }
    }
}
