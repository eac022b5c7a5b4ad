//! Versions of keys.

use super::{applied, brought, refused, tables};
use crate::{
    Audited, Bucket, CatalogError, Change, Condition, Object, ObjectVersion, Quota, Refusal,
    Session, Stamp, Tombstone, VersionId, Versioning,
    conformance::make::{bucket, listing_of, object},
};
use ripstop_model::StripeId;
use ripstop_object::Place;

fn stamp(when: u64, session: u32) -> Stamp {
    // The names of stripes here are small, and so of session 0.
    let stripe = u128::from(when) | Session(session).name(0, 0).0;
    Stamp { when: when << 16, stripe: StripeId(stripe) }
}

fn version(when: u64) -> ObjectVersion {
    ObjectVersion::Id(VersionId::of(stamp(when, 0)))
}

fn create(versioning: Versioning) -> Change {
    let bucket = Bucket { versioning, ..bucket("b", 1) };
    Change::CreateBucket { bucket, stripes: brought(&[1]) }
}

/// Puts a version, told by the stripe of that number.
fn put(stamp: Stamp, told_by: u128, version: ObjectVersion, condition: Condition) -> Change {
    let place = Place::of_version("b", "k", version).into_owned();
    let object =
        Object { stamp: Some(stamp), ..object(&format!("e{told_by}"), &[told_by], told_by) };
    Change::PutObject {
        bucket: place.bucket.into_owned(),
        key: place.key.into_owned(),
        object,
        stripes: brought(&[told_by]),
        condition,
        quota: Quota::NONE,
    }
}

fn put_at(when: u64) -> Change {
    put(stamp(when, 0), when.into(), version(when), Condition::None)
}

fn marked(change: Change) -> Change {
    let Change::PutObject { bucket, key, object, stripes, condition, quota } = change else {
        unreachable!("only objects are marked")
    };
    let object = Object { is_marker: true, len: 0, extents: vec![], ..object };
    Change::PutObject { bucket, key, object, stripes, condition, quota }
}

fn delete(version: ObjectVersion) -> Change {
    let place = Place::of_version("b", "k", version).into_owned();
    Change::DeleteObject {
        release: crate::Release::default(),
        bucket: place.bucket.into_owned(),
        key: place.key.into_owned(),
        condition: Condition::None,
        tombstone: None,
        stripes: vec![],
    }
}

/// Removes a version if this stripe told it and its key does not stand for it.
fn superseded(version: ObjectVersion, told_by: u128) -> Change {
    let Change::DeleteObject { bucket, key, tombstone, stripes, .. } = delete(version) else {
        unreachable!("it is deleted")
    };
    let condition = Condition::Superseded(StripeId(told_by));
    let release = crate::Release::default();
    Change::DeleteObject { bucket, key, condition, release, tombstone, stripes }
}

fn put_null(stamp: Stamp, told_by: u128) -> Change {
    put(stamp, told_by, ObjectVersion::Null, Condition::None)
}

async fn latest(catalog: &dyn Audited) -> Option<(Option<ObjectVersion>, u128)> {
    let found = catalog.current("b", "k").await.expect("read");
    found.map(|found| (found.version, found.object.told_by.0))
}

async fn listed(catalog: &dyn Audited) -> Vec<(ObjectVersion, bool)> {
    let listing = catalog.versions(&listing_of("b")).await.expect("listed");
    listing.versions.into_iter().map(|listed| (listed.version, listed.is_latest)).collect()
}

pub(super) async fn a_version_stays_when_another_is_put(catalog: &dyn Audited) {
    applied(catalog, create(Versioning::Enabled)).await;
    applied(catalog, put_at(2)).await;
    let done = applied(catalog, put_at(3)).await;
    assert_eq!(done.replaced, None);
    assert_eq!(tables(catalog).await, (vec![1, 2, 3], vec![]));
    assert_eq!(latest(catalog).await, Some((Some(version(3)), 3)));
    assert_eq!(listed(catalog).await, [(version(3), true), (version(2), false)]);
    let usage = catalog.usage("b").await.expect("read");
    assert_eq!((usage.objects, usage.bytes), (2, 20), "each counts");
    applied(catalog, delete(version(3))).await;
    assert_eq!(latest(catalog).await, Some((Some(version(2)), 2)));
    assert_eq!(tables(catalog).await, (vec![1, 2], vec![3]));
}

pub(super) async fn the_null_version_is_one_among_others(catalog: &dyn Audited) {
    applied(catalog, create(Versioning::Suspended)).await;
    let null = |when: u64| put(stamp(when, 0), when.into(), ObjectVersion::Null, Condition::None);
    applied(catalog, put_at(2)).await;
    applied(catalog, null(3)).await;
    assert_eq!(latest(catalog).await, Some((Some(ObjectVersion::Null), 3)));
    applied(catalog, put_at(4)).await;
    assert_eq!(latest(catalog).await, Some((Some(version(4)), 4)));
    let all = [(version(4), true), (ObjectVersion::Null, false), (version(2), false)];
    assert_eq!(listed(catalog).await, all);
    let done = applied(catalog, null(5)).await;
    assert_eq!(done.replaced.map(|object| object.told_by), Some(StripeId(3)));
    let all = [(ObjectVersion::Null, true), (version(4), false), (version(2), false)];
    assert_eq!(listed(catalog).await, all);
}

pub(super) async fn conditions_are_judged_by_the_latest_version(catalog: &dyn Audited) {
    applied(catalog, create(Versioning::Enabled)).await;
    let put = |when: u64, condition| put(stamp(when, 0), when.into(), version(when), condition);
    applied(catalog, put(2, Condition::Absent)).await;
    let failed = |error| matches!(error, CatalogError::Refused(Refusal::ConditionFailed));
    assert!(failed(refused(catalog, put(3, Condition::Absent)).await));
    assert!(failed(refused(catalog, put(4, Condition::Etag("e9".into()))).await));
    applied(catalog, put(5, Condition::Etag("e2".into()))).await;
    assert!(failed(refused(catalog, put(6, Condition::Etag("e2".into()))).await));
    applied(catalog, marked(put(7, Condition::None))).await;
    let missing = refused(catalog, put(8, Condition::Present)).await;
    assert!(matches!(missing, CatalogError::Refused(Refusal::NoSuchKey)), "it is deleted");
    applied(catalog, put(9, Condition::Absent)).await;
    assert_eq!(listed(catalog).await.len(), 4);
    tables(catalog).await;
}

pub(super) async fn what_a_key_stands_for_and_what_it_does_not_can_be_conditions(
    catalog: &dyn Audited,
) {
    applied(catalog, create(Versioning::Enabled)).await;
    applied(catalog, put_at(2)).await;
    applied(catalog, put_at(3)).await;
    let failed = |error| matches!(error, CatalogError::Refused(Refusal::ConditionFailed));
    let put = |when: u64, condition| put(stamp(when, 0), when.into(), version(when), condition);
    let marker = |when, of| marked(put(when, Condition::Latest(StripeId(of))));
    assert!(failed(refused(catalog, marker(4, 2)).await), "it is not the latest");
    applied(catalog, marker(5, 3)).await;
    assert!(failed(refused(catalog, marker(6, 5)).await), "a marker is no object");
    assert!(failed(refused(catalog, superseded(version(3), 2)).await), "another told it");
    applied(catalog, superseded(version(2), 2)).await;
    applied(catalog, delete(version(5))).await;
    assert!(failed(refused(catalog, superseded(version(3), 3)).await), "the key stands for it");
    assert_eq!(listed(catalog).await, [(version(3), true)]);
    applied(catalog, put_null(stamp(1, 0), 7)).await;
    applied(catalog, superseded(ObjectVersion::Null, 7)).await;
    applied(catalog, put_null(stamp(8, 0), 8)).await;
    assert!(failed(refused(catalog, superseded(ObjectVersion::Null, 8)).await), "it is the latest");
    applied(catalog, superseded(version(3), 3)).await;
    assert_eq!(listed(catalog).await, [(ObjectVersion::Null, true)]);
}

pub(super) async fn a_version_that_was_overtaken_takes_its_place(catalog: &dyn Audited) {
    applied(catalog, create(Versioning::Enabled)).await;
    applied(catalog, put_at(9)).await;
    applied(catalog, put_at(5)).await;
    assert_eq!(listed(catalog).await, [(version(9), true), (version(5), false)]);
    // Of another session, or with a condition, its caller may know that it came later.
    let other = ObjectVersion::Id(VersionId::of(stamp(6, 1)));
    let elsewhere = put(stamp(6, 1), 6, other, Condition::None);
    let behind = |error| matches!(error, CatalogError::Refused(Refusal::Behind { seen }) if seen == stamp(9, 0));
    assert!(behind(refused(catalog, elsewhere.clone()).await));
    let asked = put(stamp(7, 0), 7, version(7), Condition::Present);
    assert!(behind(refused(catalog, asked).await));
    let Change::PutObject { bucket, key, object, stripes, quota, .. } = elsewhere else {
        unreachable!("it is put")
    };
    let condition = Condition::AsTold;
    applied(catalog, Change::PutObject { bucket, key, object, stripes, condition, quota }).await;
    let all = [(version(9), true), (other, false), (version(5), false)];
    assert_eq!(listed(catalog).await, all, "what was told once");
}

pub(super) async fn a_bucket_of_versions_is_not_empty(catalog: &dyn Audited) {
    applied(catalog, create(Versioning::Enabled)).await;
    applied(catalog, marked(put_at(2))).await;
    let removal = || Change::DeleteBucket { name: "b".into(), tombstone: None, stripes: vec![] };
    let error = refused(catalog, removal()).await;
    assert!(matches!(error, CatalogError::Refused(Refusal::BucketNotEmpty)), "{error}");
    let listing = catalog.list(&listing_of("b")).await.expect("listed");
    assert!(listing.objects.is_empty(), "a delete marker stands for nothing");
    applied(catalog, delete(version(2))).await;
    applied(catalog, removal()).await;
}

pub(super) async fn a_version_that_was_deleted_leaves_a_tombstone_of_its_own(
    catalog: &dyn Audited,
) {
    applied(catalog, create(Versioning::Enabled)).await;
    applied(catalog, put_at(2)).await;
    applied(catalog, put_at(3)).await;
    let place = Place::of_version("b", "k", version(2)).into_owned();
    let (bucket, key) = (place.bucket.into_owned(), place.key.into_owned());
    let tombstone = Tombstone { stamp: stamp(4, 0), told_by: StripeId(4), ..Tombstone::default() };
    let deletion = Change::DeleteObject {
        release: crate::Release::default(),
        bucket: bucket.clone(),
        key: key.clone(),
        condition: Condition::None,
        tombstone: Some(tombstone.clone()),
        stripes: brought(&[4]),
    };
    applied(catalog, deletion).await;
    assert_eq!(catalog.tombstone(&bucket, &key).await.expect("read"), Some(tombstone));
    assert_eq!(catalog.tombstone("b", "k").await.expect("read"), None);
    assert_eq!(listed(catalog).await, [(version(3), true)]);
    assert_eq!(tables(catalog).await, (vec![1, 3, 4], vec![2]));
}
