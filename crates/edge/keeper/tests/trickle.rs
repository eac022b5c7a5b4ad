//! A trickle of small writes, in virtual time: each comes alone, and is a stripe of its own; what
//! is left when it is quiet is few packs, and little of them is dead.
//!
//! `RIPSTOP_TRICKLE` says how many objects are put; half of them are deleted afterwards.
#![expect(clippy::print_stdout, reason = "the figures, for who asks for more than a test")]

mod common;

use common::{Form, Kept, Pieces, bytes, fragments, get, settings, store_by, target};
use ripstop_batching::CleaningRule;
use ripstop_catalog::{Catalog, Condition, Embedded, Held, Stripe};
use ripstop_host::{Host, random_u64, rehearse};
use ripstop_keeper::KeeperSettings;
use ripstop_model::{PoolId, StripeId};
use ripstop_node::{MemoryNode, Node};
use ripstop_runtime::Memory;
use ripstop_store::{PackSettings, StoreSettings};
use std::{
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};
use tokio::time::sleep;

/// Objects of an everyday run.
const OBJECTS: u64 = 3000;
const LEN_MAX: u64 = 8000;
const NODES: usize = 6;
/// Between two writes: 50 a second.
const BETWEEN: Duration = Duration::from_millis(20);
/// After which what was written is merged, its garbage past the grace, and nothing goes on.
const QUIET: Duration = Duration::from_hours(1);
const MIB: f64 = 1024.0 * 1024.0;
/// What may wait for company, in stripes and bytes: what merges them is tested by itself.
const SHORT_MAX: usize = 1024;
const SHORT_LEN_MAX: u64 = 1 << 20;

struct Scene {
    store: Kept,
    catalog: Arc<dyn Catalog>,
    nodes: Vec<Arc<MemoryNode>>,
}

fn scene() -> Scene {
    let catalog = Embedded::in_memory(ripstop_catalog::CatalogSettings::default()).expect("opens");
    let catalog: Arc<dyn Catalog> = Arc::new(catalog);
    let nodes: Vec<_> = (0..NODES).map(|_| Arc::new(MemoryNode::new(8 << 30))).collect();
    let seen = nodes.iter().map(|node| node.clone() as Arc<dyn Node>).collect();
    let packs = PackSettings { below: 64 << 10, ..PackSettings::default() };
    let of_store = StoreSettings { packs: [(PoolId(0), packs)].into(), ..StoreSettings::default() };
    let usual = KeeperSettings::default();
    let (grace, sweep_every) = (usual.grace, usual.sweep_every);
    let of_keeper = KeeperSettings { grace, sweep_every, ..settings() };
    let (form, memory) = (Form::spread(NODES, 4), Memory::new(64 << 20));
    let store = store_by(catalog.clone(), seen, form, memory, (of_store, of_keeper));
    Scene { store, catalog, nodes }
}

impl Scene {
    /// All stripes in force, with what holds them.
    async fn stripes(&self) -> Vec<Held> {
        let (mut all, mut after) = (Vec::new(), StripeId(0));
        loop {
            let page = self.catalog.stripes_after(after, 500).await.expect("read");
            let Some((last, _)) = page.last() else { return all };
            after = *last;
            let ids: Vec<StripeId> = page.into_iter().map(|(id, _)| id).collect();
            let held = self.catalog.held(&ids).await.expect("read");
            all.extend(held.into_iter().flatten());
        }
    }

    /// That there are as few files at each node as there should be for this many bytes.
    async fn must_be_few(&self, payload: u64) {
        let stripes = self.stripes().await;
        let rule = CleaningRule::default();
        let is_short = |held: &&Held| {
            let Stripe { payload_len, members, .. } = held.stripe;
            rule.is_short(payload_len, members)
        };
        let (short, long): (Vec<&Held>, Vec<&Held>) = stripes.iter().partition(is_short);
        let most = 1.5 * payload as f64 / MIB;
        assert!(long.len() as f64 <= most, "{} packs of {payload} bytes", long.len());
        let useful: u64 = short.iter().map(|held| held.useful()).sum();
        assert!(short.len() < SHORT_MAX && useful < SHORT_LEN_MAX, "{} of {useful}", short.len());
        let files = fragments(&self.nodes).await.len();
        assert_eq!(files, NODES * stripes.len(), "what is garbage is gone");
        println!("{} packs, {} short stripes, {payload} bytes", long.len(), short.len());
    }
}

async fn course(objects: u64) {
    let scene = scene();
    scene.store.create_bucket("b").await.expect("made");
    let (mut lens, mut payload) = (Vec::new(), 0);
    for at in 0..objects {
        let len = random_u64() % LEN_MAX;
        let body = Pieces::new(bytes(len as usize, at));
        scene.store.put(target(&format!("k{at}")), len, body).await.expect("put");
        lens.push(len);
        payload += len;
        sleep(BETWEEN).await;
    }
    sleep(QUIET).await;
    scene.must_be_few(payload).await;
    println!("put: {:?}", scene.store.keeper.packs_of(PoolId(0)));
    let (mut left, mut written) = (payload, payload);
    let mut gone = 0;
    for at in 0..objects {
        if random_u64().is_multiple_of(2) {
            scene.store.delete("b", &format!("k{at}"), Condition::None).await.expect("deleted");
            left -= std::mem::take(&mut lens[at as usize]);
            gone += 1;
            sleep(BETWEEN).await;
        }
    }
    sleep(QUIET).await;
    scene.must_be_few(left).await;
    let packs = scene.store.keeper.packs_of(PoolId(0));
    assert!(4 * packs.dead <= packs.bytes, "{packs:?}");
    written += packs.cleaned.bytes;
    let amplification = written as f64 / payload as f64;
    println!("{gone} of {objects} deleted, written {amplification:.2} times: {packs:?}");
    assert!(amplification <= 2.5, "{amplification}");
    for at in (0..objects).step_by(97) {
        let found = get(&scene.store, &format!("k{at}")).await;
        match lens[at as usize] {
            0 => assert!(found.is_err() || found.is_ok_and(|found| found.is_empty())),
            len => assert_eq!(found.expect("read"), bytes(len as usize, at)),
        }
    }
}

#[test]
fn a_trickle_of_small_writes_leaves_few_files_and_little_that_is_dead() {
    let objects = std::env::var("RIPSTOP_TRICKLE");
    let objects = objects.map_or(OBJECTS, |count| count.parse().expect("a number"));
    let wall = UNIX_EPOCH + Duration::from_hours(24 * 365 * 60);
    rehearse(async { Host::new(3, wall).run(course(objects)).await });
}
