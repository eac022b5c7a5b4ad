use super::*;
use crate::{CapacityPlan, Fraction, Promise};
use proptest::prelude::*;
use ripstop_delay::Dice;
use ripstop_model::Timestamp;

/// The plain rule, in the words of its definition: fractions of whole numbers, nothing rounded.
fn plain(times: &[Timestamp], rule: Rule, bound_ns: u64, capacity: u64) -> u64 {
    // Times are in nanoseconds times the capacity, so that a request takes 10⁹.
    let (capacity, service) = (i128::from(capacity), 1_000_000_000_i128);
    let (within, mut ends) = (capacity * i128::from(bound_ns), Vec::<i128>::new());
    for time in times {
        let now = i128::from(time.as_nanos()) * capacity;
        let outstanding = ends.iter().filter(|end| **end > now).count() as i128;
        let end = ends.last().map_or(now, |free| now.max(*free)) + service;
        let takes = match rule {
            Rule::Exact => end - now <= within,
            Rule::Count => outstanding * service <= within,
            Rule::Floor => outstanding < within / service,
        };
        if takes && capacity > 0 {
            ends.push(end);
        }
    }
    ends.len() as u64
}

/// The plain search: bisection, with the plain rule.
fn bisection(times: &[Timestamp], question: &Question) -> u64 {
    let bound_ns = question.bound.as_nanos() as u64;
    let is_enough = |capacity| plain(times, question.rule, bound_ns, capacity) >= question.need;
    let mut high = 1;
    while !is_enough(high) {
        high *= 2;
    }
    let mut low = 0;
    if is_enough(0) {
        return 0;
    }
    while high - low > 1 {
        let middle = low.midpoint(high);
        if is_enough(middle) { high = middle } else { low = middle }
    }
    high
}

/// The most requests that a server can end within the bound, tried out.
fn brute_force(times: &[Timestamp], bound_ns: u64, capacity: u64) -> u32 {
    let fits = |chosen: u32| {
        let (mut free, within) = (0, u128::from(bound_ns) * u128::from(capacity));
        (0..times.len()).filter(|at| chosen >> at & 1 == 1).all(|at| {
            let now = u128::from(times[at].as_nanos()) * u128::from(capacity);
            free = now.max(free) + SCALE;
            free - now <= within
        })
    };
    (0..1u32 << times.len()).filter(|chosen| fits(*chosen)).map(u32::count_ones).max().unwrap_or(0)
}

fn times(nanos: impl IntoIterator<Item = u64>) -> Vec<Timestamp> {
    let mut times: Vec<_> = nanos.into_iter().map(Timestamp::from_nanos).collect();
    times.sort_unstable();
    times
}

/// Arrivals in bursts.
fn bursts(seed: u64, requests: u64) -> Vec<Timestamp> {
    let (mut dice, mut now) = (Dice::new(seed), 0);
    times((0..requests).map(|_| {
        let mean = [2e3, 1e5, 2e6, 3e7][dice.below(4) as usize];
        now += if dice.below(5) == 0 { 0 } else { (mean * dice.exponential()) as u64 };
        now
    }))
}

#[test]
fn exact_takes_as_many_as_any_choice_could() {
    let mut dice = Dice::new(7);
    for round in 0..10_000 {
        let requests = 1 + dice.below(8);
        let span = 1 + dice.below(60);
        let times = times((0..requests).map(|_| dice.below(span) * 1_000_000));
        let bound_ns = 500_000 * (1 + dice.below(40));
        let capacity = 1 + dice.below(1000);
        let arrivals = Arrivals::new(&times).unwrap();
        let taken = admitted(arrivals, Rule::Exact, Duration::from_nanos(bound_ns), capacity);
        let most = brute_force(&times, bound_ns, capacity);
        assert_eq!(taken, most.into(), "round {round}: {times:?} {bound_ns} {capacity}");
        let floor = admitted(arrivals, Rule::Floor, Duration::from_nanos(bound_ns), capacity);
        assert!(floor <= taken);
    }
}

#[test]
fn the_search_is_the_plain_bisection() {
    for seed in 0..12 {
        let times = bursts(seed, 100 + 40 * seed);
        let arrivals = Arrivals::new(&times).unwrap();
        let mut questions = Vec::new();
        for rule in Rule::ALL {
            for bound in [700_000, 10_000_000, 33_333_333, 500_000_000] {
                let bound = Duration::from_nanos(bound);
                let needs =
                    [0, 1, times.len() as u64 / 2, times.len() as u64 - 1, times.len() as u64];
                questions.extend(needs.map(|need| Question { rule, bound, need }));
            }
        }
        let found = capacities(arrivals, &questions);
        for (question, capacity) in questions.iter().zip(&found) {
            assert_eq!(*capacity, bisection(&times, question), "seed {seed}: {question:?}");
            assert_eq!(capacities(arrivals, &[*question]), [*capacity], "alone or together");
        }
    }
}

#[test]
fn more_than_there_are_counts_as_all() {
    let times = times([0, 0, 0]);
    let arrivals = Arrivals::new(&times).unwrap();
    let question = Question { rule: Rule::Exact, bound: Duration::from_millis(1), need: 9 };
    assert_eq!(capacities(arrivals, &[question]), [3000]);
    assert_eq!(capacities(Arrivals::new(&[]).unwrap(), &[question]), [0]);
}

#[test]
fn a_search_says_when_it_is_over() {
    let times = bursts(3, 200);
    let arrivals = Arrivals::new(&times).unwrap();
    let question = Question { rule: Rule::Count, bound: Duration::from_millis(3), need: 190 };
    let mut search = Search::new(arrivals, &[question]);
    let mut left = search.bits_left();
    while search.step() {
        assert!(search.bits_left() < left, "every walk finds something out");
        left = search.bits_left();
    }
    assert_eq!(left, 0);
    assert_eq!(search.capacities(), capacities(arrivals, &[question]));
}

#[test]
fn numbers_too_large_for_floats_are_counted_all_the_same() {
    // A bound of three hours, at which fifty thousand requests a second are a backlog beyond 2⁵³.
    let (hour, burst) = (3_600_000_000_000, 4_000);
    let times = times((0..burst).map(|at| at * hour / 40_000));
    let (bound, arrivals) = (3 * hour, Arrivals::new(&times).unwrap());
    for capacity in [1, 2, 900, 50_000, 1 << 40, u64::MAX] {
        for rule in Rule::ALL {
            let taken = admitted(arrivals, rule, Duration::from_nanos(bound), capacity);
            let want = if capacity > 1 { burst } else { plain(&times, rule, bound, 1) };
            assert_eq!(taken, want, "{rule} {capacity}");
        }
    }
    // Gaps of a century between bursts of ten million requests' backlog.
    let server = Server { rule: Rule::Exact, bound_ns: 1 << 40, capacity: 9_000 };
    assert!(server.limit().unwrap() > 1 << 53);
    let dense = self::times((0..20_000).map(|at| at * 1000));
    let arrivals = Arrivals::new(&dense).unwrap();
    let walked = server.takes(arrivals).filter(|takes| *takes).count() as u64;
    assert_eq!(taken(arrivals, &[server]), [walked]);
}

proptest! {
    #[test]
    fn the_kernel_counts_as_the_plain_rule(
        gaps in prop::collection::vec(prop_oneof![Just(0), 0..5_000u64, 0..40_000_000u64], 0..80),
        bound_ns in 1..60_000_000u64,
        capacities in prop::collection::vec(0..5000u64, 1..40),
    ) {
        let mut now = 0;
        let times = times(gaps.into_iter().map(|gap| { now += gap; now }));
        let arrivals = Arrivals::new(&times).unwrap();
        for rule in Rule::ALL {
            let servers: Vec<_> =
                capacities.iter().map(|capacity| Server { rule, bound_ns, capacity: *capacity }).collect();
            for (server, count) in servers.iter().zip(taken(arrivals, &servers)) {
                prop_assert_eq!(count, plain(&times, rule, bound_ns, server.capacity), "{:?}", server);
                let plainly = server.takes(arrivals).filter(|takes| *takes).count() as u64;
                prop_assert_eq!(count, plainly);
            }
        }
    }

    #[test]
    fn admission_falls_neither_with_capacity_nor_with_the_bound(
        seed in 0..1000u64, bound_ns in 1..30_000_000u64, more_ns in 0..3_000_000u64, capacity in 1..3000u64,
    ) {
        let times = bursts(seed, 120);
        let arrivals = Arrivals::new(&times).unwrap();
        for rule in Rule::ALL {
            let count = |capacity, bound_ns| admitted(arrivals, rule, Duration::from_nanos(bound_ns), capacity);
            let base = count(capacity, bound_ns);
            for more in [1, 2, 7, 100] {
                prop_assert!(count(capacity + more, bound_ns) >= base);
            }
            prop_assert!(count(capacity, bound_ns + more_ns) >= base);
        }
    }

    #[test]
    fn a_plan_keeps_its_promise(seed in 0..10_000u64, first in 1..=99u32, second in 1..=99u32) {
        let times = bursts(seed, 150);
        let arrivals = Arrivals::new(&times).unwrap();
        let (low, high) = (first.min(second), first.max(second) + 1);
        let promise: Promise =
            alloc::format!("{low}%:2ms,{high}%:9ms,100%:40ms").parse().unwrap_or_else(|_| {
                alloc::format!("{low}%:2ms,{high}%:9ms").parse().unwrap()
            });
        for rule in Rule::ALL {
            let plan = CapacityPlan::new(arrivals, &promise, rule);
            let mut admitted = 0;
            for part in &plan.tiers {
                admitted += part.admitted;
                prop_assert!(admitted >= part.tier.fraction().of(arrivals.count()));
                prop_assert!(rule == Rule::Count || part.late == 0);
            }
            prop_assert_eq!(plan.refused, arrivals.count() - admitted);
            let whole = promise.tiers().last().unwrap().fraction() == Fraction::ALL;
            prop_assert!(!whole || plan.refused == 0);
        }
    }
}
