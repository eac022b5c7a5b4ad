//! Nodes that do not answer, and pools that are not there.

mod common;

use common::*;
use ripstop_catalog::{Change, Condition};
use ripstop_keeper::CheckOptions;
use ripstop_model::PoolId;
use ripstop_node::Node;
use ripstop_store::StoreError;
use std::{sync::Arc, time::Duration};

#[tokio::test(flavor = "multi_thread")]
async fn garbage_at_other_nodes_does_not_wait_for_one_that_does_not_answer() {
    let bench = bench(6, 4);
    bench.store.create_bucket("b").await.unwrap();
    for key in 0..60 {
        put(&bench.store, &key.to_string(), b"content").await;
    }
    settle(&bench).await;
    // Side by side: the store sweeps by itself once a second, and would be counted, too.
    let keys: Vec<String> = (0..60).map(|key| key.to_string()).collect();
    let deletions = keys.iter().map(|key| bench.store.delete("b", key, Condition::None));
    for deleted in futures::future::join_all(deletions).await {
        deleted.unwrap();
    }
    bench.down(&[2], true);
    tokio::time::sleep(Duration::from_millis(5)).await;
    bench.keeper.sweep_garbage().await.unwrap();
    assert!((1..=16).contains(&bench.deletes(2)), "{} deletes", bench.deletes(2));
    assert!(bench.deletes(3) >= 60);
    bench.down(&[2], false);
    bench.keeper.sweep_garbage().await.unwrap();
    let left = fragments(&bench.nodes).await;
    assert_eq!(left.len(), 6, "those of the bucket: {left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stripe_of_a_pool_that_is_not_configured_is_an_error_that_names_the_pool() {
    let bench = bench(6, 4);
    let opened = |pool| {
        let nodes = bench.nodes.iter().map(|node| node.clone() as Arc<dyn Node>).collect();
        let memory = bench.memory.clone();
        store_of(pool, bench.catalog.clone(), nodes, bench.form, memory, settings())
    };
    let named = bench.catalog.commit_one(1, Change::NameNode { name: "pool:cold".into() });
    let cold = PoolId(named.await.unwrap().node.unwrap().0);
    let store = opened(cold);
    store.create_bucket("b").await.unwrap();
    put(&store, "k", b"content").await;
    settle(&bench).await;
    drop(store);
    let store = opened(PoolId(cold.0 + 1));
    let mut told = String::new();
    // The names are read beside requests.
    for _ in 0..500 {
        let error = get(&store, "k").await.unwrap_err();
        assert!(matches!(error, StoreError::NoSuchPool { .. }), "{error}");
        told = error.to_string();
        if told.contains("pool \"cold\", which is not configured") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert!(told.contains("pool \"cold\""), "{told}");
    assert!(store.strange_stripes() > 0);
    let report = store.keeper.check(CheckOptions { repair: true }, |_| {}).await.unwrap();
    assert_eq!((report.stripes, report.unknown, report.repaired), (2, 12, 0), "{report:?}");
    drop(store);
    assert_eq!(get(&opened(cold), "k").await.unwrap(), b"content", "it is all still there");
}
