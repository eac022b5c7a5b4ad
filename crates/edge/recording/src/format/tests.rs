use super::*;
use crate::{
    buffer::alone,
    numbered::{Borrowed, First, Reading, Writing},
    positional,
};
use core::time::Duration;
use expect_test::expect;
use proptest::prelude::*;
use ripstop_form::{Unreadable, append};
use ripstop_gateway::{
    Cause, NodeState, Placement, PlacementGroup, ReadSelection, Recombination, Report, Request,
    RequestSpec, Shaping, Task, TaskEnd, TaskOutcome, TenantTerms, TierTerms,
};
use ripstop_model::{Code, RequestId, StripSet, TaskId, TenantId};
use ripstop_shaping::Fraction;
use std::{fmt::Write as _, iter, mem};

fn beginning() -> Beginning {
    Beginning {
        program: "1.2.3".into(),
        pool: "p".into(),
        settings: MachineSettings::default(),
        nodes: vec![NodeSpec { id: NodeId(3), lanes: 16 }],
        policy: "tofec".into(),
        policy_settings: ripstop_policy::PolicySettings::default(),
    }
}

fn events() -> Vec<Event> {
    let request = |operation| {
        Event::RequestArrived(Request {
            id: RequestId(300),
            tenant: TenantId(300),
            operation,
            strip_bytes: 4096,
        })
    };
    let wanted = StripSet::first(2);
    vec![
        request(RequestSpec::Read { k: 2, wanted, places: vec![None, Some(NodeId(1))] }),
        request(RequestSpec::ReadShared { n: 6, k: 4, node: Some(NodeId(1)) }),
        request(RequestSpec::WriteUnique { n: 6, k: 4 }),
        request(RequestSpec::Write { n: 6, k: 4 }),
        request(RequestSpec::Mend { fragment: 5, node: None, taken: vec![NodeId(2)] }),
        Event::RequestAbandoned(RequestId(1)),
        Event::EncodeEnded(RequestId(1)),
        Event::TaskEnded(TaskId(9), TaskOutcome::Damaged),
        Event::DecodeEnded(RequestId(1), true),
        Event::NodeChanged(NodeId(1), NodeState::Down),
        Event::ShapingChanged(Shaping {
            recombination: Recombination::Miser,
            tenants: vec![TenantTerms { tenant: TenantId(1), tiers: Vec::new() }],
        }),
        Event::PlacementChanged(Placement {
            selection: ReadSelection::LeastWorkPlanned,
            groups: vec![PlacementGroup { weight: 3, nodes: vec![NodeId(1)], dispatch: vec![9] }],
        }),
        Event::TimerFired,
    ]
}

fn actions() -> Vec<Action> {
    let (request, node) = (RequestId(1), NodeId(1));
    let task = Task { id: TaskId(9), request, node, fragment: 3, strips: 2 };
    let code = Code::new(6, 4).unwrap();
    let (outcome, waited, served) = (TaskOutcome::Done, Duration::ZERO, Duration::from_millis(3));
    let write = false;
    let reports = [
        Report::Started { request, write, code, waited },
        Report::Task(TaskEnd {
            task,
            write,
            outcome,
            bytes: 8192,
            waited,
            served,
            extra: true,
            redundant: false,
        }),
        Report::Answered {
            request,
            tenant: TenantId(300),
            tier: Some(1),
            write,
            took: served,
            done: true,
        },
        Report::Admitted { request, tenant: TenantId(300), tier: None },
        Report::Refused { request, tenant: TenantId(300) },
        Report::FragmentLost { request, fragment: 3, outcome: TaskOutcome::Missing },
        Report::Node { node, up: true },
    ];
    let plain = [
        Action::Encode { request, code },
        Action::StartTask(task),
        Action::CancelTask(task.id),
        Action::Decode { request, from: StripSet::first(3) },
        Action::Complete(request),
        Action::Fail(request, Cause::TimedOut),
        Action::Reject { request, retry_after: served },
        Action::Settle { request, stored: vec![None, Some(node)] },
        Action::Probe(node),
    ];
    plain.into_iter().chain(reports.map(Action::Report)).collect()
}

/// Every record that there is, each in a block of its own.
fn records() -> Vec<Entry> {
    let told = |event| Entry::Told { now: Timestamp::from_nanos(1_000_000), event };
    let stops = [Stop::Behind, Stop::Limit, Stop::Disk("full".into())];
    iter::once(Entry::Began(beginning()))
        .chain(events().into_iter().map(told))
        .chain(actions().into_iter().map(|action| Entry::Said(vec![action])))
        .chain(stops.map(Entry::Stopped))
        .chain([Entry::Finished])
        .collect()
}

fn borrowed(record: &Entry) -> Borrowed<'_> {
    match record {
        Entry::Began(beginning) => Entry::Began(beginning),
        Entry::Told { now, event } => Entry::Told { now: *now, event },
        Entry::Said(actions) => Entry::Said(actions),
        Entry::Stopped(stop) => Entry::Stopped(stop.clone()),
        Entry::Finished => Entry::Finished,
    }
}

/// If this fails, recordings that were made before cannot be read any longer: take it back.
#[test]
fn what_numbered_records_look_like_is_for_ever() {
    let mut text = String::new();
    for record in records() {
        writeln!(text, "{}", hex::encode(alone(&borrowed(&record)))).unwrap();
    }
    expect![[r"
        1818a60165312e322e3302617003ad011904000219040003190100041b00000006fc23ac00051b0000000df8475800061a00989680071a3b9aca00080309010b1a773594000d1a040000000e1a3b9aca000f030481a2010302100565746f66656306a303a20118ff02fb406fe0000000000004fb3fefae147ae147ae061a05f5e100
        01a1011a000f424004a40219012c0319012c04a101a301020241030382f60105191000
        01a1011a000f424004a40219012c0319012c04a103a301060204030105191000
        01a1011a000f424004a40219012c0319012c04a104a20106020405191000
        01a1011a000f424004a40219012c0319012c04a102a20106020405191000
        01a1011a000f424004a40219012c0319012c04a105a201050342020005191000
        01a1011a000f424005a10201
        01a1011a000f424006a10201
        01a1011a000f424003a202090302
        01a1011a000f424007a2020103f5
        01a1011a000f4240181ba202010301
        01a1011a000f4240181ca202040381a10101
        01a1011a000f4240181da202030381a3010302420100034409000000
        01a1011a000f424008a0
        01a00ba201010242060402a0
        01a009a50109020103010403050202a0
        01a00aa1010902a0
        01a00ca2010102410702a0
        01a00da1010102a0
        01a0181ea20101020202a0
        01a0181fa20101021a002dc6c002a0
        01a00ea201010282f60102a0
        01a01820a1010102a0
        01a010a201010342060402a0
        01a00fa401a50109020103010403050204192000061a002dc6c007f502a0
        01a011a401010219012c0301051a002dc6c002a0
        01a012a201010219012c02a0
        01a01821a201010219012c02a0
        01a01822a301010203030102a0
        01a01823a2010102f502a0
        1819a101a101a0
        1819a101a102a0
        1819a101a103a1016466756c6c
        181aa0
    "]].assert_eq(&text);
}

/// The records above, as programs wrote them that knew version 2.
const POSITIONAL_RECORDS: &str = "
0005312e322e3301708008800880021e003c000080ade20401000301000200008080802001000301031005746f6665630000ff0000000000e06f40ae47e17a14aeef3f000080c2d72f
01c0843d00ac02ac02000203000000020001018020
01c0843d00ac02ac0201060401018020
01c0843d00ac02ac020206048020
01c0843d00ac02ac020306048020
01c0843d00ac02ac0204050001028020
01c0843d0101
01c0843d0201
01c0843d030902
01c0843d040101
01c0843d050101
01c0843d0604010100
01c0843d0703010301010109
01c0843d08
020100010604
0201010901010302
02010209
0201030107000000
02010401
0201050102
0201060100c08db701
0201070102000101
02010801
02010900010006040000
02010901090101030200008040000000c08db7010100
0201090401ac0201010000c08db70101
0201090201ac0200
0201090301ac02
02010905010301
020109060101
0300
0301
03020466756c6c
04
";

#[test]
fn what_was_written_without_numbers_is_read_for_ever() {
    let read: Vec<Entry> = POSITIONAL_RECORDS
        .split_whitespace()
        .map(|line| {
            let bytes = hex::decode(line).unwrap();
            let (len, record) = positional::first(&bytes).unwrap();
            assert_eq!(len, bytes.len(), "{record:?}");
            for cut in 0..bytes.len() {
                assert!(positional::first(&bytes[..cut]).is_err(), "{record:?} cut at {cut}");
            }
            record
        })
        .collect();
    assert_eq!(read, records());
}

/// The records of a block, up to the first that cannot be read.
fn read(mut bytes: &[u8]) -> Result<Vec<Entry>, Unreadable> {
    let (mut reading, mut records) = (Reading::default(), Vec::new());
    while !bytes.is_empty() {
        let (len, first) = reading.first(bytes)?;
        if let First::Entry(record) = first {
            records.push(record);
        }
        bytes = &bytes[len..];
    }
    Ok(records)
}

#[test]
fn every_record_is_read_as_it_was_written() {
    let mut block = Vec::new();
    let mut writing = Writing::default();
    for record in records() {
        block = writing.append(block, &borrowed(&record));
        assert_eq!(read(&alone(&borrowed(&record))), Ok(vec![record]));
    }
    assert_eq!(read(&block), Ok(records()));
}

#[test]
fn promises_and_plans_are_read_with_all_that_is_in_them() {
    let tier = |billionths, millis| TierTerms {
        fraction: Fraction::from_billionths(billionths).unwrap(),
        bound: Duration::from_millis(millis),
        capacity: u64::MAX,
    };
    let tenants = vec![
        TenantTerms { tenant: TenantId(1), tiers: vec![tier(900_000_000, 20), tier(1, 500)] },
        TenantTerms { tenant: TenantId(7), tiers: vec![tier(1_000_000_000, 1)] },
    ];
    let group = |weight| PlacementGroup {
        weight,
        nodes: vec![NodeId(0), NodeId(700)],
        dispatch: vec![1_000_000, 0],
    };
    let groups = vec![group(0), group(u64::MAX)];
    for event in [
        Event::LanesChanged(vec![
            NodeSpec { id: NodeId(0), lanes: 1 },
            NodeSpec { id: NodeId(700), lanes: u16::MAX },
        ]),
        Event::ShapingChanged(Shaping { recombination: Recombination::PClock, tenants }),
        Event::PlacementChanged(Placement { selection: ReadSelection::Ready, groups }),
    ] {
        let record = Entry::Told { now: Timestamp::from_nanos(u64::MAX), event };
        assert_eq!(read(&alone(&borrowed(&record))), Ok(vec![record]));
    }
}

/// What a newer program might write behind an event: a field of this number in an action, or a
/// record of this kind.
fn newer(field: u64, kind: u64) -> Vec<u8> {
    let told = Entry::Told { now: Timestamp::ZERO, event: &Event::TimerFired };
    let bytes = append(alone(&told), 13, |to| {
        to.number(1, 7);
        to.text(field, "new");
    });
    let bytes = append(bytes, kind, |to| to.nest(1, |to| to.text(2, "new")));
    append(bytes, 2, |_| {})
}

#[test]
fn what_newer_programs_add_is_passed_over_or_refused_by_its_number() {
    let told = Entry::Told { now: Timestamp::ZERO, event: Event::TimerFired };
    let said = Entry::Said(vec![Action::Complete(RequestId(7))]);
    assert_eq!(read(&newer(128, 128)), Ok(vec![told, said]));
    assert_eq!(read(&newer(127, 128)), Err(Unreadable::Newer(127)));
    assert_eq!(read(&newer(128, 127)), Err(Unreadable::Kind(127)));
    let told = |event: u64| {
        read(&append(vec![], event, |to| {
            to.number(2, 1);
            to.number(3, 77);
        }))
        .unwrap_err()
        .to_string()
    };
    assert_eq!(told(3), "its field 3 is of a kind that a newer program must have written");
    assert_eq!(told(99), "it is of kind 99, which a newer program must have written");
}

#[test]
fn a_field_that_must_be_there_is_missed_by_its_number() {
    let encode = append(vec![], 11, |to| to.number(1, 7));
    let told = read(&encode).unwrap_err().to_string();
    assert_eq!(told, "its field 2 is missing");
}

proptest! {
    #[test]
    fn courses_of_any_ids_and_times_are_read_as_they_were_written(
        steps: Vec<(usize, usize, u64, u64, u64)>, blocks: Vec<bool>,
    ) {
        let (mut writing, mut block, mut blocks) = (Writing::default(), vec![], blocks.into_iter());
        let (mut written, mut reread) = (Vec::new(), Vec::new());
        for (event, action, now, request, task) in steps {
            let now = Timestamp::from_nanos(now);
            let event = with_ids(event, request, task);
            let action = said_with_ids(action, request, task);
            written.push(Entry::Told { now, event });
            written.push(Entry::Said(vec![action]));
            for record in &written[written.len() - 2..] {
                block = writing.append(block, &borrowed(record));
                if blocks.next() == Some(true) {
                    reread.extend(read(&mem::take(&mut block)).unwrap());
                    writing.begin();
                }
            }
        }
        reread.extend(read(&block).unwrap());
        prop_assert_eq!(reread, written);
    }

    #[test]
    fn no_bytes_are_more_than_an_error(bytes: Vec<u8>) {
        drop(read(&bytes));
        drop(positional::first(&bytes));
    }

    #[test]
    fn no_change_of_a_record_is_more_than_an_error(
        which: prop::sample::Index, at: prop::sample::Index, to: u8, cut: bool,
    ) {
        let records = records();
        let mut bytes = alone(&borrowed(which.get(&records)));
        let at = at.index(bytes.len());
        if cut {
            bytes.truncate(at);
            // A block's base ends where the record begins.
            prop_assert!(read(&bytes).is_ok_and(|read| read.is_empty()) || read(&bytes).is_err());
        } else {
            bytes[at] = to;
            drop(read(&bytes));
        }
    }
}

/// One of the events, about this request or this task.
fn with_ids(which: usize, request: u64, task: u64) -> Event {
    let (request, events) = (RequestId(request), events());
    match events[which % events.len()].clone() {
        Event::RequestArrived(it) => Event::RequestArrived(Request { id: request, ..it }),
        Event::RequestAbandoned(_) => Event::RequestAbandoned(request),
        Event::EncodeEnded(_) => Event::EncodeEnded(request),
        Event::TaskEnded(_, outcome) => Event::TaskEnded(TaskId(task), outcome),
        Event::DecodeEnded(_, done) => Event::DecodeEnded(request, done),
        other @ (Event::NodeChanged(..)
        | Event::LanesChanged(_)
        | Event::ShapingChanged(_)
        | Event::PlacementChanged(_)
        | Event::TimerFired) => other,
    }
}

/// One of some actions, about this request and this task.
fn said_with_ids(which: usize, request: u64, task: u64) -> Action {
    let (request, id) = (RequestId(request), TaskId(task));
    let strips = task as u8;
    let task = Task { id, request, node: NodeId(task as u16), fragment: 0, strips };
    let span = Duration::new(task.id.0, (request.0 % 1_000_000_000) as u32);
    match which % 5 {
        0 => Action::StartTask(task),
        1 => Action::CancelTask(id),
        2 => Action::Reject { request, retry_after: span },
        3 => Action::Decode { request, from: StripSet::from_words([request.0, 0, id.0, 1]) },
        _ => Action::Settle { request, stored: vec![None, Some(task.node), Some(NodeId(0))] },
    }
}

#[test]
fn what_makes_no_machine_is_refused_and_not_a_panic() {
    let twice = vec![NodeSpec { id: NodeId(3), lanes: 1 }; 2];
    let refusals = [
        Beginning { nodes: twice, ..beginning() },
        Beginning { policy: "best".into(), ..beginning() },
        Beginning {
            settings: MachineSettings { tries_max: 0, ..MachineSettings::default() },
            ..beginning()
        },
    ];
    let told = refusals.map(|beginning| beginning.machine().unwrap_err().to_string());
    assert_eq!(told[0], "node 3 is there twice");
    assert!(told[1].starts_with("no policy is named \"best\""), "{}", told[1]);
    assert_eq!(told[2], "tries_max must be more than zero");
}
