use super::*;
use crate::{Ending, Stop, replay};
use ripstop_gateway::{Event, NodeSpec};
use ripstop_model::{NodeId, RequestId, Timestamp};
use ripstop_runtime::Witness as _;
use std::time::Duration;

#[test]
fn a_disk_that_cannot_keep_up_ends_the_recording_and_never_leaves_a_gap() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("recording");
    let settings = RecorderSettings { blocks_waiting_max: 2, ..RecorderSettings::default() };
    let recorder = Recorder::create(&file, settings).unwrap();
    let beginning = Beginning {
        program: "test".into(),
        pool: "p".into(),
        settings: ripstop_gateway::MachineSettings::default(),
        nodes: vec![NodeSpec { id: NodeId(0), lanes: 1 }],
        policy: "fixed".into(),
        policy_settings: ripstop_policy::PolicySettings::default(),
    };
    let (mut machine, witness) = (beginning.machine().unwrap(), recorder.pool(&beginning));
    {
        // The thread stops where it looks for pools, as at a disk that takes nothing.
        let _held = lock(&recorder.shared.pools);
        std::thread::sleep(Duration::from_millis(300));
        for number in 0..60_000 {
            let (now, event) =
                (Timestamp::from_nanos(number), Event::RequestAbandoned(RequestId(number)));
            witness.told(now, &event);
            let mut actions = Vec::new();
            machine.handle(now, event, &mut actions);
            witness.said(&actions);
        }
        assert!(!lock(&witness.buffer).open, "there were more blocks than may wait");
    }
    recorder.finish();
    let replayed = replay(std::fs::File::open(&file).unwrap()).unwrap();
    assert_eq!(replayed.ending, Ending::Stopped(Stop::Behind));
    let events = replayed.pools[0].events;
    assert!((5_000..59_000).contains(&events), "{events}");
}
