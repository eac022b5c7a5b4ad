use crate::driver::{Arrival, Servers, at_ms};
use core::time::Duration;
use proptest::prelude::*;
use ripstop_model::Timestamp;
use ripstop_shaping::{
    DeclineReason, Discipline, FlowId, Reservation, Scheduler, ServedRequest, Terms, Ticket,
};

fn primary(bound: Duration) -> Terms {
    let reservation = Some(Reservation { burst: 0, rate: 0, bound });
    Terms { reservation, ..Terms::new(10_000) }
}

fn secondary() -> Terms {
    Terms::new(10_000)
}

proptest! {
    /// At the trusted rate exactly, with primary flows of different bounds and secondary ones that
    /// flood.
    #[test]
    fn no_accepted_primary_request_is_late(
        bounds in prop::collection::vec(20..900u64, 1..4),
        sends in prop::collection::vec(
            (0..4000u64, 0..5u16, 1..9u64, prop::option::weighted(0.2, 0..500u64)), 1..200,
        ),
        rate_min in 20..200u64,
        count in 1..5u32,
    ) {
        let bound = |flow: FlowId| bounds.get(usize::from(flow.0)).map(|&ms| Duration::from_millis(ms));
        let terms = |flow| bound(flow).map_or(secondary(), primary);
        let flows: Vec<_> = (0..5).map(FlowId).map(|flow| (flow, terms(flow))).collect();
        let arrival = |&(ms, flow, cost, patience): &(u64, u16, u64, Option<u64>)| {
            let patience = patience.map(Duration::from_millis);
            Arrival { at: at_ms(ms), flow: FlowId(flow), cost, patience }
        };
        let mut arrivals: Vec<Arrival> = sends.iter().map(arrival).collect();
        arrivals.sort_by_key(|arrival| arrival.at);
        let discipline = Discipline::Miser { rate_min, servers: count };
        let outcomes = Servers { count, rate: rate_min }.run(discipline, &flows, &arrivals);
        // The driver rounds every service up to a nanosecond.
        let rounding = Duration::from_nanos(outcomes.len() as u64);
        for outcome in outcomes {
            match (bound(outcome.arrival.flow), outcome.response()) {
                (Some(bound), Some(response)) => prop_assert!(response <= bound + rounding),
                (None, None) => {
                    prop_assert!(outcome.arrival.patience.is_some(), "no secondary is declined");
                }
                (None, Some(_)) | (Some(_), None) => {}
            }
        }
    }
}

/// Miser with every slack worked out again each time.
struct Naive {
    rate_min: i128,
    servers: i128,
    /// Token, deadline in ns, cost: in order of deadline, then arrival.
    primary: Vec<(usize, i128, i128)>,
    serving_cost: i128,
    now: i128,
}

impl Naive {
    fn slack_min(primary: &[(usize, i128, i128)], this: &Self) -> Option<i128> {
        let nano = 1_000_000_000;
        let mut before = this.serving_cost;
        let slack = |&(_, deadline, cost): &(usize, i128, i128)| {
            before += cost;
            this.rate_min * (deadline - this.now) - nano * (before + (this.servers - 1) * cost)
        };
        primary.iter().map(slack).min()
    }

    /// With the request, if it is accepted.
    fn with(&self, token: usize, deadline: i128, cost: i128) -> Option<Vec<(usize, i128, i128)>> {
        let mut primary = self.primary.clone();
        let place = primary.partition_point(|other| other.1 <= deadline);
        primary.insert(place, (token, deadline, cost));
        let slack = Self::slack_min(
            &primary[place..],
            &Self {
                serving_cost: self.serving_cost
                    + primary[..place].iter().map(|other| other.2).sum::<i128>(),
                primary: vec![],
                ..*self
            },
        );
        (slack >= Some(0)).then_some(primary)
    }
}

#[derive(Clone, Debug)]
enum Step {
    Push { flow: u16, cost: u64 },
    Pop,
    End,
    Remove(usize),
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..3u16, 1..9u64).prop_map(|(flow, cost)| Step::Push { flow, cost }),
        3 => Just(Step::Pop),
        3 => Just(Step::End),
        1 => any::<usize>().prop_map(Step::Remove),
        2 => (0..300u64).prop_map(Step::Wait),
    ]
}

proptest! {
    /// Flows 0 and 1 are primary, flow 2 is secondary.
    #[test]
    fn it_decides_like_one_that_recomputes_every_slack(
        bounds in [50..2000u64, 50..2000u64],
        rate_min in 10..100u64,
        servers in 1..4u32,
        steps in prop::collection::vec(step(), 0..200),
    ) {
        let mut scheduler = Scheduler::new(Discipline::Miser { rate_min, servers });
        for (flow, &bound) in (0..).map(FlowId).zip(&bounds) {
            scheduler.set_flow(Timestamp::ZERO, flow, primary(Duration::from_millis(bound)));
        }
        scheduler.set_flow(Timestamp::ZERO, FlowId(2), secondary());
        let (rate_min, servers) = (i128::from(rate_min), i128::from(servers));
        let mut naive = Naive { rate_min, servers, primary: vec![], serving_cost: 0, now: 0 };
        let mut waiting: Vec<(usize, i128)> = Vec::new();
        let mut tickets: Vec<Ticket> = Vec::new();
        let mut serving: Vec<ServedRequest> = Vec::new();
        let mut now = Timestamp::ZERO;
        for step in steps {
            naive.now = i128::from(now.as_nanos());
            match step {
                Step::Push { flow, cost } => {
                    let token = tickets.len();
                    let pushed = scheduler.push(now, FlowId(flow), cost, token);
                    let cost = i128::from(cost);
                    if let Some(&bound) = bounds.get(usize::from(flow)) {
                        let deadline = naive.now + i128::from(bound) * 1_000_000;
                        let expected = naive.with(token, deadline, cost);
                        prop_assert_eq!(pushed.is_ok(), expected.is_some());
                        naive.primary = expected.unwrap_or(naive.primary);
                    } else {
                        waiting.push((token, cost));
                    }
                    match pushed {
                        Ok(ticket) => tickets.push(ticket),
                        Err(declined) => prop_assert_eq!(declined.reason, DeclineReason::NoSlack),
                    }
                }
                Step::Pop => {
                    let slack = Naive::slack_min(&naive.primary, &naive);
                    let lends = |&&(_, cost): &&(usize, i128)| {
                        slack.is_none_or(|slack| slack >= cost * 1_000_000_000)
                    };
                    let expected = if waiting.first().as_ref().is_some_and(lends) {
                        Some(waiting.remove(0))
                    } else if naive.primary.is_empty() {
                        None
                    } else {
                        let (token, _, cost) = naive.primary.remove(0);
                        Some((token, cost))
                    };
                    let served = scheduler.pop(now);
                    prop_assert_eq!(served.map(|served| served.token), expected.map(|(t, _)| t));
                    naive.serving_cost += expected.map_or(0, |(_, cost)| cost);
                    serving.extend(served.map(|served| served.service));
                }
                Step::End => {
                    if let Some(service) = serving.pop() {
                        naive.serving_cost -= i128::from(service.cost);
                        scheduler.ended(now, service);
                    }
                }
                Step::Remove(pick) => {
                    if let Some(token) = pick.checked_rem(tickets.len()) {
                        scheduler.remove(now, tickets[token]);
                        naive.primary.retain(|other| other.0 != token);
                        waiting.retain(|other| other.0 != token);
                    }
                }
                Step::Wait(millis) => now = now + Duration::from_millis(millis),
            }
        }
    }
}

#[test]
fn as_many_as_fit_the_bound_are_accepted_at_once() {
    let mut scheduler = Scheduler::new(Discipline::Miser { rate_min: 478, servers: 1 });
    scheduler.set_flow(at_ms(0), FlowId(0), primary(Duration::from_millis(10)));
    let accepted = (0..20).filter(|_| scheduler.push(at_ms(5), FlowId(0), 1, ()).is_ok()).count();
    assert_eq!(accepted, 4, "⌊478 · 0.01⌋");
    let served = scheduler.pop(at_ms(5)).unwrap();
    assert!(scheduler.push(at_ms(5), FlowId(0), 1, ()).is_err(), "it is outstanding still");
    scheduler.ended(at_ms(7), served.service);
    assert!(scheduler.push(at_ms(8), FlowId(0), 1, ()).is_ok());
}

#[test]
fn the_secondary_goes_first_until_a_slack_is_used_up() {
    let (first, second, now) = (FlowId(0), FlowId(1), at_ms(0));
    let mut scheduler = Scheduler::new(Discipline::Miser { rate_min: 10, servers: 1 });
    scheduler.set_flow(now, first, primary(Duration::from_secs(1)));
    scheduler.set_flow(now, second, secondary());
    for _ in 0..7 {
        scheduler.push(now, first, 1, "primary").unwrap();
        scheduler.push(now, second, 1, "secondary").unwrap();
    }
    // Each takes its tenth of a second: 10 in the bound, 7 of them primary.
    let mut order = Vec::new();
    for tenth in 0..14 {
        let served = scheduler.pop(at_ms(100 * tenth)).unwrap();
        order.push(served.token);
        scheduler.ended(at_ms(100 * (tenth + 1)), served.service);
    }
    assert_eq!(order[..3], ["secondary"; 3]);
    assert_eq!(order[3..10], ["primary"; 7]);
    assert_eq!(order[10..], ["secondary"; 4]);
}

#[test]
fn slack_used_up_is_missing_when_more_primary_requests_come() {
    let (first, second) = (FlowId(0), FlowId(1));
    let accepted = |with_secondary: bool| {
        let mut scheduler = Scheduler::new(Discipline::Miser { rate_min: 10, servers: 1 });
        scheduler.set_flow(at_ms(0), first, primary(Duration::from_secs(1)));
        scheduler.set_flow(at_ms(0), second, secondary());
        (0..5).for_each(|_| _ = scheduler.push(at_ms(0), first, 1, ()).unwrap());
        if with_secondary {
            (0..5).for_each(|_| _ = scheduler.push(at_ms(0), second, 1, ()).unwrap());
        }
        for tenth in 0..5 {
            let served = scheduler.pop(at_ms(100 * tenth)).unwrap();
            scheduler.ended(at_ms(100 * (tenth + 1)), served.service);
        }
        (0..10).filter(|_| scheduler.push(at_ms(500), first, 1, ()).is_ok()).count()
    };
    assert_eq!((accepted(false), accepted(true)), (10, 5));
}

#[test]
fn a_flow_may_change_sides_with_its_queue() {
    let (one, two, now) = (FlowId(0), FlowId(1), at_ms(0));
    let mut scheduler = Scheduler::new(Discipline::Miser { rate_min: 10, servers: 1 });
    scheduler.set_flow(now, one, primary(Duration::from_secs(1)));
    scheduler.set_flow(now, two, secondary());
    for flow in [one, one, two, two] {
        scheduler.push(now, flow, 4, flow).unwrap();
    }
    scheduler.set_flow(now, one, secondary());
    scheduler.set_flow(now, two, primary(Duration::from_millis(800)));
    let mut order = Vec::new();
    for turn in 0..4 {
        let served = scheduler.pop(at_ms(400 * turn)).unwrap();
        order.push(served.token);
        scheduler.ended(at_ms(400 * (turn + 1)), served.service);
    }
    assert_eq!(order, [two, two, one, one]);
}
