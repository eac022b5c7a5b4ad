use ripstop_batching::CleaningSurvey;
use ripstop_model::PoolId;
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// What came of writing small objects again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cleaned {
    /// Stripes that nothing need hold any more.
    pub stripes: u64,
    /// Packs that were written instead.
    pub packs: u64,
    /// Objects that are in them, and deletions that they tell of.
    pub objects: u64,
    /// Of how many keys somebody wrote meanwhile: they are left as those wrote them.
    pub overtaken: u64,
    /// Bytes of these packs' payloads: objects, and what is told of them.
    pub bytes: u64,
    /// Those of them that were written to make short stripes fewer.
    pub merged_bytes: u64,
}

impl Cleaned {
    pub(super) fn with(&self, more: &Self) -> Self {
        Self {
            stripes: self.stripes + more.stripes,
            packs: self.packs + more.packs,
            objects: self.objects + more.objects,
            overtaken: self.overtaken + more.overtaken,
            bytes: self.bytes + more.bytes,
            merged_bytes: self.merged_bytes + more.merged_bytes,
        }
    }
}

/// A pool's packs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PacksGauge {
    /// Bytes of their payloads, as they were last seen.
    pub bytes: u64,
    /// Those of them that are dead.
    pub dead: u64,
    /// What was written again since the start.
    pub cleaned: Cleaned,
}

/// What is known of pools' packs.
#[derive(Debug, Default)]
pub(crate) struct Cleanings(Mutex<BTreeMap<PoolId, PacksGauge>>);

impl Cleanings {
    fn gauges(&self) -> MutexGuard<'_, BTreeMap<PoolId, PacksGauge>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn of(&self, pool: PoolId) -> PacksGauge {
        self.gauges().get(&pool).copied().unwrap_or_default()
    }

    /// All pools were looked through; those that are not here have no packs.
    pub(super) fn saw(&self, surveys: &BTreeMap<PoolId, CleaningSurvey>) {
        let mut gauges = self.gauges();
        for gauge in gauges.values_mut() {
            (gauge.bytes, gauge.dead) = (0, 0);
        }
        for (pool, survey) in surveys {
            let gauge = gauges.entry(*pool).or_default();
            (gauge.bytes, gauge.dead) = (survey.packed(), survey.dead());
        }
    }

    pub(super) fn add(&self, pool: PoolId, cleaned: &Cleaned) {
        let mut gauges = self.gauges();
        let gauge = gauges.entry(pool).or_default();
        gauge.cleaned = gauge.cleaned.with(cleaned);
    }
}
