//! Whose names of stripes are known, who is alive, and who may do something alone.

use super::super::make::stripe;
use super::{applied, brought, create, put, refused, tables};
use crate::{Audited, CatalogError, Change, Refusal, Session, Vouched};
use ripstop_model::StripeId;
use std::collections::BTreeMap;

async fn reserve(catalog: &dyn Audited, session: u32, until_ms: u64) {
    let change = Change::Reserve { session: Session(session), until_ms };
    catalog.commit_one(1, change).await.expect("reserved");
}

pub(super) async fn a_session_reserves_names_and_never_gives_one_back(catalog: &dyn Audited) {
    let before = catalog.vouched().await.expect("told");
    assert_eq!(before.sessions, BTreeMap::new());
    reserve(catalog, 7, 500).await;
    reserve(catalog, 9, 400).await;
    reserve(catalog, 7, 300).await;
    let sessions = BTreeMap::from([(Session(7), 500), (Session(9), 400)]);
    assert_eq!(catalog.vouched().await.expect("told"), Vouched { sessions, ..before });
}

pub(super) async fn what_is_vouched_for_later_replaces_what_was(catalog: &dyn Audited) {
    reserve(catalog, 7, 500).await;
    for before_ms in [900, 0] {
        catalog.commit_one(1, Change::Vouch { before_ms }).await.expect("vouched");
        let vouched = catalog.vouched().await.expect("told");
        assert_eq!(vouched, Vouched { before_ms, sessions: BTreeMap::new() });
    }
    // It goes by names alone, whatever is held.
    let id = Session(3).name(5, 1);
    let stripes = vec![(id, stripe())];
    catalog.commit_one(1, Change::Discard { stripes }).await.expect("discarded");
    assert!(!catalog.vouched().await.expect("told").covers(id));
}

fn lease(holder: u32, until_ms: u64) -> Change {
    Change::Lease { name: "sweep".into(), holder: Session(holder), until_ms }
}

/// The epoch that was answered, or who has the lease until when.
async fn leased(
    catalog: &dyn Audited,
    now_ms: u64,
    change: Change,
) -> Result<Option<u64>, (u32, u64)> {
    match catalog.commit_one(now_ms, change).await {
        Ok(applied) => Ok(applied.epoch),
        Err(CatalogError::Refused(Refusal::Leased { holder, until_ms })) => {
            Err((holder.0, until_ms))
        }
        Err(error) => panic!("{error}"),
    }
}

pub(super) async fn a_lease_is_renewed_by_its_holder_and_taken_over_when_it_is_over(
    catalog: &dyn Audited,
) {
    assert_eq!(catalog.lease("sweep").await.expect("read"), None);
    assert_eq!(leased(catalog, 100, lease(1, 110)).await, Ok(Some(1)));
    assert_eq!(leased(catalog, 105, lease(2, 130)).await, Err((1, 110)));
    assert_eq!(leased(catalog, 106, lease(1, 120)).await, Ok(Some(1)));
    assert_eq!(leased(catalog, 119, lease(2, 130)).await, Err((1, 120)));
    let other = Change::Lease { name: "mend".into(), holder: Session(2), until_ms: 130 };
    assert_eq!(leased(catalog, 119, other).await, Ok(Some(1)), "each by its name");
    assert_eq!(leased(catalog, 120, lease(2, 130)).await, Ok(Some(2)));
    assert_eq!(leased(catalog, 121, lease(1, 140)).await, Err((2, 130)));
    assert_eq!(leased(catalog, 150, lease(2, 160)).await, Ok(Some(2)), "nobody had it meanwhile");
    let held = catalog.lease("sweep").await.expect("read").expect("there");
    assert_eq!((held.holder, held.until_ms, held.epoch), (Session(2), 160, 2));
}

pub(super) async fn a_lease_that_is_given_back_is_free_at_once(catalog: &dyn Audited) {
    let release = |holder| Change::Release { name: "sweep".into(), holder: Session(holder) };
    assert_eq!(leased(catalog, 100, release(1)).await, Ok(None), "one that was never taken");
    assert_eq!(leased(catalog, 100, lease(1, 200)).await, Ok(Some(1)));
    assert_eq!(leased(catalog, 101, release(2)).await, Ok(None));
    assert_eq!(leased(catalog, 102, lease(2, 200)).await, Err((1, 200)), "not by another");
    assert_eq!(leased(catalog, 103, release(1)).await, Ok(None));
    assert_eq!(leased(catalog, 104, lease(2, 300)).await, Ok(Some(2)));
    assert_eq!(leased(catalog, 105, release(2)).await, Ok(None));
    assert_eq!(leased(catalog, 106, lease(2, 300)).await, Ok(Some(3)), "no epoch comes twice");
}

pub(super) async fn what_is_done_under_a_lease_that_another_took_over_changes_nothing(
    catalog: &dyn Audited,
) {
    let fenced = |epoch, name: &str, told_by| Change::Fenced {
        lease: "sweep".into(),
        epoch,
        change: Box::new(create(name, told_by)),
    };
    let by_then = |error: CatalogError| {
        let CatalogError::Refused(Refusal::Fenced { epoch }) = error else { panic!("{error}") };
        epoch
    };
    assert_eq!(by_then(refused(catalog, fenced(1, "a", 1)).await), 0, "nobody ever had it");
    assert_eq!(leased(catalog, 100, lease(1, 110)).await, Ok(Some(1)));
    // Over by the clock, but nobody took it over: whose clock is right does not matter.
    catalog.commit_one(500, fenced(1, "a", 1)).await.expect("it is the holder's");
    let again = refused(catalog, fenced(1, "a", 2)).await;
    assert!(matches!(again, CatalogError::Refused(Refusal::BucketExists)), "{again}");
    // Its neighbours in one commit go on, also those that take it over in between.
    let take = lease(2, 600);
    let changes =
        vec![fenced(1, "b", 3), take, fenced(1, "c", 4), fenced(2, "d", 5), create("e", 6)];
    let outcomes = catalog.commit(500, changes).await.expect("committed");
    let fences = outcomes.iter().map(|it| matches!(it, Err(Refusal::Fenced { epoch: 2 })));
    assert_eq!(fences.collect::<Vec<_>>(), [false, false, true, false, false]);
    assert_eq!(outcomes.iter().filter(|it| it.is_ok()).count(), 4);
    assert_eq!(by_then(refused(catalog, fenced(3, "f", 7)).await), 2, "an epoch that never was");
    let names = catalog.buckets("", 10).await.expect("read").into_iter().map(|it| it.name);
    assert_eq!(names.collect::<String>(), "abde");
    let (in_force, garbage) = tables(catalog).await;
    assert_eq!((in_force, garbage), (vec![1, 3, 5, 6], vec![]), "a refused change leaves nothing");
}

fn watch(session: u32, least: u128, alive_until_ms: u64) -> Change {
    Change::Watch { session: Session(session), least: StripeId(least), alive_until_ms }
}

/// What is least when all that are dead at a time were given up.
async fn least(catalog: &dyn Audited, now_ms: u64) -> Option<u128> {
    let applied = catalog.commit_one(now_ms, Change::Retire).await.expect("applied");
    applied.least.map(|stripe| stripe.0)
}

pub(super) async fn the_least_watermark_is_of_those_that_are_alive(catalog: &dyn Audited) {
    assert_eq!(least(catalog, 100).await, None);
    applied(catalog, watch(1, 70, 100)).await;
    applied(catalog, watch(2, 50, 100)).await;
    assert_eq!(least(catalog, 100).await, Some(50));
    applied(catalog, watch(2, 60, 110)).await;
    applied(catalog, watch(2, 40, 90)).await;
    applied(catalog, watch(1, 80, 120)).await;
    assert_eq!(least(catalog, 110).await, Some(60), "what was said is never taken back");
    assert_eq!(least(catalog, 111).await, Some(80));
    let error = refused(catalog, watch(2, 90, 200)).await;
    let session = Session(2);
    assert!(
        matches!(error, CatalogError::Refused(Refusal::Retired { session: it }) if it == session),
        "{error}"
    );
    assert_eq!(least(catalog, 1000).await, None);
    let retired = catalog.watermarks().await.expect("read");
    assert!(retired.len() == 2 && retired.iter().all(|(_, watermark)| watermark.is_retired));
}

pub(super) async fn a_session_that_was_given_up_brings_nothing(catalog: &dyn Audited) {
    let of = |session: u32, id: u64| Session(session).name(0, id).0;
    applied(catalog, create("b", of(1, 1))).await;
    applied(catalog, put("k", &[of(2, 2)], &[of(2, 2)])).await;
    applied(catalog, watch(1, of(1, 2), 1000)).await;
    applied(catalog, watch(2, of(2, 3), 100)).await;
    assert_eq!(least(catalog, 101).await, Some(of(1, 2)));
    let late = put("late", &[of(2, 3)], &[of(2, 3)]);
    let error = refused(catalog, late).await;
    assert!(matches!(error, CatalogError::Refused(Refusal::Retired { .. })), "{error}");
    let error = refused(catalog, lease(2, 2000)).await;
    assert!(matches!(error, CatalogError::Refused(Refusal::Retired { .. })), "{error}");
    assert_eq!(tables(catalog).await, (vec![of(1, 1), of(2, 2)], vec![]));
    // Nor is what it had left to it.
    applied(catalog, lease(3, 5000)).await;
    applied(catalog, watch(3, of(3, 1), 150)).await;
    let error = refused(catalog, lease(1, 2000)).await;
    assert!(matches!(error, CatalogError::Refused(Refusal::Leased { .. })), "{error}");
    assert_eq!(least(catalog, 151).await, Some(of(1, 2)));
    applied(catalog, lease(1, 6000)).await;
    // What it brought before is in force, for others too, and what it says is not used may go.
    applied(catalog, put("copy", &[of(1, 4), of(2, 2)], &[of(1, 4)])).await;
    applied(catalog, put("again", &[of(2, 2)], &[of(2, 2)])).await;
    applied(catalog, Change::Discard { stripes: brought(&[of(2, 5)]) }).await;
    assert_eq!(tables(catalog).await, (vec![of(1, 1), of(1, 4), of(2, 2)], vec![of(2, 5)]));
}
