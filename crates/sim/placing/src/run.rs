use crate::Law;
use ripstop_delay::Dice;
use ripstop_placement::{Plan, Problem, selection};

/// How a request's k nodes are chosen among those of its group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dispatch {
    /// By the plan's probabilities, whatever the queues: what the analysis has.
    Probabilistic,
    /// Those expected to be done first: outstanding chunks and this one times the node's mean
    /// service, over its lanes.
    LeastWork,
    /// The same, where a node with probability π counts as busier by 1 − π of its mean service.
    LeastWorkPlanned,
}

impl Dispatch {
    /// All.
    pub const ALL: [Self; 3] = [Self::Probabilistic, Self::LeastWork, Self::LeastWorkPlanned];

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Probabilistic => "probabilistic",
            Self::LeastWork => "least work",
            Self::LeastWorkPlanned => "least work, planned",
        }
    }
}

/// Requests to the files of a plan.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The nodes and classes.
    pub problem: &'a Problem,
    /// Where chunks are.
    pub plan: &'a Plan,
    /// Who serves.
    pub dispatch: Dispatch,
}

/// This part of the requests comes first and is not counted.
const WARM_UP: f64 = 0.1;

impl Run<'_> {
    /// Latencies of about this many requests by class, in seconds and in the order of arrival.
    /// Equal seeds give equal arrivals, whatever the plan.
    pub fn play(&self, requests: usize, seed: u64) -> Vec<Vec<f64>> {
        let mut clock = Dice::new(seed);
        let mut luck = Dice::new(seed ^ 0x5eed_0002);
        let mut service = Dice::new(seed ^ 0x5eed_0003);
        let lots = self.lots();
        let total = lots.last().map_or(0.0, |lot| lot.0);
        let mut nodes: Vec<Queue> = self.problem.nodes.iter().map(Queue::new).collect();
        let mut latencies = vec![Vec::new(); self.problem.classes.len()];
        let warm = (requests as f64 * WARM_UP) as usize;
        let (mut now, mut work) = (0.0, Vec::new());
        for request in 0..requests + warm {
            now += clock.exponential() / total;
            let place = clock.uniform() * total;
            let at = lots.partition_point(|lot| lot.0 <= place).min(lots.len() - 1);
            let (_, class, group) = lots[at];
            let group = &self.plan.classes[class][group];
            let k = self.problem.classes[class].k as usize;
            let draw = luck.next_u64();
            let chosen = match self.dispatch {
                Dispatch::Probabilistic => selection::systematic(&group.probabilities, draw),
                Dispatch::LeastWork | Dispatch::LeastWorkPlanned => {
                    let planned = self.dispatch == Dispatch::LeastWorkPlanned;
                    work.clear();
                    for (&node, p) in group.nodes.iter().zip(&group.probabilities) {
                        let queue = &mut nodes[usize::from(node)];
                        let extra = if planned { (1.0 - p) * queue.mean } else { 0.0 };
                        work.push(queue.expected(now) + extra);
                    }
                    selection::least_work(&work, k, draw)
                }
            };
            let mut end = now;
            for &position in chosen.positions() {
                let node = usize::from(group.nodes[usize::from(position)]);
                end = f64::max(end, nodes[node].serve(now, &mut service));
            }
            if request >= warm {
                latencies[class].push(end - now);
            }
        }
        latencies
    }

    /// (rates added up, class, group).
    fn lots(&self) -> Vec<(f64, usize, usize)> {
        let (mut lots, mut reached) = (Vec::new(), 0.0);
        for (at, (class, groups)) in self.problem.classes.iter().zip(&self.plan.classes).enumerate()
        {
            for (number, group) in groups.iter().enumerate() {
                reached += class.rate * group.files as f64 / class.files as f64;
                lots.push((reached, at, number));
            }
        }
        lots
    }
}

/// One node: chunks in the order of their arrival, on the lane that is free first.
struct Queue {
    law: Law,
    mean: f64,
    free_at: Vec<f64>,
    /// When the outstanding chunks end.
    ends: Vec<f64>,
}

impl Queue {
    fn new(node: &ripstop_placement::StorageNode) -> Self {
        let lanes = node.service.lanes() as usize;
        let (law, mean) = (Law::new(&node.service), node.service.mean());
        Self { law, mean, free_at: vec![0.0; lanes], ends: Vec::new() }
    }

    fn serve(&mut self, now: f64, dice: &mut Dice) -> f64 {
        let mut lane = 0;
        for at in 1..self.free_at.len() {
            if self.free_at[at] < self.free_at[lane] {
                lane = at;
            }
        }
        let end = self.free_at[lane].max(now) + self.law.draw(dice);
        self.free_at[lane] = end;
        if self.ends.len() > 2 * self.free_at.len() {
            self.ends.retain(|end| *end > now);
        }
        self.ends.push(end);
        end
    }

    fn expected(&mut self, now: f64) -> f64 {
        self.ends.retain(|end| *end > now);
        (self.ends.len() + 1) as f64 * self.mean / self.free_at.len() as f64
    }
}
