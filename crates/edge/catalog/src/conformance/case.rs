//! Facts with names. Each is put to a new, empty catalog.

use super::make::{bucket, listing_of, object, part, stripe, upload};
use crate::{Applied, Audited, CatalogError, Change, Condition, Leftover, ListingRequest, Stripe};
use futures::future::{BoxFuture, join_all};
use ripstop_model::{NodeId, StripeId};
use std::collections::BTreeSet;

/// One fact; panics where it does not hold.
pub type Case = for<'a> fn(&'a dyn Audited) -> BoxFuture<'a, ()>;

macro_rules! listed {
    ($($name:ident)*) => {
        /// Every case with its name.
        pub fn cases() -> Vec<(&'static str, Case)> {
            vec![$((stringify!($name), |catalog| Box::pin($name(catalog)))),*]
        }
    };
}

listed! {
    an_overwritten_object_leaves_its_stripes_to_the_garbage
    a_stripe_of_two_objects_stays_until_both_are_gone
    a_stripe_named_by_many_extents_is_held_once
    a_copy_onto_itself_keeps_its_stripes
    a_copy_of_what_is_gone_is_refused
    the_name_of_garbage_is_not_used_again
    objects_of_one_pack_may_each_bring_it
    conditions_are_checked_against_the_present_object
    a_refused_change_leaves_no_trace_among_its_neighbours
    one_of_many_writers_that_want_an_absent_key_wins
    only_an_empty_bucket_is_removed
    a_part_replaced_lets_its_stripes_go
    completing_moves_the_stripes_of_used_parts_and_drops_the_rest
    completing_with_a_part_that_changed_changes_nothing
    an_ended_upload_is_no_more
    uploads_of_one_key_are_paged_by_id
    a_rolled_up_prefix_is_given_once_over_all_pages
    a_start_inside_a_rolled_up_prefix_still_shows_it
    delimiters_may_be_long_or_inside_the_prefix
    no_room_gives_an_empty_last_page
    next_is_given_exactly_when_there_is_more
    garbage_waits_until_it_is_due_and_is_forgotten
    fragments_are_placed_in_stripes_in_force_only
    a_fragment_moves_only_from_where_it_was_read
    a_leftover_waits_until_it_is_due_and_is_forgotten
    nodes_keep_the_numbers_they_were_given
}

async fn applied(catalog: &dyn Audited, change: Change) -> Applied {
    catalog.commit(5, change).await.expect("the change is applied")
}

async fn refused(catalog: &dyn Audited, change: Change) -> CatalogError {
    catalog.commit(5, change).await.expect_err("the change is refused")
}

fn brought(stripes: &[u128]) -> Vec<(StripeId, Stripe)> {
    stripes.iter().map(|id| (StripeId(*id), stripe())).collect()
}

fn create(name: &str, told_by: u128) -> Change {
    Change::CreateBucket { bucket: bucket(name, told_by), stripes: brought(&[told_by]) }
}

/// Puts an object that brings `new` stripes and names `named`, told by the first.
fn put(key: &str, named: &[u128], new: &[u128]) -> Change {
    Change::PutObject {
        bucket: "b".into(),
        key: key.into(),
        object: object("e", named, named[0]),
        stripes: brought(new),
        condition: Condition::None,
    }
}

fn delete(key: &str) -> Change {
    Change::DeleteObject { bucket: "b".into(), key: key.into(), condition: Condition::None }
}

fn put_part(upload: &str, number: u16, etag: &str, stripes: &[u128]) -> Change {
    let part = part(number, etag, stripes);
    Change::PutPart { upload: upload.into(), part, stripes: brought(stripes) }
}

fn complete(upload: &str, parts: &[(u16, &str)], named: &[u128], told_by: u128) -> Change {
    Change::CompleteUpload {
        upload: upload.into(),
        parts: parts.iter().map(|(number, etag)| (*number, (*etag).into())).collect(),
        object: object("whole", named, told_by),
        stripes: brought(&[told_by]),
        condition: Condition::None,
    }
}

/// Ids in force, ids in the garbage; and the audit is clean.
async fn tables(catalog: &dyn Audited) -> (Vec<u128>, Vec<u128>) {
    let audit = catalog.audit().await.expect("the audit runs");
    assert!(audit.is_clean(), "{:?}", audit.findings);
    let stripes = catalog.stripes_after(StripeId(0), 1000).await.expect("stripes");
    let garbage = catalog.garbage(u64::MAX, StripeId(0), 1000).await.expect("garbage");
    let ids = |found: Vec<(StripeId, Stripe)>| found.iter().map(|(id, _)| id.0).collect();
    (ids(stripes), ids(garbage))
}

async fn with_keys(catalog: &dyn Audited, keys: &[&str]) {
    applied(catalog, create("b", 1)).await;
    for (at, key) in keys.iter().enumerate() {
        let id = at as u128 + 2;
        applied(catalog, put(key, &[id], &[id])).await;
    }
}

/// Keys, prefixes and `next` of a page.
async fn listed(
    catalog: &dyn Audited,
    (prefix, delimiter, after, max): (&str, &str, &str, usize),
) -> (Vec<String>, Vec<String>, Option<String>) {
    let request = ListingRequest {
        prefix: prefix.into(),
        delimiter: delimiter.into(),
        after: after.into(),
        max,
        ..listing_of("b")
    };
    let page = catalog.list(&request).await.expect("the bucket is there");
    (page.objects.into_iter().map(|(key, _)| key).collect(), page.prefixes, page.next)
}

fn page(keys: &[&str], prefixes: &[&str], next: Option<&str>) -> PageShown {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    (owned(keys), owned(prefixes), next.map(str::to_owned))
}

type PageShown = (Vec<String>, Vec<String>, Option<String>);

async fn an_overwritten_object_leaves_its_stripes_to_the_garbage(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    applied(catalog, put("k", &[2, 3], &[2, 3])).await;
    let done = applied(catalog, put("k", &[4], &[4])).await;
    assert_eq!(done.replaced, Some(object("e", &[2, 3], 2)));
    assert_eq!(tables(catalog).await, (vec![1, 4], vec![2, 3]));
    assert_eq!(applied(catalog, delete("k")).await.replaced, Some(object("e", &[4], 4)));
    assert_eq!(applied(catalog, delete("k")).await, Applied::default());
    assert_eq!(tables(catalog).await, (vec![1], vec![2, 3, 4]));
}

async fn a_stripe_of_two_objects_stays_until_both_are_gone(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    applied(catalog, put("one", &[2], &[2])).await;
    applied(catalog, put("two", &[3, 2], &[3])).await;
    applied(catalog, delete("one")).await;
    assert_eq!(tables(catalog).await, (vec![1, 2, 3], vec![]));
    applied(catalog, delete("two")).await;
    assert_eq!(tables(catalog).await, (vec![1], vec![2, 3]));
}

async fn a_stripe_named_by_many_extents_is_held_once(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    applied(catalog, put("k", &[2, 2, 3, 2], &[2, 3])).await;
    let located = catalog.object("b", "k").await.expect("read").expect("there");
    let order: Vec<u128> = located.stripes.iter().map(|(id, _)| id.0).collect();
    assert_eq!(order, [2, 3]);
    applied(catalog, delete("k")).await;
    assert_eq!(tables(catalog).await, (vec![1], vec![2, 3]));
}

async fn a_copy_onto_itself_keeps_its_stripes(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    applied(catalog, put("k", &[2], &[2])).await;
    applied(catalog, put("k", &[3, 2], &[3])).await;
    assert_eq!(tables(catalog).await, (vec![1, 2, 3], vec![]));
}

async fn a_copy_of_what_is_gone_is_refused(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    applied(catalog, put("k", &[2], &[2])).await;
    applied(catalog, delete("k")).await;
    let error = refused(catalog, put("copy", &[3, 2], &[3])).await;
    assert!(matches!(error, CatalogError::StripeGone { stripe: StripeId(2) }), "{error}");
    assert_eq!(tables(catalog).await, (vec![1], vec![2]), "stripe 3 did not come");
}

async fn the_name_of_garbage_is_not_used_again(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    applied(catalog, Change::Discard { stripes: brought(&[2]) }).await;
    let error = refused(catalog, put("k", &[2], &[2])).await;
    assert!(matches!(error, CatalogError::StripeGone { stripe: StripeId(2) }), "{error}");
    assert_eq!(tables(catalog).await, (vec![1], vec![2]));
}

async fn objects_of_one_pack_may_each_bring_it(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    let puts = ["x", "y", "z"].map(|key| catalog.commit(5, put(key, &[2], &[2])));
    assert!(join_all(puts).await.iter().all(Result::is_ok));
    applied(catalog, Change::Discard { stripes: brought(&[2]) }).await;
    assert_eq!(tables(catalog).await, (vec![1, 2], vec![]), "in force, so not discarded");
    for key in ["x", "y", "z"] {
        applied(catalog, delete(key)).await;
    }
    assert_eq!(tables(catalog).await, (vec![1], vec![2]));
}

async fn conditions_are_checked_against_the_present_object(catalog: &dyn Audited) {
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
            Change::PutObject { bucket, key: key.into(), object, stripes: vec![], condition }
        } else {
            Change::DeleteObject { bucket: "b".into(), key: key.into(), condition }
        };
        let answer = catalog.commit(5, change).await;
        assert_eq!(
            answer.map_or_else(|error| error.to_string(), |_| "ok".into()),
            expected,
            "{what}"
        );
    }
    assert_eq!(tables(catalog).await, (vec![1, 2], vec![]));
}

async fn a_refused_change_leaves_no_trace_among_its_neighbours(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    let elsewhere = |key: &str, id: u128| Change::PutObject {
        bucket: "absent".into(),
        key: key.into(),
        object: object("e", &[id], id),
        stripes: brought(&[id]),
        condition: Condition::None,
    };
    let changes = (0..60u128).map(|at| match at % 3 {
        0 => put(&format!("k{at}"), &[at + 2], &[at + 2]),
        1 => elsewhere("k", at + 2),
        _ => put(&format!("k{at}"), &[at + 2, 999], &[at + 2]),
    });
    let answers = join_all(changes.map(|change| catalog.commit(5, change))).await;
    for (at, answer) in answers.iter().enumerate() {
        assert_eq!(answer.is_ok(), at % 3 == 0, "{at}: {answer:?}");
    }
    let (stripes, garbage) = tables(catalog).await;
    let expected: Vec<u128> = [1].into_iter().chain((0..20).map(|at| at * 3 + 2)).collect();
    assert_eq!((stripes, garbage), (expected, vec![]));
}

async fn one_of_many_writers_that_want_an_absent_key_wins(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    let changes = (2..50u128).map(|id| Change::PutObject {
        bucket: "b".into(),
        key: "k".into(),
        object: object("e", &[id], id),
        stripes: brought(&[id]),
        condition: Condition::Absent,
    });
    let answers = join_all(changes.map(|change| catalog.commit(5, change))).await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1);
    assert_eq!(tables(catalog).await.0.len(), 2);
}

async fn only_an_empty_bucket_is_removed(catalog: &dyn Audited) {
    let remove = || Change::DeleteBucket { name: "b".into() };
    assert!(matches!(refused(catalog, remove()).await, CatalogError::NoSuchBucket));
    assert!(matches!(refused(catalog, put("k", &[2], &[2])).await, CatalogError::NoSuchBucket));
    assert!(matches!(refused(catalog, delete("k")).await, CatalogError::NoSuchBucket));
    assert!(matches!(catalog.list(&listing_of("b")).await, Err(CatalogError::NoSuchBucket)));
    applied(catalog, create("a", 8)).await;
    applied(catalog, create("b", 1)).await;
    applied(catalog, create("ba", 9)).await;
    assert!(matches!(refused(catalog, create("b", 7)).await, CatalogError::BucketExists));
    applied(catalog, put("k", &[2], &[2])).await;
    assert!(matches!(refused(catalog, remove()).await, CatalogError::BucketNotEmpty));
    applied(catalog, delete("k")).await;
    applied(catalog, Change::CreateUpload(upload("u", "b", "k"))).await;
    assert!(matches!(refused(catalog, remove()).await, CatalogError::BucketNotEmpty));
    applied(catalog, Change::AbortUpload { upload: "u".into() }).await;
    applied(catalog, remove()).await;
    let names = catalog.buckets("", 10).await.expect("buckets").into_iter().map(|it| it.name);
    assert_eq!(names.collect::<Vec<_>>(), ["a", "ba"]);
    assert_eq!(tables(catalog).await, (vec![8, 9], vec![1, 2]));
}

async fn a_part_replaced_lets_its_stripes_go(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    let late = refused(catalog, put_part("u", 1, "p", &[2])).await;
    assert!(matches!(late, CatalogError::NoSuchUpload));
    let nowhere = refused(catalog, Change::CreateUpload(upload("u", "absent", "k"))).await;
    assert!(matches!(nowhere, CatalogError::NoSuchBucket));
    applied(catalog, Change::CreateUpload(upload("u", "b", "k"))).await;
    let again = refused(catalog, Change::CreateUpload(upload("u", "b", "k"))).await;
    assert!(matches!(again, CatalogError::ConditionFailed));
    applied(catalog, put_part("u", 1, "p", &[2, 3])).await;
    applied(catalog, put_part("u", 1, "q", &[4])).await;
    assert_eq!(tables(catalog).await, (vec![1, 4], vec![2, 3]));
    assert_eq!(catalog.parts("u", 0, 9).await.expect("parts"), [part(1, "q", &[4])]);
}

async fn completing_moves_the_stripes_of_used_parts_and_drops_the_rest(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    applied(catalog, put("k", &[2], &[2])).await;
    applied(catalog, Change::CreateUpload(upload("u", "b", "k"))).await;
    for (number, id) in [(1, 3), (2, 4), (9, 5)] {
        applied(catalog, put_part("u", number, "p", &[id])).await;
    }
    let done = applied(catalog, complete("u", &[(1, "p"), (9, "p")], &[3, 5], 6)).await;
    assert_eq!(done.replaced, Some(object("e", &[2], 2)));
    assert_eq!(tables(catalog).await, (vec![1, 3, 5, 6], vec![2, 4]));
    let located = catalog.object("b", "k").await.expect("read").expect("there");
    assert_eq!(located.object, object("whole", &[3, 5], 6));
    assert_eq!(catalog.upload("u").await.expect("read"), None);
    assert_eq!(catalog.parts("u", 0, 9).await.expect("parts"), []);
}

async fn completing_with_a_part_that_changed_changes_nothing(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    applied(catalog, Change::CreateUpload(upload("u", "b", "k"))).await;
    applied(catalog, put_part("u", 1, "p", &[2])).await;
    applied(catalog, put_part("u", 2, "p", &[3])).await;
    // Same bytes and etag as before, other stripes.
    applied(catalog, put_part("u", 2, "p", &[4])).await;
    for (parts, named, number) in [
        ([(1, "other"), (2, "p")], vec![2, 4], 1),
        ([(1, "p"), (3, "p")], vec![2, 4], 3),
        ([(1, "p"), (2, "p")], vec![2, 3], 2),
    ] {
        let error = refused(catalog, complete("u", &parts, &named, 9)).await;
        let is_of_part = |n| matches!(error, CatalogError::PartChanged { number } if number == n);
        assert!(is_of_part(number), "{error}");
    }
    assert_eq!(tables(catalog).await, (vec![1, 2, 4], vec![3]));
    assert!(catalog.object("b", "k").await.expect("read").is_none());
    assert!(catalog.upload("u").await.expect("read").is_some());
}

async fn an_ended_upload_is_no_more(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    applied(catalog, Change::CreateUpload(upload("u", "b", "k"))).await;
    applied(catalog, put_part("u", 1, "p", &[2])).await;
    applied(catalog, Change::AbortUpload { upload: "u".into() }).await;
    assert_eq!(tables(catalog).await, (vec![1], vec![2]));
    for change in [
        Change::AbortUpload { upload: "u".into() },
        put_part("u", 1, "p", &[3]),
        complete("u", &[], &[], 4),
    ] {
        assert!(matches!(refused(catalog, change).await, CatalogError::NoSuchUpload));
    }
    assert_eq!(tables(catalog).await, (vec![1], vec![2]));
}

async fn uploads_of_one_key_are_paged_by_id(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    for (id, key) in [("3", "k"), ("1", "k"), ("9", "a"), ("2", "k"), ("0", "k\0"), ("5", "z/y")] {
        applied(catalog, Change::CreateUpload(upload(id, "b", key))).await;
    }
    let mut request = ListingRequest { max: 2, delimiter: "/".into(), ..listing_of("b") };
    let mut pages = Vec::new();
    loop {
        let page = catalog.uploads(&request).await.expect("the bucket is there");
        let ids = page.uploads.iter().map(|upload| upload.id.clone());
        pages.push(ids.chain(page.prefixes.clone()).collect::<Vec<_>>().join(" "));
        let Some(next) = page.next else { break };
        request.after = next;
        request.after_upload = page.next_upload.unwrap_or_default();
    }
    assert_eq!(pages, ["9 1", "2 3", "0 z/"]);
    let after = ListingRequest { after: "k".into(), ..listing_of("b") };
    let ids = catalog.uploads(&after).await.expect("there").uploads.into_iter().map(|it| it.id);
    assert_eq!(ids.collect::<Vec<_>>(), ["0", "5"], "the whole key is skipped");
}

async fn a_rolled_up_prefix_is_given_once_over_all_pages(catalog: &dyn Audited) {
    with_keys(catalog, &["a", "p/", "p/1", "p/2", "p0", "q/1/x", "r"]).await;
    assert_eq!(listed(catalog, ("", "/", "", 2)).await, page(&["a"], &["p/"], Some("p/")));
    assert_eq!(listed(catalog, ("", "/", "p/", 2)).await, page(&["p0"], &["q/"], Some("q/")));
    assert_eq!(listed(catalog, ("", "/", "q/", 2)).await, page(&["r"], &[], None));
    assert_eq!(listed(catalog, ("p/", "/", "p/", 9)).await, page(&["p/1", "p/2"], &[], None));
}

async fn a_start_inside_a_rolled_up_prefix_still_shows_it(catalog: &dyn Audited) {
    with_keys(catalog, &["p/1", "p/2", "q"]).await;
    assert_eq!(listed(catalog, ("", "/", "p/1", 9)).await, page(&["q"], &["p/"], None));
    assert_eq!(listed(catalog, ("", "/", "p/1", 1)).await, page(&[], &["p/"], Some("p/")));
    assert_eq!(listed(catalog, ("", "/", "p/2", 9)).await, page(&["q"], &[], None));
    assert_eq!(listed(catalog, ("", "/", "p", 9)).await, page(&["q"], &["p/"], None));
    assert_eq!(listed(catalog, ("p", "/", "a", 9)).await, page(&[], &["p/"], None));
    assert_eq!(listed(catalog, ("p", "/", "pz", 9)).await, page(&[], &[], None));
    assert_eq!(listed(catalog, ("p", "/", "q", 9)).await, page(&[], &[], None));
}

async fn delimiters_may_be_long_or_inside_the_prefix(catalog: &dyn Audited) {
    with_keys(catalog, &["a--b--1", "a--b--2", "a--c", "a-d", "\u{e9}/1", "\u{e9}/2"]).await;
    assert_eq!(
        listed(catalog, ("", "--", "", 9)).await,
        page(&["a-d", "\u{e9}/1", "\u{e9}/2"], &["a--"], None)
    );
    assert_eq!(listed(catalog, ("a--", "--", "", 9)).await, page(&["a--c"], &["a--b--"], None));
    assert_eq!(listed(catalog, ("a-", "-", "", 9)).await, page(&["a-d"], &["a--"], None));
    assert_eq!(listed(catalog, ("\u{e9}", "/", "", 9)).await, page(&[], &["\u{e9}/"], None));
    assert_eq!(
        listed(catalog, ("", "\u{e9}/", "a-", 9)).await,
        page(&["a--b--1", "a--b--2", "a--c", "a-d"], &["\u{e9}/"], None)
    );
}

async fn no_room_gives_an_empty_last_page(catalog: &dyn Audited) {
    with_keys(catalog, &["a", "b"]).await;
    assert_eq!(listed(catalog, ("", "", "", 0)).await, page(&[], &[], None));
    assert_eq!(catalog.buckets("", 0).await.expect("buckets"), []);
    assert_eq!(catalog.stripes_after(StripeId(0), 0).await.expect("stripes"), []);
    assert_eq!(catalog.garbage(u64::MAX, StripeId(0), 0).await.expect("garbage"), []);
}

async fn next_is_given_exactly_when_there_is_more(catalog: &dyn Audited) {
    with_keys(catalog, &["a", "p/1", "p/2"]).await;
    assert_eq!(listed(catalog, ("", "/", "", 2)).await, page(&["a"], &["p/"], None));
    assert_eq!(listed(catalog, ("", "/", "", 1)).await, page(&["a"], &[], Some("a")));
    assert_eq!(listed(catalog, ("", "", "", 3)).await, page(&["a", "p/1", "p/2"], &[], None));
    assert_eq!(listed(catalog, ("", "", "", 2)).await, page(&["a", "p/1"], &[], Some("p/1")));
    assert_eq!(listed(catalog, ("a", "", "", 1)).await, page(&["a"], &[], None));
}

async fn garbage_waits_until_it_is_due_and_is_forgotten(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    for (now_ms, id) in [(10, 2u128), (20, 3), (30, 4)] {
        let change = Change::Discard { stripes: brought(&[id]) };
        catalog.commit(now_ms, change).await.expect("discarded");
    }
    let due = async |due_ms, after, max| {
        let found = catalog.garbage(due_ms, StripeId(after), max).await.expect("garbage");
        found.into_iter().map(|(id, _)| id.0).collect::<Vec<_>>()
    };
    assert_eq!(due(10, 0, 9).await, [] as [u128; 0], "due since before, not at");
    assert_eq!(due(21, 0, 9).await, [2, 3]);
    assert_eq!(due(31, 2, 1).await, [3]);
    assert!(catalog.is_garbage(StripeId(2)).await.expect("read"));
    assert_eq!(
        catalog.stripes(&[StripeId(2), StripeId(1)]).await.expect("read"),
        [None, Some(stripe())]
    );
    let forget = vec![StripeId(2), StripeId(1), StripeId(77)];
    applied(catalog, Change::ForgetGarbage { stripes: forget }).await;
    assert_eq!(tables(catalog).await, (vec![1], vec![3, 4]));
    assert!(!catalog.is_garbage(StripeId(2)).await.expect("read"));
}

async fn fragments_are_placed_in_stripes_in_force_only(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    applied(catalog, Change::Discard { stripes: brought(&[2]) }).await;
    let place = |stripe, index, node: Option<u16>| Change::PlaceFragment {
        stripe: StripeId(stripe),
        index,
        node: node.map(NodeId),
    };
    for change in [
        place(1, 0, None),
        place(1, 2, Some(7)),
        place(1, 4, Some(8)),
        place(1, 9, None),
        place(2, 0, Some(9)),
        place(3, 0, Some(9)),
    ] {
        applied(catalog, change).await;
    }
    let placed = catalog.stripes(&[StripeId(1)]).await.expect("read");
    let nodes = placed[0].as_ref().expect("in force").nodes.clone();
    assert_eq!(nodes, [None, Some(2), Some(7), None, Some(8)]);
    let garbage = catalog.garbage(u64::MAX, StripeId(0), 9).await.expect("garbage");
    assert_eq!(garbage, [(StripeId(2), stripe())]);
}

fn copy(stripe: u128, index: u8, node: u16) -> Leftover {
    Leftover { stripe: StripeId(stripe), index, node: NodeId(node) }
}

fn move_fragment(stripe: u128, nodes: &[Option<u16>], index: u8, to: u16) -> Change {
    let nodes = nodes.to_vec();
    Change::MoveFragment { stripe: StripeId(stripe), nodes, index, to: NodeId(to) }
}

async fn leftovers(catalog: &dyn Audited) -> Vec<Leftover> {
    tables(catalog).await;
    catalog.leftovers(u64::MAX, None, 1000).await.expect("leftovers")
}

async fn a_fragment_moves_only_from_where_it_was_read(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    applied(catalog, Change::Discard { stripes: brought(&[2]) }).await;
    let was = stripe().nodes;
    let gone = refused(catalog, move_fragment(2, &was, 0, 9)).await;
    assert!(matches!(gone, CatalogError::StripeGone { stripe } if stripe == StripeId(2)));
    let stale = [was.clone(), vec![Some(77)]].concat();
    for change in [
        move_fragment(1, &stale, 0, 9),
        move_fragment(1, &was[1..], 0, 9),
        move_fragment(1, &was, was.len() as u8, 9),
    ] {
        let why = refused(catalog, change.clone()).await;
        assert!(matches!(why, CatalogError::ConditionFailed), "{change:?}");
    }
    assert_eq!(leftovers(catalog).await, []);
    applied(catalog, move_fragment(1, &was, 1, 9)).await;
    let mut is = was.clone();
    is[1] = Some(9);
    let found = catalog.stripes(&[StripeId(1)]).await.expect("read");
    assert_eq!(found[0].as_ref().expect("in force").nodes, is);
    let former = was[1].expect("it was somewhere");
    assert_eq!(leftovers(catalog).await, [copy(1, 1, former)]);
    // A second one that read the same comes too late; back again, nothing is left where it is.
    assert!(matches!(
        refused(catalog, move_fragment(1, &was, 1, 8)).await,
        CatalogError::ConditionFailed
    ));
    applied(catalog, move_fragment(1, &is, 1, former)).await;
    assert_eq!(leftovers(catalog).await, [copy(1, 1, 9)]);
    // To where it is already: nothing becomes a leftover.
    applied(catalog, move_fragment(1, &was, 1, former)).await;
    assert_eq!(leftovers(catalog).await, [copy(1, 1, 9)]);
    let node = Some(NodeId(9));
    applied(catalog, Change::PlaceFragment { stripe: StripeId(1), index: 1, node }).await;
    assert_eq!(leftovers(catalog).await, []);
}

async fn a_leftover_waits_until_it_is_due_and_is_forgotten(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    let mut nodes = stripe().nodes;
    let mut all = Vec::new();
    for (now_ms, to) in [(10, 20), (20, 21), (30, 22)] {
        all.push(copy(1, 0, nodes[0].expect("it is somewhere")));
        let change = move_fragment(1, &nodes, 0, to);
        catalog.commit(now_ms, change).await.expect("moved");
        nodes[0] = Some(to);
    }
    let due =
        async |due_ms, after, max| catalog.leftovers(due_ms, after, max).await.expect("leftovers");
    assert_eq!(due(10, None, 9).await, [], "due since before, not at");
    assert_eq!(due(21, None, 9).await, all[..2]);
    assert_eq!(due(31, Some(all[0]), 1).await, all[1..2]);
    // They outlive their stripe.
    applied(catalog, Change::DeleteBucket { name: "b".into() }).await;
    assert_eq!(leftovers(catalog).await, all);
    applied(catalog, Change::ForgetLeftovers { leftovers: vec![all[1], copy(7, 7, 7)] }).await;
    assert_eq!(leftovers(catalog).await, [all[0], all[2]]);
    assert!(!catalog.is_leftover(all[1]).await.expect("read"));
    assert!(catalog.is_leftover(all[2]).await.expect("read"));
}

async fn nodes_keep_the_numbers_they_were_given(catalog: &dyn Audited) {
    let name = |name: &str| Change::NameNode { name: name.into() };
    let names = ["disk2", "disk1", "disk2", "disk3"];
    let mut numbers = Vec::new();
    for node in names {
        numbers.push(applied(catalog, name(node)).await.node.expect("a number"));
    }
    assert_eq!(numbers[0], numbers[2]);
    assert_eq!(numbers.iter().collect::<BTreeSet<_>>().len(), 3);
    let nodes = catalog.nodes().await.expect("nodes");
    let expected = [("disk1", numbers[1]), ("disk2", numbers[0]), ("disk3", numbers[3])];
    assert_eq!(nodes, expected.map(|(name, number)| (name.to_owned(), number)));
}
