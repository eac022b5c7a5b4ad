use super::*;
use crate::buffer::{Borrowed, encode};
use core::time::Duration;
use expect_test::expect;
use ripstop_gateway::{
    Cause, NodeState, Operation, Outcome, Placement, PlacementGroup, Recombination, Report,
    Request, Selection, Shaping, Task, TaskEnd, TenantTerms,
};
use ripstop_model::{Code, RequestId, StripSet, TaskId, TenantId};
use std::fmt::Write as _;

fn beginning() -> Beginning {
    Beginning {
        program: "1.2.3".into(),
        pool: "p".into(),
        settings: Settings::default(),
        nodes: vec![NodeSpec { id: NodeId(3), lanes: 16 }],
        policy: "tofec".into(),
        policy_settings: ripstop_policy::Settings::default(),
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
        request(Operation::Read { k: 2, wanted, places: vec![None, Some(NodeId(1))] }),
        request(Operation::ReadShared { n: 6, k: 4, node: Some(NodeId(1)) }),
        request(Operation::WriteUnique { n: 6, k: 4 }),
        request(Operation::Write { n: 6, k: 4 }),
        request(Operation::Mend { fragment: 5, node: None, taken: vec![NodeId(2)] }),
        Event::RequestAbandoned(RequestId(1)),
        Event::EncodeEnded(RequestId(1)),
        Event::TaskEnded(TaskId(9), Outcome::Damaged),
        Event::DecodeEnded(RequestId(1), true),
        Event::NodeChanged(NodeId(1), NodeState::Down),
        Event::ShapingChanged(Shaping {
            recombination: Recombination::Miser,
            tenants: vec![TenantTerms { tenant: TenantId(1), tiers: Vec::new() }],
        }),
        Event::PlacementChanged(Placement {
            selection: Selection::LeastWorkPlanned,
            groups: vec![PlacementGroup { weight: 3, nodes: vec![NodeId(1)], dispatch: vec![9] }],
        }),
        Event::TimerFired,
    ]
}

fn actions() -> Vec<Action> {
    let (request, node) = (RequestId(1), NodeId(1));
    let task = Task { id: TaskId(9), request, node, fragment: 3, strips: 2 };
    let code = Code::new(6, 4).unwrap();
    let (outcome, waited, served) = (Outcome::Done, Duration::ZERO, Duration::from_millis(3));
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
        Report::FragmentLost { request, fragment: 3, outcome: Outcome::Missing },
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

/// If this fails, recordings that were made before cannot be read any longer: raise [`VERSION`].
#[test]
fn the_form_of_records_has_not_changed_within_this_version() {
    let mut text = String::new();
    let mut line = |record: Record| {
        writeln!(text, "{}", hex::encode(encode(&record, Vec::new()))).unwrap();
    };
    line(Record::Began(beginning()));
    for event in events() {
        line(Record::Told { now: Timestamp::from_nanos(1_000_000), event });
    }
    for action in actions() {
        line(Record::Said(vec![action]));
    }
    line(Record::Stopped(Stop::Behind));
    line(Record::Stopped(Stop::Limit));
    line(Record::Stopped(Stop::Disk("full".into())));
    line(Record::Finished);
    expect![[r"
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
    "]].assert_eq(&text);
}

#[test]
fn what_borrows_is_written_like_what_owns_and_reads_back() {
    let (beginning, actions) = (beginning(), actions());
    let now = Timestamp::from_nanos(7);
    let pairs = [
        (Borrowed::Began(&beginning), Record::Began(beginning.clone())),
        (Borrowed::Said(&actions), Record::Said(actions.clone())),
    ];
    let events = events();
    let told = events
        .iter()
        .map(|event| (Borrowed::Told { now, event }, Record::Told { now, event: event.clone() }));
    for (borrowed, owned) in pairs.into_iter().chain(told) {
        let bytes = encode(&borrowed, Vec::new());
        assert_eq!(bytes, encode(&owned, Vec::new()));
        assert_eq!(postcard::from_bytes::<Record>(&bytes).unwrap(), owned);
    }
}

#[test]
fn what_makes_no_machine_is_refused_and_not_a_panic() {
    let twice = vec![NodeSpec { id: NodeId(3), lanes: 1 }; 2];
    let refusals = [
        Beginning { nodes: twice, ..beginning() },
        Beginning { policy: "best".into(), ..beginning() },
        Beginning { settings: Settings { tries_max: 0, ..Settings::default() }, ..beginning() },
    ];
    let told = refusals.map(|beginning| beginning.machine().unwrap_err().to_string());
    assert_eq!(told[0], "node 3 is there twice");
    assert!(told[1].starts_with("no policy is named \"best\""), "{}", told[1]);
    assert_eq!(told[2], "tries_max must be more than zero");
}
