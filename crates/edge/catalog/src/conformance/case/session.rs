//! Whose names of stripes are known.

use super::super::make::stripe;
use crate::{Audited, Change, Session, Vouched};
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
