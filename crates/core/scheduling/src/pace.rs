use crate::NodeIndex;
use alloc::{vec, vec::Vec};
use core::time::Duration;
use ripstop_model::Timestamp;

/// A node is slow if it ends less than this share of the tasks that its peers end in as much lane
/// time.
const SLOW: f64 = 0.25;
/// Tasks that its peers would have ended from which on a node can be found slow.
const EVIDENCE: f64 = 8.0;
/// Tasks that its peers would have ended in the lane time since a node's last one did, from which
/// on what it was like before says nothing: by luck this happens to one task in ten million.
const TURN: f64 = 16.0;
/// How many of those one task can stand for: a straggler alone says little.
const TURN_TASK_MAX: f64 = 2.0;
/// Tasks that ended from which on their time is taken for a node's.
const ENDED_MIN: f64 = 2.0;
/// Time in which what was seen loses half of its weight.
const HALF_LIFE: Duration = Duration::from_secs(10);
/// Of two nodes nobody can say which is the slow one; of three one can.
const PEERS_MIN: usize = 3;
/// Tasks after which the peers' pace is looked at again.
const RENEW_EVERY: u32 = 32;

/// How fast nodes are, beside one another: tasks ended for each second of lane time.
///
/// Cancelled tasks count with the time they took. Where the first k of n suffice, a slow node's
/// tasks are cancelled when the others' have ended, so their durations look like everybody's; but
/// hardly any ends. Evidence fades, so that a node found slow is tried again; and where none ends
/// any more it is forgotten how many did before, so that a node that becomes slow is found within
/// the first tasks it keeps.
#[derive(Clone, Debug)]
pub struct Paces {
    nodes: Vec<Pace>,
    /// Tasks that ended per second of lane time at the median node; 0 while that is not known.
    median: f64,
    noted: u32,
    scratch: Vec<f64>,
}

#[derive(Clone, Copy, Debug)]
struct Pace {
    /// It and the lane time are sums that fade with time, not averages that fade with numbers, as
    /// the estimator's do: only their ratio says something, and their size how sure that is.
    ended: f64,
    lane_s: f64,
    /// Tasks that the median node ends in the lane time since one did here.
    overdue: f64,
    at: Timestamp,
    slow: bool,
}

impl Paces {
    /// Nothing is known of this many nodes.
    pub fn new(nodes: usize) -> Self {
        let none = Pace { ended: 0.0, lane_s: 0.0, overdue: 0.0, at: Timestamp::ZERO, slow: false };
        Self { nodes: vec![none; nodes], median: 0.0, noted: 0, scratch: Vec::new() }
    }

    /// A task was on a lane of a node for this long, and ended by itself or was cancelled.
    pub fn note(&mut self, now: Timestamp, node: NodeIndex, served: Duration, ended: bool) {
        if self.nodes.len() < PEERS_MIN {
            return;
        }
        let pace = &mut self.nodes[node.get()];
        pace.fade(now);
        pace.add(served.as_secs_f64(), ended, self.median);
        pace.judge(self.median);
        self.noted += 1;
        if self.noted >= RENEW_EVERY {
            self.noted = 0;
            self.renew(now);
        }
    }

    /// Whether a node is slower than its peers by far.
    pub fn is_slow(&self, node: NodeIndex) -> bool {
        self.nodes[node.get()].slow
    }

    /// How long a task keeps a lane of a node, as they do now, seconds; none while too few ended to
    /// tell it from the median node. Of a node that ends hardly any: how long at least.
    pub fn task_s(&self, node: NodeIndex) -> Option<f64> {
        let pace = &self.nodes[node.get()];
        let least = pace.lane_s / pace.ended.max(ENDED_MIN);
        (pace.ended >= ENDED_MIN || least > self.usual_s()).then_some(least)
    }

    /// How long a task keeps a lane of the median node, seconds; 1 while that is not known.
    pub fn usual_s(&self) -> f64 {
        if self.median > 0.0 { 1.0 / self.median } else { 1.0 }
    }

    fn renew(&mut self, now: Timestamp) {
        self.scratch.clear();
        for pace in &mut self.nodes {
            pace.fade(now);
            if pace.lane_s > 0.0 {
                self.scratch.push(pace.ended / pace.lane_s);
            }
        }
        if self.scratch.len() < PEERS_MIN {
            self.median = 0.0;
        } else {
            let middle = self.scratch.len() / 2;
            self.scratch.select_nth_unstable_by(middle, f64::total_cmp);
            self.median = self.scratch[middle];
        }
        let median = self.median;
        self.nodes.iter_mut().for_each(|pace| pace.judge(median));
    }
}

impl Pace {
    fn add(&mut self, lane_s: f64, ended: bool, median: f64) {
        self.lane_s += lane_s;
        if ended {
            self.ended += 1.0;
            self.overdue = 0.0;
            return;
        }
        self.overdue += (lane_s * median).min(TURN_TASK_MAX);
        if self.overdue >= TURN {
            (self.ended, self.overdue) = (0.0, 0.0);
        }
    }

    fn fade(&mut self, now: Timestamp) {
        let halves = now.since(self.at).as_secs_f64() / HALF_LIFE.as_secs_f64();
        // Linear within a half-life is near enough and needs no exponential.
        let mut left = 1.0;
        let whole = (halves as u32).min(64);
        for _ in 0..whole {
            left /= 2.0;
        }
        left *= 1.0 - (halves - f64::from(halves as u32)) / 2.0;
        self.ended *= left;
        self.lane_s *= left;
        self.at = now;
    }

    fn judge(&mut self, median: f64) {
        let expected = self.lane_s * median;
        self.slow = expected >= EVIDENCE && self.ended < SLOW * expected;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: [NodeIndex; 6] = {
        let mut nodes = [NodeIndex::new(0); 6];
        let mut index = 0;
        while index < 6 {
            nodes[index] = NodeIndex::new(index);
            index += 1;
        }
        nodes
    };

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn a_node_whose_tasks_are_always_cancelled_is_slow_until_the_evidence_fades() {
        let mut paces = Paces::new(6);
        let took = Duration::from_millis(40);
        for round in 0..100 {
            for node in N {
                paces.note(at(round * 10), node, took, node != N[2] && round % 3 > 0);
            }
        }
        assert!(N.iter().all(|&node| paces.is_slow(node) == (node == N[2])));
        for round in 0..10_000 {
            for node in [0, 1, 3, 4, 5] {
                paces.note(at(1000 + round * 10), N[node], took, true);
            }
        }
        assert!(!paces.is_slow(N[2]), "it is tried again");
    }

    #[test]
    fn a_node_that_stops_is_slow_with_the_first_tasks_it_keeps() {
        let mut paces = Paces::new(6);
        let took = Duration::from_millis(40);
        for round in 0..2000 {
            for node in N {
                paces.note(at(round * 10), node, took, true);
            }
        }
        assert!(N.iter().all(|&node| !paces.is_slow(node)));
        let given_up = Duration::from_secs(1);
        (0..7).for_each(|_| paces.note(at(21_000), N[2], given_up, false));
        paces.note(at(21_000), N[2], took, true);
        for kept in 1..=8 {
            assert!(!paces.is_slow(N[2]), "{kept}: it still ends some");
            paces.note(at(21_000), N[2], given_up, false);
        }
        assert!(paces.is_slow(N[2]));
        assert!(paces.task_s(N[2]).expect("known to be long") > 10.0 * paces.usual_s());
    }

    #[test]
    fn nodes_alike_are_never_slow_and_two_cannot_be_told_apart() {
        let (mut many, mut two) = (Paces::new(4), Paces::new(2));
        for round in 0..1000 {
            for node in 0..4 {
                let took = Duration::from_millis(20 + (round * 7 + node * 13) % 60);
                many.note(at(round * 10), N[node as usize], took, (round + node) % 3 > 0);
            }
            two.note(at(round * 10), N[0], Duration::from_millis(10), true);
            two.note(at(round * 10), N[1], Duration::from_secs(1), true);
        }
        assert!(N[..4].iter().all(|&node| !many.is_slow(node)));
        assert!(!two.is_slow(N[0]) && !two.is_slow(N[1]));
    }
}
