//! What becomes of deletions where the nodes do not take what tells of them.

mod common;
mod scene;

use common::{get, put, settings, store_settings, target};
use ripstop_catalog::{Attributes, Condition};
use ripstop_store::{StoreError, StoreSettings};
use scene::Scene;
use std::time::Duration;

/// More requests than a pool lets wait.
const CROWD: usize = 4000;

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_for_which_too_much_waits_is_told_to_come_back_and_deletes_nothing() {
    let patience = Duration::from_millis(200);
    let hasty = StoreSettings { memory_wait: patience, ..store_settings() };
    let scene = Scene::by((hasty, settings())).await;
    put(&scene.store, "k", b"content").await;
    let source = scene.store.object("b", "k").await.expect("there");
    scene.gates.puts.shut();
    let copies: Vec<_> = (0..CROWD)
        .map(|at| {
            let (store, source) = (scene.store.clone(), source.clone());
            let to = target(&format!("copy{at}"));
            tokio::spawn(async move { store.copy(&source, to, Attributes::default()).await })
        })
        .collect();
    let mut deleted = Ok(None);
    for _ in 0..5000 {
        if copies.iter().any(tokio::task::JoinHandle::is_finished) {
            deleted = scene.store.delete("b", "k", Condition::None).await;
            break;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(matches!(deleted, Err(StoreError::Busy { .. })), "{deleted:?}");
    scene.gates.puts.open();
    copies.iter().for_each(tokio::task::JoinHandle::abort);
    assert_eq!(get(&scene.store, "k").await.expect("read"), b"content");
    for _ in 0..1000 {
        match scene.store.delete("b", "k", Condition::None).await {
            Err(StoreError::Busy { .. }) => tokio::time::sleep(Duration::from_millis(5)).await,
            deleted => return assert!(deleted.expect("deleted").is_some()),
        }
    }
    panic!("too much waits although all was let go");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_deleted_although_too_few_nodes_are_there_to_tell_of_it() {
    let scene = Scene::with(settings()).await;
    put(&scene.store, "k", b"content").await;
    scene.down(&[0, 1, 2, 3, 4, 5, 6], true);
    assert!(scene.store.delete("b", "k", Condition::None).await.expect("deleted").is_some());
    assert!(scene.store.object("b", "k").await.is_err());
}
