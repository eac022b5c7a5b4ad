//! What decomposition is for: the part of a bursty load that a capacity can serve in time is served
//! in time, and the rest is not put off by more than it must be.

use crate::driver::{Arrival, Outcome, Servers, at_ms};
use core::time::Duration;
use proptest::prelude::*;
use ripstop_model::Timestamp;
use ripstop_shaping::{Capacity, Discipline, FlowId, Reservation, Terms};

const PRIMARY: FlowId = FlowId(0);
const SECONDARY: FlowId = FlowId(1);
/// What the decomposition counts on, in requests per second.
const RATE: u64 = 100;
const BOUND: Duration = Duration::from_millis(200);

/// The exact rule: primary is what a server of `RATE` that serves nothing else would finish in
/// time.
fn decomposed(mut times_ms: Vec<u64>) -> Vec<Arrival> {
    times_ms.sort_unstable();
    let mut free = Timestamp::ZERO;
    let decide = |at: Timestamp| {
        let end = free.max(at) + Duration::from_nanos(1_000_000_000 / RATE);
        let in_time = end - at <= BOUND;
        free = if in_time { end } else { free };
        let flow = if in_time { PRIMARY } else { SECONDARY };
        Arrival { at, flow, cost: 1, patience: None }
    };
    times_ms.into_iter().map(at_ms).map(decide).collect()
}

/// The arrival curve of what the exact rule lets through.
fn reservation() -> Reservation {
    let burst = RATE * BOUND.as_millis() as u64 / 1000;
    Reservation { burst, rate: RATE, bound: BOUND }
}

fn served(discipline: Discipline, arrivals: &[Arrival], rate: u64) -> Vec<Outcome> {
    let primary = Terms { reservation: Some(reservation()), ..Terms::new(10_000) };
    let flows = [(PRIMARY, primary), (SECONDARY, Terms::new(10_000))];
    Servers { count: 1, rate }.run(discipline, &flows, arrivals)
}

fn in_time(outcomes: &[Outcome]) -> usize {
    let rounding = Duration::from_nanos(outcomes.len() as u64);
    let in_time = |outcome: &&Outcome| outcome.response().is_some_and(|r| r <= BOUND + rounding);
    outcomes.iter().filter(in_time).count()
}

#[test]
fn recombination_takes_one_request_per_bound_more_than_decomposition_counts_on() {
    assert_eq!(Capacity::needed(&[reservation()], 1, 1), RATE + 5, "1 / 0.2 s");
}

proptest! {
    #[test]
    fn what_decomposition_lets_through_is_in_time(
        bursts in prop::collection::vec((0..5000u64, 1..60usize), 1..20),
    ) {
        let times = bursts.into_iter().flat_map(|(at, count)| core::iter::repeat_n(at, count));
        let arrivals = decomposed(times.collect());
        let outcomes = served(Discipline::PClock, &arrivals, RATE + 5);
        let primary: Vec<Outcome> =
            outcomes.into_iter().filter(|outcome| outcome.arrival.flow == PRIMARY).collect();
        prop_assert_eq!(in_time(&primary), primary.len());
    }
}

#[test]
fn one_burst_makes_most_late_undecomposed_and_few_decomposed() {
    // 75 requests per second, and 200 at once after a second.
    let calm = (0..750).map(|place| place * 40 / 3);
    let arrivals = decomposed(calm.chain([1000; 200]).collect());
    let secondary = arrivals.iter().filter(|arrival| arrival.flow == SECONDARY).count();
    let fifo = served(Discipline::Fifo, &arrivals, RATE + 5);
    let pclock = served(Discipline::PClock, &arrivals, RATE + 5);
    assert!(in_time(&pclock) >= arrivals.len() - secondary);
    assert!(secondary < 210, "{secondary} of {}", arrivals.len());
    assert!(in_time(&fifo) < arrivals.len() / 2, "{} of {}", in_time(&fifo), arrivals.len());
    // The server does the same work either way, so the last one ends as soon.
    let last = |outcomes: &[Outcome]| outcomes.iter().filter_map(|outcome| outcome.ended).max();
    assert_eq!(last(&fifo), last(&pclock));
}
