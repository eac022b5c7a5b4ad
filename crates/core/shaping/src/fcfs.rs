use crate::{Arrivals, Tier, backlog::Backlog};
use core::time::Duration;

/// From arrival to end, for each request, at a server of this many requests a second that takes all
/// of them, first come, first served: what is done without decomposition. Rounded up to the
/// nanosecond; without capacity no request ends.
pub fn responses(arrivals: Arrivals<'_>, capacity: u64) -> impl ExactSizeIterator<Item = Duration> {
    backlogs(arrivals, capacity).map(move |backlog| Duration::from_nanos(backlog.nanos(capacity)))
}

/// Whether such a server keeps a promise. If it does, so does one of greater capacity, where no
/// request ends later.
fn keeps(arrivals: Arrivals<'_>, capacity: u64, tiers: &[Tier]) -> bool {
    tiers.iter().all(|tier| {
        let bound_ns = tier.bound().as_nanos();
        let limit = u128::from(capacity).saturating_mul(bound_ns);
        let within = backlogs(arrivals, capacity).filter(|backlog| backlog.work <= limit);
        within.count() as u64 >= tier.fraction().of(arrivals.count())
    })
}

/// What the server has to do once it has taken each request.
fn backlogs(arrivals: Arrivals<'_>, capacity: u64) -> impl ExactSizeIterator<Item = Backlog> {
    let mut backlog = Backlog::default();
    arrivals.times().iter().map(move |now| {
        backlog.drain(*now, capacity);
        backlog.add(1);
        backlog
    })
}

/// The smallest capacity, in requests a second, with which a server that takes all requests, first
/// come, first served, keeps a promise.
///
/// ```
/// use ripstop_model::Timestamp;
/// use ripstop_shaping::{Arrivals, Promise, undecomposed_capacity};
///
/// let times = [0, 0, 0, 50_000_000].map(Timestamp::from_nanos);
/// let promise: Promise = "0.5:10ms,1:20ms".parse()?;
/// assert_eq!(undecomposed_capacity(Arrivals::new(&times)?, promise.tiers()), 150);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn undecomposed_capacity(arrivals: Arrivals<'_>, tiers: &[Tier]) -> u64 {
    if keeps(arrivals, 0, tiers) {
        return 0;
    }
    let (mut low, mut high) = (0, 1u64);
    // Below half the mean rate the backlog only grows; bisection would find that as well, but
    // later.
    let rate = u128::from(arrivals.count()) * 500_000_000 / arrivals.span().as_nanos().max(1);
    if let Ok(rate) = u64::try_from(rate)
        && !keeps(arrivals, rate, tiers)
    {
        (low, high) = (rate, rate.max(1).saturating_mul(2));
    }
    while !keeps(arrivals, high, tiers) {
        (low, high) = (high, high.saturating_mul(2));
    }
    while high - low > 1 {
        let middle = low.midpoint(high);
        if keeps(arrivals, middle, tiers) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}
