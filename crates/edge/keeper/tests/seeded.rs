//! A whole store, played from a seed: what depends on it alone happens again, to the last bit.

mod common;

use bytes::Bytes;
use common::{Form, Kept, Pieces, bytes, fragments, get, settings, target};
use futures::TryStreamExt;
use ripstop_catalog::{Catalog, Condition, Embedded, ListingRequest, Model};
use ripstop_delay::{Dice, ShiftedExponential};
use ripstop_host::{Host, carried, now, random_u64, rehearse};
use ripstop_keeper::KeeperSettings;
use ripstop_model::{FragmentId, PoolId, StripeId};
use ripstop_node::{Delay, Fault, FaultHandle, FaultSettings, MemoryNode, Node};
use ripstop_runtime::Memory;
use ripstop_store::Store;
use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant, UNIX_EPOCH},
};
use tokio::{task::JoinSet, time::sleep};

const CLIENTS: u64 = 4;
const OPERATIONS: usize = 40;
const KEYS: u64 = 12;
const NODES: usize = 6;
/// The law of the nodes' delays.
const DELAY: ShiftedExponential =
    ShiftedExponential { shift_ms: 2.0, shift_ms_per_mb: 20.0, mean_ms: 3.0, mean_ms_per_mb: 30.0 };
/// Far from now, so that a look at another clock shows.
const WALL: Duration = Duration::from_hours(24 * 365 * 80);

/// What a course comes to.
#[derive(PartialEq, Debug)]
struct End {
    /// What each operation came to, and when, in the order in which they ended.
    told: Vec<String>,
    /// Every object, stripe in force, and stripe of garbage.
    objects: Vec<String>,
    stripes: Vec<String>,
    garbage: Vec<String>,
    /// Every fragment of every node, with its bytes.
    stored: Vec<(usize, FragmentId, Bytes)>,
    took: Duration,
}

struct Scene {
    store: Kept,
    nodes: Vec<Arc<MemoryNode>>,
    faults: Vec<FaultHandle>,
}

fn scene(seed: u64, catalog: Arc<dyn Catalog>) -> Scene {
    let nodes: Vec<_> = (0..NODES).map(|_| Arc::new(MemoryNode::new(1 << 30))).collect();
    let (mut seen, mut faults) = (Vec::<Arc<dyn Node>>::new(), Vec::new());
    for (node, number) in nodes.iter().zip(0..) {
        let fault = Fault::new(node.clone(), FaultSettings::default(), seed);
        faults.push(fault.handle());
        let dice = Dice::numbered_seed(seed, number);
        seen.push(Arc::new(Delay::new(Arc::new(fault), Box::new(DELAY), dice, 1.0)));
    }
    let often = Duration::from_millis(300);
    let settings =
        KeeperSettings { grace: often, sweep_every: often, list_every: often, ..settings() };
    let (form, memory) = (Form::spread(NODES, 4), Memory::new(16 << 20));
    let store = common::store_of(PoolId(0), catalog, seen, form, memory, settings);
    Scene { store, nodes, faults }
}

/// Puts, reads and deletes keys that others use too.
async fn client(store: Store, begun: Instant, mut tell: impl FnMut(String)) {
    for _ in 0..OPERATIONS {
        sleep(Duration::from_micros(random_u64() % 20_000)).await;
        let key = format!("k{}", random_u64() % KEYS);
        let came_to = match random_u64() % 8 {
            0..4 => {
                let len = random_u64() % 600_000;
                let body = Pieces::new(bytes(len as usize, random_u64()));
                format!("put {len}: {:?}", store.put(target(&key), len, body).await)
            }
            4..6 => match get(&store, &key).await {
                Ok(found) => format!("got {} {:x}", found.len(), crc(&found)),
                Err(error) => format!("got no object: {error}"),
            },
            _ => format!("deleted: {:?}", store.delete("b", &key, Condition::None).await),
        };
        tell(format!("{:?} {key} {came_to}", now() - begun));
    }
}

fn crc(bytes: &[u8]) -> u64 {
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc64Nvme, bytes)
}

async fn course(seed: u64, catalog: Arc<dyn Catalog>) -> End {
    let (begun, scene) = (now(), scene(seed, catalog.clone()));
    scene.store.create_bucket("b").await.expect("created");
    let (to, mut from) = tokio::sync::mpsc::unbounded_channel();
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let (store, to) = (scene.store.store.clone(), to.clone());
        clients.spawn(carried(client(store, begun, move |told| {
            let _ = to.send(told);
        })));
    }
    // A node is lost for a while, and comes back to what was mended meanwhile.
    for down in [true, false] {
        sleep(Duration::from_millis(150)).await;
        scene.faults[2].down(down);
    }
    clients.join_all().await;
    drop(to);
    sleep(Duration::from_secs(30)).await;
    let mut told = Vec::new();
    while let Some(one) = from.recv().await {
        told.push(one);
    }
    let mut stored = Vec::new();
    for (node, name) in fragments(&scene.nodes).await {
        let listed: Vec<_> = scene.nodes[node].list().try_collect().await.expect("listed");
        let len = listed.iter().find(|listed| listed.name == name).expect("it is there").len;
        stored.push((node, name, scene.nodes[node].get(name, 0..len).await.expect("there")));
    }
    let listing = ListingRequest { bucket: "b".into(), max: 1000, ..ListingRequest::default() };
    let objects = catalog.list(&listing).await.expect("listed").objects;
    let stripes = catalog.stripes_after(StripeId(0), 1000).await.expect("read");
    let garbage = catalog.garbage(u64::MAX, StripeId(0), 1000).await.expect("read");
    End {
        told,
        objects: shown(&objects),
        stripes: shown(&stripes),
        garbage: shown(&garbage),
        stored,
        took: now() - begun,
    }
}

fn shown(rows: &[impl fmt::Debug]) -> Vec<String> {
    rows.iter().map(|row| format!("{row:?}")).collect()
}

/// Plays a course over a catalog that is made on the course's host.
fn play<C: Catalog + 'static>(seed: u64, catalog: fn() -> C) -> End {
    let course = async move { course(seed, Arc::new(catalog())).await };
    rehearse(async { Host::new(seed, UNIX_EPOCH + WALL).run(course).await })
}

fn embedded() -> Embedded {
    Embedded::in_memory(ripstop_catalog::CatalogSettings::default()).expect("opens")
}

#[test]
fn a_store_is_played_again_from_its_seed() {
    let one = play(7, Model::default);
    assert_eq!(one.told.len(), CLIENTS as usize * OPERATIONS);
    assert!(one.told.iter().any(|told| told.contains("got no object")));
    assert!(!one.objects.is_empty() && one.garbage.is_empty());
    let fragments = one.stripes.len() * NODES;
    assert_eq!(one.stored.len(), fragments, "what was lost is mended, what is garbage is gone");
    let years = |name: &FragmentId| name.stripe.unix_ms() / WALL.as_millis() as u64;
    assert!(one.stored.iter().all(|(_, name, _)| years(name) == 1));
    same(&one, &play(7, Model::default));
    assert_ne!(one.told, play(8, Model::default).told);
}

#[test]
fn so_is_one_whose_catalog_commits_by_itself() {
    let one = play(7, embedded);
    assert!(!one.objects.is_empty() && one.garbage.is_empty());
    assert_eq!(one.stored.len(), one.stripes.len() * NODES);
    same(&one, &play(7, embedded));
}

fn same(one: &End, again: &End) {
    for (one, again) in one.told.iter().zip(&again.told) {
        assert_eq!(one, again);
    }
    assert!(one == again, "the catalogs or the nodes differ");
}
