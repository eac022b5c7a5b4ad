use super::shaping::{LANE, Shaping, TierTerms};
use alloc::vec::Vec;
use core::fmt;
use ripstop_shaping::{Capacity, Promise, Reservation};

/// A promise, and what is kept free to keep it: what configurations and scenarios say of a tenant.
#[derive(Clone, PartialEq, Debug)]
pub struct Promised {
    /// What is promised.
    pub promise: Promise,
    /// What is kept free.
    pub grant: Grant,
    /// How the tiers share it, the tightest first: parts of the whole.
    pub parts: Vec<f64>,
}

/// What is kept free for a tenant in a pool.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Grant {
    /// This many lanes.
    Lanes(f64),
    /// This part of the pool's lanes.
    Share(f64),
}

/// Of the requests that a tier promises beyond the one before it, what it is given capacity for at
/// least: a burst moves many requests down at once.
const PART_MIN: f64 = 0.1;

impl Promised {
    /// A promise with a number of lanes or a share of them, and how its tiers share that: as told,
    /// or each by the requests that it promises beyond the one before it. Nothing, if nothing is
    /// promised.
    pub fn of(
        promise: Option<Promise>,
        capacity: Option<f64>,
        share: Option<f64>,
        parts: Option<Vec<f64>>,
    ) -> Result<Option<Self>, PromisedError> {
        let grant = match (capacity, share) {
            (Some(_), Some(_)) => return Err(PromisedError::Both),
            (Some(lanes), None) if !(lanes.is_finite() && lanes > 0.0) => {
                return Err(PromisedError::Lanes);
            }
            (Some(lanes), None) => Some(Grant::Lanes(lanes)),
            (None, Some(share)) if !(share > 0.0 && share <= 1.0) => {
                return Err(PromisedError::Share);
            }
            (None, Some(share)) => Some(Grant::Share(share)),
            (None, None) => None,
        };
        match (promise, grant) {
            (None, None) => Ok(None),
            (None, Some(_)) => Err(PromisedError::NoPromise),
            (Some(_), None) => Err(PromisedError::NoGrant),
            (Some(promise), Some(grant)) => {
                let parts = Self::parts(&promise, parts)?;
                Ok(Some(Self { promise, grant, parts }))
            }
        }
    }

    fn parts(promise: &Promise, told: Option<Vec<f64>>) -> Result<Vec<f64>, PromisedError> {
        let tiers = promise.tiers();
        let parts = told.unwrap_or_else(|| {
            let mut before = 0.0;
            let more = tiers.iter().map(|tier| {
                let more = tier.fraction().as_f64() - before;
                before = tier.fraction().as_f64();
                more.max(PART_MIN)
            });
            more.collect()
        });
        if parts.len() != tiers.len() {
            let (parts, tiers) = (parts.len(), tiers.len());
            return Err(PromisedError::PartCount { parts, tiers });
        }
        if !parts.iter().all(|part| part.is_finite() && *part > 0.0) {
            return Err(PromisedError::Part);
        }
        let sum: f64 = parts.iter().sum();
        Ok(parts.iter().map(|part| part / sum).collect())
    }

    /// The part of this many lanes that is kept free.
    pub fn share(&self, lanes: u64) -> f64 {
        match self.grant {
            Grant::Lanes(granted) => granted / lanes as f64,
            Grant::Share(share) => share,
        }
    }

    /// The terms in a pool of this many lanes.
    pub fn tiers(&self, lanes: u64) -> Vec<TierTerms> {
        let granted = self.share(lanes) * lanes as f64;
        let tier = |(tier, part): (&ripstop_shaping::Tier, &f64)| TierTerms {
            fraction: tier.fraction(),
            bound: tier.bound(),
            capacity: (granted * part * LANE as f64) as u64,
        };
        self.promise.tiers().iter().zip(&self.parts).map(tier).collect()
    }
}

/// What is said of a tenant's promise does not fit together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PromisedError {
    /// Lanes and a share of them.
    Both,
    /// No number of lanes above 0.
    Lanes,
    /// No share above 0 and at most 1.
    Share,
    /// Something is kept free though nothing is promised.
    NoPromise,
    /// A promise for which nothing is kept free.
    NoGrant,
    /// There is not one part for each tier.
    PartCount {
        /// How many parts there are.
        parts: usize,
        /// How many tiers.
        tiers: usize,
    },
    /// A part that is no number above 0.
    Part,
}

impl fmt::Display for PromisedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Both => "capacity and share say the same: give one of them",
            Self::Lanes => "capacity is a number of lanes above 0",
            Self::Share => "share must be above 0 and at most 1",
            Self::NoPromise => "capacity is kept free for a promise, and there is none",
            Self::NoGrant => "a promise takes capacity (lanes) or share (of a pool's lanes)",
            Self::PartCount { parts, tiers } => {
                return write!(f, "parts has {parts} numbers, and the promise {tiers} tiers");
            }
            Self::Part => "parts must be numbers above 0",
        })
    }
}

impl core::error::Error for PromisedError {}

/// More is promised than there are lanes, in thousandths of a lane, rounded up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LanesMissing {
    /// How many are promised.
    pub promised_millis: u64,
    /// How many of them there are not.
    pub missing_millis: u64,
}

impl fmt::Display for LanesMissing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lanes = |millis: u64| millis as f64 / 1000.0;
        let (promised, missing) = (lanes(self.promised_millis), lanes(self.missing_millis));
        write!(f, "its tenants are promised {promised}: {missing} lanes are missing")
    }
}

impl core::error::Error for LanesMissing {}

impl Shaping {
    /// Whether a pool of this many lanes can keep all of its promises at once.
    pub fn keeps(&self, lanes: u64) -> Result<(), LanesMissing> {
        let tiers = self.tenants.iter().flat_map(|tenant| &tenant.tiers);
        let reservations: Vec<Reservation> = tiers
            .map(|tier| Reservation {
                // What its admission lets wait: all that it does within its bound.
                burst: (u128::from(tier.capacity) * tier.bound.as_nanos() / u128::from(LANE))
                    as u64,
                rate: tier.capacity,
                bound: tier.bound,
            })
            .collect();
        let capacity = Capacity { rate: lanes * LANE, servers: 1, cost_max: 0 };
        capacity.keeps(&reservations).map_err(|infeasible| LanesMissing {
            promised_millis: infeasible.needed.div_ceil(LANE / 1000),
            missing_millis: infeasible.missing.div_ceil(LANE / 1000),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::face::{Recombination, TenantTerms};
    use alloc::{string::ToString, vec};
    use ripstop_model::TenantId;

    fn promised(text: &str, lanes: f64) -> Promised {
        let promise = text.parse().expect("a promise");
        Promised::of(Some(promise), Some(lanes), None, None).expect("it fits").expect("it is there")
    }

    #[test]
    fn tiers_share_by_what_they_promise_unless_told() {
        let tiers = promised("0.9:100ms,0.99:1s,1:9s", 10.0).tiers(16);
        let millis = |tier: &TierTerms| (tier.capacity + 1) / (LANE / 1000);
        assert_eq!(tiers.iter().map(millis).collect::<Vec<_>>(), [8181, 909, 909]);
        let promise = "0.9:100ms,1:1s".parse().ok();
        let told = Promised::of(promise, None, Some(0.5), Some(vec![1.0, 3.0])).unwrap().unwrap();
        assert_eq!(told.tiers(16).iter().map(millis).collect::<Vec<_>>(), [2000, 6000]);
    }

    #[test]
    fn what_does_not_fit_is_told_apart() {
        let promise = || "0.9:100ms,1:1s".parse().ok();
        let wrong = |promise, lanes, share, parts| Promised::of(promise, lanes, share, parts).err();
        assert_eq!(wrong(promise(), Some(1.0), Some(0.5), None), Some(PromisedError::Both));
        assert_eq!(wrong(promise(), Some(f64::NAN), None, None), Some(PromisedError::Lanes));
        assert_eq!(wrong(promise(), None, Some(1.5), None), Some(PromisedError::Share));
        assert_eq!(wrong(None, Some(1.0), None, None), Some(PromisedError::NoPromise));
        assert_eq!(wrong(promise(), None, None, None), Some(PromisedError::NoGrant));
        let one = PromisedError::PartCount { parts: 1, tiers: 2 };
        assert_eq!(wrong(promise(), Some(1.0), None, Some(vec![1.0])), Some(one));
        let negative = Some(vec![1.0, -1.0]);
        assert_eq!(wrong(promise(), Some(1.0), None, negative), Some(PromisedError::Part));
        assert_eq!(Promised::of(None, None, None, None), Ok(None));
    }

    #[test]
    fn a_pool_keeps_what_sums_up_to_its_lanes() {
        let terms = |tenant, text, lanes| TenantTerms {
            tenant: TenantId(tenant),
            tiers: promised(text, lanes).tiers(16),
        };
        let tenants = vec![terms(1, "0.95:100ms,1:2s", 8.0), terms(2, "0.9:1s", 7.5)];
        let mut shaping = Shaping { recombination: Recombination::PClock, tenants };
        assert_eq!(shaping.keeps(16), Ok(()));
        shaping.tenants.push(terms(3, "1:1s", 1.25));
        let missing = shaping.keeps(16).expect_err("it is too much");
        assert_eq!(missing.missing_millis, 750, "{missing}");
        assert!(missing.to_string().ends_with("16.75: 0.75 lanes are missing"), "{missing}");
    }
}
