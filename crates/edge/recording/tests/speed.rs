//! What recording costs where the machine is.

mod scene;

use ripstop_gateway::{Action, Event, MachineSettings, Request, RequestSpec, TaskOutcome};
use ripstop_model::{NodeId, RequestId, StripSet, TenantId, Timestamp};
use ripstop_recording::{Recorder, RecorderSettings, replay};
use ripstop_runtime::Witness;
use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

const REQUESTS: u64 = 200_000;

/// Serves reads and writes in turn, thirty-two at once; returns how many events that took.
fn serve(machine: &mut ripstop_gateway::Machine, witness: Option<&Arc<dyn Witness>>) -> u64 {
    let (mut waiting, mut actions) = (VecDeque::new(), Vec::new());
    let (mut arrived, mut settled, mut events) = (0, 0, 0);
    loop {
        let event = if arrived < REQUESTS && arrived - settled < 32 {
            let places = (0..6).map(|node| Some(NodeId((arrived + node) as u16 % 8))).collect();
            let operation = match arrived % 2 {
                0 => RequestSpec::Read { k: 4, wanted: StripSet::first(4), places },
                _ => RequestSpec::Write { n: 6, k: 4 },
            };
            arrived += 1;
            let id = RequestId(arrived);
            Event::RequestArrived(Request {
                id,
                tenant: TenantId::ANYBODY,
                operation,
                strip_bytes: 1 << 20,
            })
        } else if let Some(event) = waiting.pop_front() {
            event
        } else {
            assert_eq!(settled, REQUESTS);
            return events;
        };
        events += 1;
        let now = Timestamp::from_nanos(events * 1000);
        if let Some(witness) = witness {
            witness.told(now, &event);
        }
        machine.handle(now, event, &mut actions);
        if let Some(witness) = witness {
            witness.said(&actions);
        }
        for action in actions.drain(..) {
            match action {
                Action::StartTask(task) => {
                    waiting.push_back(Event::TaskEnded(task.id, TaskOutcome::Done));
                }
                Action::CancelTask(task) => {
                    waiting.push_back(Event::TaskEnded(task, TaskOutcome::Cancelled));
                }
                Action::Encode { request, .. } => waiting.push_back(Event::EncodeEnded(request)),
                Action::Decode { request, .. } => {
                    waiting.push_back(Event::DecodeEnded(request, true));
                }
                Action::Settle { .. } => settled += 1,
                Action::Complete(_)
                | Action::Fail(..)
                | Action::Reject { .. }
                | Action::Probe(_)
                | Action::Report(_) => {}
            }
        }
    }
}

#[test]
#[ignore = "a measurement, to be run alone in release"]
fn recording_an_event_takes_less_than_a_microsecond() {
    let mut beginning = scene::beginning("p", "fixed", 8);
    beginning.settings = MachineSettings::default();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("recording");
    let (mut best_plain, mut best_recorded) = (Duration::MAX, Duration::MAX);
    let mut events = 0;
    for _ in 0..5 {
        let mut machine = beginning.machine().unwrap();
        let start = Instant::now();
        events = serve(&mut machine, None);
        best_plain = best_plain.min(start.elapsed());
        let _ = std::fs::remove_file(&file);
        let recorder = Recorder::create(&file, RecorderSettings::default()).unwrap();
        let witness: Arc<dyn Witness> = recorder.pool(&beginning);
        let mut machine = beginning.machine().unwrap();
        let start = Instant::now();
        serve(&mut machine, Some(&witness));
        best_recorded = best_recorded.min(start.elapsed());
        recorder.finish();
    }
    let start = Instant::now();
    let replayed = replay(std::io::BufReader::new(std::fs::File::open(&file).unwrap())).unwrap();
    let replay_took = start.elapsed();
    assert_eq!(replayed.pools[0].events, events);
    let each = |took: Duration| took.as_nanos() as u64 / events;
    let bytes = std::fs::metadata(&file).unwrap().len() / events;
    let (plain, recorded) = (each(best_plain), each(best_recorded));
    println!(
        "{events} events: {plain} ns each, recorded {recorded} ns, {bytes} bytes; replayed {} ns",
        each(replay_took)
    );
    assert!(recorded - plain < 1000, "{} ns", recorded - plain);
}
