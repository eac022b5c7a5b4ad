//! Which gateways live, by when each was last seen to tell of itself.

use ripstop_catalog::{GatewayId, GatewayRecord};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A gateway that told of itself longer ago than this, by its clock, as it is first seen, is dead:
/// clocks agree better.
const STALE_MS: u64 = 60_000;

/// A gateway, as this one sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GatewaySight {
    /// Which.
    pub id: GatewayId,
    /// What it told last.
    pub gateway: GatewayRecord,
    /// For how long it has told nothing new, by the clock of who looks.
    pub silent_for: Duration,
    /// Whether it counts as alive.
    pub is_alive: bool,
    /// Whether it is the one that looks.
    pub is_own: bool,
}

/// When each was last seen to tell something new.
#[derive(Debug, Default)]
pub(crate) struct Seen(BTreeMap<GatewayId, Told>);

#[derive(Debug)]
struct Told {
    gateway: GatewayRecord,
    at: Instant,
    /// Whether it was dead as it was first seen.
    was_stale: bool,
}

impl Seen {
    /// Takes in what the catalog has.
    pub(crate) fn look(
        &mut self,
        now: Instant,
        now_ms: u64,
        rows: Vec<(GatewayId, GatewayRecord)>,
    ) {
        let mut former = std::mem::take(&mut self.0);
        for (id, gateway) in rows {
            let told = match former.remove(&id) {
                Some(told) if same_beat(&told.gateway, &gateway) => Told { gateway, ..told },
                Some(_) => Told { gateway, at: now, was_stale: false },
                None => {
                    let was_stale = gateway.beat_ms.saturating_add(STALE_MS) < now_ms;
                    Told { gateway, at: now, was_stale }
                }
            };
            self.0.insert(id, told);
        }
    }

    /// All, by number.
    pub(crate) fn sights(
        &self,
        now: Instant,
        own: GatewayId,
        dead_after: Duration,
    ) -> impl Iterator<Item = GatewaySight> {
        self.0.iter().map(move |(id, told)| {
            let (is_own, silent_for) = (*id == own, now.saturating_duration_since(told.at));
            let speaks = !told.was_stale && silent_for < dead_after;
            let is_alive = !told.gateway.has_left && (is_own || speaks);
            GatewaySight { id: *id, gateway: told.gateway.clone(), silent_for, is_alive, is_own }
        })
    }
}

fn same_beat(one: &GatewayRecord, other: &GatewayRecord) -> bool {
    (one.epoch, one.beat, one.has_left) == (other.epoch, other.beat, other.has_left)
}
