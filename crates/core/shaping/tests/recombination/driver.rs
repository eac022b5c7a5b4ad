//! Servers of constant speed in virtual time, and the scheduler between them and the arrivals.

use core::time::Duration;
use ripstop_model::Timestamp;
use ripstop_shaping::{Discipline, FlowId, Scheduler, ServedRequest, Terms, Ticket};
use std::collections::BTreeMap;

pub(crate) const EVERY: [Discipline; 5] = [
    Discipline::Fifo,
    Discipline::Split,
    Discipline::Fair,
    Discipline::PClock,
    Discipline::Miser { rate_min: 50, servers: 2 },
];

pub(crate) fn at_ms(millis: u64) -> Timestamp {
    Timestamp::from_nanos(millis * 1_000_000)
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) at: Timestamp,
    pub(crate) flow: FlowId,
    pub(crate) cost: u64,
    /// Withdrawn if it still waits after this.
    pub(crate) patience: Option<Duration>,
}

/// What became of one arrival.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    pub(crate) arrival: Arrival,
    /// None: declined or withdrawn.
    pub(crate) began: Option<Timestamp>,
    pub(crate) ended: Option<Timestamp>,
}

impl Outcome {
    pub(crate) fn response(&self) -> Option<Duration> {
        self.ended.map(|ended| ended - self.arrival.at)
    }
}

/// A pool of equal servers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Servers {
    pub(crate) count: u32,
    /// Work units per second of all together.
    pub(crate) rate: u64,
}

impl Servers {
    /// How long one of them takes, not less than it does exactly.
    pub(crate) fn takes(&self, cost: u64) -> Duration {
        let nanos = u128::from(cost) * u128::from(self.count) * 1_000_000_000;
        Duration::from_nanos(nanos.div_ceil(u128::from(self.rate)) as u64)
    }

    /// Runs the arrivals, sorted by time, until nothing waits. Ends come before arrivals of the
    /// same instant; servers look for work after every single arrival, so that one may begin
    /// something between two arrivals of one instant.
    pub(crate) fn run(
        &self,
        discipline: Discipline,
        flows: &[(FlowId, Terms)],
        arrivals: &[Arrival],
    ) -> Vec<Outcome> {
        let mut scheduler = Scheduler::new(discipline);
        for &(flow, terms) in flows {
            scheduler.set_flow(Timestamp::ZERO, flow, terms);
        }
        let blank = |&arrival| Outcome { arrival, began: None, ended: None };
        let mut outcomes: Vec<Outcome> = arrivals.iter().map(blank).collect();
        let mut events: BTreeMap<(Timestamp, u8, usize), Event> = BTreeMap::new();
        for (place, arrival) in arrivals.iter().enumerate() {
            events.insert((arrival.at, 1, place), Event::Arrival);
        }
        let mut idle = self.count;
        while let Some(((now, _, place), event)) = events.pop_first() {
            match event {
                Event::End(service) => {
                    scheduler.ended(now, service);
                    idle += 1;
                }
                Event::Arrival => {
                    let Arrival { flow, cost, patience, .. } = arrivals[place];
                    let pushed = scheduler.push(now, flow, cost, place);
                    if let (Ok(ticket), Some(patience)) = (pushed, patience) {
                        events.insert((now + patience, 2, place), Event::Withdrawal(ticket));
                    }
                }
                Event::Withdrawal(ticket) => {
                    let waits = outcomes[place].began.is_none();
                    assert_eq!(scheduler.remove(now, ticket), waits.then_some(place));
                }
            }
            while idle > 0 {
                let waiting = scheduler.len();
                let Some(served) = scheduler.pop(now) else {
                    assert_eq!(waiting, 0, "work conserving");
                    break;
                };
                idle -= 1;
                let end = now + self.takes(served.service.cost);
                events.insert((end, 0, served.token), Event::End(served.service));
                let outcome = &mut outcomes[served.token];
                assert!(outcome.began.is_none(), "served once");
                assert_eq!(served.arrived, outcome.arrival.at);
                (outcome.began, outcome.ended) = (Some(now), Some(end));
            }
        }
        assert!(scheduler.is_empty() && scheduler.serving() == 0);
        outcomes
    }
}

enum Event {
    End(ServedRequest),
    Arrival,
    Withdrawal(Ticket),
}
