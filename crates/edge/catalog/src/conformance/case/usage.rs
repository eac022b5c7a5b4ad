//! What buckets hold, and how much they may.

use super::{applied, brought, create, delete, put, refused, tables};
use crate::conformance::make::{object, part, upload};
use crate::{Audited, CatalogError, Change, Condition, Limit, Quota, Refusal, Usage};
use futures::future::join_all;
use ripstop_model::StripeId;

fn bytes(most: u64) -> Quota {
    Quota { bytes: Some(most), ..Quota::NONE }
}

fn objects(most: u64) -> Quota {
    Quota { objects: Some(most), ..Quota::NONE }
}

/// The same change under a quota.
fn within(limit: Quota, mut change: Change) -> Change {
    if let Change::PutObject { quota, .. }
    | Change::PutPart { quota, .. }
    | Change::CompleteUpload { quota, .. } = &mut change
    {
        *quota = limit;
    }
    change
}

fn put_part(number: u16, stripes: &[u128]) -> Change {
    let part = part(number, "p", stripes);
    let (upload, stripes) = ("u".into(), brought(stripes));
    Change::PutPart { upload, part, stripes, quota: Quota::NONE }
}

fn complete(parts: &[u16], named: &[u128], told_by: u128) -> Change {
    Change::CompleteUpload {
        version: None,
        upload: "u".into(),
        parts: parts.iter().map(|number| (*number, "p".into())).collect(),
        object: object("whole", named, told_by),
        stripes: brought(&[told_by]),
        condition: Condition::None,
        quota: Quota::NONE,
    }
}

/// Bytes and objects of bucket `b`; and the audit is clean.
async fn held(catalog: &dyn Audited) -> (u64, u64) {
    tables(catalog).await;
    let Usage { bytes, objects } = catalog.usage("b").await.expect("read");
    (bytes, objects)
}

fn limit(error: &CatalogError) -> Option<Limit> {
    if let CatalogError::Refused(Refusal::QuotaExceeded { limit }) = error {
        Some(*limit)
    } else {
        None
    }
}

pub(super) async fn usage_follows_every_change(catalog: &dyn Audited) {
    assert_eq!(held(catalog).await, (0, 0), "there is no bucket");
    applied(catalog, create("b", 1)).await;
    assert_eq!(held(catalog).await, (0, 0));
    applied(catalog, put("k", &[2, 3], &[2, 3])).await;
    assert_eq!(held(catalog).await, (20, 1));
    applied(catalog, put("k", &[4], &[4])).await;
    assert_eq!(held(catalog).await, (10, 1), "what it replaced no longer counts");
    applied(catalog, put("copy", &[5, 4, 4], &[5])).await;
    assert_eq!(held(catalog).await, (40, 2), "a copy counts in full, whatever it shares");
    applied(catalog, delete("copy")).await;
    applied(catalog, delete("copy")).await;
    assert_eq!(held(catalog).await, (10, 1));
    applied(catalog, Change::CreateUpload(upload("u", "b", "k"))).await;
    applied(catalog, put_part(1, &[6, 7])).await;
    applied(catalog, put_part(2, &[8])).await;
    assert_eq!(held(catalog).await, (40, 1));
    applied(catalog, put_part(1, &[9])).await;
    assert_eq!(held(catalog).await, (30, 1), "a part in the place of another");
    refused(catalog, put("k", &[99], &[10])).await;
    assert_eq!(held(catalog).await, (30, 1));
    applied(catalog, Change::AbortUpload { upload: "u".into() }).await;
    assert_eq!(held(catalog).await, (10, 1));
    applied(catalog, delete("k")).await;
    applied(catalog, Change::DeleteBucket { name: "b".into(), tombstone: None, stripes: vec![] })
        .await;
    applied(catalog, create("b", 11)).await;
    assert_eq!(held(catalog).await, (0, 0));
}

pub(super) async fn completing_counts_bytes_once(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    applied(catalog, put("k", &[2], &[2])).await;
    applied(catalog, Change::CreateUpload(upload("u", "b", "k"))).await;
    for (number, stripe) in [(1, 3), (2, 4), (3, 5)] {
        applied(catalog, put_part(number, &[stripe])).await;
    }
    assert_eq!(held(catalog).await, (40, 1));
    // Full to the last byte, and still it is completed: it makes the bucket smaller.
    applied(catalog, within(bytes(5), complete(&[1, 3], &[3, 5], 6))).await;
    assert_eq!(
        held(catalog).await,
        (20, 1),
        "parts that were not used are gone, and the old object"
    );
    applied(catalog, Change::CreateUpload(upload("u", "b", "other"))).await;
    applied(catalog, put_part(1, &[7])).await;
    let full = refused(catalog, within(objects(1), complete(&[1], &[7], 8))).await;
    assert_eq!(limit(&full), Some(Limit::Objects(1)));
    assert_eq!(held(catalog).await, (30, 1));
    assert!(
        catalog.upload("u").await.expect("read").is_some(),
        "it can be aborted, or tried again"
    );
    applied(catalog, within(objects(2), complete(&[1], &[7], 8))).await;
    assert_eq!(held(catalog).await, (30, 2));
}

pub(super) async fn a_quota_refuses_growth_only(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    applied(catalog, within(bytes(30), put("k", &[2, 3, 4], &[2, 3, 4]))).await;
    let full = refused(catalog, within(bytes(39), put("l", &[5], &[5]))).await;
    assert_eq!(limit(&full), Some(Limit::Bytes(39)));
    let full = refused(catalog, within(objects(1), put("l", &[5], &[5]))).await;
    assert_eq!(limit(&full), Some(Limit::Objects(1)));
    assert_eq!(catalog.stripes(&[StripeId(5)]).await.expect("read"), [None], "nothing came");
    // The quota was lowered below what there is: as large again, or smaller.
    let least = Quota { bytes: Some(0), objects: Some(0) };
    applied(catalog, within(least, put("k", &[2, 3, 4], &[]))).await;
    applied(catalog, within(least, put("k", &[3, 4], &[]))).await;
    assert_eq!(held(catalog).await, (20, 1));
    let grown = refused(catalog, within(least, put("k", &[3, 4, 5], &[5]))).await;
    assert_eq!(limit(&grown), Some(Limit::Bytes(0)));
    applied(catalog, Change::CreateUpload(upload("u", "b", "k"))).await;
    let part = refused(catalog, within(bytes(29), put_part(1, &[6]))).await;
    assert_eq!(limit(&part), Some(Limit::Bytes(29)));
    applied(catalog, within(Quota { objects: Some(0), ..bytes(30) }, put_part(1, &[6]))).await;
    assert_eq!(held(catalog).await, (30, 1), "a part is no object");
}

pub(super) async fn a_quota_is_looked_at_after_conditions_and_before_stripes(
    catalog: &dyn Audited,
) {
    applied(catalog, create("b", 1)).await;
    applied(catalog, put("k", &[2], &[2])).await;
    let change = |bucket: &str, condition| Change::PutObject {
        bucket: bucket.into(),
        key: "k".into(),
        object: object("e", &[3, 99], 3),
        stripes: brought(&[3]),
        condition,
        quota: bytes(10),
    };
    let nowhere = refused(catalog, change("absent", Condition::Absent)).await;
    assert!(matches!(nowhere, CatalogError::Refused(Refusal::NoSuchBucket)), "{nowhere}");
    let there = refused(catalog, change("b", Condition::Absent)).await;
    assert!(matches!(there, CatalogError::Refused(Refusal::ConditionFailed)), "{there}");
    let full = refused(catalog, change("b", Condition::Present)).await;
    assert_eq!(limit(&full), Some(Limit::Bytes(10)));
    applied(catalog, Change::CreateUpload(upload("u", "b", "k"))).await;
    let changed = refused(catalog, within(bytes(0), complete(&[1], &[99], 4))).await;
    assert!(
        matches!(changed, CatalogError::Refused(Refusal::PartChanged { number: 1 })),
        "{changed}"
    );
}

pub(super) async fn of_changes_that_come_together_those_that_fit_are_applied(
    catalog: &dyn Audited,
) {
    applied(catalog, create("b", 1)).await;
    let changes = (2..102u128).map(|id| {
        let limit = if id % 2 == 0 { bytes(250) } else { objects(25) };
        catalog.commit_one(5, within(limit, put(&format!("k{id}"), &[id], &[id])))
    });
    let answers = join_all(changes).await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 25);
    assert_eq!(held(catalog).await, (250, 25));
}

pub(super) async fn what_all_buckets_hold_is_told_by_name(catalog: &dyn Audited) {
    for (name, told_by) in [("c", 1), ("b", 2), ("a", 3)] {
        applied(catalog, create(name, told_by)).await;
    }
    applied(catalog, put("k", &[4], &[4])).await;
    let usages = async |after, max| {
        let found = catalog.usages(after, max).await.expect("read").into_iter();
        found.map(|(name, usage)| (name, usage.bytes)).collect::<Vec<_>>()
    };
    let row = |name: &str, bytes| (name.to_owned(), bytes);
    assert_eq!(usages("", 9).await, [row("a", 0), row("b", 10), row("c", 0)]);
    assert_eq!(usages("a", 1).await, [row("b", 10)]);
    assert_eq!(usages("c", 9).await, []);
}
