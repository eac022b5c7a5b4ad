//! A keeper's rounds go on while somebody has it, and requests need none of them.

mod common;

use common::{Bench, bench, bytes, get, put, settings, settle};
use ripstop_catalog::Condition;
use ripstop_keeper::{Keeper, KeeperSettings};
use ripstop_model::StripeId;
use std::time::Duration;

/// Puts an object, and deletes it once it is all stored.
async fn leave_garbage(bench: &Bench) {
    put(&bench.store, "gone", &bytes(100_000, 1)).await;
    settle(bench).await;
    bench.store.delete("b", "gone", Condition::None).await.expect("deleted");
}

async fn garbage(bench: &Bench) -> usize {
    bench.catalog.garbage(u64::MAX, StripeId(0), 100).await.expect("read").len()
}

async fn is_swept(bench: &Bench) -> bool {
    for _ in 0..300 {
        if garbage(bench).await == 0 {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rounds_of_a_keeper_end_with_its_last_clone_and_requests_go_on() {
    let mut bench = bench(6, 4);
    bench.store.create_bucket("b").await.expect("created");
    let often = KeeperSettings { sweep_every: Duration::from_millis(10), ..settings() };
    // What becomes of writes is told to the keeper that it replaces: here only sweeps count.
    let (_to, aftermaths) = ripstop_runtime::aftermaths();
    bench.keeper = Keeper::begin(bench.store.clone(), aftermaths, often);
    leave_garbage(&bench).await;
    assert!(is_swept(&bench).await, "by itself");

    let (_to, aftermaths) = ripstop_runtime::aftermaths();
    let never =
        KeeperSettings { sweep_every: Duration::from_hours(1), ..KeeperSettings::default() };
    let idle = Keeper::begin(bench.store.clone(), aftermaths, never);
    let clone = bench.keeper.clone();
    drop(std::mem::replace(&mut bench.keeper, idle));
    leave_garbage(&bench).await;
    assert!(is_swept(&bench).await, "somebody has a clone of it");

    drop(clone);
    // One round may be under way.
    tokio::time::sleep(Duration::from_millis(50)).await;
    let content = bytes(100_000, 2);
    put(&bench.store, "kept", &content).await;
    leave_garbage(&bench).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(garbage(&bench).await > 0, "nobody sweeps");
    assert_eq!(get(&bench.store, "kept").await.expect("read"), content);
}
