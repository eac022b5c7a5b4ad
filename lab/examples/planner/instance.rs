//! Problems to plan.

use ripstop_delay::Dice;
use ripstop_placement::{Class, Problem, Service, StorageNode, StorageNodeState};

/// The problem with nodes of different speed and price.
pub(crate) fn uneven(mut problem: Problem, seed: u64) -> Problem {
    let mut dice = Dice::new(seed);
    for node in &mut problem.nodes {
        let slow = 0.7 + 0.6 * dice.uniform();
        node.service = node.service.resized(0.0, slow).expect("positive");
        node.price_per_byte *= 0.5 + dice.uniform();
    }
    problem
}

/// Every file a class of its own, with a rate of its own.
pub(crate) fn distinct(problem: &Problem, files: usize, seed: u64) -> Problem {
    let mut dice = Dice::new(seed);
    let kinds = problem.classes.len();
    let weights: Vec<f64> = (0..files).map(|_| dice.exponential()).collect();
    let mut totals = vec![0.0; kinds];
    weights.iter().enumerate().for_each(|(at, weight)| totals[at % kinds] += weight);
    let file = |at: usize| {
        let class = &problem.classes[at % kinds];
        Class { rate: class.rate * weights[at] / totals[at % kinds], files: 1, ..class.clone() }
    };
    Problem { classes: (0..files).map(file).collect(), ..problem.clone() }
}

/// A million files in 20 classes at 100 nodes of three sites, any two nodes and any one site to
/// survive.
pub(crate) fn large(seed: u64) -> Problem {
    let mut dice = Dice::new(seed);
    let mut node = |at: u16| StorageNode {
        service: Service::from_mean_sd(0.05 + 0.1 * dice.uniform(), 0.03, None).expect("positive"),
        price_per_chunk: 0.0,
        price_per_byte: 1e-9 * (0.5 + dice.uniform()),
        site: at % 3,
        vendor: 0,
        capacity_bytes: u64::MAX,
        state: StorageNodeState::Up,
    };
    let nodes = (0..100).map(&mut node).collect();
    let class = |_| {
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
    };
    let classes = (0..20).map(class).collect();
    Problem { nodes, classes, seconds_per_money: 1e-5, seconds_per_moved_byte: 0.0 }
}

/// A [`large`] one whose nodes take little more than what has to be stored.
pub(crate) fn full(seed: u64) -> Problem {
    let mut problem = large(seed);
    let bytes = |class: &Class| class.files * class.chunk_bytes * 12;
    let bytes: u64 = problem.classes.iter().map(bytes).sum();
    problem.nodes.iter_mut().for_each(|node| node.capacity_bytes = bytes / 70);
    problem
}

/// Up to 12 nodes and 8 classes, without redundancy: what the relaxation of the paper's problem
/// knows.
pub(crate) fn random(seed: u64) -> Problem {
    let mut dice = Dice::new(1000 + seed);
    let m = 4 + dice.below(9);
    let mut node = |at: u16| {
        let mean = 0.5 + dice.uniform();
        let sd = mean * (0.2 + 0.8 * dice.uniform());
        let service = Service::from_mean_sd(mean, sd, None).expect("positive");
        StorageNode {
            service: service.with_lanes(1 + dice.below(4) as u16),
            price_per_chunk: dice.uniform(),
            price_per_byte: 0.0,
            site: at,
            vendor: at,
            capacity_bytes: u64::MAX,
            state: StorageNodeState::Up,
        }
    };
    let nodes: Vec<StorageNode> = (0..m as u16).map(&mut node).collect();
    let mut class = || Class {
        rate: dice.exponential(),
        files: 200 + dice.below(2000),
        k: 2 + dice.below(m / 2) as u32,
        chunk_bytes: 1,
        survive_nodes: 0,
        survive_sites: 0,
        spread: false,
    };
    let mut classes: Vec<Class> = (0..4).map(|_| class()).collect();
    classes.extend((0..seed % 5).map(|_| class()));
    let able: f64 = nodes.iter().map(|node| node.service.rate()).sum();
    let wanted: f64 = classes.iter().map(|class| class.rate * f64::from(class.k)).sum();
    let scale = (0.3 + 0.5 * dice.uniform()) * able / wanted;
    for class in &mut classes {
        class.rate *= scale;
    }
    let files: f64 = classes.iter().map(|class| class.files as f64).sum();
    let seconds_per_money = libm::pow(10.0, 3.0 * dice.uniform() - 2.0) / files;
    Problem { nodes, classes, seconds_per_money, seconds_per_moved_byte: 0.0 }
}
