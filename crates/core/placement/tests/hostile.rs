//! Odd problems: an answer or an error, never a panic, and every promise kept.

mod instance;

use instance::{check, random};
use ripstop_delay::Dice;
use ripstop_placement::{PlanError, Problem, Service, StorageNodeState, solve};

fn odd(dice: &mut Dice) -> Problem {
    let m = 1 + dice.below(9) as usize;
    let count = dice.below(5) as usize;
    let files: Vec<u64> =
        (0..count).map(|_| [0, 1, 2, 50, 1 << 40][dice.below(5) as usize]).collect();
    let (sites, load) = (1 + dice.below(4), 1.1 * dice.uniform());
    let mut problem = random(dice, m, sites, &files, load);
    for node in &mut problem.nodes {
        match dice.below(8) {
            0 => node.service = Service::from_mean_sd(1e-3, 0.0, None).expect("constant"),
            1 => node.service = Service::new(1.0, 50.0, 1e6).expect("heavy tail"),
            2 => node.capacity_bytes = dice.below(100_000),
            3 => node.price_per_chunk = 0.0,
            4 => node.price_per_byte = 1e6,
            5 => {
                node.state =
                    [StorageNodeState::Down, StorageNodeState::Fixed][dice.below(2) as usize];
            }
            _ => {}
        }
    }
    for class in &mut problem.classes {
        match dice.below(8) {
            0 => class.rate = 0.0,
            1 => class.rate *= 1e-9,
            2 => class.k = 1,
            3 => class.k = m as u32,
            4 => class.survive_nodes = dice.below(3) as u32,
            5 => class.survive_sites = dice.below(3) as u32,
            6 => class.spread = true,
            _ => class.chunk_bytes = 0,
        }
    }
    problem.seconds_per_money *= [0.0, 1.0, 1e9][dice.below(3) as usize];
    problem
}

fn run(seeds: core::ops::Range<u64>) -> usize {
    let mut solved = 0;
    for seed in seeds {
        let mut dice = Dice::new(seed);
        let problem = odd(&mut dice);
        let Ok(plan) = solve(&problem, None) else { continue };
        check(&problem, &plan);
        assert!(plan.latency.is_finite() && plan.certificate.lower_bound.is_finite(), "{seed}");
        let again = solve(&problem, Some(&plan));
        match again {
            Ok(again) => check(&problem, &again),
            Err(error) => assert!(
                problem.nodes.iter().any(|n| n.state == StorageNodeState::Fixed),
                "{seed}: {error}"
            ),
        }
        solved += 1;
    }
    solved
}

#[test]
fn odd_problems_have_plans_or_errors() {
    assert!(run(0..150) > 20);
}

#[test]
#[ignore = "takes minutes in the dev profile; run with --release"]
fn many_odd_problems_have_plans_or_errors() {
    assert!(run(1000..6000) > 1000);
}

#[test]
fn a_problem_without_nodes_has_no_plan() {
    let mut problem = random(&mut Dice::new(1), 3, 1, &[5], 0.3);
    problem.nodes.clear();
    assert!(matches!(solve(&problem, None), Err(PlanError::MissingNodes { usable: 0, .. })));
}
