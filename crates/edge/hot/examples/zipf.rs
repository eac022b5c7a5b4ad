//! What a hot tier changes for reads as a Zipf law has them, of a pool whose nodes are as slow as a
//! cloud's buckets: without it, with it, and with N - K of its servers killed, against the same
//! nodes in one run: `zipf [SECONDS [SCALE]]`, `SCALE` times the nodes' delays.

#![allow(clippy::print_stdout, reason = "it prints what it measured")]

#[path = "../tests/scene/mod.rs"]
mod scene;
#[path = "../../memory/tests/support/mod.rs"]
mod support;

use futures::{StreamExt as _, stream};
use ripstop_delay::Preset;
use ripstop_hot::HotPool;
use ripstop_runtime::{Pool, StripePlace};
use scene::{Form, Scene, hot, payload, tier_of};
use std::{
    env,
    sync::Arc,
    time::{Duration, Instant},
};
use support::Server;

/// Stripes, and bytes of each.
const STRIPES: u64 = 2000;
const LEN: usize = 64 << 10;
/// What the tier may hold, of servers' memory: with its parity about a quarter of all.
const STORED_MAX: u64 = 56 << 20;
/// The code of the tier, over nine servers.
const CODE: (usize, usize) = (5, 3);
const SERVERS: usize = 9;
const READERS: usize = 16;
/// The law's exponent, as YCSB has it.
const EXPONENT: f64 = 0.99;

/// Numbers of stripes, the first most often.
#[derive(Clone)]
struct Zipf {
    /// Sums of chances.
    sums: Arc<[f64]>,
    state: u64,
}

impl Zipf {
    fn new() -> Self {
        let chances = (1..=STRIPES).map(|rank| (rank as f64).powf(-EXPONENT));
        let sums: Vec<f64> = chances
            .scan(0.0, |sum, chance| {
                *sum += chance;
                Some(*sum)
            })
            .collect();
        Self { sums: sums.into(), state: 1 }
    }

    /// The same law with luck of its own.
    fn seeded(&self, seed: u64) -> Self {
        Self { state: seed * 2 + 1, ..self.clone() }
    }

    fn draw(&mut self) -> usize {
        // xorshift64* (Vigna, 2016).
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        let drawn =
            (self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64;
        let all = self.sums[self.sums.len() - 1];
        self.sums.partition_point(|sum| *sum < drawn * all).min(self.sums.len() - 1)
    }
}

/// Reads for some time; how long each took, shortest first.
async fn load(
    pool: &Pool,
    places: &Arc<[StripePlace]>,
    law: &Zipf,
    span: Duration,
) -> Vec<Duration> {
    let end = Instant::now() + span;
    let readers = (0..READERS as u64).map(|seed| {
        let (pool, places, mut law) = (pool.clone(), places.clone(), law.seeded(seed));
        tokio::spawn(async move {
            let mut took = Vec::new();
            while Instant::now() < end {
                let at = law.draw();
                let begun = Instant::now();
                let read = pool.read(&places[at], 0..LEN as u32).await.expect("nodes are well");
                took.push(begun.elapsed());
                let first = payload(at as u64, 16);
                assert!(read[0].starts_with(&first), "another stripe's bytes");
            }
            took
        })
    });
    let readers: Vec<_> = readers.collect();
    let mut all = Vec::new();
    for reader in readers {
        all.extend(reader.await.expect("no reader panics"));
    }
    all.sort_unstable();
    all
}

/// One line of the table; requests to nodes for each read.
fn show(what: &str, took: &[Duration], span: Duration, gets: u64) -> f64 {
    let at = |part: f64| took[((took.len() - 1) as f64 * part) as usize].as_secs_f64() * 1e3;
    let per_read = gets as f64 / took.len() as f64;
    println!(
        "| {what} | {:.0} | {:.2} | {:.2} | {:.2} | {per_read:.3} |",
        took.len() as f64 / span.as_secs_f64(),
        at(0.5),
        at(0.9),
        at(0.99),
    );
    per_read
}

fn tell(hot: &HotPool) {
    let status = hot.status();
    let reads: Vec<String> =
        status.reads.iter().map(|(outcome, count)| format!("{} {count}", outcome.name())).collect();
    println!(
        "{}; {} requests, ${:.6} and {:.1} s spared; {} blocks kept, {} passed over, {} failed",
        reads.join(", "),
        status.requests_spared,
        status.dollars_spared,
        status.seconds_spared,
        status.kept,
        status.passed_over,
        status.failed
    );
}

#[tokio::main]
async fn main() {
    let mut arguments = env::args().skip(1);
    let seconds = arguments.next().map_or(10.0, |text| text.parse().expect("seconds"));
    let scale = arguments.next().map_or(1.0, |text| text.parse().expect("a factor"));
    let span = Duration::from_secs_f64(seconds);
    let form = Form { delay: Some((Preset::S3In2025, scale)), ..Form::SPREAD };
    let scene = Scene::new(form);
    let numbers = stream::iter(0..STRIPES);
    let written = numbers.map(|number| scene.store(number, LEN)).buffered(READERS);
    let places: Arc<[StripePlace]> = written.collect::<Vec<_>>().await.into();
    let law = Zipf::new();
    println!(
        "{STRIPES} stripes of {LEN} bytes, Zipf {EXPONENT}, {READERS} readers, code (6,4) over nodes \
         as slow as s3-2025 times {scale}; the tier: {CODE:?} over {SERVERS} servers, {} MiB",
        STORED_MAX >> 20
    );
    println!("| | reads/s | p50 ms | p90 ms | p99 ms | requests to nodes a read |");
    println!("|---|--:|--:|--:|--:|--:|");
    let before = scene.gets();
    let took = load(&scene.pool, &places, &law, span).await;
    show("without", &took, span, scene.gets() - before);
    let mut servers: Vec<Server> = (0..SERVERS).map(|_| Server::start()).collect();
    let hot = hot(&tier_of(CODE, &servers, STORED_MAX));
    let pool = scene.pool.clone().with_hot(Arc::new(hot.clone()));
    let before = scene.gets();
    let took = load(&pool, &places, &law, span).await;
    show("with, while it fills", &took, span, scene.gets() - before);
    let before = scene.gets();
    let took = load(&pool, &places, &law.seeded(99), span).await;
    let whole = show("with", &took, span, scene.gets() - before);
    for server in &mut servers[..CODE.0 - CODE.1] {
        server.kill();
    }
    let before = scene.gets();
    let took = load(&pool, &places, &law.seeded(99), span).await;
    let less = show("with, N - K of its servers killed", &took, span, scene.gets() - before);
    // A read of the pool is four requests.
    println!("killed servers: {:+.2} % of what all reads would ask", (less - whole) / 4.0 * 100.0);
    tell(&hot);
}
