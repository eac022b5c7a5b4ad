//! What keeping has to do with quotas.

mod common;

use common::*;
use futures::future::join_all;

/// A kept store with a bucket `b` of this quota, any two of whose three nodes suffice.
async fn with_quota(bytes: Option<u64>, objects: Option<u64>) -> Bench {
    let bench = bench(3, 2);
    bench.store.create_bucket("b").await.expect("made");
    set_quota(&bench, bytes, objects);
    bench
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_that_come_together_never_exceed_a_quota_and_leave_nothing_behind() {
    let bench = with_quota(Some(100_000), None).await;
    // All of them pass the early look: nothing is there yet.
    let puts =
        (0..30).map(|at| {
            let bench = &bench;
            async move {
                try_put(bench, &format!("k{at}"), 9_000).await.map_err(|error| error.to_string())
            }
        });
    let answers = join_all(puts).await;
    let done = answers.iter().filter(|answer| answer.is_ok()).count();
    let why: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().err()).collect();
    assert_eq!(done, 11, "{why:?}");
    assert!(why.iter().all(|why| why.contains("quota of 100000 bytes")), "{why:?}");
    assert_eq!(held(&bench).await, (99_000, 11));
    settle(&bench).await;
    bench.keeper.sweep_garbage().await.expect("swept");
    // One stripe for the bucket, and one for each object, at three nodes.
    assert_eq!(fragments(&bench.nodes).await.len(), 12 * 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rebuilt_catalog_knows_what_buckets_hold() {
    let mut bench = with_quota(None, None).await;
    for (key, len) in [("one", 300_000), ("two", 500), ("three", 0)] {
        put(&bench.store, key, &bytes(len, 1)).await;
    }
    settle(&bench).await;
    rebuild(&mut bench).await;
    assert_eq!(held(&bench).await, (300_500, 3));
    assert_eq!(get(&bench.store, "two").await.expect("read").len(), 500);
}
