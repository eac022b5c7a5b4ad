//! Two gateways over one catalog and the same nodes: neither takes what the other is writing for
//! abandoned, one of them sweeps, and what one leaves when it dies is swept by the other.

mod common;

use bytes::Bytes;
use common::{
    Bench, Form, Kept, bench, bytes, fragments, get, put, range, settings, store_by,
    store_settings, target, upload_of,
};
use ripstop_catalog::{Attributes, Catalog, Change, Condition, Session};
use ripstop_host::unix_ms;
use ripstop_keeper::{KeeperSettings, UPKEEP};
use ripstop_model::StripeId;
use ripstop_node::Node;
use ripstop_runtime::Memory;
use ripstop_store::{Body, PartSeal, StoreSettings};
use std::{sync::Arc, time::Duration};
use tokio::sync::oneshot;

const LEN: usize = 700_000;

/// A gateway over a bench's catalog and nodes.
fn over(bench: &Bench, settings: KeeperSettings) -> Kept {
    let nodes = bench.nodes.iter().map(|node| node.clone() as Arc<dyn Node>).collect();
    let (form, memory) = (Form::spread(6, 4), Memory::new(16 << 20));
    let shared = StoreSettings { is_shared: true, ..store_settings() };
    store_by(bench.catalog.clone(), nodes, form, memory, (shared, settings))
}

/// Another gateway beside that of a bench.
fn beside(bench: &Bench) -> Kept {
    over(bench, settings())
}

/// A bench with a bucket, whose gateway has others beside it.
async fn shared() -> Bench {
    let mut bench = bench(6, 4);
    bench.store.create_bucket("b").await.expect("created");
    bench.take(over(&bench, settings()));
    bench
}

/// A body whose last bytes come when they are let go, and which says once all others were taken.
struct Held {
    bytes: Bytes,
    told: Option<oneshot::Sender<()>>,
    last: Option<oneshot::Receiver<Bytes>>,
}

impl Held {
    /// The body, what says that all before its last bytes were taken, and what lets these go.
    fn new(before: &[u8]) -> (Self, oneshot::Receiver<()>, oneshot::Sender<Bytes>) {
        let ((tell, told), (let_go, last)) = (oneshot::channel(), oneshot::channel());
        let bytes = Bytes::copy_from_slice(before);
        (Self { bytes, told: Some(tell), last: Some(last) }, told, let_go)
    }

    async fn piece(&mut self) -> Option<Result<Bytes, &'static str>> {
        if !self.bytes.is_empty() {
            return Some(Ok(self.bytes.split_to(self.bytes.len().min(10_000))));
        }
        let last = self.last.take()?;
        let _ = self.told.take().map(|told| told.send(()));
        Some(last.await.map_err(|_| "its client left"))
    }
}

impl Body for Held {
    type Seal = Attributes;
    type Error = &'static str;

    async fn next(&mut self) -> Option<Result<Bytes, &'static str>> {
        self.piece().await
    }

    fn seal(&mut self) -> Result<Attributes, &'static str> {
        Ok(Attributes { etag: "etag".into(), ..Attributes::default() })
    }
}

struct HeldPart(Held);

impl Body for HeldPart {
    type Seal = PartSeal;
    type Error = &'static str;

    async fn next(&mut self) -> Option<Result<Bytes, &'static str>> {
        self.0.piece().await
    }

    fn seal(&mut self) -> Result<PartSeal, &'static str> {
        Ok(PartSeal { etag: "etag".into(), checksum: None, salt: None })
    }
}

/// Names' grace is a whole millisecond.
async fn a_moment() {
    tokio::time::sleep(Duration::from_millis(20)).await;
}

/// Waits until nodes hold something that no stripe claims.
async fn some_stored(bench: &Bench, before: usize) {
    for _ in 0..500 {
        if fragments(&bench.nodes).await.len() > before {
            return a_moment().await;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    panic!("nothing was stored");
}

/// Has the catalog believe that all sessions but one's own died long ago.
async fn give_up_all(catalog: &dyn Catalog) {
    catalog.commit_one(u64::MAX, Change::Retire).await.expect("applied");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_is_writing_the_other_does_not_sweep() {
    let bench = shared().await;
    let other = beside(&bench);
    let whole = bytes(LEN, 7);
    let before = fragments(&bench.nodes).await.len();
    let (body, told, let_go) = Held::new(&whole[..LEN - 1000]);
    let (store, len) = (bench.store.clone(), LEN as u64);
    let writing = tokio::spawn(async move { store.put(target("k"), len, body).await });
    told.await.expect("it is taken");
    some_stored(&bench, before).await;
    let stored = fragments(&bench.nodes).await;
    assert_eq!(other.keeper.sweep_unclaimed().await.expect("swept"), 0);
    assert_eq!(fragments(&bench.nodes).await, stored);
    assert_eq!(other.newer(), None, "it began before the other knew of it");
    let_go.send(Bytes::copy_from_slice(&whole[LEN - 1000..])).expect("it waits");
    writing.await.expect("it ends").expect("put");
    assert!(get(&other, "k").await.expect("read") == whole);
}

#[tokio::test(flavor = "multi_thread")]
async fn nor_a_part_of_an_upload() {
    let bench = shared().await;
    let other = beside(&bench);
    let upload = bench.store.create_upload(upload_of("b", "k")).await.expect("begun");
    let whole = bytes(LEN, 9);
    let before = fragments(&bench.nodes).await.len();
    let (body, told, let_go) = Held::new(&whole[..LEN - 1000]);
    let (store, id, len) = (bench.store.clone(), upload.clone(), LEN as u64);
    let writing = tokio::spawn(async move { store.put_part(&id, 1, len, HeldPart(body)).await });
    told.await.expect("it is taken");
    some_stored(&bench, before).await;
    assert_eq!(other.keeper.sweep_unclaimed().await.expect("swept"), 0);
    let_go.send(Bytes::copy_from_slice(&whole[LEN - 1000..])).expect("it waits");
    writing.await.expect("it ends").expect("put");
    assert_eq!(other.keeper.sweep_unclaimed().await.expect("swept"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_left_as_it_died_the_other_sweeps() {
    let bench = shared().await;
    let other = beside(&bench);
    put(&bench.store, "kept", &bytes(LEN, 1)).await;
    a_moment().await;
    let before = fragments(&bench.nodes).await;
    // As far as the other can tell: a write that never goes on.
    let (body, told, _held) = Held::new(&bytes(LEN, 2));
    let (store, len) = (bench.store.clone(), LEN as u64 + 1);
    let writing = tokio::spawn(async move { store.put(target("k"), len, body).await });
    told.await.expect("it is taken");
    some_stored(&bench, before.len()).await;
    assert_eq!(other.keeper.sweep_unclaimed().await.expect("swept"), 0, "it may be alive");
    give_up_all(&*bench.catalog).await;
    assert!(other.keeper.sweep_unclaimed().await.expect("swept") > 0);
    assert_eq!(fragments(&bench.nodes).await, before);
    assert!(get(&other, "kept").await.is_ok());
    writing.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_was_given_up_too_early_loses_what_it_was_writing_and_goes_on() {
    let bench = shared().await;
    let other = beside(&bench);
    let whole = bytes(LEN, 3);
    let (body, told, let_go) = Held::new(&whole[..LEN - 1000]);
    let (store, len) = (bench.store.clone(), LEN as u64);
    let writing = tokio::spawn(async move { store.put(target("k"), len, body).await });
    told.await.expect("it is taken");
    a_moment().await;
    give_up_all(&*bench.catalog).await;
    other.keeper.sweep_unclaimed().await.expect("swept");
    let_go.send(Bytes::copy_from_slice(&whole[LEN - 1000..])).expect("it waits");
    let refused = writing.await.expect("it ends").map(drop).expect_err("its bytes may be gone");
    assert!(format!("{refused:?}").contains("Retired"), "{refused:?}");
    // Its client is told to try again, and then it is there.
    put(&bench.store, "k", &whole).await;
    assert!(get(&other, "k").await.expect("read") == whole);
    assert!(range(&other, "k", 5..500_000).await.expect("read") == whole[5..500_000]);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_them_sweeps_until_its_lease_is_over() {
    let mut bench = bench(6, 4);
    bench.store.create_bucket("b").await.expect("created");
    let holder = Session(77);
    let (name, now) = (UPKEEP.to_owned(), unix_ms());
    let lease = Change::Lease { name: name.clone(), holder, until_ms: now + 3_600_000 };
    bench.catalog.commit_one(now, lease).await.expect("taken");
    // The one before thinks that it is alone, and sweeps.
    bench.take(beside(&bench));
    let catalog = &bench.catalog;
    let often = Duration::from_millis(5);
    let other = over(&bench, KeeperSettings { sweep_every: often, ..settings() });
    put(&other, "k", &bytes(LEN, 4)).await;
    other.delete("b", "k", Condition::None).await.expect("deleted");
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let garbage = catalog.garbage(u64::MAX, StripeId(0), 100).await.expect("read");
    assert!(!garbage.is_empty(), "another sweeps");
    let released = Change::Release { name: name.clone(), holder };
    catalog.commit_one(unix_ms(), released).await.expect("released");
    for _ in 0..500 {
        if catalog.garbage(u64::MAX, StripeId(0), 100).await.expect("read").is_empty() {
            let lease = catalog.lease(&name).await.expect("read").expect("it was taken");
            assert!(lease.holder != holder && lease.epoch == 2);
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("nobody swept");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_does_that_lost_the_lease_is_refused_and_the_next_does_it() {
    let bench = shared().await;
    // Before there is another: rounds of either take it as they begin.
    assert!(bench.keeper.has_upkeep().await.expect("asked"));
    let (one, other) = (&bench.store, beside(&bench));
    put(one, "k", &bytes(LEN, 6)).await;
    one.delete("b", "k", Condition::None).await.expect("deleted");
    a_moment().await;
    assert!(bench.keeper.has_upkeep().await.expect("asked"));
    assert!(!other.keeper.has_upkeep().await.expect("asked"));
    let catalog = &bench.catalog;
    let lease = catalog.lease(UPKEEP).await.expect("read").expect("taken");
    let released = Change::Release { name: UPKEEP.into(), holder: lease.holder };
    catalog.commit_one(unix_ms(), released).await.expect("applied");
    assert!(other.keeper.has_upkeep().await.expect("asked"));
    // The first one has half a minute left, as far as it knows.
    assert!(bench.keeper.has_upkeep().await.expect("asked"));
    let before = catalog.garbage(u64::MAX, StripeId(0), 100).await.expect("read");
    let refused = bench.keeper.sweep_garbage().await.expect_err("it lost the lease");
    assert!(format!("{refused:?}").contains("Fenced { epoch: 2 }"), "{refused:?}");
    let garbage = catalog.garbage(u64::MAX, StripeId(0), 100).await.expect("read");
    assert!(!garbage.is_empty() && garbage == before, "what it deleted is still to be deleted");
    assert_eq!(other.keeper.sweep_garbage().await.expect("swept"), before.len());
    assert!(catalog.garbage(u64::MAX, StripeId(0), 100).await.expect("read").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_has_the_catalog_to_itself_waits_for_nobody() {
    let bench = shared().await;
    let before = fragments(&bench.nodes).await;
    let (body, told, _held) = Held::new(&bytes(LEN, 5));
    let (store, len) = (bench.store.clone(), LEN as u64 + 1);
    let writing = tokio::spawn(async move { store.put(target("k"), len, body).await });
    told.await.expect("it is taken");
    some_stored(&bench, before.len()).await;
    let nodes = bench.nodes.iter().map(|node| node.clone() as Arc<dyn Node>).collect();
    let (form, memory) = (Form::spread(6, 4), Memory::new(16 << 20));
    let next = common::store(bench.catalog.clone(), nodes, form, memory);
    assert!(next.keeper.sweep_unclaimed().await.expect("swept") > 0);
    assert_eq!(fragments(&bench.nodes).await, before);
    writing.abort();
}
