//! A run is replayed exactly; anything else is found out.

mod scene;

use ripstop_gateway::{Action, Event, Report};
use ripstop_model::Timestamp;
use ripstop_recording::{
    Beginning, Ending, Entry, Recorder, RecorderSettings, Recording, RecordingError, ReplayError,
    Replayed, Stop, replay,
};
use ripstop_runtime::{Layout, Witness as _};
use scene::{Scene, beginning};
use std::{fs, io::Cursor, path::Path, sync::Arc, time::Duration};

fn file() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("recording");
    (folder, file)
}

/// Records pools of each layout under load.
async fn record(file: &Path, clients: u64, rounds: u64) {
    let recorder = Recorder::create(file, RecorderSettings::default()).expect("a new file");
    let spread = beginning("spread", "hedge", 7);
    let shared = beginning("shared", "tofec", 2);
    let unique = beginning("unique", "backfill", 2);
    let scenes = [(spread, Layout::Spread), (shared, Layout::Shared), (unique, Layout::Unique)]
        .map(|(beginning, layout)| Arc::new(Scene::new(&recorder, &beginning, layout)));
    let runs = scenes.iter().map(|scene| scene.clone().run(clients, rounds));
    futures::future::join_all(runs).await;
    recorder.finish();
}

/// The records of a file, by pool.
fn records(bytes: &[u8]) -> Vec<(u16, Entry)> {
    let mut recording = Recording::open(bytes).expect("a recording");
    let mut records = Vec::new();
    while let Some(record) = recording.next_record().expect("not damaged") {
        records.push(record);
    }
    records
}

/// The file that holds these records of one pool.
fn written(records: Vec<Entry>) -> Vec<u8> {
    let (_folder, file) = file();
    let recorder = Recorder::create(&file, RecorderSettings::default()).expect("a new file");
    let mut witness = None;
    for record in records {
        match (record, &witness) {
            (Entry::Began(beginning), None) => witness = Some(recorder.pool(&beginning)),
            (Entry::Told { now, event }, Some(witness)) => witness.told(now, &event),
            (Entry::Said(actions), Some(witness)) => witness.said(&actions),
            (record, _) => panic!("{record:?}"),
        }
    }
    recorder.finish();
    fs::read(&file).expect("it is there")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_run_with_faults_and_concurrency_is_replayed_action_for_action() {
    let (_folder, file) = file();
    record(&file, 24, 6).await;
    let bytes = fs::read(&file).unwrap();
    let replayed = replay(&*bytes).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(replayed.ending, Ending::Finished);
    let names: Vec<_> = replayed.pools.iter().map(|pool| &*pool.beginning.pool).collect();
    assert_eq!(names, ["spread", "shared", "unique"]);
    for pool in &replayed.pools {
        assert!(pool.events > 1000 && pool.actions > pool.events, "{pool:?}");
    }
    let mut seen = [false; 5];
    for (_, record) in records(&bytes) {
        let Entry::Said(actions) = record else { continue };
        for action in &actions {
            let kinds = [
                matches!(action, Action::Decode { .. }),
                matches!(action, Action::CancelTask(_)),
                matches!(action, Action::Fail(..)),
                matches!(action, Action::Probe(_)),
                matches!(action, Action::Report(Report::FragmentLost { .. })),
            ];
            seen.iter_mut().zip(kinds).for_each(|(seen, is)| *seen |= is);
        }
    }
    assert_eq!(seen, [true; 5], "the run was too calm to show anything");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_change_of_any_kind_is_found_where_it_is() {
    let (_folder, file) = file();
    record(&file, 4, 2).await;
    let first: Vec<_> = records(&fs::read(&file).unwrap())
        .into_iter()
        .filter_map(|(pool, record)| (pool == 0).then_some(record))
        .collect();
    assert!(replay(&*written(first.clone())).is_ok());
    let said = |at: &usize| matches!(&first[*at], Entry::Said(said) if !said.is_empty());
    let at = (100..first.len()).find(said);
    let at = at.unwrap();
    let number = first[..at].iter().filter(|record| matches!(record, Entry::Told { .. })).count();
    let difference = |change: &dyn Fn(&mut Vec<Entry>)| {
        let mut changed = first.clone();
        change(&mut changed);
        match replay(&*written(changed)) {
            Err(ReplayError::Differs(difference)) => *difference,
            other => panic!("{other:?}"),
        }
    };
    let less = difference(&|records| {
        let Entry::Said(said) = &mut records[at] else { unreachable!() };
        said.pop();
    });
    assert_eq!((less.event_number, less.recorded), (number as u64, None));
    let more = difference(&|records| {
        let Entry::Said(said) = &mut records[at] else { unreachable!() };
        said.insert(0, Action::Probe(ripstop_model::NodeId(60000)));
    });
    assert_eq!((more.event_number, more.action_number), (number as u64, 1));
    let other_policy = difference(&|records| {
        let Entry::Began(beginning) = &mut records[0] else { unreachable!() };
        beginning.policy = "all".into();
    });
    assert!(other_policy.to_string().contains("\n  recorded  "), "{other_policy}");
    let other_time = difference(&|records| {
        for record in records {
            if let Entry::Told { now, .. } = record {
                *now = *now + Duration::from_nanos(now.as_nanos());
            }
        }
    });
    assert!(other_time.event_number > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_flipped_bit_is_damage_and_a_cut_is_said() {
    let (_folder, file) = file();
    record(&file, 4, 3).await;
    let bytes = fs::read(&file).unwrap();
    for at in (0..bytes.len()).step_by(977) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        let told = replay(&*flipped);
        // A length that says more than there is looks like a cut.
        let cut = matches!(&told, Ok(replayed) if matches!(replayed.ending, Ending::CutOff(_)));
        assert!(cut || told.is_err(), "byte {at}");
        let cut = replay(&bytes[..at]);
        match cut {
            Ok(replayed) => assert!(matches!(replayed.ending, Ending::CutOff(_)), "{replayed:?}"),
            Err(ReplayError::Recording(RecordingError::Magic)) if at < 12 => {}
            Err(other) => panic!("cut at {at}: {other}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_flip_never_looks_like_a_cut_and_whatever_is_whole_before_a_cut_is_replayed() {
    let (_folder, file) = file();
    record(&file, 2, 1).await;
    let bytes = fs::read(&file).unwrap();
    let whole = replay(&*bytes).unwrap();
    let events =
        |replayed: &Replayed| replayed.pools.iter().map(|pool| pool.events).collect::<Vec<_>>();
    // Every byte of the head, the first block's frame, and the last block; others here and there.
    let ends = (0..64).chain(bytes.len() - 64..bytes.len());
    for at in ends.chain((64..bytes.len() - 64).step_by(1009)) {
        for bit in 0..8 {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << bit;
            assert!(replay(&*flipped).is_err(), "bit {bit} of byte {at}");
        }
    }
    let mut before = Vec::new();
    for at in (12..bytes.len()).step_by(101).chain([bytes.len() - 1]) {
        let replayed = replay(&bytes[..at]).unwrap_or_else(|error| panic!("cut at {at}: {error}"));
        assert!(matches!(replayed.ending, Ending::CutOff(_)), "cut at {at}: {replayed:?}");
        let now = events(&replayed);
        let more = before.iter().zip(&now).all(|(before, now)| before <= now);
        assert!(more && now.iter().zip(events(&whole)).all(|(now, whole)| *now <= whole));
        before = now;
    }
    // The last block says that it is finished, and nothing else.
    assert_eq!(before, events(&whole));
}

/// Recordings that earlier programs made.
fn earlier() -> Vec<(String, Vec<u8>)> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/golden");
    let mut found: Vec<_> = fs::read_dir(golden)
        .expect("it is in the repository")
        .map(|entry| entry.expect("it is listed").path().join("decisions/recording"))
        .filter(|path| path.exists())
        .map(|path| (path.display().to_string(), fs::read(&path).expect("it is a file")))
        .collect();
    found.sort();
    assert!(found.len() >= 2, "{found:?}");
    found
}

#[test]
fn what_earlier_programs_recorded_is_decided_the_same_and_so_is_what_it_is_written_as_now() {
    for (name, bytes) in earlier() {
        let replayed = replay(&*bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(replayed.pools.iter().any(|pool| pool.events > 100), "{name}: {replayed:?}");
        let before = records(&bytes);
        for pool in 0..replayed.pools.len() as u16 {
            let of_pool = |records: &[(u16, Entry)]| -> Vec<Entry> {
                let its = records.iter().filter(|(number, _)| *number == pool);
                its.map(|(_, record)| record.clone()).collect()
            };
            let former = of_pool(&before);
            let now = written(former.clone());
            let now_read: Vec<Entry> = records(&now).into_iter().map(|(_, it)| it).collect();
            let at = former.iter().zip(&now_read).position(|(former, now)| former != now);
            assert_eq!((now_read.len(), at), (former.len(), None), "{name}, pool {pool}");
            let again = replay(&*now).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(again.pools[0], replayed.pools[usize::from(pool)], "{name}");
        }
    }
}

#[test]
fn a_recording_of_a_format_that_is_not_known_is_refused_by_its_number() {
    let (_, golden) = earlier().remove(0);
    let told = |version: u8| {
        let mut bytes = golden.clone();
        bytes[8] = version;
        replay(&*bytes).map_err(|error| match error {
            ReplayError::Recording(error) => error.to_string(),
            other @ (ReplayError::Beginning { .. } | ReplayError::Differs(_)) => panic!("{other}"),
        })
    };
    assert!(told(2).is_ok());
    let newer =
        "it is of format 4, which a newer program must have written; this program knows 2 and 3";
    assert_eq!(told(4).unwrap_err(), newer);
    assert_eq!(
        told(1).unwrap_err(),
        "it is of format 1, which no program wrote; this program knows 2 and 3"
    );
    assert_eq!(told(3).unwrap_err(), "it is damaged in the block at byte 12");
}

#[test]
fn a_full_disk_ends_the_recording_with_a_note_and_what_is_there_replays() {
    let (_folder, file) = file();
    let settings = RecorderSettings { file_max: 300_000, ..RecorderSettings::default() };
    let recorder = Recorder::create(&file, settings).unwrap();
    let beginning = beginning("p", "fixed", 1);
    run_machine(&beginning, &recorder, 60_000);
    recorder.finish();
    let bytes = fs::read(&file).unwrap();
    assert!(bytes.len() < 310_000, "{}", bytes.len());
    let replayed = replay(Cursor::new(bytes)).unwrap();
    assert_eq!(replayed.ending, Ending::Stopped(Stop::Limit));
    assert!(replayed.pools[0].events > 1000, "{replayed:?}");
}

/// Tells a recorded machine this many events, as fast as it can.
fn run_machine(beginning: &Beginning, recorder: &Recorder, events: u64) {
    let (mut machine, witness) = (beginning.machine().expect("valid"), recorder.pool(beginning));
    let mut actions = Vec::new();
    for number in 0..events {
        let now = Timestamp::from_nanos(number * 1_000_000);
        let event = Event::RequestAbandoned(ripstop_model::RequestId(number));
        witness.told(now, &event);
        actions.clear();
        machine.handle(now, event, &mut actions);
        witness.said(&actions);
    }
}
