//! What is told later, what is told no longer, and what a commit of several changes does.

use super::{applied, brought, create, delete, put, refused, tables};
use crate::conformance::make::{bucket, object, part, stripe, upload};
use crate::{
    Applied, Audited, CatalogError, Change, Condition, Object, Quota, Refusal, Session, Stamp,
    Tombstone, Usage,
};
use ripstop_model::StripeId;

/// A name of another session than those of the small ones.
fn elsewhere(id: u128) -> u128 {
    Session(9).name(0, 0).0 | id
}

pub(super) fn stamp(when: u64, id: u128) -> Stamp {
    Stamp { when, stripe: StripeId(id) }
}

/// Puts an object of one stripe that is new, told at `when`.
fn put_at(when: u64, key: &str, id: u128) -> Change {
    let Change::PutObject { bucket, key, object, stripes, condition, quota } =
        put(key, &[id], &[id])
    else {
        unreachable!()
    };
    let object = Object { stamp: Some(stamp(when, id)), ..object };
    Change::PutObject { bucket, key, object, stripes, condition, quota }
}

fn tombstone(when: u64, id: u128) -> Tombstone {
    Tombstone { stamp: stamp(when, id), told_by: StripeId(id), ..Tombstone::default() }
}

/// Deletes a key, as a stripe tells that is new.
fn delete_at(when: u64, key: &str, id: u128) -> Change {
    Change::DeleteObject {
        release: crate::Release::default(),
        bucket: "b".into(),
        key: key.into(),
        condition: Condition::None,
        tombstone: Some(tombstone(when, id)),
        stripes: brought(&[id]),
    }
}

pub(super) fn delete_bucket(when: u64, id: u128) -> Change {
    let stripes = brought(&[id]);
    Change::DeleteBucket { name: "b".into(), tombstone: Some(tombstone(when, id)), stripes }
}

fn outlive(key: &str, id: u128) -> Change {
    let stripe = (StripeId(id), stripe());
    Change::Outlive { bucket: "b".into(), key: key.into(), stripe }
}

fn bury(when: u64, key: &str, id: u128) -> Change {
    let (bucket, key, stripes) = ("b".into(), key.into(), brought(&[id]));
    Change::Bury { bucket, key, tombstone: tombstone(when, id), stripes }
}

pub(super) fn forget(ids: &[u128]) -> Change {
    Change::ForgetGarbage { stripes: ids.iter().map(|id| StripeId(*id)).collect() }
}

async fn superseded(catalog: &dyn Audited, change: Change) {
    let expected = Applied { superseded: true, ..Applied::default() };
    assert_eq!(applied(catalog, change).await, expected);
}

pub(super) async fn behind(catalog: &dyn Audited, change: Change, seen: Stamp) {
    let error = refused(catalog, change).await;
    let CatalogError::Refused(Refusal::Behind { seen: told }) = error else { panic!("{error}") };
    assert_eq!(told, seen);
}

/// Which stripe tells what the key stands for.
async fn told_by(catalog: &dyn Audited, key: &str) -> Option<u128> {
    let found = catalog.object("b", key).await.expect("read");
    found.map(|located| located.object.told_by.0)
}

/// Which stripe tells that the key was deleted.
pub(super) async fn buried_by(catalog: &dyn Audited, key: &str) -> Option<u128> {
    let found = catalog.tombstone("b", key).await.expect("read");
    found.map(|tombstone| tombstone.told_by.0)
}

/// Which stripes tell of a key what is no longer so; what each tells agrees.
pub(super) async fn outlived(catalog: &dyn Audited, key: &str) -> Vec<u128> {
    let found = catalog.outlived_at(("b", key), StripeId(0), 1000).await.expect("read");
    for stripe in &found {
        let keys = catalog.outlived_by(*stripe, ("", ""), 1000).await.expect("read");
        assert!(keys.contains(&("b".into(), key.into())), "{stripe} does not tell of {key}");
    }
    found.into_iter().map(|id| id.0).collect()
}

pub(super) async fn a_put_that_a_conditional_one_overtook_must_be_told_again(
    catalog: &dyn Audited,
) {
    applied(catalog, create("b", 1)).await;
    applied(catalog, put_at(10, "k", 2)).await;
    let decided = Stamp::decided(11);
    let Change::PutObject { bucket, key, object, stripes, quota, .. } = put_at(decided, "k", 3)
    else {
        unreachable!()
    };
    let condition = Condition::ToldBy(StripeId(2));
    applied(catalog, Change::PutObject { bucket, key, object, stripes, condition, quota }).await;
    // What it was derived from had not this one in it.
    behind(catalog, put_at(11, "k", 4), stamp(decided, 3)).await;
    assert_eq!(told_by(catalog, "k").await, Some(3));
    applied(catalog, put_at(decided + 1, "k", 5)).await;
    assert_eq!(told_by(catalog, "k").await, Some(5));
}

pub(super) async fn a_put_that_was_overtaken_in_its_session_is_as_if_it_had_come_before(
    catalog: &dyn Audited,
) {
    applied(catalog, create("b", 1)).await;
    applied(catalog, put_at(10, "k", 2)).await;
    superseded(catalog, put_at(9, "k", 3)).await;
    assert_eq!(told_by(catalog, "k").await, Some(2));
    assert_eq!(tables(catalog).await, (vec![1, 2], vec![3]));
    assert_eq!(outlived(catalog, "k").await, [3]);
    assert_eq!(catalog.usage("b").await.expect("read"), Usage { bytes: 10, objects: 1 });
    // The same stamp again is the same version, brought elsewhere: it keeps its stamp.
    let Change::PutObject { bucket, key, mut object, condition, quota, .. } = put_at(10, "k", 4)
    else {
        unreachable!()
    };
    object.stamp = Some(stamp(10, 2));
    let stripes = brought(&[4]);
    let moved = Change::PutObject { bucket, key, object, stripes, condition, quota };
    assert!(!applied(catalog, moved).await.superseded);
    assert_eq!(told_by(catalog, "k").await, Some(4));
    // Quotas do not count what nobody sees.
    let Change::PutObject { bucket, key, object, stripes, condition, .. } = put_at(8, "k", 5)
    else {
        unreachable!()
    };
    let quota = Quota { bytes: Some(0), objects: Some(0) };
    superseded(catalog, Change::PutObject { bucket, key, object, stripes, condition, quota }).await;
}

pub(super) async fn a_put_that_is_behind_another_session_or_has_a_condition_is_refused(
    catalog: &dyn Audited,
) {
    applied(catalog, create("b", 1)).await;
    applied(catalog, put_at(10, "k", 2)).await;
    let seen = stamp(10, 2);
    behind(catalog, put_at(9, "k", elsewhere(3)), seen).await;
    let Change::PutObject { bucket, key, object, stripes, quota, .. } = put_at(9, "k", 3) else {
        unreachable!()
    };
    let condition = Condition::Present;
    let asked = Change::PutObject { bucket, key, object, stripes, condition, quota };
    behind(catalog, asked, seen).await;
    assert_eq!(tables(catalog).await, (vec![1, 2], vec![]), "nothing has come");
    assert_eq!(outlived(catalog, "k").await, [] as [u128; 0]);
    let done = applied(catalog, put_at(11, "k", elsewhere(3))).await;
    assert_eq!(done.replaced.map(|object| object.told_by), Some(StripeId(2)));
}

pub(super) async fn completing_what_was_overtaken_ends_the_upload(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    applied(catalog, put_at(10, "k", 2)).await;
    applied(catalog, Change::CreateUpload(upload("u", "b", "k"))).await;
    let stored = Change::PutPart {
        upload: "u".into(),
        part: part(1, "p", &[3]),
        stripes: brought(&[3]),
        quota: Quota::NONE,
    };
    applied(catalog, stored).await;
    let complete = Change::CompleteUpload {
        version: None,
        upload: "u".into(),
        parts: vec![(1, "p".into())],
        object: Object { stamp: Some(stamp(9, 4)), ..object("whole", &[3], 4) },
        stripes: brought(&[4]),
        condition: Condition::None,
        quota: Quota::NONE,
    };
    superseded(catalog, complete.clone()).await;
    assert_eq!(told_by(catalog, "k").await, Some(2));
    assert_eq!(tables(catalog).await, (vec![1, 2], vec![3, 4]));
    assert_eq!(outlived(catalog, "k").await, [4]);
    assert_eq!(catalog.usage("b").await.expect("read"), Usage { bytes: 10, objects: 1 });
    let again = refused(catalog, complete).await;
    assert!(matches!(again, CatalogError::Refused(Refusal::NoSuchUpload)), "{again}");
}

pub(super) async fn objects_of_a_pack_may_be_overtaken_one_by_one(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    applied(catalog, put_at(10, "one", 2)).await;
    let pack = ["one", "two"].map(|key| {
        let Change::PutObject { bucket, object, quota, .. } = put_at(9, key, 3) else {
            unreachable!()
        };
        let (key, stripes, condition) = (key.into(), brought(&[3]), Condition::None);
        Change::PutObject { bucket, key, object, stripes, condition, quota }
    });
    let outcomes = catalog.commit(5, pack.into()).await.expect("committed");
    let overtaken = outcomes.iter().map(|outcome| outcome.as_ref().map(|it| it.superseded));
    assert_eq!(overtaken.collect::<Vec<_>>(), [Ok(true), Ok(false)]);
    assert_eq!(tables(catalog).await, (vec![1, 2, 3], vec![]));
    assert_eq!((outlived(catalog, "one").await, outlived(catalog, "two").await), (vec![3], vec![]));
}

pub(super) async fn what_was_replaced_is_outlived_until_its_fragments_are_forgotten(
    catalog: &dyn Audited,
) {
    applied(catalog, create("b", 1)).await;
    applied(catalog, put_at(1, "k", 2)).await;
    // A copy shares the payload.
    applied(catalog, put("copy", &[3, 2], &[3])).await;
    applied(catalog, put_at(2, "k", 4)).await;
    applied(catalog, put_at(3, "k", 5)).await;
    assert_eq!(tables(catalog).await, (vec![1, 2, 3, 5], vec![4]));
    assert_eq!(outlived(catalog, "k").await, [2, 4]);
    applied(catalog, forget(&[2, 4])).await;
    assert_eq!(outlived(catalog, "k").await, [2], "it is in force");
    applied(catalog, delete("k")).await;
    assert_eq!(outlived(catalog, "k").await, [2, 5], "nor is what is deleted untold");
    applied(catalog, delete("copy")).await;
    applied(catalog, forget(&[2, 3, 5])).await;
    assert_eq!(outlived(catalog, "k").await, [] as [u128; 0]);
    assert_eq!(tables(catalog).await, (vec![1], vec![]));
}

pub(super) async fn a_deletion_leaves_a_tombstone_while_something_is_outlived(
    catalog: &dyn Audited,
) {
    applied(catalog, create("b", 1)).await;
    applied(catalog, put_at(1, "k", 2)).await;
    applied(catalog, put_at(2, "k", 3)).await;
    let done = applied(catalog, delete_at(3, "k", 4)).await;
    assert_eq!(done.replaced.map(|object| object.told_by), Some(StripeId(3)));
    assert_eq!(tables(catalog).await, (vec![1, 4], vec![2, 3]));
    assert_eq!(catalog.tombstone("b", "k").await.expect("read"), Some(tombstone(3, 4)));
    applied(catalog, forget(&[3])).await;
    assert_eq!(buried_by(catalog, "k").await, Some(4), "2 tells of the key too");
    applied(catalog, delete_bucket(9, 5)).await;
    assert_eq!(buried_by(catalog, "k").await, Some(4), "it outlives its bucket");
    applied(catalog, forget(&[2])).await;
    assert_eq!(buried_by(catalog, "k").await, None);
    assert_eq!(tables(catalog).await, (vec![5], vec![1, 4]));
}

pub(super) async fn a_put_lets_go_of_the_tombstone(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    applied(catalog, put_at(1, "k", 2)).await;
    applied(catalog, delete_at(3, "k", 3)).await;
    behind(catalog, put_at(2, "k", elsewhere(4)), stamp(3, 3)).await;
    superseded(catalog, put_at(2, "k", 4)).await;
    assert_eq!((told_by(catalog, "k").await, outlived(catalog, "k").await), (None, vec![2, 4]));
    assert_eq!(catalog.usage("b").await.expect("read"), Usage::default());
    assert_eq!(applied(catalog, put_at(4, "k", 5)).await, Applied::default());
    assert_eq!((told_by(catalog, "k").await, buried_by(catalog, "k").await), (Some(5), None));
    assert_eq!(tables(catalog).await, (vec![1, 5], vec![2, 3, 4]));
}

pub(super) async fn a_later_deletion_of_what_is_deleted_takes_over_its_tombstone(
    catalog: &dyn Audited,
) {
    applied(catalog, create("b", 1)).await;
    applied(catalog, put_at(1, "k", 2)).await;
    applied(catalog, delete_at(3, "k", 3)).await;
    assert_eq!(applied(catalog, delete_at(6, "k", 4)).await, Applied::default());
    assert_eq!(catalog.tombstone("b", "k").await.expect("read"), Some(tombstone(6, 4)));
    assert_eq!(tables(catalog).await, (vec![1, 4], vec![2, 3]));
    // Both deletions are told, so a slower put is overtaken by the later of them.
    superseded(catalog, put_at(5, "k", 5)).await;
    assert_eq!((told_by(catalog, "k").await, outlived(catalog, "k").await), (None, vec![2, 5]));
    // What is not told changes nothing of it; nor does a deletion where nothing is outlived.
    applied(catalog, delete("k")).await;
    assert_eq!(buried_by(catalog, "k").await, Some(4));
    applied(catalog, delete_at(7, "never", 6)).await;
    assert_eq!(buried_by(catalog, "never").await, None);
    applied(catalog, forget(&[2, 5])).await;
    assert_eq!(buried_by(catalog, "k").await, None);
}

pub(super) async fn a_deletion_that_is_behind_is_overtaken_or_refused(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    applied(catalog, put_at(10, "k", 2)).await;
    behind(catalog, delete_at(9, "k", elsewhere(3)), stamp(10, 2)).await;
    assert_eq!(tables(catalog).await, (vec![1, 2], vec![]));
    superseded(catalog, delete_at(9, "k", 3)).await;
    assert_eq!(told_by(catalog, "k").await, Some(2));
    assert_eq!(tables(catalog).await, (vec![1, 2], vec![3]));
    // An old tombstone tells nothing that a later version contradicts.
    assert_eq!((outlived(catalog, "k").await, buried_by(catalog, "k").await), (vec![], None));
    applied(catalog, delete_at(11, "k", 4)).await;
    superseded(catalog, delete_at(10, "k", 5)).await;
    assert_eq!(buried_by(catalog, "k").await, Some(4));
}

pub(super) async fn deletions_of_one_stripe_may_each_bring_it(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    applied(catalog, delete_at(1, "absent", 2)).await;
    assert_eq!(buried_by(catalog, "absent").await, None);
    assert_eq!(tables(catalog).await, (vec![1], vec![2]), "garbage at once");
    for (key, id) in [("one", 3), ("two", 4)] {
        applied(catalog, put_at(2, key, id)).await;
    }
    let deletions = ["absent", "one", "two"].map(|key| delete_at(5, key, 6));
    let outcomes = catalog.commit(5, deletions.into()).await.expect("committed");
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    assert_eq!(tables(catalog).await, (vec![1, 6], vec![2, 3, 4]));
    let buried = [buried_by(catalog, "absent").await, buried_by(catalog, "two").await];
    assert_eq!(buried, [None, Some(6)]);
    applied(catalog, forget(&[3])).await;
    assert_eq!(tables(catalog).await, (vec![1, 6], vec![2, 4]), "one holds it still");
    applied(catalog, forget(&[4])).await;
    assert_eq!(tables(catalog).await, (vec![1], vec![2, 6]));
}

pub(super) async fn a_stripe_that_tells_a_version_and_its_end_needs_no_tombstone(
    catalog: &dyn Audited,
) {
    applied(catalog, create("b", 1)).await;
    let pack = vec![put_at(2, "k", 2), delete_at(3, "k", 2)];
    let outcomes = catalog.commit(5, pack).await.expect("committed");
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    assert_eq!((buried_by(catalog, "k").await, outlived(catalog, "k").await), (None, vec![]));
    assert_eq!(tables(catalog).await, (vec![1], vec![2]));
    // With something else that tells of the key it needs one.
    applied(catalog, put_at(4, "k", 3)).await;
    let pack = vec![put_at(5, "k", 4), delete_at(6, "k", 4)];
    catalog.commit(5, pack).await.expect("committed");
    assert_eq!((buried_by(catalog, "k").await, outlived(catalog, "k").await), (Some(4), vec![3]));
    assert_eq!(tables(catalog).await, (vec![1, 4], vec![2, 3]));
}

pub(super) async fn a_deleted_bucket_leaves_a_tombstone_too(catalog: &dyn Audited) {
    let made = |when, id| {
        let bucket = crate::Bucket { stamp: Some(stamp(when, id)), ..bucket("b", id) };
        Change::CreateBucket { bucket, stripes: brought(&[id]) }
    };
    applied(catalog, made(5, 1)).await;
    behind(catalog, delete_bucket(4, 2), stamp(5, 1)).await;
    applied(catalog, delete_bucket(6, 2)).await;
    assert_eq!((buried_by(catalog, "").await, outlived(catalog, "").await), (Some(2), vec![1]));
    behind(catalog, made(5, 3), stamp(6, 2)).await;
    assert_eq!(tables(catalog).await, (vec![2], vec![1]));
    applied(catalog, made(7, 3)).await;
    assert_eq!((buried_by(catalog, "").await, outlived(catalog, "").await), (None, vec![1]));
    assert_eq!(tables(catalog).await, (vec![3], vec![1, 2]));
    let untold = Change::DeleteBucket { name: "b".into(), tombstone: None, stripes: brought(&[4]) };
    applied(catalog, untold).await;
    assert_eq!((buried_by(catalog, "").await, outlived(catalog, "").await), (None, vec![1, 3]));
    assert_eq!(tables(catalog).await, (vec![], vec![1, 2, 3, 4]));
}

pub(super) async fn what_outlives_what_is_known_from_what_was_told(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    applied(catalog, put_at(1, "k", 2)).await;
    applied(catalog, put_at(1, "other", 3)).await;
    for id in [2, 3, 4] {
        assert_eq!(applied(catalog, outlive("k", id)).await, Applied::default());
    }
    assert_eq!(outlived(catalog, "k").await, [3, 4], "2 tells what is so");
    assert_eq!(tables(catalog).await, (vec![1, 2, 3], vec![4]));
    applied(catalog, forget(&[4])).await;
    assert_eq!(outlived(catalog, "k").await, [3]);
    applied(catalog, outlive("", 1)).await;
    applied(catalog, outlive("", 3)).await;
    assert_eq!(outlived(catalog, "").await, [3], "1 tells of the bucket");
}

pub(super) async fn a_deletion_that_was_told_is_buried_again(catalog: &dyn Audited) {
    // The bucket need not be there.
    applied(catalog, bury(5, "k", 2)).await;
    assert_eq!(buried_by(catalog, "k").await, Some(2));
    applied(catalog, bury(4, "k", 3)).await;
    assert_eq!(buried_by(catalog, "k").await, Some(2), "an earlier one is none");
    applied(catalog, outlive("k", 6)).await;
    applied(catalog, bury(6, "k", 4)).await;
    assert_eq!((buried_by(catalog, "k").await, outlived(catalog, "k").await), (Some(4), vec![6]));
    assert_eq!(tables(catalog).await, (vec![4], vec![2, 3, 6]));
    applied(catalog, forget(&[6])).await;
    assert_eq!(buried_by(catalog, "k").await, None);
    applied(catalog, create("b", 1)).await;
    applied(catalog, put_at(7, "there", 7)).await;
    applied(catalog, bury(9, "there", 8)).await;
    applied(catalog, bury(9, "", 9)).await;
    assert_eq!((buried_by(catalog, "there").await, buried_by(catalog, "").await), (None, None));
    assert_eq!(tables(catalog).await, (vec![1, 7], vec![2, 3, 4, 8, 9]));
}

pub(super) async fn a_stripe_that_tells_what_is_so_again_is_believed(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    applied(catalog, put_at(1, "k", 2)).await;
    applied(catalog, put("copy", &[3, 2], &[3])).await;
    applied(catalog, put_at(2, "k", 4)).await;
    assert_eq!(outlived(catalog, "k").await, [2]);
    applied(catalog, put_at(3, "k", 2)).await;
    assert_eq!((told_by(catalog, "k").await, outlived(catalog, "k").await), (Some(2), vec![4]));
    tables(catalog).await;
}

pub(super) async fn live_bytes_are_those_that_holders_name(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    let live = async |id: u128| {
        tables(catalog).await;
        let held = catalog.held(&[StripeId(id)]).await.expect("read").remove(0);
        held.map(|held| (held.holders, held.live))
    };
    applied(catalog, put("k", &[2, 3, 2], &[2, 3])).await;
    assert_eq!((live(1).await, live(2).await), (Some((1, 0)), Some((1, 20))));
    applied(catalog, put("copy", &[4, 3], &[4])).await;
    assert_eq!((live(3).await, live(4).await), (Some((2, 20)), Some((1, 10))));
    applied(catalog, Change::CreateUpload(upload("u", "b", "k"))).await;
    let stored = Change::PutPart {
        upload: "u".into(),
        part: part(1, "p", &[2, 5]),
        stripes: brought(&[5]),
        quota: Quota::NONE,
    };
    applied(catalog, stored).await;
    assert_eq!((live(2).await, live(5).await), (Some((2, 30)), Some((1, 10))));
    // The same holder, with fewer bytes.
    applied(catalog, put("k", &[2], &[])).await;
    assert_eq!((live(2).await, live(3).await), (Some((2, 20)), Some((1, 10))));
    applied(catalog, Change::AbortUpload { upload: "u".into() }).await;
    assert_eq!((live(2).await, live(5).await), (Some((1, 10)), None));
}

pub(super) async fn changes_of_one_commit_see_those_before_them(catalog: &dyn Audited) {
    let begin = Change::CreateUpload(upload("u", "b", "k"));
    let empty = || Change::DeleteBucket { name: "b".into(), tombstone: None, stripes: vec![] };
    let changes = vec![
        create("b", 1),
        put("k", &[2], &[2]),
        create("b", 3),
        put("k", &[4], &[4]),
        empty(),
        delete("k"),
        begin,
        empty(),
        Change::AbortUpload { upload: "u".into() },
        empty(),
        put("k", &[5], &[5]),
    ];
    let outcomes = catalog.commit(5, changes).await.expect("committed");
    let told = outcomes.iter().map(|outcome| match outcome {
        Ok(Applied { replaced: Some(object), .. }) => format!("replaced {}", object.told_by.0),
        Ok(_) => "done".into(),
        Err(refusal) => refusal.to_string(),
    });
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            "done",
            "done",
            "bucket exists",
            "replaced 2",
            "bucket not empty",
            "replaced 4",
            "done",
            "bucket not empty",
            "done",
            "done",
            "no such bucket",
        ]
    );
    assert_eq!(tables(catalog).await, (vec![], vec![1, 2, 4]));
    assert_eq!(catalog.commit(5, vec![]).await.expect("committed"), []);
}
