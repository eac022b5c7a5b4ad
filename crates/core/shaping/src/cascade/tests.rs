use super::*;
use crate::{Arrivals, CapacityPlan};
use alloc::{string::ToString, vec};
use proptest::prelude::*;
use ripstop_delay::Dice;

const MS: u64 = 1_000_000;

fn share(capacity: u64, millis: u64) -> TierShare {
    TierShare { capacity, bound: Duration::from_millis(millis) }
}

fn at(nanos: u64) -> Timestamp {
    Timestamp::from_nanos(nanos)
}

fn admitted(admission: Admission) -> Option<Admitted> {
    match admission {
        Admission::Admitted(admitted) => Some(admitted),
        Admission::Refused { .. } => None,
    }
}

#[test]
fn nonsense_is_refused_with_its_reason() {
    let new = |shares: &[TierShare]| Cascade::new(Rule::Exact, shares).unwrap_err().to_string();
    assert_eq!(new(&[]), "a cascade needs a tier");
    assert!(new(&[share(1, 0)]).contains("must rise from above 0"));
    assert!(new(&[share(1, 10), share(1, 10)]).contains("must rise"));
    let promise: Promise = "0.9:10ms,1:20ms".parse().unwrap();
    let error = Cascade::of(Rule::Exact, &promise, &[1]).unwrap_err();
    assert_eq!(error.to_string(), "1 capacities for 2 tiers");
    let mut cascade = Cascade::of(Rule::Exact, &promise, &[1, 2]).unwrap();
    let before = cascade.clone();
    assert!(cascade.set_capacities(at(5), &[1, 2, 3]).is_err());
    assert_eq!(cascade, before);
}

#[test]
fn the_rules_differ_where_the_bound_holds_no_whole_number_of_requests() {
    // Two and a half requests within the bound.
    let taken = |rule| {
        let mut cascade = Cascade::new(rule, &[share(250, 10)]).unwrap();
        (0..5).filter_map(|_| admitted(cascade.admit(at(0), 1))).collect::<Vec<_>>()
    };
    assert_eq!(taken(Rule::Exact).len(), 2);
    assert_eq!(taken(Rule::Floor).len(), 2);
    let count = taken(Rule::Count);
    assert_eq!(count.len(), 3);
    assert_eq!((count[2].deadline, count[2].end), (at(10 * MS), at(12 * MS)));
    // 2.25 are left after a millisecond: exact has room for none, floor neither.
    for (rule, more) in [(Rule::Exact, true), (Rule::Count, true), (Rule::Floor, false)] {
        let mut cascade = Cascade::new(rule, &[share(250, 10)]).unwrap();
        cascade.admit(at(0), 1);
        cascade.admit(at(0), 1);
        assert_eq!(admitted(cascade.admit(at(2 * MS), 1)).is_some(), more, "{rule}");
    }
}

#[test]
fn costs_are_lane_nanoseconds_as_well() {
    // Four lanes; requests of 30 ms of a lane each.
    let mut cascade = Cascade::new(Rule::Exact, &[share(4_000_000_000, 20)]).unwrap();
    let cost = 30 * MS;
    assert_eq!(admitted(cascade.admit(at(0), cost)).unwrap().end, at(7_500_000));
    assert_eq!(admitted(cascade.admit(at(0), cost)).unwrap().end, at(15_000_000));
    let refused = cascade.admit(at(0), cost);
    assert_eq!(refused, Admission::Refused { retry_after: Some(Duration::from_micros(2500)) });
    assert!(admitted(cascade.admit(at(0), 20 * MS)).is_some(), "there is room for a smaller one");
    let never = cascade.admit(at(0), 81 * MS);
    assert_eq!(never, Admission::Refused { retry_after: None });
}

#[test]
fn capacity_changes_and_what_was_taken_stays() {
    let mut cascade = Cascade::new(Rule::Exact, &[share(100, 100), share(0, 200)]).unwrap();
    for _ in 0..10 {
        assert_eq!(admitted(cascade.admit(at(0), 1)).unwrap().tier, 0);
    }
    let none = cascade.admit(at(0), 1);
    assert_eq!(none, Admission::Refused { retry_after: None }, "the last tier has no capacity");
    cascade.set_capacities(at(50 * MS), &[50, 10]).unwrap();
    assert_eq!(cascade.backlog(at(50 * MS), 0), Some(Duration::from_millis(100)));
    assert_eq!(cascade.backlog(at(90 * MS), 0), Some(Duration::from_millis(60)));
    assert_eq!(cascade.backlog(at(0), 2), None);
    let next = admitted(cascade.admit(at(50 * MS), 1)).unwrap();
    assert_eq!((next.tier, next.deadline), (1, at(250 * MS)));
    assert_eq!(cascade.shares().map(|share| share.capacity).collect::<Vec<_>>(), [50, 10]);
}

#[test]
fn time_does_not_go_back_and_numbers_do_not_overflow() {
    for rule in Rule::ALL {
        let long = TierShare { capacity: u64::MAX, bound: Duration::MAX };
        let mut cascade = Cascade::new(rule, &[long]).unwrap();
        for now in [u64::MAX, 0, 5, u64::MAX] {
            let end = admitted(cascade.admit(at(now), u64::MAX)).map(|admitted| admitted.end);
            assert!(end.is_some_and(|end| end >= at(now)), "{rule}");
        }
    }
    let mut cascade = Cascade::new(Rule::Exact, &[share(1000, 10)]).unwrap();
    (0..10).for_each(|_| assert!(admitted(cascade.admit(at(20 * MS), 1)).is_some()));
    assert_eq!(admitted(cascade.admit(at(0), 1)), None);
    assert!(admitted(cascade.admit(at(21 * MS), 1)).is_some());
}

/// Plays requests of these costs and says for each whether it was taken, and ended in time.
fn late(rule: Rule, shares: &[TierShare], requests: &[(u64, u64)]) -> Vec<(Admitted, u64)> {
    let mut cascade = Cascade::new(rule, shares).unwrap();
    let play = requests.iter().map(|(now, cost)| (cascade.admit(at(*now), *cost), *cost));
    play.filter_map(|(admission, cost)| Some((admitted(admission)?, cost))).collect()
}

fn requests() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let gap = prop_oneof![Just(0), 0..400_000u64, 0..30 * MS];
    prop::collection::vec((gap, 0..9u64), 1..200).prop_map(|gaps| {
        let mut now = 0;
        gaps.into_iter()
            .map(|(gap, cost)| {
                now += gap;
                (now, cost)
            })
            .collect()
    })
}

proptest! {
    #[test]
    fn requests_taken_by_exact_or_floor_never_miss_and_by_count_by_one_service_at_most(
        requests in requests(), capacities in prop::collection::vec(1..2000u64, 3),
    ) {
        let shares: Vec<_> =
            capacities.iter().zip([7, 20, 90]).map(|(capacity, bound)| share(*capacity, bound)).collect();
        for rule in Rule::ALL {
            for (Admitted { tier, deadline, end }, cost) in late(rule, &shares, &requests) {
                match rule {
                    Rule::Exact | Rule::Floor => prop_assert!(end <= deadline),
                    Rule::Count => {
                        let service = (cost * 1_000_000_000).div_ceil(shares[tier].capacity);
                        prop_assert!(end <= deadline + Duration::from_nanos(service));
                    }
                }
            }
        }
    }

    #[test]
    fn a_request_that_waits_as_long_as_it_was_told_is_taken_and_not_before(
        requests in requests(), capacity in 1..500u64, cost in 1..20u64,
    ) {
        for rule in Rule::ALL {
            let shares = [share(capacity / 2, 5), share(capacity, 60)];
            let mut cascade = Cascade::new(rule, &shares).unwrap();
            for (now, cost) in &requests {
                cascade.admit(at(*now), *cost);
            }
            let now = at(requests.last().unwrap().0);
            let before = cascade.clone();
            if let Admission::Refused { retry_after } = cascade.admit(now, cost) {
                let takes = |after: Duration| {
                    let admission = before.clone().admit(now + after, cost);
                    admitted(admission).is_some_and(|admitted| admitted.tier == 1)
                };
                match retry_after {
                    // The first tier may take it instead.
                    Some(after) => {
                        prop_assert!(admitted(before.clone().admit(now + after, cost)).is_some());
                        prop_assert!(!takes(after.saturating_sub(Duration::from_nanos(1))));
                    }
                    None => prop_assert!(!takes(Duration::from_secs(100_000))),
                }
            }
        }
    }

    #[test]
    fn the_cascade_takes_live_what_the_plan_foresaw(seed in 0..1000u64) {
        let (mut dice, mut now) = (Dice::new(seed), 0);
        let times: Vec<_> = (0..300).map(|_| {
            now += (4e6 * dice.exponential() * dice.uniform()) as u64;
            at(now)
        }).collect();
        let promise: Promise = "0.7:5ms,0.95:30ms,1:200ms".parse().unwrap();
        for rule in Rule::ALL {
            let plan = CapacityPlan::new(Arrivals::new(&times).unwrap(), &promise, rule);
            let capacities: Vec<_> = plan.tiers.iter().map(|tier| tier.capacity).collect();
            let mut cascade = Cascade::of(rule, &promise, &capacities).unwrap();
            let mut taken = vec![0; 3];
            for time in &times {
                taken[admitted(cascade.admit(*time, 1)).expect("the plan is for all").tier] += 1;
            }
            prop_assert_eq!(taken, plan.tiers.iter().map(|tier| tier.admitted).collect::<Vec<_>>());
        }
    }
}
