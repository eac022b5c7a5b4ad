use super::*;
use crate::{moving::Spot, planning::*};
use ripstop_estimator::LoggedOutcome;
use ripstop_model::{Code, Operation, Timestamp};

const NODES: u16 = 6;

fn replanning(former: Option<Vec<Group>>) -> Replanning {
    let node = |id| PlannedNode { id: NodeId(id + 1), lanes: 1, site: id, price_per_byte: 0.0 };
    let auto = AutoPlan { every: Duration::from_secs(10), ..AutoPlan::default() };
    let code = Code::new(4, 2).unwrap();
    Replanning::new(PlanSubject { nodes: (0..NODES).map(node).collect(), code, auto }, former)
}

/// A minute of reads by turns; a node of this number became ten times slower in the middle.
fn log(slow: Option<u16>) -> Vec<LogRecord> {
    let mut dice = ripstop_delay::Dice::new(1);
    let record = |at: u64| {
        let node = NodeId(1 + (at % u64::from(NODES)) as u16);
        let slower = if slow == Some(node.0) && at >= 600 { 10.0 } else { 1.0 };
        LogRecord {
            at: Timestamp::from_nanos(at * 50_000_000),
            operation: Operation::Read,
            node,
            bytes: 1000,
            served: Duration::from_secs_f64(slower * (0.02 + 0.01 * dice.exponential())),
            outcome: LoggedOutcome::Done,
            waited: Duration::ZERO,
            redundant: false,
        }
    };
    (0..1200).map(record).collect()
}

/// Stripes at the first four nodes.
fn census() -> Census {
    Census::of((0..100).map(|_| Spot::new(4, &[1, 2, 3, 4].map(Some))))
}

fn up(node: u16, is_up: bool) -> BTreeMap<NodeId, bool> {
    (1..=NODES).map(|id| (NodeId(id), id != node || is_up)).collect()
}

/// The bound stands for a rehearsal.
fn bound(_: &Measurement, plan: &Plan) -> f64 {
    plan.latency
}

#[test]
fn it_plans_every_so_often_and_when_a_node_has_stayed_away() {
    let mut planning = replanning(None);
    let looks: Vec<bool> = (0..22).map(|_| planning.look(up(1, true))).collect();
    let due: Vec<usize> = (0..22).filter(|&at| looks[at]).collect();
    assert_eq!(due, [9, 19], "at ten seconds and at twenty");
    let auto = AutoPlan { every: Duration::from_mins(10), ..AutoPlan::default() };
    planning.subject.auto = auto;
    assert!(!(0..30).any(|_| planning.look(up(1, false))));
    assert!(planning.look(up(1, false)), "half a minute later");
}

#[test]
fn before_enough_is_known_there_is_no_plan() {
    let mut planning = replanning(None);
    for records in [Vec::new(), log(None)[..100].to_vec()] {
        let made = planning.plan(records, &census(), false, bound).unwrap();
        assert_eq!(made, Replanned::Unknown);
    }
}

#[test]
fn a_node_that_became_slow_is_known_since_when_and_left_by_the_plan() {
    let mut planning = replanning(None);
    planning.look(up(1, true));
    let made = planning.plan(log(Some(2)), &census(), false, bound).unwrap();
    let Replanned::Followed { measured, plan } = made else { panic!("{made:?}") };
    let (node, since) = measured.changed[0];
    assert_eq!((node, measured.changed.len()), (1, 1));
    assert!((29.0..32.0).contains(&(since.as_nanos() as f64 / 1e9)), "{since:?}");
    let asked = plan.classes[0].iter().map(|group| {
        let pairs = group.nodes.iter().zip(&group.probabilities);
        pairs.filter(|(node, _)| **node == 1).map(|(_, p)| p * group.files as f64).sum::<f64>()
    });
    assert!(asked.sum::<f64>() < 0.3 * 100.0, "a third would be its part");
    assert_eq!(planning.followed(), Some(&plan.classes[0][..]));
}

#[test]
fn a_plan_begins_from_where_stripes_are_or_where_they_are_brought() {
    let group = |nodes: [u16; 4]| Group {
        files: 100,
        nodes: nodes.to_vec(),
        probabilities: vec![0.8, 0.4, 0.4, 0.4],
    };
    let elsewhere = vec![group([2, 3, 4, 5])];
    let planning = replanning(Some(elsewhere.clone()));
    assert_eq!(planning.former(&census(), true), Some(vec![elsewhere.clone()]));
    assert_eq!(planning.former(&Census::default(), false), Some(vec![elsewhere]));
    let stand = planning.former(&census(), false).unwrap();
    assert_eq!(stand[0][0].nodes, [0, 1, 2, 3]);
    assert!(stand[0][0].probabilities.iter().all(|&p| (p - 0.5).abs() < 1e-12));
    let known = replanning(Some(vec![group([0, 1, 2, 3])])).former(&census(), false).unwrap();
    assert_eq!(known[0][0].probabilities, [0.8, 0.4, 0.4, 0.4]);
}

#[test]
fn too_few_fragments_for_the_sites_that_may_be_lost_is_said() {
    let mut planning = replanning(None);
    planning.subject.auto.survive_sites = 3;
    planning.look(up(1, true));
    let error = planning.plan(log(None), &Census::default(), false, bound).unwrap_err();
    let told = "with 4 fragments a stripe cannot survive the loss of 3 sites";
    assert_eq!(alloc::format!("{error}"), told);
}

#[test]
fn groups_that_are_no_stripes_of_the_pool_are_not_begun_with() {
    let group = Group { files: 1, nodes: vec![0, 1, 2], probabilities: vec![1.0, 0.5, 0.5] };
    assert_eq!(replanning(Some(vec![group])).followed(), None);
}
