use crate::{Certificate, LatencyBound, Problem, Sojourn};
use alloc::{vec, vec::Vec};

/// Where every file's chunks go, and who serves them.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// The groups of each class's files, each with at least one file.
    pub classes: Vec<Vec<Group>>,
    /// Chunk requests per second at each node.
    pub loads: Vec<f64>,
    /// Bytes of chunks at each node.
    pub bytes: Vec<f64>,
    /// The bound on the mean latency of all requests, with one z for all: the objective's, seconds.
    pub latency: f64,
    /// That z, seconds; −∞ if every request needs one chunk only.
    pub z: f64,
    /// What storing all chunks costs.
    pub money: f64,
    /// Latency + θ·money, and what no plan can be below.
    pub certificate: Certificate,
    /// What is to be done to the previous plan; without one, nothing.
    pub moves: Vec<Move>,
}

/// Files of a class that have their chunks at the same nodes.
#[derive(Clone, PartialEq, Debug)]
pub struct Group {
    /// How many.
    pub files: u64,
    /// The nodes that hold a chunk of each, ascending.
    pub nodes: Vec<u16>,
    /// With which probability a request goes to each of the nodes; they sum to k.
    pub probabilities: Vec<f64>,
}

/// Chunks of some files that go to another node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Move {
    /// The class.
    pub class: usize,
    /// How many files, one chunk of each.
    pub files: u64,
    /// Where the chunks were; none if they are new.
    pub from: Option<u16>,
    /// Where they go; none if they are dropped.
    pub to: Option<u16>,
    /// How many bytes are written.
    pub bytes: u64,
}

impl Plan {
    /// The plan that given groups make, whose objective is known to be at least `lower_bound`.
    /// Latency is infinite if a node is overloaded.
    pub fn new(problem: &Problem, classes: Vec<Vec<Group>>, lower_bound: f64) -> Self {
        let mut loads = vec![0.0; problem.nodes.len()];
        let mut bytes = loads.clone();
        let mut money = 0.0;
        for (at, groups) in classes.iter().enumerate() {
            let class = &problem.classes[at];
            for group in groups {
                let files = group.files as f64;
                let rate = class.rate * files / class.files as f64;
                for (&node, p) in group.nodes.iter().zip(&group.probabilities) {
                    let node = usize::from(node);
                    loads[node] += rate * p;
                    bytes[node] += files * class.chunk_bytes as f64;
                    money += files * problem.chunk_price(at, node);
                }
            }
        }
        let (latency, z) = shared_bound(problem, &loads);
        let value = latency + problem.seconds_per_money * money;
        let certificate = Certificate { value, lower_bound };
        Self { classes, loads, bytes, latency, z, money, certificate, moves: Vec::new() }
    }

    /// The bound (5) on the mean latency of a class's requests with a z for each group of its own,
    /// seconds; infinite if a node is overloaded.
    pub fn class_latency(&self, problem: &Problem, class: usize) -> f64 {
        let bound = |group: &Group| {
            self.branches(problem, group)
                .map_or(f64::INFINITY, |branches| LatencyBound::new(&branches).seconds)
        };
        self.mean(class, bound)
    }

    /// A bound on the probability that a request of a class takes longer than `seconds`: see
    /// [`LatencyBound::tail`].
    pub fn class_tail(&self, problem: &Problem, class: usize, seconds: f64) -> f64 {
        let bound = |group: &Group| {
            self.branches(problem, group)
                .map_or(1.0, |branches| LatencyBound::tail(&branches, seconds))
        };
        self.mean(class, bound)
    }

    /// How many bytes the moves write.
    pub fn moved_bytes(&self) -> u64 {
        self.moves.iter().map(|change| change.bytes).sum()
    }

    /// Which part of all bytes the moves write.
    pub fn moved_part(&self) -> f64 {
        self.moved_bytes() as f64 / self.bytes.iter().sum::<f64>().max(1.0)
    }

    fn mean(&self, class: usize, of: impl Fn(&Group) -> f64) -> f64 {
        let files: u64 = self.classes[class].iter().map(|group| group.files).sum();
        self.classes[class].iter().map(|group| of(group) * group.files as f64 / files as f64).sum()
    }

    fn branches(&self, problem: &Problem, group: &Group) -> Option<Vec<(f64, Sojourn)>> {
        let nodes = group.nodes.iter().map(|&node| usize::from(node)).zip(&group.probabilities);
        let branch = |(node, &p): (usize, &f64)| {
            Some((p, Sojourn::new(&problem.nodes[node].service, self.loads[node])?))
        };
        nodes.filter(|&(_, &p)| p > 0.0).map(branch).collect()
    }
}

/// The latency of (13) at its best z, and that.
fn shared_bound(problem: &Problem, loads: &[f64]) -> (f64, f64) {
    let rate = problem.rate();
    let mut branches = Vec::new();
    for (node, &load) in problem.nodes.iter().zip(loads).filter(|&(_, &load)| load > 0.0) {
        match Sojourn::new(&node.service, load) {
            Some(sojourn) => branches.push((load / rate, sojourn)),
            None => return (f64::INFINITY, f64::INFINITY),
        }
    }
    if branches.is_empty() {
        return (0.0, f64::NEG_INFINITY);
    }
    let bound = LatencyBound::new(&branches);
    (bound.seconds, bound.z)
}
