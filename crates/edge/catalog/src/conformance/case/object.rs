//! Objects and their conditions, and whose stripes are whose.

use super::{applied, brought, create, delete, put, refused, tables};
use crate::{
    Applied, Audited, CatalogError, Change, Condition, Quota, Refusal,
    conformance::make::{listing_of, object, upload},
};
use futures::future::join_all;
use ripstop_model::StripeId;

pub(super) async fn an_overwritten_object_leaves_its_stripes_to_the_garbage(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    applied(catalog, put("k", &[2, 3], &[2, 3])).await;
    let done = applied(catalog, put("k", &[4], &[4])).await;
    assert_eq!(done.replaced, Some(object("e", &[2, 3], 2)));
    assert_eq!(tables(catalog).await, (vec![1, 4], vec![2, 3]));
    assert_eq!(applied(catalog, delete("k")).await.replaced, Some(object("e", &[4], 4)));
    assert_eq!(applied(catalog, delete("k")).await, Applied::default());
    assert_eq!(tables(catalog).await, (vec![1], vec![2, 3, 4]));
}

pub(super) async fn a_stripe_of_two_objects_stays_until_both_are_gone(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    applied(catalog, put("one", &[2], &[2])).await;
    applied(catalog, put("two", &[3, 2], &[3])).await;
    applied(catalog, delete("one")).await;
    assert_eq!(tables(catalog).await, (vec![1, 2, 3], vec![]));
    applied(catalog, delete("two")).await;
    assert_eq!(tables(catalog).await, (vec![1], vec![2, 3]));
}

pub(super) async fn a_stripe_named_by_many_extents_is_held_once(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    applied(catalog, put("k", &[2, 2, 3, 2], &[2, 3])).await;
    let located = catalog.object("b", "k").await.expect("read").expect("there");
    let order: Vec<u128> = located.stripes.iter().map(|(id, _)| id.0).collect();
    assert_eq!(order, [2, 3]);
    applied(catalog, delete("k")).await;
    assert_eq!(tables(catalog).await, (vec![1], vec![2, 3]));
}

pub(super) async fn a_copy_onto_itself_keeps_its_stripes(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    applied(catalog, put("k", &[2], &[2])).await;
    applied(catalog, put("k", &[3, 2], &[3])).await;
    assert_eq!(tables(catalog).await, (vec![1, 2, 3], vec![]));
}

pub(super) async fn a_copy_of_what_is_gone_is_refused(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    applied(catalog, put("k", &[2], &[2])).await;
    applied(catalog, delete("k")).await;
    let error = refused(catalog, put("copy", &[3, 2], &[3])).await;
    assert!(
        matches!(error, CatalogError::Refused(Refusal::StripeGone { stripe: StripeId(2) })),
        "{error}"
    );
    assert_eq!(tables(catalog).await, (vec![1], vec![2]), "stripe 3 did not come");
}

pub(super) async fn the_name_of_garbage_is_not_used_again(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    applied(catalog, Change::Discard { stripes: brought(&[2]) }).await;
    let error = refused(catalog, put("k", &[2], &[2])).await;
    assert!(
        matches!(error, CatalogError::Refused(Refusal::StripeGone { stripe: StripeId(2) })),
        "{error}"
    );
    assert_eq!(tables(catalog).await, (vec![1], vec![2]));
}

pub(super) async fn objects_of_one_pack_may_each_bring_it(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    let puts = ["x", "y", "z"].map(|key| catalog.commit_one(5, put(key, &[2], &[2])));
    assert!(join_all(puts).await.iter().all(Result::is_ok));
    applied(catalog, Change::Discard { stripes: brought(&[2]) }).await;
    assert_eq!(tables(catalog).await, (vec![1, 2], vec![]), "in force, so not discarded");
    for key in ["x", "y", "z"] {
        applied(catalog, delete(key)).await;
    }
    assert_eq!(tables(catalog).await, (vec![1], vec![2]));
}

pub(super) async fn conditions_are_checked_against_the_present_object(catalog: &dyn Audited) {
    use Condition::{Absent, Etag, None, Present, ToldBy};
    applied(catalog, create("b", 1)).await;
    applied(catalog, put("k", &[2], &[2])).await;
    let cases = [
        ("k", None, "ok"),
        ("k", Present, "ok"),
        ("k", Etag("e".into()), "ok"),
        ("k", ToldBy(StripeId(2)), "ok"),
        ("k", Absent, "condition failed"),
        ("k", Etag("other".into()), "condition failed"),
        ("k", ToldBy(StripeId(3)), "condition failed"),
        ("absent", None, "ok"),
        ("absent", Absent, "ok"),
        ("absent", Present, "no such key"),
        ("absent", Etag("e".into()), "no such key"),
        ("absent", ToldBy(StripeId(2)), "condition failed"),
    ];
    for (key, condition, expected) in cases {
        let what = format!("{key} {condition:?}");
        // The same object again, or nothing where nothing is: no case changes the next.
        let change = if key == "k" {
            let (bucket, object) = ("b".into(), object("e", &[2], 2));
            let (key, quota) = (key.into(), Quota::NONE);
            Change::PutObject { bucket, key, object, stripes: vec![], condition, quota }
        } else {
            Change::DeleteObject {
                release: crate::Release::default(),
                bucket: "b".into(),
                key: key.into(),
                condition,
                tombstone: Option::None,
                stripes: vec![],
            }
        };
        let answer = catalog.commit_one(5, change).await;
        assert_eq!(
            answer.map_or_else(|error| error.to_string(), |_| "ok".into()),
            expected,
            "{what}"
        );
    }
    assert_eq!(tables(catalog).await, (vec![1, 2], vec![]));
}

pub(super) async fn a_refused_change_leaves_no_trace_among_its_neighbours(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    let elsewhere = |key: &str, id: u128| Change::PutObject {
        bucket: "absent".into(),
        key: key.into(),
        object: object("e", &[id], id),
        stripes: brought(&[id]),
        condition: Condition::None,
        quota: Quota::NONE,
    };
    let changes = (0..60u128).map(|at| match at % 3 {
        0 => put(&format!("k{at}"), &[at + 2], &[at + 2]),
        1 => elsewhere("k", at + 2),
        _ => put(&format!("k{at}"), &[at + 2, 999], &[at + 2]),
    });
    let answers = join_all(changes.map(|change| catalog.commit_one(5, change))).await;
    for (at, answer) in answers.iter().enumerate() {
        assert_eq!(answer.is_ok(), at % 3 == 0, "{at}: {answer:?}");
    }
    let (stripes, garbage) = tables(catalog).await;
    let expected: Vec<u128> = [1].into_iter().chain((0..20).map(|at| at * 3 + 2)).collect();
    assert_eq!((stripes, garbage), (expected, vec![]));
}

pub(super) async fn one_of_many_writers_that_want_an_absent_key_wins(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    let changes = (2..50u128).map(|id| Change::PutObject {
        bucket: "b".into(),
        key: "k".into(),
        object: object("e", &[id], id),
        stripes: brought(&[id]),
        condition: Condition::Absent,
        quota: Quota::NONE,
    });
    let answers = join_all(changes.map(|change| catalog.commit_one(5, change))).await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1);
    assert_eq!(tables(catalog).await.0.len(), 2);
}

pub(super) async fn only_an_empty_bucket_is_removed(catalog: &dyn Audited) {
    let remove = || Change::DeleteBucket { name: "b".into(), tombstone: None, stripes: vec![] };
    assert!(matches!(
        refused(catalog, remove()).await,
        CatalogError::Refused(Refusal::NoSuchBucket)
    ));
    assert!(matches!(
        refused(catalog, put("k", &[2], &[2])).await,
        CatalogError::Refused(Refusal::NoSuchBucket)
    ));
    assert!(matches!(
        refused(catalog, delete("k")).await,
        CatalogError::Refused(Refusal::NoSuchBucket)
    ));
    assert!(matches!(
        catalog.list(&listing_of("b")).await,
        Err(CatalogError::Refused(Refusal::NoSuchBucket))
    ));
    applied(catalog, create("a", 8)).await;
    applied(catalog, create("b", 1)).await;
    applied(catalog, create("ba", 9)).await;
    assert!(matches!(
        refused(catalog, create("b", 7)).await,
        CatalogError::Refused(Refusal::BucketExists)
    ));
    applied(catalog, put("k", &[2], &[2])).await;
    assert!(matches!(
        refused(catalog, remove()).await,
        CatalogError::Refused(Refusal::BucketNotEmpty)
    ));
    applied(catalog, delete("k")).await;
    applied(catalog, Change::CreateUpload(upload("u", "b", "k"))).await;
    assert!(matches!(
        refused(catalog, remove()).await,
        CatalogError::Refused(Refusal::BucketNotEmpty)
    ));
    applied(catalog, Change::AbortUpload { upload: "u".into() }).await;
    applied(catalog, remove()).await;
    let names = catalog.buckets("", 10).await.expect("buckets").into_iter().map(|it| it.name);
    assert_eq!(names.collect::<Vec<_>>(), ["a", "ba"]);
    assert_eq!(tables(catalog).await, (vec![8, 9], vec![1, 2]));
}
