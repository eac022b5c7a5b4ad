//! How long planning takes, and how close it comes.

use ripstop_delay::Dice;
use ripstop_placement::{Class, Node, NodeState, Problem, Published, Service, solve, testbed};
use std::time::Instant;

fn uneven(mut problem: Problem, seed: u64) -> Problem {
    let mut dice = Dice::new(seed);
    for node in &mut problem.nodes {
        let slow = 0.7 + 0.6 * dice.uniform();
        node.service = node.service.resized(0.0, slow).expect("positive");
        node.price_per_byte *= 0.5 + dice.uniform();
    }
    problem
}

fn distinct(mut problem: Problem, files: u64, seed: u64) -> Problem {
    let mut dice = Dice::new(seed);
    let classes = problem.classes.clone();
    let weights: Vec<f64> = (0..files).map(|_| dice.exponential()).collect();
    problem.classes = (0..files as usize)
        .map(|at| {
            let class = &classes[at % 4];
            let total: f64 = (at % 4..files as usize).step_by(4).map(|other| weights[other]).sum();
            Class { rate: class.rate * weights[at] / total, files: 1, ..class.clone() }
        })
        .collect();
    problem
}

fn large(seed: u64) -> Problem {
    let mut dice = Dice::new(seed);
    let nodes = (0..100)
        .map(|at| Node {
            service: Service::from_mean_sd(0.05 + 0.1 * dice.uniform(), 0.03, None)
                .expect("positive"),
            price_per_chunk: 0.0,
            price_per_byte: 1e-9 * (0.5 + dice.uniform()),
            site: at % 3,
            vendor: 0,
            capacity_bytes: u64::MAX,
            state: NodeState::Up,
        })
        .collect();
    let classes = (0..20)
        .map(|_| {
            let k = 4 + dice.below(5) as u32;
            Class {
                rate: 60.0 / f64::from(k) * dice.uniform(),
                files: 50_000,
                k,
                chunk_bytes: 1_000_000,
                survive_nodes: 2,
                survive_sites: 1,
                spread: false,
            }
        })
        .collect();
    Problem { nodes, classes, seconds_per_money: 1e-5, seconds_per_moved_byte: 0.0 }
}

/// Seconds, gap and a line about a plan.
fn plan(name: &str, problem: &Problem) -> (f64, f64, String) {
    let start = Instant::now();
    let plan = solve(problem, None).expect("there is room");
    let (seconds, gap) = (start.elapsed().as_secs_f64(), plan.certificate.gap());
    let (value, latency) = (plan.certificate.value, plan.latency);
    let groups: usize = plan.classes.iter().map(Vec::len).sum();
    let line = format!(
        "{name}: {seconds:.4} s, gap {gap:.1e}, value {value:.4}, latency {latency:.4}, {groups} groups"
    );
    (seconds, gap, line)
}

#[test]
#[ignore = "measures; run with --release --nocapture"]
fn planning_is_fast() {
    for theta in [0.5, 2.0, 20.0, 200.0] {
        let four = uneven(testbed::problem(1000, theta), 1);
        let thousand = distinct(four.clone(), 1000, 2);
        for (name, problem) in [("4 classes", four), ("1000 classes", thousand)] {
            let (seconds, gap, line) = plan(&format!("1000 files, {name}, θ {theta}"), &problem);
            println!("{line}");
            assert!(gap < 1e-3 && seconds < 0.2, "0.1 s on a quiet machine");
        }
    }
    println!("{}", plan("equal nodes, 4 classes", &testbed::problem(1000, 2.0)).2);
    println!("{}", plan("equal nodes", &distinct(testbed::problem(1000, 2.0), 1000, 2)).2);
    for seed in 3..6 {
        let (seconds, gap, line) = plan("a million files, 100 nodes, three sites", &large(seed));
        println!("{line}");
        assert!(gap < 1e-2 && seconds < 10.0);
    }
    let mut full = large(3);
    let bytes: u64 = full.classes.iter().map(|c| c.files * c.chunk_bytes * 12).sum();
    full.nodes.iter_mut().for_each(|node| node.capacity_bytes = bytes / 70);
    println!("{}", plan("the same, nodes nearly full", &full).2);
    let start = Instant::now();
    let paper = Published::default().solve(&uneven(testbed::problem(1000, 2.0), 1));
    let paper = paper.expect("twelve nodes").0;
    let (took, value) = (start.elapsed().as_secs_f64(), paper.certificate.value);
    println!("the paper's algorithm on 4 classes, θ 2: {took:.4} s, value {value:.4}");
}
