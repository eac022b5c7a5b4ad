//! What keeping does for objects: they stay readable, and what is nobody's goes.

mod common;

use common::*;
use ripstop_catalog::{Attributes, Condition, Upload};
use ripstop_keeper::CheckOptions;
use ripstop_runtime::Layout;
use ripstop_store::{StoreError, WriteError};
use std::time::Duration;

#[tokio::test(flavor = "multi_thread")]
async fn parity_many_nodes_may_lose_everything() {
    let bench = bench(6, 4);
    bench.store.create_bucket("b").await.unwrap();
    let content = bytes(600_000, 1);
    put(&bench.store, "k", &content).await;
    settle(&bench).await;
    for lost in [[0, 1], [2, 5], [3, 4]] {
        for node in lost {
            wipe(&bench, node).await;
        }
        assert_eq!(get(&bench.store, "k").await.unwrap(), content, "without {lost:?}");
        let report = bench.keeper.check(CheckOptions { repair: true }, |_| {}).await.unwrap();
        assert!(report.missing > 0 && report.is_clean(), "{report:?}");
    }
    let report = bench.keeper.check(CheckOptions::default(), |_| {}).await.unwrap();
    assert_eq!((report.missing, report.damaged, report.repaired), (0, 0, 0));
    for node in [0, 1, 2] {
        wipe(&bench, node).await;
    }
    assert!(matches!(get(&bench.store, "k").await, Err(StoreError::Lost { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_written_while_nodes_were_down_is_mended_once_they_are_back() {
    let bench = bench(6, 4);
    bench.store.create_bucket("b").await.unwrap();
    let content = bytes(600_000, 1);
    bench.down(&[1, 4], true);
    put(&bench.store, "k", &content).await;
    assert_eq!(get(&bench.store, "k").await.unwrap(), content, "with K nodes");
    settle(&bench).await;
    assert_eq!(bench.keeper.mend_waiting().await, 0, "while they are down");
    bench.down(&[1, 4], false);
    for _ in 0..1000 {
        bench.keeper.mend_waiting().await;
        let report = bench.keeper.check(CheckOptions::default(), |_| {}).await.unwrap();
        if report.is_clean() {
            assert_eq!(report.fragments, 24, "of a bucket's stripe and three of the object's");
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("not mended");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_put_leaves_the_old_object_and_garbage_that_is_swept() {
    for form in Form::all() {
        let bench = bench_of(form);
        bench.store.create_bucket("b").await.unwrap();
        let old = bytes(300_000, 1);
        put(&bench.store, "k", &old).await;
        settle(&bench).await;
        let before = fragments(&bench.nodes).await;
        let body = Pieces::failing(bytes(600_000, 2));
        let failed = bench.store.put(target("k"), 600_000, body).await;
        assert!(matches!(failed, Err(WriteError::Body("bad digest"))));
        let short = bench.store.put(target("k"), 600_001, Pieces::new(bytes(600_000, 2))).await;
        assert!(matches!(short, Err(WriteError::Store(StoreError::Length { got: 600_000, .. }))));
        assert_eq!(get(&bench.store, "k").await.unwrap(), old);
        settle(&bench).await;
        bench.keeper.sweep_garbage().await.unwrap();
        bench.keeper.sweep_unclaimed().await.unwrap();
        assert_eq!(fragments(&bench.nodes).await, before);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_outlives_its_source_and_shares_its_stripes() {
    for form in Form::all() {
        let bench = bench_of(form);
        bench.store.create_bucket("b").await.unwrap();
        let content = bytes(400_000, 3);
        put(&bench.store, "k", &content).await;
        let source = bench.store.object("b", "k").await.unwrap();
        bench.store.copy(&source, target("copy"), Attributes::default()).await.unwrap();
        bench.store.delete("b", "k", Condition::None).await.unwrap();
        settle(&bench).await;
        bench.keeper.sweep_garbage().await.unwrap();
        assert_eq!(get(&bench.store, "copy").await.unwrap(), content);
        bench.store.delete("b", "copy", Condition::None).await.unwrap();
        bench.store.delete_bucket("b").await.unwrap();
        settle(&bench).await;
        bench.keeper.sweep_garbage().await.unwrap();
        assert_eq!(fragments(&bench.nodes).await, []);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_catalog_is_rebuilt_from_fragments() {
    for form in [Form::spread(4, 2)].into_iter().chain(Form::all()) {
        rebuilt(bench_of(form)).await;
    }
}

/// Fills the store, forgets its catalog, and makes it again; where a node can be spared, it is.
async fn rebuilt(mut bench: Bench) {
    let content = bytes(600_000, 9);
    bench.store.create_bucket("b").await.expect("done");
    bench.store.create_bucket("empty").await.expect("done");
    put(&bench.store, "k", &bytes(10, 1)).await;
    put(&bench.store, "k", &content).await;
    put(&bench.store, "nothing", &[]).await;
    let source = bench.store.object("b", "k").await.expect("done");
    let tags = Attributes { tags: vec![("a".into(), "b".into())], ..Attributes::default() };
    bench.store.copy(&source, target("copy"), tags.clone()).await.expect("done");
    settle(&bench).await;
    if bench.form.layout == Layout::Spread {
        wipe(&bench, 1).await;
    }
    let report = rebuild(&mut bench).await;
    assert_eq!((report.buckets, report.objects), (2, 3), "{report:?}");
    assert_eq!(get(&bench.store, "k").await.expect("done"), content);
    assert_eq!(get(&bench.store, "copy").await.expect("done"), content);
    assert!(get(&bench.store, "nothing").await.expect("done").is_empty());
    assert_eq!(bench.store.object("b", "copy").await.expect("done").object.attributes, tags);
    let report = bench.keeper.check(CheckOptions { repair: true }, |_| {}).await.expect("done");
    assert!(report.is_clean() && report.lost == 0, "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_that_nobody_completes_are_aborted_once_they_are_old() {
    let bench = bench(3, 2);
    for bucket in ["b", "other"] {
        bench.store.create_bucket(bucket).await.unwrap();
    }
    let other = Upload { bucket: "other".into(), ..upload_of("b", "k") };
    let old = [upload_of("b", "k"), upload_of("b", "k"), other]
        .map(|upload| bench.store.create_upload(upload));
    let old = futures::future::try_join_all(old).await.unwrap();
    let body = PartPieces(Pieces::new(bytes(300_000, 1)));
    bench.store.put_part(&old[0], 1, 300_000, body).await.unwrap();
    let before_ms = old.iter().map(|upload| upload.created_ms).max().unwrap() + 1;
    tokio::time::sleep(Duration::from_millis(5)).await;
    let young = bench.store.create_upload(upload_of("b", "k")).await.unwrap();
    assert_eq!(bench.keeper.expire_uploads(before_ms).await.unwrap(), 3);
    assert!(bench.store.upload("b", "k", &young.id).await.is_ok());
    assert!(bench.store.upload("b", "k", &old[0].id).await.is_err());
    assert_eq!(bench.keeper.expire_uploads(before_ms).await.unwrap(), 0);
    settle(&bench).await;
    bench.keeper.sweep_garbage().await.unwrap();
    let left = fragments(&bench.nodes).await;
    assert_eq!(left.len(), 6, "of two buckets; the part's are gone: {left:?}");
}
