use crate::backlog::SCALE;
use alloc::string::{String, ToString};
use core::{fmt, str::FromStr, time::Duration};
use serde::{Deserialize, Serialize};

/// When a server of S units of work a second takes a request that must end within a bound R.
///
/// All three judge by the backlog alone: the work taken and not yet done. For requests of one unit
/// each, *outstanding* is their number, which is the backlog rounded up to whole units; so it reads
/// for requests of any cost, c below.
///
/// | rule | takes the request iff | the requests it takes |
/// |---|---|---|
/// | exact | backlog + c ≤ S·R | end within R; with equal costs, as many as any choice could |
/// | count | outstanding ≤ ⌊S·R⌋ | may end late by up to their own service time, c/S |
/// | floor | outstanding + c ≤ ⌊S·R⌋ | end within R; fewer than could, most so where S·R is small |
///
/// Exact is the product's; count is the wording of the paper on graduated quality of service (Lu,
/// Doshi and Varman), and floor the reading of it that never misses. Of two servers the one with
/// more capacity takes at least as many requests of equal cost under any of them.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// By the time at which it would end.
    #[default]
    Exact,
    /// By how many are outstanding, the request itself not counted.
    Count,
    /// By how many would be outstanding.
    Floor,
}

impl Rule {
    /// All of them, the default first.
    pub const ALL: [Self; 3] = [Self::Exact, Self::Count, Self::Floor];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Count => "count",
            Self::Floor => "floor",
        }
    }

    /// The greatest backlog, in units of [`SCALE`], with which a server of `capacity` units of work
    /// a second takes a request of `cost` units; none if it never does.
    pub(crate) const fn limit(self, capacity: u64, bound_ns: u64, cost: u64) -> Option<u128> {
        if capacity == 0 {
            return None;
        }
        let within = capacity as u128 * bound_ns as u128;
        let own = cost as u128 * SCALE;
        match self {
            Self::Exact => within.checked_sub(own),
            Self::Count => Some(within / SCALE * SCALE),
            Self::Floor => (within / SCALE * SCALE).checked_sub(own),
        }
    }

    /// [`limit`](Self::limit) for a span.
    pub(crate) fn limit_within(self, capacity: u64, bound: Duration, cost: u64) -> Option<u128> {
        self.limit(capacity, u64::try_from(bound.as_nanos()).unwrap_or(u64::MAX), cost)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let rule = Self::ALL.into_iter().find(|rule| rule.name() == text);
        rule.ok_or_else(|| RuleError { found: text.to_string() })
    }
}

/// No rule has this name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleError {
    found: String,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no rule is named {:?}; there are: exact, count, floor", self.found)
    }
}

impl core::error::Error for RuleError {}
