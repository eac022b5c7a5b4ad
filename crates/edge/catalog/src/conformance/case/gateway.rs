//! Which gateways there are.

use super::{Audited, applied, refused};
use crate::{
    CatalogError, Change, GATEWAY_FORGOTTEN_MS, GATEWAYS_MAX, GatewayClaim, GatewayId,
    GatewayRecord, Refusal, Session,
};

fn told(epoch: u64, beat: u64, beat_ms: u64) -> GatewayRecord {
    let claim = GatewayClaim { of: "lanes 0".into(), wanted: beat, taken: 7 };
    GatewayRecord {
        epoch,
        beat,
        beat_ms,
        session: Session(3),
        address: "127.0.0.1:9000".into(),
        version: "1.2.3".into(),
        claims: vec![claim],
        ..GatewayRecord::default()
    }
}

fn beat(id: u64, gateway: GatewayRecord) -> Change {
    Change::Beat { id: GatewayId(id), gateway }
}

/// The epoch that was answered.
async fn began(catalog: &dyn Audited, now_ms: u64, change: Change) -> Option<u64> {
    catalog.commit_one(now_ms, change).await.expect("applied").epoch
}

pub(super) async fn a_gateway_has_another_epoch_in_each_of_its_lives(catalog: &dyn Audited) {
    assert_eq!(catalog.gateways().await.expect("read"), []);
    assert_eq!(began(catalog, 100, beat(9, told(0, 1, 100))).await, Some(1));
    assert_eq!(began(catalog, 101, beat(9, told(1, 2, 101))).await, Some(1));
    assert_eq!(began(catalog, 102, beat(4, told(0, 1, 102))).await, Some(1), "each its own");
    assert_eq!(began(catalog, 103, beat(9, told(0, 1, 103))).await, Some(2));
    let error = refused(catalog, beat(9, told(1, 3, 104))).await;
    assert!(matches!(error, CatalogError::Refused(Refusal::Fenced { epoch: 2 })), "{error}");
    let known = catalog.gateways().await.expect("read");
    assert_eq!(known, [(GatewayId(4), told(1, 1, 102)), (GatewayId(9), told(2, 1, 103))]);
    // Changes of one commit see those before them.
    let changes =
        vec![beat(4, told(0, 1, 105)), beat(4, told(1, 9, 105)), beat(4, told(2, 2, 106))];
    let outcomes = catalog.commit(105, changes).await.expect("committed");
    let epochs = outcomes.into_iter().map(|it| it.map(|applied| applied.epoch));
    let fenced = Err(Refusal::Fenced { epoch: 2 });
    assert_eq!(epochs.collect::<Vec<_>>(), [Ok(Some(2)), fenced, Ok(Some(2))]);
    let known = catalog.gateways().await.expect("read");
    assert_eq!(known[0], (GatewayId(4), told(2, 2, 106)));
}

pub(super) async fn gateways_that_tell_nothing_are_forgotten(catalog: &dyn Audited) {
    let ids = || async {
        let known = catalog.gateways().await.expect("read").into_iter();
        known.map(|(id, _)| id.0).collect::<Vec<_>>()
    };
    applied(catalog, beat(1, told(0, 1, 100))).await;
    applied(catalog, beat(2, told(0, 1, 101))).await;
    let later = 100 + GATEWAY_FORGOTTEN_MS;
    began(catalog, later, beat(3, told(0, 1, later))).await;
    assert_eq!(ids().await, [1, 2, 3]);
    began(catalog, later + 1, beat(3, told(1, 2, later + 1))).await;
    assert_eq!(ids().await, [2, 3]);
    let most = GATEWAYS_MAX as u64;
    let many = (3..=most + 2).map(|id| beat(id, told(0, 1, later + id)));
    catalog.commit(later + 1, many.collect()).await.expect("committed");
    let known = ids().await;
    assert_eq!((known.len(), known[0]), (GATEWAYS_MAX, 3), "the oldest went");
    // One that comes back has the life that it says it has.
    assert_eq!(began(catalog, later + 2, beat(2, told(1, 8, later + 900))).await, Some(1));
}
