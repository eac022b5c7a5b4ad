use crate::driver::{Arrival, Outcome, Servers, at_ms};
use core::time::Duration;
use proptest::prelude::*;
use ripstop_model::Timestamp;
use ripstop_shaping::{Capacity, Discipline, FlowId, Reservation, Scheduler, Terms};

const NANO: u128 = 1_000_000_000;
const COST_MAX: u64 = 6;

/// What a flow sends: as soon as its arrival curve allows it, or that much later; or without
/// asking.
#[derive(Clone, Debug)]
struct Tenant {
    reservation: Reservation,
    conforms: bool,
    share: u32,
    /// Milliseconds to wait, cost, and milliseconds of patience.
    sends: Vec<(u64, u64, Option<u64>)>,
}

impl Tenant {
    fn arrivals(&self, flow: FlowId) -> Vec<Arrival> {
        let Reservation { burst, rate, .. } = self.reservation;
        let (mut at, mut tokens) = (0u128, u128::from(burst) * NANO);
        let mut arrivals = Vec::new();
        for &(wait_ms, cost, patience_ms) in &self.sends {
            let cost = if self.conforms { cost.min(burst) } else { cost };
            let wait = u128::from(wait_ms) * 1_000_000;
            tokens += wait * u128::from(rate);
            at += wait;
            tokens = tokens.min(u128::from(burst) * NANO);
            let price = u128::from(cost) * NANO;
            if self.conforms {
                let missing = price.saturating_sub(tokens).div_ceil(u128::from(rate));
                at += missing;
                tokens = tokens + missing * u128::from(rate) - price;
            }
            let at = Timestamp::from_nanos(at as u64);
            let patience = patience_ms.map(Duration::from_millis);
            arrivals.push(Arrival { at, flow, cost, patience });
        }
        arrivals
    }
}

fn tenant() -> impl Strategy<Value = Tenant> {
    let reservation = (1..30u64, 1..40u64, 10..900u64).prop_map(|(burst, rate, millis)| {
        Reservation { burst, rate, bound: Duration::from_millis(millis) }
    });
    let gap = prop_oneof![3 => Just(0), 1 => 0..700u64];
    let patience = prop::option::weighted(0.2, 0..500u64);
    let sends = prop::collection::vec((gap, 1..=COST_MAX, patience), 0..40);
    (reservation, prop::bool::weighted(0.7), 0..5u32, sends).prop_map(
        |(reservation, conforms, share, sends)| Tenant { reservation, conforms, share, sends },
    )
}

fn outcomes(tenants: &[Tenant], flood: &[Arrival], servers: Servers) -> Vec<Outcome> {
    let mut flows = vec![(FlowId(0), Terms::new(10_000))];
    let mut arrivals = flood.to_vec();
    for (flow, tenant) in (1..).map(FlowId).zip(tenants) {
        let reservation = Some(tenant.reservation);
        flows.push((flow, Terms { waiting_max: 10_000, share: tenant.share, reservation }));
        arrivals.extend(tenant.arrivals(flow));
    }
    arrivals.sort_by_key(|arrival| arrival.at);
    servers.run(Discipline::PClock, &flows, &arrivals)
}

proptest! {
    /// In exactly the capacity that the test asks for, and not a unit more.
    #[test]
    fn conforming_flows_are_in_time_whatever_the_others_send(
        tenants in prop::collection::vec(tenant(), 1..9),
        flood in prop::collection::vec((0..3000u64, 1..=COST_MAX), 0..60),
        count in 1..5u32,
    ) {
        let reservations: Vec<Reservation> = tenants.iter().map(|t| t.reservation).collect();
        let rate = Capacity::needed(&reservations, count, COST_MAX);
        let flood = flood.iter().map(|&(ms, cost)| Arrival { at: at_ms(ms), flow: FlowId(0), cost, patience: None });
        let flood: Vec<Arrival> = flood.collect();
        let outcomes = outcomes(&tenants, &flood, Servers { count, rate });
        // The driver rounds every service up to a nanosecond.
        let rounding = Duration::from_nanos(outcomes.len() as u64);
        for outcome in outcomes {
            let Some(tenant) = usize::from(outcome.arrival.flow.0).checked_sub(1) else { continue };
            let Tenant { conforms, reservation, .. } = tenants[tenant];
            let due = reservation.bound + rounding;
            let Some(response) = outcome.response() else {
                prop_assert!(outcome.arrival.patience.is_some(), "the limits are wide");
                continue;
            };
            prop_assert!(!conforms || response <= due, "{outcome:?}");
        }
    }
}

/// Three tenants' bursts, just after a costly request of a fourth has begun.
fn late_ones(rate: u64, count: u32) -> usize {
    let bound = Duration::from_millis(500);
    let reservation = Reservation { burst: 10, rate: 10, bound };
    let sends = vec![(10, 5, None), (0, 5, None)];
    let tenants = vec![Tenant { reservation, conforms: true, share: 1, sends }; 3];
    let blocking =
        Arrival { at: Timestamp::from_nanos(9_999_999), flow: FlowId(0), cost: 5, patience: None };
    let flood = vec![blocking; count as usize];
    let outcomes = outcomes(&tenants, &flood, Servers { count, rate });
    let tenants = outcomes.iter().filter(|outcome| outcome.arrival.flow != FlowId(0));
    tenants.filter(|outcome| outcome.response() > Some(bound + Duration::from_nanos(99))).count()
}

#[test]
fn with_less_than_one_server_needs_somebody_is_late() {
    let bound = Duration::from_millis(500);
    let reservations = [Reservation { burst: 10, rate: 10, bound }; 3];
    assert_eq!(Capacity::needed(&reservations, 1, 5), 70, "(30 + 5) in 0.5 s");
    assert_eq!(late_ones(70, 1), 0);
    assert_eq!(late_ones(69, 1), 1);
    // Several slower servers need more for it, but no more than is asked.
    assert!(late_ones(70, 4) > 0);
    assert_eq!(late_ones(Capacity::needed(&reservations, 4, 5), 4), 0);
}

const CURVE: Reservation = Reservation { burst: 1, rate: 10, bound: Duration::from_millis(300) };

/// Requests of cost 1 that two flooding flows have been served between two times, in seconds.
fn served(shares: [u32; 2], starts: [u64; 2], rate: u64, from: u64, to: u64) -> [usize; 2] {
    let mut flows = Vec::new();
    let mut arrivals = Vec::new();
    for (flow, (share, start)) in (0..).map(FlowId).zip(shares.into_iter().zip(starts)) {
        flows.push((flow, Terms { waiting_max: 9999, share, reservation: Some(CURVE) }));
        arrivals
            .extend(vec![Arrival { at: at_ms(start * 1000), flow, cost: 1, patience: None }; 2000]);
    }
    let outcomes = Servers { count: 1, rate }.run(Discipline::PClock, &flows, &arrivals);
    let within = |outcome: &&Outcome| {
        outcome.began.is_some_and(|began| at_ms(from * 1000) <= began && began < at_ms(to * 1000))
    };
    [0, 1].map(|flow| {
        outcomes.iter().filter(within).filter(|o| o.arrival.flow == FlowId(flow)).count()
    })
}

#[test]
fn spare_capacity_used_is_not_charged_later() {
    assert_eq!(served([1, 1], [0, 10], 50, 0, 10), [500, 0], "alone it may have everything");
    let [early, late] = served([1, 1], [0, 10], 50, 10, 20);
    assert!(early.abs_diff(250) <= 3 && late.abs_diff(250) <= 3, "{early} {late}");
}

#[test]
fn beyond_the_rates_the_shares_divide_what_is_spare() {
    let [most, least] = served([3, 1], [0, 0], 60, 0, 20);
    assert!(
        most.abs_diff(800) <= 5 && least.abs_diff(400) <= 5,
        "10 + 30 and 10 + 10: {most} {least}"
    );
}

#[test]
fn the_smallest_deadline_goes_first_and_follows_its_terms() {
    let (slow, fast, now) = (FlowId(0), FlowId(1), at_ms(0));
    let terms = |millis| {
        let bound = Duration::from_millis(millis);
        let reservation = Some(Reservation { burst: 5, rate: 5, bound });
        Terms { reservation, ..Terms::new(10) }
    };
    let mut scheduler = Scheduler::new(Discipline::PClock);
    scheduler.set_flow(now, slow, terms(200));
    scheduler.set_flow(now, fast, terms(100));
    for flow in [slow, fast, slow, fast] {
        scheduler.push(now, flow, 1, flow).unwrap();
    }
    assert_eq!(scheduler.pop(now).unwrap().token, fast);
    scheduler.set_flow(now, slow, terms(50));
    let order: Vec<FlowId> = core::iter::from_fn(|| scheduler.pop(now)).map(|s| s.token).collect();
    assert_eq!(order, [slow, slow, fast]);
}

#[test]
fn a_withdrawn_request_costs_its_flow_nothing() {
    let (flow, other, now) = (FlowId(0), FlowId(1), at_ms(0));
    let mut scheduler = Scheduler::new(Discipline::PClock);
    for (flow, bound) in [(flow, 10), (other, 20)] {
        let bound = Duration::from_millis(bound);
        let reservation = Some(Reservation { burst: 1, rate: 1, bound });
        scheduler.set_flow(now, flow, Terms { reservation, ..Terms::new(10) });
    }
    let gone = scheduler.push(now, flow, 1, "gone").unwrap();
    scheduler.push(now, flow, 1, "kept").unwrap();
    scheduler.push(now, other, 1, "other").unwrap();
    assert_eq!(scheduler.remove(now, gone), Some("gone"));
    assert_eq!(scheduler.pop(now).unwrap().token, "kept");
}

#[test]
fn a_flow_that_gets_a_reservation_keeps_its_queue() {
    let (flow, other, now) = (FlowId(0), FlowId(1), at_ms(0));
    let mut scheduler = Scheduler::new(Discipline::PClock);
    scheduler.set_flow(now, flow, Terms::new(10));
    scheduler.set_flow(now, other, Terms::new(10));
    for token in ["o1", "o2"] {
        scheduler.push(now, other, 1, token).unwrap();
    }
    for token in ["f1", "f2"] {
        scheduler.push(now, flow, 1, token).unwrap();
    }
    scheduler.set_flow(at_ms(1), flow, Terms { reservation: Some(CURVE), ..Terms::new(10) });
    assert_eq!(scheduler.pop(at_ms(1)).unwrap().token, "f1", "it has a token");
    assert_eq!(scheduler.pop(at_ms(1)).unwrap().token, "o1", "it has none left");
    scheduler.set_flow(at_ms(2), flow, Terms::new(10));
    let order: Vec<&str> =
        core::iter::from_fn(|| scheduler.pop(at_ms(2))).map(|s| s.token).collect();
    assert_eq!(order, ["f2", "o2"]);
}

#[test]
fn a_bucket_does_not_fill_while_a_costlier_request_hides_the_next() {
    for withdrawn in [true, false] {
        let (hidden, other) = (FlowId(0), FlowId(1));
        let bound = Duration::from_secs(1);
        let mut scheduler = Scheduler::new(Discipline::PClock);
        for (flow, burst) in [(hidden, 1), (other, 20)] {
            let reservation = Some(Reservation { burst, rate: 10, bound });
            scheduler.set_flow(at_ms(0), flow, Terms { reservation, ..Terms::new(100) });
        }
        let costly = scheduler.push(at_ms(0), hidden, 100, hidden).unwrap();
        (0..50).for_each(|_| _ = scheduler.push(at_ms(0), hidden, 1, hidden).unwrap());
        if withdrawn {
            assert!(scheduler.remove(at_ms(4900), costly).is_some());
        } else {
            assert_eq!(scheduler.pop(at_ms(4900)).unwrap().service.cost, 100, "time to spare");
        }
        (0..20).for_each(|_| _ = scheduler.push(at_ms(5000), other, 1, other).unwrap());
        let order: Vec<FlowId> =
            (0..22).map(|_| scheduler.pop(at_ms(5000)).unwrap().token).collect();
        assert_eq!(order[..2], [hidden; 2], "a burst at 4.9 s, its rate since");
        assert_eq!(order[2..], [other; 20]);
    }
}

#[test]
fn an_entitled_request_is_so_no_more_when_its_reservation_goes() {
    let (flow, other, now) = (FlowId(0), FlowId(1), at_ms(0));
    let mut scheduler = Scheduler::new(Discipline::PClock);
    for (flow, millis) in [(flow, 10), (other, 20)] {
        let reservation = Reservation { burst: 1, rate: 1, bound: Duration::from_millis(millis) };
        let terms = Terms { reservation: Some(reservation), ..Terms::new(10) };
        scheduler.set_flow(now, flow, terms);
        scheduler.push(now, flow, 1, flow).unwrap();
    }
    scheduler.set_flow(now, flow, Terms::new(10));
    assert_eq!(scheduler.pop(now).unwrap().token, other);
    assert_eq!(scheduler.pop(now).unwrap().token, flow);
}

#[test]
fn a_bucket_fills_at_the_rate_of_its_time() {
    let (flow, other) = (FlowId(0), FlowId(1));
    let terms = |burst, rate, secs| {
        let reservation = Some(Reservation { burst, rate, bound: Duration::from_secs(secs) });
        Terms { reservation, ..Terms::new(100) }
    };
    for waits in 0..2 {
        let mut scheduler = Scheduler::new(Discipline::PClock);
        scheduler.set_flow(at_ms(0), flow, terms(10, 1, 1));
        scheduler.set_flow(at_ms(0), other, terms(1, 1, 9));
        (0..10).for_each(|_| _ = scheduler.push(at_ms(0), flow, 1, flow).unwrap());
        (waits..10).for_each(|_| _ = scheduler.pop(at_ms(0)).unwrap());
        scheduler.set_flow(at_ms(5000), flow, terms(10, 1000, 1));
        scheduler.push(at_ms(5000), other, 1, other).unwrap();
        (0..10).for_each(|_| _ = scheduler.push(at_ms(5000), flow, 1, flow).unwrap());
        let order = core::iter::from_fn(|| scheduler.pop(at_ms(5000))).map(|served| served.token);
        let first = order.take_while(|&token| token == flow).count();
        assert_eq!(first, waits + 5, "what it paid for, and one a second so far");
    }
}
