//! How long the machine takes for a task: `cargo run --release -p ripstop-gateway --example speed`.

use ripstop_gateway::{Action, Event, Machine, NodeSpec, Operation, Outcome, Request, Settings};
use ripstop_model::{NodeId, RequestId, StripSet, Timestamp};
use ripstop_policy::by_name;
use std::{
    collections::VecDeque,
    error::Error,
    io::{Write as _, stdout},
    time::{Duration, Instant},
};

/// A closed loop: `clients` requests under way, tasks end in the order they were started.
fn tasks_per_run(nodes: u16, lanes: u16, clients: u64, writes: bool, requests: u64) -> u64 {
    let specs = (0..nodes).map(|id| NodeSpec { id: NodeId(id), lanes }).collect();
    let policy = by_name("fixed", &ripstop_policy::Settings::default()).expect("it is registered");
    let mut machine = Machine::new(Settings::default(), specs, policy);
    let mut events: VecDeque<Event> = VecDeque::new();
    let (mut next, mut tasks, mut now) = (0, 0, Timestamp::ZERO);
    let mut actions = Vec::new();
    let arrive = |next: &mut u64| {
        let id = RequestId(*next);
        *next += 1;
        let operation = if writes {
            Operation::Write { n: 6, k: 4 }
        } else {
            let place = |index: u64| Some(NodeId(((id.0 + index) % u64::from(nodes)) as u16));
            let places = (0..6).map(place).collect();
            Operation::Read { k: 4, wanted: StripSet::first(4), places }
        };
        Event::RequestArrived(Request { id, operation, strip_bytes: 1 << 20 })
    };
    for _ in 0..clients {
        events.push_back(arrive(&mut next));
    }
    while let Some(event) = events.pop_front() {
        now = now + Duration::from_micros(1);
        machine.handle(now, event, &mut actions);
        for action in actions.drain(..) {
            match action {
                Action::StartTask(task) => {
                    tasks += 1;
                    events.push_back(Event::TaskEnded(task.id, Outcome::Done));
                }
                Action::Encode { request, .. } => events.push_back(Event::EncodeEnded(request)),
                Action::Decode { request, .. } => {
                    events.push_back(Event::DecodeEnded(request, true));
                }
                Action::Settle { .. } if next < requests => events.push_back(arrive(&mut next)),
                Action::Settle { .. }
                | Action::CancelTask(_)
                | Action::Complete(_)
                | Action::Fail(..)
                | Action::Reject(_)
                | Action::Probe(_)
                | Action::Report(_) => {}
            }
        }
    }
    assert_eq!(machine.requests_open(), 0);
    tasks
}

fn main() -> Result<(), Box<dyn Error>> {
    let requests = 200_000;
    for (nodes, lanes, clients) in [(6, 16, 8), (6, 16, 500), (6, 1, 500), (40, 8, 500)] {
        for (writes, name) in [(false, "read"), (true, "write")] {
            let begun = Instant::now();
            let tasks = tasks_per_run(nodes, lanes, clients, writes, requests);
            let each = begun.elapsed().as_nanos() as f64 / tasks as f64;
            writeln!(
                stdout(),
                "{nodes:>3} nodes × {lanes:>2} lanes, {clients:>3} clients, {name:>5}: {each:>4.0} ns/task"
            )?;
        }
    }
    Ok(())
}
