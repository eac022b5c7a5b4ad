//! Which reservations a pool can keep: the demand bound of deadline scheduling (Baruah, Mok, Rosier
//! 1990) for arrival curves, with what servers that do not preempt add.

use super::Reservation;
use alloc::vec::Vec;
use core::{error::Error, fmt};

const NANO: u128 = 1_000_000_000;

/// A pool of equal servers that finish what they begin.
///
/// [`Discipline::PClock`](super::Discipline::PClock) keeps reservations i in it if Σρᵢ ≤ C and at
/// every t = δⱼ
///
/// B + Σ over δᵢ ≤ t of (σᵢ + ρᵢ·(t − δᵢ)) ≤ C·t, B = (2m − 1) · `cost_max`
///
/// with m servers of speed C/m. Between the bounds demand grows no faster than Σρ, so no other t
/// needs looking at. For m = 1, B is the request that an arrival finds in service, no matter whose.
/// For more: let the request with deadline F and cost c start at x, and s be the last moment before
/// x at which a server idled or took a request due after F. What was in service at s is at most m ·
/// `cost_max`; from s to x all servers did only it and requests entitled since s and due by F, so
/// C·(x−s) ≤ m·`cost_max` + demand − c. The request itself runs at C/m and ends at x + m·c/C, hence
/// C·(end − s) ≤ demand + m·`cost_max` + (m−1)·c. Seen the other way: a set that one server of
/// speed C can keep is at most 2·(m−1)·`cost_max`/C late on m servers of speed C/m.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capacity {
    /// C, in work units per second, of all servers together, when it is slowest.
    pub rate: u64,
    /// m, at least 1.
    pub servers: u32,
    /// The costliest request of any flow, in work units.
    pub cost_max: u64,
}

impl Capacity {
    /// Whether every request that conforms to its reservation is answered within its bound,
    /// whatever other flows send.
    ///
    /// ```
    /// use core::time::Duration;
    /// use ripstop_shaping::{Capacity, Reservation};
    /// let bound = Duration::from_millis(50);
    /// let tenants = [Reservation { burst: 10, rate: 100, bound }; 3];
    /// let pool = Capacity { rate: 600, servers: 1, cost_max: 1 };
    /// let refused = pool.keeps(&tenants).expect_err("30 at once and one before them in 50 ms");
    /// assert_eq!((refused.needed, refused.missing), (620, 20));
    /// assert!(Capacity { rate: 620, ..pool }.keeps(&tenants).is_ok());
    /// ```
    pub fn keeps(&self, reservations: &[Reservation]) -> Result<(), Infeasible> {
        let needed = Self::needed(reservations, self.servers, self.cost_max);
        match needed.checked_sub(self.rate) {
            None | Some(0) => Ok(()),
            Some(missing) => Err(Infeasible { needed, missing }),
        }
    }

    /// The smallest whole rate that passes [`Capacity::keeps`]; [`u64::MAX`] if a bound is zero,
    /// since none does.
    pub fn needed(reservations: &[Reservation], servers: u32, cost_max: u64) -> u64 {
        let mut by_bound: Vec<(u128, u128, u128)> = reservations
            .iter()
            .map(|r| (r.bound.as_nanos(), u128::from(r.rate), u128::from(r.burst)))
            .collect();
        by_bound.sort_unstable();
        let blocking = (2 * u128::from(servers.max(1)) - 1) * u128::from(cost_max);
        let mut demand = blocking.saturating_mul(NANO);
        let (mut rate_sum, mut before, mut needed) = (0u128, 0, 0);
        for (bound, rate, burst) in by_bound {
            demand = demand.saturating_add(rate_sum.saturating_mul(bound - before));
            demand = demand.saturating_add(burst.saturating_mul(NANO));
            rate_sum += rate;
            before = bound;
            let at_bound = if bound == 0 { u128::MAX } else { demand.div_ceil(bound) };
            needed = needed.max(at_bound);
        }
        u64::try_from(needed.max(rate_sum)).unwrap_or(u64::MAX)
    }
}

/// The reservations are more than the pool can keep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Infeasible {
    /// The smallest rate that would do, in work units per second; [`u64::MAX`] if none would.
    pub needed: u64,
    /// How much of it is missing.
    pub missing: u64,
}

impl fmt::Display for Infeasible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { needed, missing } = self;
        if *needed == u64::MAX {
            return f.write_str("the reservations cannot be kept at any rate");
        }
        write!(f, "the reservations take {needed} units/s, {missing} more than there are")
    }
}

impl Error for Infeasible {}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;
    use proptest::prelude::*;

    fn reservation() -> impl Strategy<Value = Reservation> {
        (1..50u64, 1..100u64, 1..400u64).prop_map(|(burst, rate, millis)| Reservation {
            burst,
            rate,
            bound: Duration::from_millis(millis),
        })
    }

    /// Demand by time t, from the definition.
    fn demand(reservations: &[Reservation], at: Duration) -> f64 {
        let due = reservations.iter().filter(|r| r.bound <= at);
        due.map(|r| r.burst as f64 + r.rate as f64 * at.saturating_sub(r.bound).as_secs_f64()).sum()
    }

    proptest! {
        #[test]
        fn what_is_needed_covers_the_demand_at_all_times_and_no_less_does(
            reservations in prop::collection::vec(reservation(), 1..9),
            servers in 1..5u32,
            cost_max in 1..10u64,
        ) {
            let needed = Capacity::needed(&reservations, servers, cost_max);
            let blocking = f64::from(2 * servers - 1) * cost_max as f64;
            let times = || (1..500u64).chain((500..20_000).step_by(97));
            let covers = |rate: u64| times().all(|millis| {
                let at = Duration::from_millis(millis);
                demand(&reservations, at) == 0.0
                    || demand(&reservations, at) + blocking <= rate as f64 * at.as_secs_f64() + 1e-9
            });
            prop_assert!(covers(needed));
            let rate_sum: u64 = reservations.iter().map(|r| r.rate).sum();
            prop_assert!(needed == rate_sum || !covers(needed - 1));
            let pool = |rate| Capacity { rate, servers, cost_max };
            prop_assert!(pool(needed).keeps(&reservations).is_ok());
            let refused = pool(needed - 1).keeps(&reservations);
            prop_assert_eq!(refused, Err(Infeasible { needed, missing: 1 }));
        }
    }

    #[test]
    fn nothing_reserved_takes_nothing_and_no_time_takes_all() {
        assert_eq!(Capacity::needed(&[], 4, 7), 0);
        let impossible = Reservation { burst: 1, rate: 1, bound: Duration::ZERO };
        assert_eq!(Capacity::needed(&[impossible], 1, 1), u64::MAX);
        let huge = Reservation { burst: u64::MAX, rate: u64::MAX, bound: Duration::MAX };
        assert_eq!(Capacity::needed(&[huge; 3], u32::MAX, u64::MAX), u64::MAX);
    }
}
