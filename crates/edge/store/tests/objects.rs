//! Objects through a real catalog and real coding, over memory nodes.

mod common;

use common::*;
use ripstop_catalog::{
    Attributes, BUCKET_DOCUMENTS_LEN_MAX, CatalogError, Condition, Refusal, UploadedPart,
};
use ripstop_store::{Body, BodyLen, EXTENTS_MAX, PartSeal, StoreError, WriteError};
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
async fn what_comes_in_small_pieces_is_whole_however_short_stripes_are() {
    let settings = ripstop_store::StoreSettings { stripe_max: 4096, ..settings() };
    let seals = ripstop_runtime::Seals::default();
    let (bench, _aftermaths) = bench_by(Form::spread(3, 2), &seals, false, settings);
    bench.store.create_bucket("b").await.unwrap();
    for (len, piece) in [(9000, 4096), (9000, 700), (4097, 4096), (5000, 1), (33_000, 5000)] {
        let content = bytes(len, 3);
        let body = Pieces::new(content.clone()).each_of(piece);
        bench.store.put(target("k"), len as u64, body).await.unwrap();
        assert!(get(&bench.store, "k").await.unwrap() == content, "{len} by {piece}");
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
async fn a_body_that_ends_before_its_bound_is_stored_as_it_came() {
    for form in [Form::spread(6, 4), Form::shared((6, 3), (3, 3))] {
        let bench = bench_of(form);
        bench.store.create_bucket("b").await.unwrap();
        for (&len, more) in
            SIZES.iter().flat_map(|len| [0, 1, 70_000, 600_000].map(|more| (len, more)))
        {
            let content = bytes(len, len as u64);
            let most = BodyLen::AtMost((len + more) as u64);
            let put = bench.store.put(target("k"), most, Pieces::new(content.clone())).await;
            assert_eq!(put.unwrap().object.len, len as u64);
            assert!(get(&bench.store, "k").await.unwrap() == content, "{form:?}: {len} + {more}");
        }
        let long =
            bench.store.put(target("k"), BodyLen::AtMost(9999), Pieces::new(bytes(10_000, 1)));
        assert!(matches!(long.await, Err(WriteError::Store(StoreError::Length { .. }))));
        let short = bench.store.put(target("k"), 10_001, Pieces::new(bytes(10_000, 1)));
        assert!(matches!(short.await, Err(WriteError::Store(StoreError::Length { .. }))));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_configured_of_a_bucket_is_kept_and_bounded() {
    let bench = bench(3, 2);
    let store = &bench.store;
    let set = |name, document| store.set_bucket_document("b", name, document);
    let missing = set("cors", Some("x")).await.unwrap_err();
    assert_eq!(missing.to_string(), CatalogError::Refused(Refusal::NoSuchBucket).to_string());
    store.create_bucket("b").await.unwrap();
    // Those that come together do not undo one another.
    let done = futures::join!(set("cors", Some("one")), set("tags", Some("two")));
    assert!(done.0.is_ok() && done.1.is_ok());
    let documents = store.bucket("b").await.unwrap().documents;
    assert_eq!((documents.get("cors"), documents.get("tags")), (Some("one"), Some("two")));
    let told_by = store.bucket("b").await.unwrap().told_by;
    set("cors", Some("one")).await.unwrap();
    assert_eq!(store.bucket("b").await.unwrap().told_by, told_by, "it was so already");
    let long = "x".repeat(BUCKET_DOCUMENTS_LEN_MAX);
    let refused = set("cors", Some(&long)).await.unwrap_err();
    assert!(refused.to_string().contains("262155 bytes"), "{refused}");
    set("cors", None).await.unwrap();
    let documents = store.bucket("b").await.unwrap().documents;
    assert_eq!((documents.get("cors"), documents.get("tags")), (None, Some("two")));
    store.delete_bucket("b").await.unwrap();
    store.create_bucket("b").await.unwrap();
    assert_eq!(store.bucket("b").await.unwrap().documents.get("tags"), None);
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
        let seal = PartSeal { etag: "copied".into(), checksum: None, salt: None };
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
    let seal = PartSeal { etag: "e".into(), checksum: None, salt: None };
    let part = bench.store.copy_part(&source, 0..3, &upload, 1, seal).await.unwrap();
    let many = UploadedPart { extents: vec![part.extents[0]; EXTENTS_MAX + 1], ..part };
    let attributes = Attributes::default();
    let refused = bench.store.complete_upload(&upload, &[many], attributes, Condition::None).await;
    assert!(matches!(refused, Err(StoreError::Extents { .. })));
    assert_eq!(get(&bench.store, "k").await.unwrap(), b"old");
    assert_eq!(bench.store.parts(&upload.id, 0, 9).await.unwrap().len(), 1, "the upload goes on");
}
