use super::*;
use crate::{Class, Service, StorageNode, StorageNodeState};
use alloc::vec;

/// Eight nodes of one site each under (6,4), one of them this many times slower than it was.
fn problem(slow: f64) -> Problem {
    let node = |at: u16| StorageNode {
        service: Service::from_mean_sd(if at == 0 { 0.1 * slow } else { 0.1 }, 0.03, None).unwrap(),
        price_per_chunk: 0.0,
        price_per_byte: 0.0,
        site: at,
        vendor: at,
        capacity_bytes: u64::MAX,
        state: StorageNodeState::Up,
    };
    let class = Class {
        rate: 8.0,
        files: 100,
        k: 4,
        chunk_bytes: 1000,
        survive_nodes: 2,
        survive_sites: 0,
        spread: false,
    };
    Problem {
        nodes: (0..8).map(node).collect(),
        classes: vec![class],
        seconds_per_money: 0.0,
        seconds_per_moved_byte: 0.0,
    }
}

/// As slow as the share of requests that the slow node serves.
fn asked(plan: &Plan) -> f64 {
    1.0 + 10.0 * plan.loads[0]
}

fn first() -> Vec<Vec<Group>> {
    exactly(&problem(1.0), None).unwrap().classes
}

#[test]
fn without_a_former_plan_the_planners_is_followed_and_nothing_is_rehearsed() {
    let never = |_: &Plan| unreachable!("there is nothing to compare with");
    let planned = exactly(&problem(1.0), None).unwrap();
    assert_eq!(renew(&problem(1.0), None, 0.1, never), Ok(Renewal::Follow(Box::new(planned))));
}

#[test]
fn what_no_rehearsal_finds_better_is_kept() {
    let kept = renew(&problem(3.0), Some(&first()), 0.1, |_| 1.0).unwrap();
    assert_eq!(kept, Renewal::Keep { saved: 0.0 });
}

#[test]
fn a_slow_node_is_left_as_far_as_that_gains_enough() {
    let slowed = problem(12.0);
    let follow = |gain| match renew(&slowed, Some(&first()), gain, asked).unwrap() {
        Renewal::Follow(plan) => *plan,
        Renewal::Keep { saved } => panic!("kept, although {saved} could be saved"),
    };
    let before = asked(&Plan::new(&slowed, first(), 0.0));
    let led = follow(0.97);
    assert!(led.moves.is_empty() && asked(&led) < 0.9 * before, "reads are led elsewhere");
    let moved = follow(0.001);
    assert!(asked(&moved) <= asked(&led) + 1e-9, "{} {}", asked(&moved), asked(&led));
}

#[test]
fn a_rehearsal_that_is_better_by_enough_moves_stripes_and_by_less_does_not() {
    let slowed = problem(12.0);
    let here = |plan: &Plan| !plan.moves.is_empty();
    let moves = |worth: f64| {
        let value = |plan: &Plan| if here(plan) { 1.0 - worth } else { 1.0 };
        match renew(&slowed, Some(&first()), 0.1, value).unwrap() {
            Renewal::Follow(plan) => here(&plan),
            Renewal::Keep { .. } => false,
        }
    };
    assert!(moves(0.5) && !moves(0.05));
}

#[test]
fn a_plan_with_a_node_that_is_down_is_left_whatever_a_rehearsal_says() {
    let mut without = problem(1.0);
    without.nodes[3].state = StorageNodeState::Down;
    let dear_if_moved = |plan: &Plan| if plan.moves.is_empty() { 0.1 } else { 9.0 };
    let Renewal::Follow(plan) = renew(&without, Some(&first()), 0.9, dear_if_moved).unwrap() else {
        panic!("it cannot be kept")
    };
    assert!(plan.classes[0].iter().all(|group| !group.nodes.contains(&3)));
    assert!(plan.moved_part() > 0.0 && plan.moved_part() < 0.5);
}
