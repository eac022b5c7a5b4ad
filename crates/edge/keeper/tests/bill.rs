//! What small writes cost at nodes like buckets, where each request is paid, in virtual time.
#![expect(clippy::print_stdout, reason = "the figures, for who asks for more than a test")]

mod common;

use common::{Form, Kept, Pieces, bytes, settings, store_by, target};
use ripstop_catalog::{Catalog, Embedded};
use ripstop_delay::Preset;
use ripstop_host::{Host, carried, rehearse};
use ripstop_model::PoolId;
use ripstop_node::{Delay, MemoryNode, Meter, Node, Operation};
use ripstop_runtime::Memory;
use ripstop_store::{PackSettings, Store, StoreSettings};
use std::{
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};
use tokio::{task::JoinSet, time::sleep};

const NODES: usize = 6;
const CLIENTS: usize = 64;
/// Objects of each client.
const EACH: usize = 40;
const LEN: usize = 256;

struct Scene {
    store: Kept,
    meters: Vec<Arc<Meter>>,
}

/// Six nodes with the delays of buckets, and code (6,4).
fn scene(batching: &str) -> Scene {
    let catalog = Embedded::in_memory(ripstop_catalog::CatalogSettings::default()).expect("opens");
    let catalog: Arc<dyn Catalog> = Arc::new(catalog);
    let meter = |seed| {
        let node = Arc::new(MemoryNode::new(1 << 30));
        let node = Delay::new(node, Preset::S3In2025.model(), seed, 1.0);
        Arc::new(Meter::new(Arc::new(node)))
    };
    let meters: Vec<_> = (0..NODES as u64).map(meter).collect();
    let seen = meters.iter().map(|meter| meter.clone() as Arc<dyn Node>).collect();
    let packs =
        PackSettings { below: 64 << 10, batching: batching.into(), ..PackSettings::default() };
    let of_store = StoreSettings { packs: [(PoolId(0), packs)].into(), ..StoreSettings::default() };
    let (form, memory) = (Form::spread(NODES, 4), Memory::new(64 << 20));
    let store = store_by(catalog, seen, form, memory, (of_store, settings()));
    Scene { store, meters }
}

impl Scene {
    /// Requests of every kind, and bytes that were put.
    fn bill(&self) -> (u64, u64) {
        let readings = self.meters.iter().flat_map(|meter| meter.readings());
        readings.fold((0, 0), |(requests, bytes), reading| {
            let is_put = reading.operation == Operation::Put;
            (requests + reading.started, bytes + if is_put { reading.bytes } else { 0 })
        })
    }
}

/// One after the other: each is answered before the next.
async fn client(store: Store, number: usize) {
    for at in 0..EACH {
        let body = Pieces::new(bytes(LEN, at as u64));
        let key = target(&format!("c{number}/{at}"));
        store.put(key, LEN as u64, body).await.expect("put");
    }
}

async fn course(batching: &str) {
    let scene = scene(batching);
    scene.store.create_bucket("b").await.expect("made");
    sleep(Duration::from_secs(1)).await;
    let before = scene.bill();
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        clients.spawn(carried(client(scene.store.store.clone(), number)));
    }
    clients.join_all().await;
    // What goes on after the last answer is paid, too.
    sleep(Duration::from_secs(5)).await;
    let after = scene.bill();
    let count = (CLIENTS * EACH) as f64;
    let requests = (after.0 - before.0) as f64 / count;
    let told = scene.store.object("b", "c7/7").await.expect("there").object.clone();
    let record = ripstop_form::encode(&told, Vec::new()).len() + "b".len() + "c7/7".len();
    let bytes = (after.1 - before.1) as f64 / count;
    let factor = bytes / (LEN + record) as f64;
    println!(
        "{batching}: {requests:.3} requests a put; {bytes:.0} bytes for {LEN} and a record of \
         {record}: {factor:.2} times"
    );
    assert!(requests < 0.6, "{requests}");
    assert!(factor <= 2.2, "{factor}");
}

#[test]
fn with_64_clients_a_packed_put_is_a_part_of_a_request_and_about_twice_its_bytes() {
    for batching in ["natural", "fixed", "modelled"] {
        let wall = UNIX_EPOCH + Duration::from_hours(24 * 365 * 60);
        rehearse(async { Host::new(5, wall).run(course(batching)).await });
    }
}
