//! Buckets hold no more than their quotas let them.

mod common;

use common::*;
use ripstop_catalog::{
    Attributes, CatalogError, Condition, Limit, Quota, Refusal, Upload, UploadedPart,
};
use ripstop_store::{PartSeal, Quotas, StoreError, WriteError};
use std::collections::BTreeMap;

/// A store with a bucket `b` of this quota, any two of whose three nodes suffice.
async fn with_quota(bytes: Option<u64>, objects: Option<u64>) -> Bench {
    let bench = bench(3, 2);
    bench.store.create_bucket("b").await.expect("made");
    set_quota(&bench, bytes, objects);
    bench
}

/// Which limit a refusal names.
fn limit<T: std::fmt::Debug>(answer: Result<T, impl Into<WriteError<&'static str>>>) -> Limit {
    let refusal = answer.expect_err("it is refused").into();
    let WriteError::Store(StoreError::Catalog(CatalogError::Refused(Refusal::QuotaExceeded {
        limit,
    }))) = refusal
    else {
        panic!("{refusal}")
    };
    limit
}

async fn begin(bench: &Bench, key: &str) -> Result<Upload, StoreError> {
    bench.store.create_upload(upload_of("b", key)).await
}

async fn put_part(
    bench: &Bench,
    upload: &Upload,
    number: u16,
    len: usize,
) -> Result<UploadedPart, WriteError<&'static str>> {
    let body = PartPieces(Pieces::new(bytes(len, 1)));
    bench.store.put_part(upload, number, len as u64, body).await
}

/// A body that nobody is to read.
struct Unread;

impl ripstop_store::Body for Unread {
    type Seal = Attributes;
    type Error = &'static str;

    async fn next(&mut self) -> Option<Result<bytes::Bytes, &'static str>> {
        panic!("the body was read")
    }

    fn seal(&mut self) -> Result<Attributes, &'static str> {
        panic!("the body was read")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_surely_too_much_is_refused_before_a_byte_is_read() {
    let bench = with_quota(Some(1000), Some(2)).await;
    try_put(&bench, "one", 600).await.expect("it fits");
    let refused = bench.store.put(target("two"), 401, Unread).await;
    assert_eq!(limit(refused), Limit::Bytes(1000));
    try_put(&bench, "two", 400).await.expect("it fits");
    assert_eq!(limit(bench.store.put(target("three"), 0, Unread).await), Limit::Objects(2));
    assert_eq!(limit(bench.store.put(target("one"), 601, Unread).await), Limit::Bytes(1000));
    let condition = Condition::Absent;
    let taken = bench.store.put(ripstop_store::Target { condition, ..target("one") }, 601, Unread);
    let answer = taken.await.expect_err("the key is taken");
    assert_eq!(answer.to_string(), "condition failed", "conditions come first");
    let nowhere = ripstop_store::Target { bucket: "absent".into(), ..target("k") };
    let answer = bench.store.put(nowhere, 5000, Unread).await.expect_err("there is no bucket");
    assert_eq!(answer.to_string(), "no such bucket");
    assert_eq!(held(&bench).await, (1000, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_bucket_takes_what_makes_it_no_larger_and_again_more_once_some_is_deleted() {
    let bench = with_quota(Some(1000), Some(1)).await;
    try_put(&bench, "k", 1000).await.expect("it fits");
    try_put(&bench, "k", 1000).await.expect("as large");
    try_put(&bench, "k", 900).await.expect("smaller");
    set_quota(&bench, Some(10), Some(0));
    try_put(&bench, "k", 800).await.expect("smaller, if far beyond what it may hold by now");
    assert_eq!(limit(try_put(&bench, "k", 801).await), Limit::Bytes(10));
    set_quota(&bench, Some(1000), Some(1));
    assert_eq!(limit(try_put(&bench, "l", 1).await), Limit::Objects(1));
    bench.store.delete("b", "k", Condition::None).await.expect("deleted");
    assert_eq!(held(&bench).await, (0, 0));
    try_put(&bench, "l", 1000).await.expect("there is room");
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_count_in_full_whatever_they_share() {
    let bench = with_quota(Some(2000), Some(2)).await;
    put(&bench.store, "k", &bytes(900, 1)).await;
    let source = bench.store.object("b", "k").await.expect("there");
    let copy = async |key: &str| {
        let attributes = source.object.attributes.clone();
        bench.store.copy(&source, target(key), attributes).await
    };
    copy("copy").await.expect("it fits");
    copy("k").await.expect("onto itself it brings nothing");
    assert_eq!(held(&bench).await, (1800, 2));
    assert_eq!(limit(copy("more").await), Limit::Bytes(2000));
    let upload = begin(&bench, "k").await.expect("it may replace the object");
    let seal = || PartSeal { etag: "p".into(), checksum: None, salt: None };
    bench.store.copy_part(&source, 0..200, &upload, 1, seal()).await.expect("it fits");
    let refused = bench.store.copy_part(&source, 0..201, &upload, 1, seal()).await;
    assert_eq!(limit(refused), Limit::Bytes(2000));
    assert_eq!(held(&bench).await, (2000, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_count_until_their_upload_ends_and_then_once_as_an_object() {
    let bench = with_quota(Some(1000), Some(1)).await;
    let upload = begin(&bench, "k").await.expect("begun");
    let mut parts = Vec::new();
    for (number, len) in [(1, 400), (2, 300), (3, 300)] {
        parts.push(put_part(&bench, &upload, number, len).await.expect("it fits"));
    }
    assert_eq!(held(&bench).await, (1000, 0));
    assert_eq!(limit(put_part(&bench, &upload, 4, 1).await), Limit::Bytes(1000));
    assert_eq!(limit(put_part(&bench, &upload, 3, 301).await), Limit::Bytes(1000));
    parts[2] = put_part(&bench, &upload, 3, 299).await.expect("in the place of another");
    let complete = async |upload, parts| {
        let attributes = Attributes { etag: "whole".into(), ..Attributes::default() };
        bench.store.complete_upload(upload, parts, attributes, Condition::None).await
    };
    complete(&upload, &parts[..2]).await.expect("completed in a bucket that is almost full");
    assert_eq!(held(&bench).await, (700, 1), "the part that was not used is gone");
    set_quota(&bench, Some(1000), Some(2));
    let upload = begin(&bench, "other").await.expect("begun");
    let part = put_part(&bench, &upload, 1, 100).await.expect("it fits");
    set_quota(&bench, Some(1000), Some(1));
    assert_eq!(limit(complete(&upload, &[part]).await), Limit::Objects(1));
    assert_eq!(held(&bench).await, (800, 1), "it is still there");
    bench.store.abort_upload(&upload.id).await.expect("aborted");
    assert_eq!(held(&bench).await, (700, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_bucket_begins_uploads_only_of_what_is_there() {
    let bench = with_quota(Some(1000), None).await;
    put(&bench.store, "k", &bytes(1000, 1)).await;
    assert_eq!(limit(begin(&bench, "other").await), Limit::Bytes(1000));
    begin(&bench, "k").await.expect("it may come to less");
}

#[tokio::test(flavor = "multi_thread")]
async fn buckets_that_are_not_named_have_the_quota_of_the_others() {
    let bench = with_quota(None, None).await;
    bench.store.create_bucket("other").await.expect("made");
    let quotas = Quotas {
        named: BTreeMap::from([("b".to_owned(), Quota::NONE)]),
        others: Quota { bytes: Some(10), objects: None },
    };
    bench.store.set_quotas(quotas);
    try_put(&bench, "k", 5000).await.expect("named, and without a quota");
    let other = ripstop_store::Target { bucket: "other".into(), ..target("k") };
    assert_eq!(limit(bench.store.put(other, 11, Unread).await), Limit::Bytes(10));
}
