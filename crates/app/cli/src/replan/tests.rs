use super::*;
use ripstop_placement::solve;

const SECOND: Duration = Duration::from_secs(1);

/// Twelve nodes under (7,4) at 60 %, one of them so many times slower than the others.
fn problem(slow: f64) -> Problem {
    let node = |at: u16| {
        let factor = if at == 0 { slow } else { 1.0 + f64::from(at) / 20.0 };
        let service = Service::from_mean_sd(0.1 * factor, 0.03 * factor, None).unwrap();
        Node {
            service,
            price_per_chunk: 0.0,
            price_per_byte: 0.0,
            site: at,
            vendor: at,
            capacity_bytes: u64::MAX,
            state: placement::NodeState::Up,
        }
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
    Problem {
        nodes: (0..12).map(node).collect(),
        classes: vec![class],
        seconds_per_money: 0.0,
        seconds_per_moved_byte: 0.0,
    }
}

fn found(better: Better) -> Option<Plan> {
    match better {
        Better::Found(plan) => Some(*plan),
        Better::Kept { .. } => None,
    }
}

#[test]
fn a_plan_that_is_as_good_as_any_is_kept_and_one_for_little_else_too() {
    let plan = plan::exactly(&problem(1.0), None).unwrap();
    assert!(found(better(&problem(1.0), &plan.classes, 0.1).unwrap()).is_none());
    assert!(found(better(&problem(1.05), &plan.classes, 0.1).unwrap()).is_none());
}

#[test]
fn for_a_node_ten_times_slower_few_fragments_move() {
    let plan = plan::exactly(&problem(1.0), None).unwrap();
    let slowed = problem(10.0);
    let new = found(better(&slowed, &plan.classes, 0.1).unwrap()).expect("it is much better");
    let best = solve(&slowed, None).unwrap();
    assert!(new.latency < 1.1 * best.latency, "{} {}", new.latency, best.latency);
    // A stripe that had a fragment there loses one of seven; no other is touched.
    let held: u64 = plan.classes[0].iter().filter(|g| g.nodes.contains(&0)).map(|g| g.files).sum();
    let most = held as f64 / (FILES as f64 * 7.0);
    assert!(moved_part(&slowed, &new) <= most + 1e-9, "{} {most}", moved_part(&slowed, &new));
}

#[test]
fn reads_are_led_elsewhere_where_moving_would_not_pay() {
    let plan = plan::exactly(&problem(1.0), None).unwrap();
    let slowed = problem(10.0);
    let former = Plan::new(&slowed, plan.classes.clone(), 0.0);
    assert!(former.latency.is_infinite(), "the slow node is asked too often");
    let new = found(better(&slowed, &plan.classes, 0.9).unwrap()).expect("it is much better");
    assert!(new.moves.is_empty() && new.latency.is_finite(), "{}", new.latency);
}

#[test]
fn a_plan_with_a_node_that_is_down_is_left_whatever_is_gained() {
    let plan = plan::exactly(&problem(1.0), None).unwrap();
    let mut without = problem(1.0);
    without.nodes[3].state = placement::NodeState::Down;
    let new = found(better(&without, &plan.classes, 0.9).unwrap()).expect("it must");
    assert!(new.classes[0].iter().all(|group| !group.nodes.contains(&3)));
}

#[test]
fn a_node_that_is_away_for_a_moment_changes_nothing() {
    let up = |there| BTreeMap::from([(NodeId(1), true), (NodeId(2), there)]);
    let mut attendance = Attendance::default();
    let mut look = |there| attendance.look(up(there), SECOND, 3 * SECOND);
    assert!(!look(true));
    assert!([false, false, true, false, true].map(&mut look).iter().all(|changed| !changed));
    assert_eq!([false; 6].map(&mut look), [false, false, false, true, false, false]);
    assert_eq!([true; 5].map(&mut look), [false, false, false, true, false]);
}
