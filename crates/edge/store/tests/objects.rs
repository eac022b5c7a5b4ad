//! Objects through a real catalog and real coding, over memory nodes.

mod common;

use common::*;
use ripstop_catalog::{Attributes, CatalogError, Condition, Refusal, Upload, UploadedPart};
use ripstop_runtime::Layout;
use ripstop_store::{Body, CheckOptions, EXTENTS_MAX, PartSeal, StoreError, WriteError};
use std::time::Duration;

const SIZES: &[usize] =
    &[0, 1, 3, 4, 5, 4096, 65_536, 262_143, 262_144, 262_145, 300_000, 1_000_000];

#[tokio::test(flavor = "multi_thread")]
async fn objects_of_every_size_come_back() {
    for form in Form::all() {
        let bench = bench_of(form);
        bench.store.create_bucket("b").await.unwrap();
        for &len in SIZES {
            let content = bytes(len, len as u64);
            put(&bench.store, "k", &content).await;
            assert!(get(&bench.store, "k").await.unwrap() == content, "{form:?}: {len} bytes");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_range_is_the_slice_of_the_whole() {
    let content = bytes(700_001, 5);
    let edges = [
        0, 1, 21_845, 21_846, 65_535, 65_536, 87_382, 174_763, 262_143, 262_144, 262_145, 500_000,
        700_001,
    ];
    for form in [Form::spread(5, 3)].into_iter().chain(Form::all()) {
        let bench = bench_of(form);
        bench.store.create_bucket("b").await.unwrap();
        put(&bench.store, "k", &content).await;
        for &from in &edges {
            for &to in edges.iter().filter(|to| **to > from) {
                let found = range(&bench.store, "k", from as u64..to as u64).await.unwrap();
                assert!(found == content[from..to], "{form:?}: {from}..{to}");
            }
        }
    }
}

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
        let report = bench.store.check(CheckOptions { repair: true }, |_| {}).await.unwrap();
        assert!(report.missing > 0 && report.is_clean(), "{report:?}");
    }
    let report = bench.store.check(CheckOptions::default(), |_| {}).await.unwrap();
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
    assert_eq!(bench.store.mend_waiting().await, 0, "while they are down");
    bench.down(&[1, 4], false);
    for _ in 0..1000 {
        bench.store.mend_waiting().await;
        let report = bench.store.check(CheckOptions::default(), |_| {}).await.unwrap();
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
        bench.store.sweep_garbage().await.unwrap();
        bench.store.sweep_unclaimed().await.unwrap();
        assert_eq!(fragments(&bench.nodes).await, before);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn conditions_decide_who_writes() {
    let bench = bench(3, 2);
    bench.store.create_bucket("b").await.unwrap();
    let absent = || ripstop_store::Target { condition: Condition::Absent, ..target("k") };
    let racers = (0..8).map(|seed| {
        let store = bench.store.clone();
        let target = absent();
        tokio::spawn(
            async move { store.put(target, 10, Pieces::new(bytes(10, seed))).await.is_ok() },
        )
    });
    let won = futures::future::join_all(racers).await;
    assert_eq!(won.into_iter().filter(|won| *won.as_ref().unwrap()).count(), 1);
    let refused = bench.store.put(absent(), 1, Pieces::new("x")).await;
    let failed = CatalogError::Refused(Refusal::ConditionFailed).to_string();
    assert_eq!(refused.unwrap_err().to_string(), failed);
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
        bench.store.sweep_garbage().await.unwrap();
        assert_eq!(get(&bench.store, "copy").await.unwrap(), content);
        bench.store.delete("b", "copy", Condition::None).await.unwrap();
        bench.store.delete_bucket("b").await.unwrap();
        settle(&bench).await;
        bench.store.sweep_garbage().await.unwrap();
        assert_eq!(fragments(&bench.nodes).await, []);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_becomes_one_object_of_its_parts() {
    for form in Form::all() {
        let bench = bench_of(form);
        let store = &bench.store;
        store.create_bucket("b").await.unwrap();
        let upload = store.create_upload(upload_of("b", "k")).await.unwrap();
        let (one, two) = (bytes(300_000, 1), bytes(5, 2));
        for (number, content) in [(2, &two), (1, &two), (1, &one)] {
            let body = PartPieces(Pieces::new(content.clone()));
            store.put_part(&upload, number, content.len() as u64, body).await.unwrap();
        }
        put(store, "other", &one).await;
        let other = store.object("b", "other").await.unwrap();
        let seal = PartSeal { etag: "copied".into(), checksum: None };
        store.copy_part(&other, 100..200_000, &upload, 3, seal).await.unwrap();
        let parts = store.parts(&upload.id, 0, 100).await.unwrap();
        store
            .complete_upload(&upload, &parts, Attributes::default(), Condition::None)
            .await
            .unwrap();
        let whole = [&one[..], &two, &one[100..200_000]].concat();
        assert_eq!(get(store, "k").await.unwrap(), whole);
        assert!(store.upload("b", "k", &upload.id).await.is_err());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_catalog_is_made_anew_from_fragments() {
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
    let report = bench.store.check(CheckOptions { repair: true }, |_| {}).await.expect("done");
    assert!(report.is_clean() && report.lost == 0, "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_memory_stays_taken() {
    for form in Form::all() {
        let bench = bench_of(form);
        bench.store.create_bucket("b").await.unwrap();
        // The store's own first write may still be under way.
        settle(&bench).await;
        let all = bench.memory.free();
        let work = (0..20).map(|seed| {
            let store = bench.store.clone();
            tokio::spawn(async move {
                let key = format!("k{seed}");
                let content = bytes(700_000, seed);
                let write = store.put(target(&key), 700_000, Pieces::new(content.clone()));
                if seed % 3 == 0 {
                    // A client that leaves.
                    let _ = tokio::time::timeout(Duration::from_micros(300), write).await;
                } else {
                    write.await.unwrap();
                    assert_eq!(get(&store, &key).await.unwrap(), content);
                }
            })
        });
        for done in futures::future::join_all(work).await {
            done.unwrap();
        }
        settle(&bench).await;
        assert_eq!(bench.memory.free(), all);
    }
}

/// Never comes to an end, and must not be asked.
struct Endless;

impl Body for Endless {
    type Seal = Attributes;
    type Error = &'static str;

    async fn next(&mut self) -> Option<Result<bytes::Bytes, &'static str>> {
        panic!("a byte was asked for");
    }

    fn seal(&mut self) -> Result<Attributes, &'static str> {
        panic!("there is no end");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_in_more_pieces_than_a_header_can_tell_is_refused_and_changes_nothing() {
    let bench = bench(3, 2);
    bench.store.create_bucket("b").await.unwrap();
    put(&bench.store, "k", b"old").await;
    let len = (EXTENTS_MAX as u64 + 1) * u64::from(settings().stripe_max);
    let refused = bench.store.put(target("k"), len, Endless).await;
    assert!(matches!(refused, Err(WriteError::Store(StoreError::Extents { .. }))));
    let upload = bench.store.create_upload(upload_of("b", "k")).await.unwrap();
    let source = bench.store.object("b", "k").await.unwrap();
    let seal = PartSeal { etag: "e".into(), checksum: None };
    let part = bench.store.copy_part(&source, 0..3, &upload, 1, seal).await.unwrap();
    let many = UploadedPart { extents: vec![part.extents[0]; EXTENTS_MAX + 1], ..part };
    let attributes = Attributes::default();
    let refused = bench.store.complete_upload(&upload, &[many], attributes, Condition::None).await;
    assert!(matches!(refused, Err(StoreError::Extents { .. })));
    assert_eq!(get(&bench.store, "k").await.unwrap(), b"old");
    assert_eq!(bench.store.parts(&upload.id, 0, 9).await.unwrap().len(), 1, "the upload goes on");
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
    assert_eq!(bench.store.expire_uploads(before_ms).await.unwrap(), 3);
    assert!(bench.store.upload("b", "k", &young.id).await.is_ok());
    assert!(bench.store.upload("b", "k", &old[0].id).await.is_err());
    assert_eq!(bench.store.expire_uploads(before_ms).await.unwrap(), 0);
    settle(&bench).await;
    bench.store.sweep_garbage().await.unwrap();
    let left = fragments(&bench.nodes).await;
    assert_eq!(left.len(), 6, "of two buckets; the part's are gone: {left:?}");
}
