use super::replanner::on_stage;
use ripstop_assembly::config::PoolConfig;
use ripstop_gateway::ReadSelection;
use ripstop_placement::{
    Class, Plan, Problem, Renewal, Service, StorageNode, StorageNodeState as State, exactly,
    planning::{DELAYS, Measurement, STRIPES_IF_NONE as FILES},
    renew,
};
use std::fmt::Write as _;

/// Exponential above a shift, as slow as `factor` says: equally likely delays.
fn delays(factor: f64) -> Vec<f64> {
    let delay = |i: usize| {
        let luck = (i as f64 + 0.5) / DELAYS as f64;
        factor * (0.07 - 0.03 * (1.0 - luck).ln())
    };
    (0..DELAYS).map(delay).collect()
}

/// Twelve nodes under (7,4) at 60 %, one of them this many times slower than it was.
fn measured(slow: f64) -> Measurement {
    let factor = |at: u16| if at == 0 { slow } else { 1.0 + f64::from(at) / 20.0 };
    let node = |at: u16| StorageNode {
        service: Service::from_samples(&delays(factor(at))).unwrap(),
        price_per_chunk: 0.0,
        price_per_byte: 0.0,
        site: at,
        vendor: at,
        capacity_bytes: u64::MAX,
        state: State::Up,
    };
    let class = Class {
        rate: 13.0,
        files: FILES,
        k: 4,
        chunk_bytes: 4096,
        survive_nodes: 3,
        survive_sites: 0,
        spread: false,
    };
    let problem = Problem {
        nodes: (0..12).map(node).collect(),
        classes: vec![class],
        seconds_per_money: 0.0,
        seconds_per_moved_byte: 0.0,
    };
    let delays = (0..12).map(|at| delays(factor(at))).collect();
    Measurement { problem, delays, changed: Vec::new() }
}

fn config() -> PoolConfig {
    let mut text = String::from("[[pool]]\nname = \"p\"\ncode = [7, 4]\nplan = \"auto\"\n");
    for node in 0..12 {
        writeln!(text, "[[node]]\nname = \"n{node}\"\nkind = \"memory\"\nlanes = 1").unwrap();
    }
    ripstop_assembly::config::parse(&text, []).unwrap().pools.remove(0)
}

fn chosen(
    measured: &Measurement,
    selection: ReadSelection,
    former: &Plan,
    gain: f64,
) -> Option<Plan> {
    let renewal = on_stage(&config(), selection, |stage| {
        let value = |plan: &Plan| stage.value(measured, plan);
        renew(&measured.problem, Some(&former.classes), gain, value)
    });
    match renewal.unwrap() {
        Renewal::Follow(plan) => Some(*plan),
        Renewal::Keep { .. } => None,
    }
}

fn first_plan() -> Plan {
    exactly(&measured(1.0).problem, None).unwrap()
}

#[test]
fn a_plan_that_is_as_good_as_any_is_kept_and_one_for_little_else_too() {
    let plan = first_plan();
    for selection in [ReadSelection::Probabilistic, ReadSelection::LeastWorkPlanned] {
        assert!(chosen(&measured(1.0), selection, &plan, 0.1).is_none(), "{selection:?}");
        assert!(chosen(&measured(1.05), selection, &plan, 0.1).is_none(), "{selection:?}");
    }
}

#[test]
fn where_reads_keep_off_a_slow_node_by_themselves_nothing_is_moved_for_it() {
    let plan = first_plan();
    let slowed = measured(10.0);
    let new = chosen(&slowed, ReadSelection::LeastWorkPlanned, &plan, 0.1);
    assert!(new.is_none_or(|plan| plan.moves.is_empty()));
}

#[test]
fn where_luck_leads_reads_a_slow_node_is_avoided_at_once_and_emptied_where_that_pays() {
    let plan = first_plan();
    let slowed = measured(10.0);
    let former = Plan::new(&slowed.problem, plan.classes.clone(), 0.0);
    assert!(former.latency.is_infinite(), "the slow node is asked too often");
    let led = chosen(&slowed, ReadSelection::Probabilistic, &plan, 0.9).expect("it is much better");
    assert!(led.moves.is_empty() && led.latency.is_finite(), "{}", led.latency);
    let moved =
        chosen(&slowed, ReadSelection::Probabilistic, &plan, 0.02).expect("it is much better");
    let best = exactly(&slowed.problem, None).unwrap();
    assert!(moved.latency < 1.1 * best.latency, "{} {}", moved.latency, best.latency);
}

#[test]
fn a_plan_with_a_node_that_is_down_is_left_whatever_is_gained() {
    let plan = first_plan();
    let mut without = measured(1.0);
    without.problem.nodes[3].state = State::Down;
    let new = chosen(&without, ReadSelection::LeastWorkPlanned, &plan, 0.9).expect("it must");
    assert!(new.classes[0].iter().all(|group| !group.nodes.contains(&3)));
    // A stripe that had a fragment there loses one of seven.
    let held = plan.classes[0].iter().filter(|group| group.nodes.contains(&3));
    let most = held.map(|group| group.files).sum::<u64>() as f64 / (FILES as f64 * 7.0);
    assert!(new.moved_part() <= 1.2 * most, "{} {most}", new.moved_part());
}
