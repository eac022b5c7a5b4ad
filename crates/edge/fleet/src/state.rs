//! What a gateway knows of the others, and what it may take beside them.

use crate::pools::SharedPool;
use crate::seen::{GatewaySight, Seen};
use crate::settings::{CLAIMS_MAX, FleetSettings};
use crate::thing::{Kind, Thing};
use ripstop_catalog::{GatewayClaim, GatewayId, GatewayRecord, Session};
use ripstop_gateway::Shaping;
use ripstop_model::TenantId;
use std::collections::BTreeMap;
use std::time::Instant;

#[derive(Debug)]
pub(crate) struct State {
    pub id: GatewayId,
    /// 0 until it has begun.
    pub epoch: u64,
    beat: u64,
    pub pools: Vec<SharedPool>,
    /// By the names that all gateways give them.
    pub things: BTreeMap<String, Thing>,
    seen: Seen,
    /// When its last beat was begun that came to its end; none before.
    pub told_at: Option<Instant>,
    /// Whether it has let go because its beats failed.
    pub is_late: bool,
}

impl State {
    pub(crate) fn new(id: GatewayId, pools: Vec<SharedPool>) -> Self {
        let things = pools.iter().enumerate().flat_map(|(at, pool)| pool.things(at)).collect();
        let (epoch, beat, seen, told_at, is_late) = (0, 0, Seen::default(), None, false);
        Self { id, epoch, beat, pools, things, seen, told_at, is_late }
    }

    /// From now on this is promised in a pool; tenants by their names.
    pub(crate) fn promise(
        &mut self,
        pool: &str,
        shaping: Shaping,
        names: &BTreeMap<TenantId, String>,
    ) {
        let Some(number) = self.pools.iter().position(|known| known.name == pool) else { return };
        let former = std::mem::take(&mut self.things);
        let is_promise =
            |thing: &Thing| matches!(thing.kind, Kind::Promise { pool, .. } if pool == number);
        let (mut promises, rest): (BTreeMap<_, _>, BTreeMap<_, _>) =
            former.into_iter().partition(|(_, thing)| is_promise(thing));
        self.things = rest;
        for terms in &shaping.tenants {
            let whole = terms.tiers.iter().map(|tier| tier.capacity).fold(0, u64::saturating_add);
            let Some(name) = names.get(&terms.tenant).filter(|_| whole > 0) else { continue };
            let name = format!("{pool} for {name}");
            let kind = Kind::Promise { pool: number, tenant: terms.tenant };
            let thing = match promises.remove(&name) {
                Some(known) if known.whole == whole => known.of_kind(kind),
                // What is promised is something else: it is divided again.
                Some(_) | None => Thing::new(kind, whole),
            };
            self.things.insert(name, thing);
        }
        let pool = &mut self.pools[number];
        (pool.promised, pool.is_shaped) = (shaping, true);
    }

    /// What is told in the next beat.
    pub(crate) fn tell(&mut self, settings: &FleetSettings, session: Session) -> GatewayRecord {
        self.beat += 1;
        let claims = self.things.iter_mut().take(CLAIMS_MAX);
        GatewayRecord {
            epoch: self.epoch,
            beat: self.beat,
            beat_ms: ripstop_host::unix_ms(),
            session,
            address: settings.address.clone(),
            version: settings.version.clone(),
            claims: claims.map(|(name, thing)| thing.claim(name)).collect(),
            ..GatewayRecord::default()
        }
    }

    /// Takes in what all told; whether others wait for what this one let go.
    pub(crate) fn settle(
        &mut self,
        now: Instant,
        settings: &FleetSettings,
        rows: Vec<(GatewayId, GatewayRecord)>,
        may_grow: bool,
    ) -> bool {
        self.seen.look(now, ripstop_host::unix_ms(), rows);
        if !settings.is_shared {
            self.things.values_mut().for_each(Thing::take_all);
            return false;
        }
        let living: Vec<GatewaySight> =
            self.sights(now, settings).filter(|it| it.is_alive).collect();
        let claims: Vec<(bool, BTreeMap<&str, &GatewayClaim>)> = living
            .iter()
            .map(|it| (it.is_own, it.gateway.claims.iter().map(|at| (&*at.of, at)).collect()))
            .collect();
        let mut others_wait = false;
        for (at, (name, thing)) in self.things.iter_mut().enumerate() {
            if at >= CLAIMS_MAX {
                thing.settle_equally(living.len());
                continue;
            }
            let mut of_all = Vec::with_capacity(claims.len());
            let mut own = None;
            for (is_own, claims) in &claims {
                if *is_own {
                    own = Some(of_all.len());
                    of_all.push((thing.wanted, thing.taken));
                } else if let Some(claim) = claims.get(&**name) {
                    of_all.push((claim.wanted, claim.taken));
                }
            }
            // Before its first beat it is not among them.
            let own = own.unwrap_or_else(|| {
                of_all.push((thing.wanted, thing.taken));
                of_all.len() - 1
            });
            others_wait |= thing.settle(own, &of_all, may_grow);
        }
        others_wait
    }

    /// What it takes of a tenant's promise in a pool.
    pub(crate) fn promised(&self, pool: &str, tenant: TenantId) -> u64 {
        let pool = self.pools.iter().position(|known| known.name == pool);
        let is_it =
            |thing: &&Thing| pool.is_some_and(|pool| thing.kind == Kind::Promise { pool, tenant });
        self.things.values().find(is_it).map_or(0, |thing| thing.taken)
    }

    /// All gateways, as they were seen last.
    pub(crate) fn sights(
        &self,
        now: Instant,
        settings: &FleetSettings,
    ) -> impl Iterator<Item = GatewaySight> + use<'_> {
        self.seen.sights(now, self.id, settings.dead_after)
    }

    /// Whether it has something of everything.
    pub(crate) fn has_of_all(&self) -> bool {
        self.things.values().all(|thing| thing.taken > 0)
    }
}
