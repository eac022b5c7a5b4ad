mod decimal;
mod parse;
#[cfg(test)]
mod tests;

use alloc::{string::String, vec::Vec};
use core::{fmt, time::Duration};
use serde::{Deserialize, Serialize};

/// How many tiers a promise may have.
pub const TIERS_MAX: usize = 16;

/// A share of all requests: above 0, at most 1, in billionths, so that a number of requests is
/// exact.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Fraction(u32);

impl Fraction {
    const WHOLE: u32 = 1_000_000_000;

    /// All requests.
    pub const ALL: Self = Self(Self::WHOLE);

    /// This many billionths; none if that is nothing or more than the whole.
    pub const fn from_billionths(billionths: u32) -> Option<Self> {
        if billionths == 0 || billionths > Self::WHOLE { None } else { Some(Self(billionths)) }
    }

    /// Billionths of the whole: 1 to 1,000,000,000.
    pub const fn billionths(self) -> u32 {
        self.0
    }

    /// Above 0, at most 1.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / f64::from(Self::WHOLE)
    }

    /// The least number of `requests` that is not below this share of them.
    pub const fn of(self, requests: u64) -> u64 {
        (requests as u128 * self.0 as u128).div_ceil(Self::WHOLE as u128) as u64
    }
}

impl fmt::Display for Fraction {
    /// The shortest decimal number that [parses](str::parse) to it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        decimal::write_decimal(f, self.0.into(), Self::WHOLE.into())
    }
}

/// One step of a promise: of all requests, at least this fraction within this bound.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tier {
    fraction: Fraction,
    bound: Duration,
}

impl Tier {
    /// A tier; its bound must be above nothing and below 584 years, which is what 64 bits of
    /// nanoseconds hold.
    pub fn new(fraction: Fraction, bound: Duration) -> Result<Self, PromiseError> {
        if bound.is_zero() || u64::try_from(bound.as_nanos()).is_err() {
            return Err(PromiseError::Bound { bound });
        }
        Ok(Self { fraction, bound })
    }

    /// The share of all requests that are within the bound.
    pub const fn fraction(&self) -> Fraction {
        self.fraction
    }

    /// How long a request takes at most, from its arrival to its end.
    pub const fn bound(&self) -> Duration {
        self.bound
    }
}

impl fmt::Display for Tier {
    /// As it is parsed: `0.95:10ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.fraction, Bound(self.bound))
    }
}

/// A bound as it is written: a decimal number and the largest unit that is not longer than it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Bound(
    /// The bound.
    pub Duration,
);

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        decimal::write_span(f, self.0)
    }
}

/// What a tenant is promised: tiers whose fractions and bounds both rise, such as
/// `0.9:20ms,0.99:50ms,1:500ms`.
///
/// Read aloud: nine requests of ten within 20 ms, all but one of a hundred within 50 ms, all of
/// them within half a second. A promise need not end at 1: then nothing is promised for the rest.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Promise {
    tiers: Vec<Tier>,
}

impl Promise {
    /// A promise of 1 to [`TIERS_MAX`] tiers, both of whose columns rise strictly.
    pub fn new(tiers: Vec<Tier>) -> Result<Self, PromiseError> {
        if tiers.is_empty() || tiers.len() > TIERS_MAX {
            return Err(PromiseError::Count { tiers: tiers.len() });
        }
        for pair in tiers.windows(2) {
            let (lower, upper) = (pair[0], pair[1]);
            if upper.fraction <= lower.fraction || upper.bound <= lower.bound {
                return Err(PromiseError::Order { lower, upper });
            }
        }
        Ok(Self { tiers })
    }

    /// Its tiers, the tightest first. Never empty.
    pub fn tiers(&self) -> &[Tier] {
        &self.tiers
    }
}

impl fmt::Display for Promise {
    /// As it is parsed: tiers with commas between them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, tier) in self.tiers.iter().enumerate() {
            write!(f, "{}{tier}", if at > 0 { "," } else { "" })?;
        }
        Ok(())
    }
}

/// What is wrong with a promise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PromiseError {
    /// Not a share above 0 and at most 1, with at most nine decimals.
    Fraction {
        /// What it says.
        found: String,
    },
    /// Not a span of time.
    Span {
        /// What it says.
        found: String,
    },
    /// Not a fraction and a bound with a colon between them.
    Form {
        /// What it says.
        found: String,
    },
    /// A bound of nothing, or of centuries.
    Bound {
        /// What it is.
        bound: Duration,
    },
    /// No tiers, or more than [`TIERS_MAX`].
    Count {
        /// How many there are.
        tiers: usize,
    },
    /// A tier that does not promise more requests and a longer bound than the one before it.
    Order {
        /// The tier before.
        lower: Tier,
        /// The tier.
        upper: Tier,
    },
}

impl fmt::Display for PromiseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fraction { found } => write!(
                f,
                "{found:?} is no fraction: it must be above 0 and at most 1 (or 100%), with at most \
                 nine decimals"
            ),
            Self::Span { found } => write!(
                f,
                "{found:?} is no bound: a number and a unit (ns, us, ms, s, min), such as 10ms, to \
                 the nanosecond"
            ),
            Self::Form { found } => {
                write!(f, "{found:?} is no tier: a fraction and a bound, such as 0.95:10ms")
            }
            Self::Bound { bound } if bound.is_zero() => f.write_str("a bound must be above 0"),
            Self::Bound { bound } => write!(f, "a bound of {bound:?} is more than 584 years"),
            Self::Count { tiers } => {
                write!(f, "a promise has 1 to {TIERS_MAX} tiers, not {tiers}")
            }
            Self::Order { lower, upper } => write!(
                f,
                "tier {upper} must promise more requests, and within a longer bound, than {lower} \
                 before it"
            ),
        }
    }
}

impl core::error::Error for PromiseError {}
