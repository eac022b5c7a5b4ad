//! Pools that keep what is read often at real memcached servers, which are stopped, killed, and
//! lie.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

mod scene;
#[path = "../../memory/tests/support/mod.rs"]
mod support;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use futures::future::join_all;
use ripstop_hot::HotPool;
use ripstop_model::Layout;
use ripstop_runtime::{BlockKey, HotBlocks, HotFound, HotOutcome, HotReport};
use scene::{Form, Scene, hot, payload, read, tier, until};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};
use support::{Server, is_there};

/// Well above what a busy machine needs.
const WAIT: Duration = Duration::from_secs(5);

fn servers(count: usize) -> Vec<Server> {
    (0..count).map(|_| Server::start()).collect()
}

/// How many reads fared so.
fn count(hot: &HotPool, outcome: HotOutcome) -> u64 {
    hot.status().reads[outcome as usize].1
}

/// Reads until everything is kept that was read.
async fn warm(hot: &HotPool, scene: &Scene, place: &ripstop_runtime::StripePlace, blocks: u64) {
    let pool = scene.pool.clone().with_hot(Arc::new(hot.clone()));
    let len = place.shape.payload_len();
    let kept = hot.status().kept;
    for _ in 0..2 {
        read(&pool, place, 0..len).await;
    }
    until("blocks are kept", || hot.status().kept == kept + blocks).await;
}

#[tokio::test]
async fn what_is_read_twice_comes_from_memory_however_it_is_stored() {
    if !is_there() {
        return;
    }
    let servers = servers(3);
    let keyless = Form { keyed: false, ..Form::SPREAD };
    let encrypted = Form { encrypt: true, ..Form::SPREAD };
    let together = Form { encrypt: true, ..Form::SHARED };
    for form in [Form::SPREAD, keyless, encrypted, Form::SHARED, together, Form::UNIQUE] {
        let scene = Scene::new(form);
        let hot = hot(&tier((3, 2), &servers, WAIT));
        let pool = scene.pool.clone().with_hot(Arc::new(hot.clone()));
        let bytes = payload(7, 100_000);
        let place = scene.write(7, &bytes).await;
        assert_eq!(read(&pool, &place, 0..100_000).await, bytes);
        assert_eq!(hot.status().kept, 0, "{form:?}: it may never be asked for again");
        let data = place.shape.code().k() as u64;
        let of_strip = u64::from(place.shape.blocks());
        assert_eq!(read(&pool, &place, 0..100_000).await, bytes);
        until("blocks are kept", || hot.status().kept == data * of_strip).await;
        let before = scene.gets();
        assert_eq!(read(&pool, &place, 0..100_000).await, bytes, "{form:?}");
        for range in [0..1, 5000..20_000, 24_999..25_001, 99_999..100_000] {
            let (from, to) = (range.start as usize, range.end as usize);
            assert_eq!(read(&pool, &place, range).await, bytes.slice(from..to), "{form:?}");
        }
        assert_eq!(scene.gets(), before, "{form:?}: no node was asked");
        let status = hot.status();
        assert_eq!(count(&hot, HotOutcome::Miss), 2, "{status:?}");
        assert_eq!(
            status.reads.iter().map(|(_, count)| count).sum::<u64>(),
            2 + count(&hot, HotOutcome::Hit)
        );
        assert!(status.requests_spared > 0 && status.dollars_spared > 0.0, "{status:?}");
    }
}

#[tokio::test]
async fn of_a_read_that_is_there_in_part_nodes_are_asked_for_the_rest_alone() {
    if !is_there() {
        return;
    }
    let servers = servers(1);
    let scene = Scene::new(Form::SPREAD);
    let hot = hot(&tier((1, 1), &servers, WAIT));
    let pool = scene.pool.clone().with_hot(Arc::new(hot.clone()));
    let bytes = payload(3, 64_000);
    let place = scene.write(3, &bytes).await;
    // The second of four strips.
    for _ in 0..2 {
        assert_eq!(read(&pool, &place, 16_000..32_000).await, bytes.slice(16_000..32_000));
    }
    let blocks = u64::from(place.shape.blocks());
    until("its blocks are kept", || hot.status().kept == blocks).await;
    let before = scene.gets();
    assert_eq!(read(&pool, &place, 0..64_000).await, bytes);
    assert_eq!(count(&hot, HotOutcome::Partial), 1, "{:?}", hot.status());
    assert_eq!(scene.gets(), before + 3, "one strip is there already");
    assert_eq!(hot.status().requests_spared, 1);
}

/// A hot tier that keeps a note of what it is given, and may answer something else.
#[derive(Debug)]
struct Liar {
    inner: HotPool,
    given: Mutex<Vec<Bytes>>,
    lies: AtomicBool,
}

#[async_trait]
impl HotBlocks for Liar {
    fn patience(&self) -> Duration {
        self.inner.patience()
    }

    async fn find(&self, keys: &[BlockKey]) -> Vec<HotFound> {
        let found = self.inner.find(keys).await.into_iter();
        let lie = |found| match found {
            HotFound::Kept(bytes) if self.lies.load(Relaxed) => {
                let mut bytes = BytesMut::from(&bytes[..]);
                let at = bytes.len() / 2;
                bytes[at] ^= 1;
                HotFound::Kept(bytes.freeze())
            }
            other @ (HotFound::Kept(_) | HotFound::Wanted | HotFound::Unwanted) => other,
        };
        found.map(lie).collect()
    }

    fn keep(&self, key: BlockKey, len: usize, sealed: &mut dyn FnMut() -> Bytes) {
        let bytes = sealed();
        assert_eq!(bytes.len(), len);
        self.given.lock().unwrap().push(bytes.clone());
        self.inner.keep(key, len, &mut || bytes.clone());
    }

    fn spoiled(&self, key: BlockKey) {
        self.inner.spoiled(key);
    }

    fn report(&self, report: &HotReport<'_>) {
        self.inner.report(report);
    }
}

#[tokio::test]
async fn what_comes_back_changed_is_no_answer_and_is_kept_once_more() {
    if !is_there() {
        return;
    }
    let servers = servers(3);
    for form in [Form::SPREAD, Form { encrypt: true, ..Form::SPREAD }] {
        let scene = Scene::new(form);
        let hot = hot(&tier((3, 2), &servers, WAIT));
        let (given, lies) = (Mutex::default(), AtomicBool::new(false));
        let liar = Arc::new(Liar { inner: hot.clone(), given, lies });
        let pool = scene.pool.clone().with_hot(liar.clone());
        let bytes = payload(9, 20_000);
        let place = scene.write(9, &bytes).await;
        for _ in 0..2 {
            assert_eq!(read(&pool, &place, 0..20_000).await, bytes);
        }
        let blocks = 4 * u64::from(place.shape.blocks());
        until("blocks are kept", || hot.status().kept == blocks).await;
        liar.lies.store(true, Relaxed);
        assert_eq!(read(&pool, &place, 0..20_000).await, bytes);
        assert_eq!(hot.status().spoiled, blocks);
        liar.lies.store(false, Relaxed);
        // What was spoiled is forgotten, and kept once more when it is read.
        let begun = Instant::now();
        while hot.status().kept < 2 * blocks {
            assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", hot.status());
            assert_eq!(read(&pool, &place, 0..20_000).await, bytes);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let seal = if form.encrypt { 16 } else { 8 };
        let given = liar.given.lock().unwrap().clone();
        for sealed in given {
            let block = sealed.slice(..sealed.len() - seal);
            let is_plain = bytes.windows(block.len()).any(|part| part == block);
            assert_eq!(is_plain, !form.encrypt, "plain text leaves a pool that encrypts, or not");
        }
    }
}

#[tokio::test]
async fn a_server_that_hangs_costs_a_read_a_bounded_wait_and_then_none() {
    if !is_there() {
        return;
    }
    let servers = servers(2);
    let scene = Scene::new(Form::SPREAD);
    let wait = Duration::from_millis(300);
    // Nobody finds out that it hangs, so that it is reads alone which bound the wait.
    let mut settings = support::settings((2, 2), &servers);
    settings.link.answer_timeout = Duration::from_mins(1);
    let tier = scene::tier_with(settings, wait, 64 << 20);
    let hot = hot(&tier);
    let pool = scene.pool.clone().with_hot(Arc::new(hot.clone()));
    let bytes = payload(5, 50_000);
    let place = scene.write(5, &bytes).await;
    let blocks = 4 * u64::from(place.shape.blocks());
    warm(&hot, &scene, &place, blocks).await;
    servers.iter().for_each(Server::stop);
    for turn in 0..6 {
        let begun = Instant::now();
        assert_eq!(read(&pool, &place, 0..50_000).await, bytes);
        let took = begun.elapsed();
        let most = if turn < 3 { wait + Duration::from_millis(900) } else { wait };
        assert!(took < most, "turn {turn} took {took:?}");
        assert!(turn >= 3 || took >= wait, "turn {turn} took {took:?}");
    }
    assert_eq!(count(&hot, HotOutcome::Late), 6);
    servers.iter().for_each(Server::go_on);
}

#[tokio::test]
async fn with_n_less_k_servers_killed_nodes_are_hardly_asked_more() {
    if !is_there() {
        return;
    }
    let mut servers = servers(6);
    let scene = Arc::new(Scene::new(Form {
        delay: Some((ripstop_delay::Preset::S3In2025, 0.5)),
        ..Form::SPREAD
    }));
    let hot = hot(&tier((5, 3), &servers, WAIT));
    let pool = scene.pool.clone().with_hot(Arc::new(hot.clone()));
    let mut places = Vec::new();
    for number in 0..40 {
        let bytes = payload(number, 30_000);
        places.push((scene.write(number, &bytes).await, bytes));
    }
    let all = |rounds: usize| {
        let (pool, places) = (pool.clone(), &places);
        async move {
            for _ in 0..rounds {
                let reads = places.iter().map(|(place, bytes)| async {
                    assert_eq!(read(&pool, place, 0..30_000).await, *bytes);
                });
                join_all(reads).await;
            }
        }
    };
    all(2).await;
    let blocks = places.len() as u64 * 4 * u64::from(places[0].0.shape.blocks());
    until("blocks are kept", || hot.status().kept == blocks).await;
    let before = scene.gets();
    all(5).await;
    assert_eq!(scene.gets(), before, "no node was asked");
    for server in &mut servers[..2] {
        server.kill();
    }
    all(20).await;
    let asked = scene.gets() - before;
    let reads = 20 * places.len() as u64 * 4;
    assert!(asked * 20 < reads, "{asked} of {reads} strips were asked for at nodes");
}

#[tokio::test]
async fn without_any_server_every_read_is_of_nodes_and_right() {
    if !is_there() {
        return;
    }
    let mut servers = servers(2);
    servers.iter_mut().for_each(Server::kill);
    let scene = Scene::new(Form { layout: Layout::Spread, ..Form::SPREAD });
    let hot = hot(&tier((2, 1), &servers, Duration::from_millis(50)));
    let pool = scene.pool.clone().with_hot(Arc::new(hot.clone()));
    let bytes = payload(1, 10_000);
    let place = scene.write(1, &bytes).await;
    for _ in 0..10 {
        let begun = Instant::now();
        assert_eq!(read(&pool, &place, 0..10_000).await, bytes);
        assert!(begun.elapsed() < Duration::from_secs(2));
    }
    assert_eq!(count(&hot, HotOutcome::Hit), 0);
}
