//! What others notice of a cleaning, in virtual time: reads and writes beside one take hardly
//! longer than without it.

mod common;

use common::{
    Form, Kept, Pieces, bytes, delete_member, get, put_member, settings, store_by, target,
    write_batch,
};
use ripstop_catalog::{Catalog, Condition, Embedded};
use ripstop_delay::Preset;
use ripstop_host::{Host, carried, now, random_u64, rehearse, since};
use ripstop_keeper::KeeperSettings;
use ripstop_model::PoolId;
use ripstop_node::{Delay, MemoryNode, Node};
use ripstop_runtime::Memory;
use ripstop_store::{PackSettings, Store, StoreSettings};
use std::{
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};
use tokio::{task::JoinSet, time::sleep};

const NODES: usize = 6;
/// Packs that are there beforehand, and objects of each.
const PACKS: usize = 128;
const MEMBERS: usize = 200;
const LEN: usize = 8000;
/// What others ask for meanwhile, and how long lies between two of them on average: together as
/// long as a cleaning takes.
const REQUESTS: u64 = 800;
const EVERY_MS: u64 = 10;
/// Objects that others read, and how long they are.
const OTHERS: u64 = 50;
const OTHERS_LEN: usize = 200_000;

fn scene(clean_rate_max: u64) -> Kept {
    let catalog = Embedded::in_memory(ripstop_catalog::CatalogSettings::default()).expect("opens");
    let catalog: Arc<dyn Catalog> = Arc::new(catalog);
    let node = |seed| {
        let node = Arc::new(MemoryNode::new(1 << 30));
        Arc::new(Delay::new(node, Preset::S3In2025.model(), seed, 1.0)) as Arc<dyn Node>
    };
    let nodes = (0..NODES as u64).map(node).collect();
    let packs = PackSettings { below: 64 << 10, ..PackSettings::default() };
    let of_store = StoreSettings { packs: [(PoolId(0), packs)].into(), ..StoreSettings::default() };
    let clean_every = Duration::from_secs(1);
    let of_keeper = KeeperSettings { clean_every, clean_rate_max, ..settings() };
    let (form, memory) = (Form::spread(NODES, 4), Memory::new(64 << 20));
    store_by(catalog, nodes, form, memory, (of_store, of_keeper))
}

/// Reads, or puts, at a moment of its own.
async fn ask(store: Store, number: u64) -> Duration {
    sleep(Duration::from_millis(random_u64() % (REQUESTS * EVERY_MS))).await;
    let begun = now();
    if number.is_multiple_of(4) {
        let body = Pieces::new(bytes(OTHERS_LEN, number));
        store.put(target(&format!("new{number}")), OTHERS_LEN as u64, body).await.expect("put");
    } else {
        let key = format!("other{}", random_u64() % OTHERS);
        assert_eq!(get(&store, &key).await.expect("read").len(), OTHERS_LEN);
    }
    since(begun)
}

/// What others wait, each of them, and bytes that were written again meanwhile.
async fn course(clean_rate_max: u64) -> (Vec<Duration>, u64) {
    let store = scene(clean_rate_max);
    store.create_bucket("b").await.expect("made");
    for at in 0..OTHERS {
        let body = Pieces::new(bytes(OTHERS_LEN, at));
        store.put(target(&format!("other{at}")), OTHERS_LEN as u64, body).await.expect("put");
    }
    let key = |pack: usize, at: usize| format!("p{pack}/{at}");
    for pack in 0..PACKS {
        let content = bytes(LEN, pack as u64);
        let members = (0..MEMBERS).map(|at| put_member(&key(pack, at), &content, Condition::None));
        for done in write_batch(&store, members).await {
            done.expect("put");
        }
    }
    for pack in 0..PACKS {
        let gone = (0..MEMBERS).filter(|at| at % 5 < 3);
        write_batch(&store, gone.map(|at| delete_member(&key(pack, at), Condition::None))).await;
    }
    let mut others = JoinSet::new();
    for number in 0..REQUESTS {
        others.spawn(carried(ask(store.store.clone(), number)));
    }
    let took = others.join_all().await;
    (took, store.keeper.packs_of(PoolId(0)).cleaned.bytes)
}

/// The mean and the 99th percentile of what others wait, and bytes that were written again.
fn play(clean_rate_max: u64) -> (Duration, Duration, u64) {
    let wall = UNIX_EPOCH + Duration::from_hours(24 * 365 * 60);
    let (mut took, mut cleaned) = (Vec::new(), 0);
    for seed in [9, 10] {
        let (some, bytes) =
            rehearse(async { Host::new(seed, wall).run(course(clean_rate_max)).await });
        took.extend(some);
        cleaned += bytes;
    }
    took.sort_unstable();
    let mean = took.iter().sum::<Duration>() / took.len() as u32;
    (mean, took[took.len() * 99 / 100], cleaned)
}

#[test]
fn others_hardly_notice_a_cleaning() {
    let rate = KeeperSettings::default().clean_rate_max;
    let (quiet, beside) = (play(0), play(rate));
    assert_eq!(quiet.2, 0);
    let cleaned = beside.2 as f64 / (2 * REQUESTS * EVERY_MS) as f64 * 1000.0;
    assert!(cleaned > 0.6 * rate as f64, "{cleaned} bytes a second were written again");
    let factor = beside.1.as_secs_f64() / quiet.1.as_secs_f64();
    println!("{beside:?} beside {quiet:?}: p99 {factor:.2} times");
    assert!(factor <= 1.2, "{factor}");
}
