use crate::{Delays, TenantSetting, Tenants};
use core::time::Duration;
use ripstop_figure::Points;
use ripstop_model::TenantId;

/// What came of one tenant's requests in a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TenantOutcome {
    /// Requests that arrived.
    pub asked: u64,
    /// Those that were not begun.
    pub refused: u64,
    /// Those that were begun and not done.
    pub failed: u64,
    /// From arrival to answer, nanoseconds, of those that were done; ascending.
    pub took_ns: Vec<u64>,
    /// Requests taken in by each tier.
    pub admitted: Vec<u64>,
    /// Of those, answered later than the tier's bound, or not done.
    pub late: Vec<u64>,
}

impl TenantOutcome {
    /// The share of all its requests, those refused and failed included, that were done within a
    /// bound; 1 if there were none.
    pub fn within(&self, bound: Duration) -> f64 {
        let bound = u64::try_from(bound.as_nanos()).unwrap_or(u64::MAX);
        let done = self.took_ns.partition_point(|&took| took <= bound);
        if self.asked == 0 { 1.0 } else { done as f64 / self.asked as f64 }
    }

    /// Requests that another tier than the first took in.
    pub fn moved_down(&self) -> u64 {
        self.admitted.iter().skip(1).sum()
    }

    /// How long those took that were done.
    pub fn delays(&self) -> Delays {
        Delays::of(&mut self.took_ns.clone())
    }

    /// A percentile of them by nearest rank, milliseconds; 0 if none was done.
    pub fn percentile_ms(&self, percent: f64) -> f64 {
        let ms: Vec<f64> = self.took_ns.iter().map(|&took| took as f64 / 1e6).collect();
        ripstop_figure::percentile(&ms, percent).unwrap_or(0.0)
    }

    /// (milliseconds, share of all requests that were done within it), this many points and some
    /// more.
    pub(crate) fn shares_within(&self, points: usize) -> Points {
        let (done, asked) = (self.took_ns.len(), self.asked.max(1) as f64);
        let step = (done / points).max(1);
        // The slowest are what promises are about.
        let ranks = (1..=done).filter(|rank| rank % step == 0 || *rank > done.saturating_sub(step));
        ranks.map(|rank| (self.took_ns[rank - 1] as f64 / 1e6, rank as f64 / asked)).collect()
    }

    /// Whether the tenant got what it was promised: this share of all requests within each bound.
    pub fn keeps(&self, tenant: &TenantSetting) -> bool {
        tenant.tiers.iter().all(|tier| self.within(tier.bound) >= tier.fraction.as_f64())
    }

    /// Takes over what came of the same tenant's requests in another run.
    pub fn merge(&mut self, other: &Self) {
        self.asked += other.asked;
        self.refused += other.refused;
        self.failed += other.failed;
        self.took_ns.extend(&other.took_ns);
        self.took_ns.sort_unstable();
        for (own, others) in [(&mut self.admitted, &other.admitted), (&mut self.late, &other.late)]
        {
            own.resize(own.len().max(others.len()), 0);
            own.iter_mut().zip(others).for_each(|(sum, count)| *sum += count);
        }
    }
}

/// Counts what came of the tenants' requests.
#[derive(Debug)]
pub(crate) struct Tally<'a> {
    tenants: &'a Tenants,
    outcomes: Vec<TenantOutcome>,
}

impl<'a> Tally<'a> {
    pub(crate) fn new(tenants: &'a Tenants) -> Self {
        let none = |tenant: &TenantSetting| TenantOutcome {
            admitted: vec![0; tenant.tiers.len()],
            late: vec![0; tenant.tiers.len()],
            ..TenantOutcome::default()
        };
        Self { tenants, outcomes: tenants.list.iter().map(none).collect() }
    }

    fn of(&mut self, tenant: TenantId) -> Option<(&mut TenantOutcome, &'a TenantSetting)> {
        let index = usize::from(tenant.0).checked_sub(1)?;
        Some((self.outcomes.get_mut(index)?, self.tenants.list.get(index)?))
    }

    pub(crate) fn refused(&mut self, tenant: TenantId) {
        if let Some((outcome, _)) = self.of(tenant) {
            outcome.asked += 1;
            outcome.refused += 1;
        }
    }

    /// A request was answered this late, or failed.
    pub(crate) fn answered(&mut self, tenant: TenantId, tier: Option<u8>, took: Option<Duration>) {
        let Some((outcome, setting)) = self.of(tenant) else { return };
        outcome.asked += 1;
        match took {
            Some(took) => outcome.took_ns.push(took.as_nanos() as u64),
            None => outcome.failed += 1,
        }
        let tier = tier.map(usize::from).filter(|tier| *tier < setting.tiers.len());
        if let Some(tier) = tier {
            outcome.admitted[tier] += 1;
            let in_time = took.is_some_and(|took| took <= setting.tiers[tier].bound);
            outcome.late[tier] += u64::from(!in_time);
        }
    }

    pub(crate) fn outcomes(mut self) -> Vec<TenantOutcome> {
        self.outcomes.iter_mut().for_each(|outcome| outcome.took_ns.sort_unstable());
        self.outcomes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_gateway::{LANE, TierTerms};

    const MS: Duration = Duration::from_millis(1);

    fn tenants() -> Tenants {
        let tier = |fraction: &str, ms: u32| TierTerms {
            fraction: fraction.parse().expect("a fraction"),
            bound: ms * MS,
            capacity: LANE,
        };
        let tiers = vec![tier("0.5", 100), tier("0.75", 500)];
        let one = TenantSetting { name: "one".into(), tiers };
        Tenants { recombination: None, list: vec![one] }
    }

    #[test]
    fn refused_and_failed_requests_are_not_within_a_bound() {
        let tenants = tenants();
        let mut tally = Tally::new(&tenants);
        let id = Tenants::id(0);
        tally.answered(id, Some(0), Some(100 * MS));
        tally.answered(id, Some(0), Some(101 * MS));
        tally.answered(id, Some(1), None);
        tally.refused(id);
        tally.refused(TenantId::ANYBODY);
        let [outcome] = tally.outcomes().try_into().expect("one tenant");
        assert_eq!((outcome.asked, outcome.refused, outcome.failed), (4, 1, 1));
        assert_eq!((outcome.admitted.clone(), outcome.late.clone()), (vec![2, 1], vec![1, 1]));
        let within = [100, 500].map(|ms| outcome.within(ms * MS));
        assert!((within[0] - 0.25).abs() < 1e-12 && (within[1] - 0.5).abs() < 1e-12);
        assert!(!outcome.keeps(&tenants.list[0]));
        let mut both = outcome.clone();
        both.merge(&TenantOutcome { asked: 4, took_ns: vec![1; 4], ..TenantOutcome::default() });
        assert!(both.keeps(&tenants.list[0]), "{both:?}");
        assert_eq!((both.admitted, both.took_ns.len()), (vec![2, 1], 6));
    }
}
