use crate::driver::{EVERY, at_ms};
use core::time::Duration;
use proptest::prelude::*;
use ripstop_model::Timestamp;
use ripstop_shaping::{
    DeclineReason, Declined, Discipline, FlowId, Reservation, Scheduler, ServedRequest, Terms,
    Ticket,
};
use std::collections::{BTreeMap, VecDeque};

const FLOWS: u16 = 4;

#[derive(Clone, Debug)]
enum Step {
    Push { flow: u16, cost: u64 },
    Pop,
    End(usize),
    Remove(usize),
    Set { flow: u16, terms: Terms },
    Retire { flow: u16 },
    Change(Discipline),
    Wait { millis: u64 },
}

/// Numbers that sums and products of are too large for their type.
fn extreme() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(1), Just(1 << 40), Just(u64::MAX - 1), Just(u64::MAX)]
}

fn extreme_step() -> impl Strategy<Value = Step> {
    let flow = 0..FLOWS;
    let number = extreme;
    let reservation = (number(), number(), number()).prop_map(|(burst, rate, nanos)| Reservation {
        burst,
        rate,
        bound: Duration::from_nanos(nanos),
    });
    let terms = (number(), prop::option::of(reservation)).prop_map(|(share, reservation)| Terms {
        waiting_max: 20,
        share: share as u32,
        reservation,
    });
    let miser = (number(), number())
        .prop_map(|(rate_min, servers)| Discipline::Miser { rate_min, servers: servers as u32 });
    prop_oneof![
        8 => (flow.clone(), number()).prop_map(|(flow, cost)| Step::Push { flow, cost }),
        2 => flow.clone().prop_map(|flow| Step::Push { flow, cost: 1 }),
        5 => Just(Step::Pop),
        5 => any::<usize>().prop_map(Step::End),
        1 => any::<usize>().prop_map(Step::Remove),
        2 => (flow, terms).prop_map(|(flow, terms)| Step::Set { flow, terms }),
        1 => prop::sample::select(EVERY.to_vec()).prop_map(Step::Change),
        1 => miser.prop_map(Step::Change),
        1 => prop_oneof![Just(1), Just(1 << 40), Just(u64::MAX)].prop_map(|millis| Step::Wait { millis }),
    ]
}

fn terms() -> impl Strategy<Value = Terms> {
    let reservation = (0..6u64, 0..50u64, 0..2000u64).prop_map(|(burst, rate, millis)| {
        Reservation { burst, rate, bound: Duration::from_millis(millis) }
    });
    (0..9u32, 0..4u32, prop::option::of(reservation))
        .prop_map(|(waiting_max, share, reservation)| Terms { waiting_max, share, reservation })
}

fn step() -> impl Strategy<Value = Step> {
    let flow = 0..FLOWS;
    prop_oneof![
        8 => (flow.clone(), 0..6u64).prop_map(|(flow, cost)| Step::Push { flow, cost }),
        4 => Just(Step::Pop),
        4 => any::<usize>().prop_map(Step::End),
        2 => any::<usize>().prop_map(Step::Remove),
        1 => (flow.clone(), terms()).prop_map(|(flow, terms)| Step::Set { flow, terms }),
        1 => flow.prop_map(|flow| Step::Retire { flow }),
        1 => prop::sample::select(EVERY.to_vec()).prop_map(Step::Change),
        3 => (0..400u64).prop_map(|millis| Step::Wait { millis }),
    ]
}

/// What a scheduler must agree with, whatever its discipline.
#[derive(Default)]
struct Model {
    /// By flow: whether it takes requests, its limit, and its queue.
    flows: BTreeMap<u16, (bool, u32, VecDeque<usize>)>,
    tickets: Vec<Ticket>,
    serving: Vec<ServedRequest>,
}

impl Model {
    fn len(&self) -> usize {
        self.flows.values().map(|(_, _, queue)| queue.len()).sum()
    }

    fn push(&mut self, scheduler: &mut Scheduler<usize>, now: Timestamp, flow: u16, cost: u64) {
        let token = self.tickets.len();
        let pushed = scheduler.push(now, FlowId(flow), cost, token);
        let known = self.flows.get_mut(&flow).filter(|known| known.0);
        let declined = |reason| Err(Declined { token, reason });
        let Some((_, waiting_max, queue)) = known else {
            assert_eq!(pushed, declined(DeclineReason::UnknownFlow(FlowId(flow))));
            return;
        };
        if queue.len() >= *waiting_max as usize {
            let waiting_max = *waiting_max;
            assert_eq!(pushed, declined(DeclineReason::QueueFull { waiting_max }));
            return;
        }
        match pushed {
            Ok(ticket) => {
                self.tickets.push(ticket);
                queue.push_back(token);
            }
            Err(Declined { token: returned, reason }) => {
                assert_eq!((returned, reason), (token, DeclineReason::NoSlack));
                assert!(matches!(scheduler.discipline(), Discipline::Miser { .. }));
            }
        }
    }

    fn pop(&mut self, scheduler: &mut Scheduler<usize>, now: Timestamp) {
        let Some(served) = scheduler.pop(now) else {
            assert_eq!(self.len(), 0, "work conserving");
            return;
        };
        let (_, _, queue) = self.flows.get_mut(&served.service.flow.0).expect("a flow there is");
        assert_eq!(queue.pop_front(), Some(served.token), "first in, first out within a flow");
        self.serving.push(served.service);
    }

    fn remove(&mut self, scheduler: &mut Scheduler<usize>, now: Timestamp, pick: usize) {
        let Some(token) = pick.checked_rem(self.tickets.len()) else { return };
        let removed = scheduler.remove(now, self.tickets[token]);
        let queues = self.flows.values_mut().map(|(_, _, queue)| queue);
        let there = queues.filter(|queue| queue.contains(&token)).map(|queue| {
            queue.retain(|&other| other != token);
        });
        assert_eq!(removed, there.last().map(|()| token), "what waits can be withdrawn, once");
    }

    fn check(&self, scheduler: &Scheduler<usize>) {
        assert_eq!(scheduler.len(), self.len());
        assert_eq!(scheduler.serving() as usize, self.serving.len());
        for (&flow, (_, _, queue)) in &self.flows {
            assert_eq!(scheduler.flow_len(FlowId(flow)), queue.len());
        }
    }
}

fn run(discipline: Discipline, steps: &[Step]) -> Vec<usize> {
    let mut scheduler = Scheduler::new(discipline);
    let mut model = Model::default();
    let mut now = Timestamp::ZERO;
    for step in steps {
        match *step {
            Step::Push { flow, cost } => model.push(&mut scheduler, now, flow, cost),
            Step::Pop => model.pop(&mut scheduler, now),
            Step::End(pick) => {
                if let Some(place) = pick.checked_rem(model.serving.len()) {
                    scheduler.ended(now, model.serving.swap_remove(place));
                }
            }
            Step::Remove(pick) => model.remove(&mut scheduler, now, pick),
            Step::Set { flow, terms } => {
                scheduler.set_flow(now, FlowId(flow), terms);
                assert_eq!(scheduler.terms(FlowId(flow)), Some(terms));
                let entry = model.flows.entry(flow).or_default();
                (entry.0, entry.1) = (true, terms.waiting_max);
            }
            Step::Retire { flow } => {
                scheduler.retire_flow(now, FlowId(flow));
                model.flows.entry(flow).or_default().0 = false;
            }
            Step::Change(discipline) => scheduler.set_discipline(now, discipline),
            Step::Wait { millis } => now = now + Duration::from_millis(millis),
        }
        model.check(&scheduler);
    }
    let mut rest = Vec::new();
    while let Some(served) = scheduler.pop(now) {
        let (_, _, queue) = model.flows.get_mut(&served.service.flow.0).expect("a flow there is");
        assert_eq!(queue.pop_front(), Some(served.token));
        rest.push(served.token);
        scheduler.ended(now, served.service);
    }
    assert_eq!(model.len(), 0, "nothing is lost");
    rest
}

proptest! {
    #[test]
    fn nothing_is_lost_doubled_or_overtaken_in_its_flow(
        first in prop::collection::vec(terms(), usize::from(FLOWS)),
        steps in prop::collection::vec(step(), 0..150),
        discipline in prop::sample::select(EVERY.to_vec()),
    ) {
        let set = (0..).zip(first).map(|(flow, terms)| Step::Set { flow, terms });
        let steps: Vec<Step> = set.chain(steps).collect();
        prop_assert_eq!(run(discipline, &steps), run(discipline, &steps), "equal calls, equal order");
    }
}

proptest! {
    #[test]
    fn no_number_is_too_large(steps in prop::collection::vec(extreme_step(), 0..150)) {
        for discipline in EVERY {
            run(discipline, &steps);
        }
    }
}

#[test]
fn fifo_serves_by_arrival_whatever_the_flow() {
    let mut scheduler = Scheduler::new(Discipline::Fifo);
    for flow in 0..3 {
        scheduler.set_flow(Timestamp::ZERO, FlowId(flow), Terms::new(10));
    }
    for (token, flow) in [2, 0, 1, 1, 2, 0].into_iter().enumerate() {
        scheduler.push(at_ms(1), FlowId(flow), 1 + token as u64, token).unwrap();
    }
    let order: Vec<usize> =
        core::iter::from_fn(|| scheduler.pop(at_ms(2))).map(|s| s.token).collect();
    assert_eq!(order, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn a_ticket_names_no_later_request() {
    for discipline in EVERY {
        let mut scheduler = Scheduler::new(discipline);
        scheduler.set_flow(Timestamp::ZERO, FlowId(0), Terms::new(1));
        let first = scheduler.push(Timestamp::ZERO, FlowId(0), 1, "first").unwrap();
        assert_eq!(scheduler.pop(Timestamp::ZERO).map(|served| served.token), Some("first"));
        assert_eq!(scheduler.remove(Timestamp::ZERO, first), None, "it does not wait any more");
        scheduler.push(Timestamp::ZERO, FlowId(0), 1, "second").unwrap();
        assert_eq!(scheduler.remove(Timestamp::ZERO, first), None);
        assert_eq!(scheduler.len(), 1);
    }
}

#[test]
fn a_retired_flow_is_forgotten_when_its_last_request_has_ended() {
    for discipline in EVERY {
        let (mut scheduler, now) = (Scheduler::new(discipline), Timestamp::ZERO);
        assert!(!scheduler.retire_flow(now, FlowId(7)));
        scheduler.set_flow(now, FlowId(7), Terms::new(5));
        let gone = scheduler.push(now, FlowId(7), 1, 0).unwrap();
        scheduler.push(now, FlowId(7), 1, 1).unwrap();
        assert!(scheduler.retire_flow(now, FlowId(7)));
        assert_eq!(scheduler.remove(now, gone), Some(0));
        let served = scheduler.pop(now).unwrap();
        assert!(scheduler.terms(FlowId(7)).is_some());
        scheduler.ended(now, served.service);
        assert_eq!(scheduler.terms(FlowId(7)), None);
        assert!(scheduler.push(now, FlowId(7), 1, 2).is_err());
    }
}
