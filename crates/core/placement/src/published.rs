//! The algorithm of the paper (Figs. 3 and 4), for comparison.
//!
//! The cost 1(π > 0) is replaced by its linearisation (21) at the last point, the convex rest is
//! solved by projected gradient steps, z is set again, and so on. Two misprints are corrected: the
//! gradient step is minus, and the inner loop goes on while B(t − 1) − B(t) > ε. The files of a
//! class start alike and so stay alike, so that one row of π stands for all of them, with their
//! number as its weight. It knows no redundancy, sites or capacities beyond what π > 0 gives.

use crate::{Group, Plan, PlanError, Problem, curve::Curve, curve::best_z, domain::usable};
use alloc::{vec, vec::Vec};
use libm::log;

/// Knobs of the published algorithm.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Published {
    /// The β of (21): the larger, the closer the logarithm is to the step.
    pub beta: f64,
    /// The ε of the loops, as a part of the objective.
    pub epsilon: f64,
    /// Linearisations at most.
    pub rounds_max: usize,
    /// Gradient steps at most for each.
    pub steps_max: usize,
    /// Probabilities below this are taken as 0 in the end.
    pub cut: f64,
}

impl Default for Published {
    fn default() -> Self {
        Self { beta: 1e4, epsilon: 1e-7, rounds_max: 100, steps_max: 2000, cut: 1e-4 }
    }
}

/// The nearest point x of {Σ x = total, 0 ≤ x ≤ 1} to `point`, in place: clip(y − τ, 0, 1) with the
/// τ that bisection finds. The total must be at most the number of entries.
pub fn project(point: &mut [f64], total: f64) {
    let clip = |y: f64| y.clamp(0.0, 1.0);
    let sum = |tau: f64| point.iter().map(|&y| clip(y - tau)).sum::<f64>();
    let (mut low, mut high) =
        point.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &y| {
            (low.min(y - 1.0), high.max(y))
        });
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if sum(middle) > total {
            low = middle;
        } else {
            high = middle;
        }
    }
    let tau = 0.5 * (low + high);
    for y in point {
        *y = clip(*y - tau);
    }
}

impl Published {
    /// The plan, whose lower bound is unknown (0), and the objective after each linearisation with
    /// the logarithm (24) for the cost.
    pub fn solve(&self, problem: &Problem) -> Result<(Plan, Vec<f64>), PlanError> {
        problem.check()?;
        let mut descent = Descent::new(self, problem)?;
        let mut history = vec![descent.modified()];
        for _ in 0..self.rounds_max {
            descent.linearise();
            descent.descend();
            descent.z = best_z(&descent.curves, &descent.loads(&descent.rows));
            let now = descent.modified();
            let before = history[history.len() - 1];
            history.push(now);
            if before - now <= self.epsilon * now.abs() {
                break;
            }
        }
        Ok((Plan::new(problem, descent.groups(), 0.0), history))
    }
}

struct Descent<'a> {
    knobs: &'a Published,
    problem: &'a Problem,
    curves: Vec<Curve>,
    /// Nodes that take chunks.
    nodes: Vec<usize>,
    /// π of each class at each of those nodes.
    rows: Vec<Vec<f64>>,
    /// The linearised cost of π, seconds.
    prices: Vec<Vec<f64>>,
    z: f64,
    stride: f64,
}

impl<'a> Descent<'a> {
    fn new(knobs: &'a Published, problem: &'a Problem) -> Result<Self, PlanError> {
        let up = usable(problem);
        let nodes: Vec<usize> = (0..up.len()).filter(|&node| up[node]).collect();
        let total: f64 = nodes.iter().map(|&node| problem.nodes[node].service.rate()).sum();
        let row = |(at, class): (usize, &crate::Class)| {
            if nodes.len() < class.k as usize {
                let (needed, usable) = (class.k as usize, nodes.len());
                return Err(PlanError::MissingNodes { class: at, needed, usable });
            }
            // Load in proportion to what the nodes can serve is stable if anything is.
            let share =
                |&node: &usize| f64::from(class.k) * problem.nodes[node].service.rate() / total;
            let mut row: Vec<f64> = nodes.iter().map(share).collect();
            project(&mut row, f64::from(class.k));
            Ok(row)
        };
        let rows = problem.classes.iter().enumerate().map(row).collect::<Result<Vec<_>, _>>()?;
        let rate = problem.rate();
        let curves =
            problem.nodes.iter().map(|node| Curve::new(&node.service, rate)).collect::<Vec<_>>();
        let prices = rows.clone();
        let mut descent = Self { knobs, problem, curves, nodes, rows, prices, z: 0.0, stride: 1.0 };
        descent.z = best_z(&descent.curves, &descent.loads(&descent.rows));
        Ok(descent)
    }

    fn loads(&self, rows: &[Vec<f64>]) -> Vec<f64> {
        let mut loads = vec![0.0; self.curves.len()];
        for (row, class) in rows.iter().zip(&self.problem.classes) {
            for (p, &node) in row.iter().zip(&self.nodes) {
                loads[node] += class.rate * p;
            }
        }
        loads
    }

    /// Money for a chunk of every file of a class at a node, in seconds.
    fn price(&self, class: usize, node: usize) -> f64 {
        let files = self.problem.classes[class].files as f64;
        self.problem.seconds_per_money * files * self.problem.chunk_price(class, node)
    }

    fn latency(&self, rows: &[Vec<f64>]) -> f64 {
        let loads = self.loads(rows);
        let sum: f64 =
            self.curves.iter().zip(&loads).map(|(c, &load)| c.at(load, self.z).value).sum();
        if self.z == f64::NEG_INFINITY { sum } else { self.z + sum }
    }

    /// Latency and the cost (24).
    fn modified(&self) -> f64 {
        let beta = self.knobs.beta;
        let mut cost = 0.0;
        for (class, row) in self.rows.iter().enumerate() {
            for (p, &node) in row.iter().zip(&self.nodes) {
                cost += self.price(class, node) * log(beta * p + 1.0) / log(beta);
            }
        }
        self.latency(&self.rows) + cost
    }

    /// Equation (21) at the present point.
    fn linearise(&mut self) {
        let beta = self.knobs.beta;
        for class in 0..self.rows.len() {
            for (at, &node) in self.nodes.iter().enumerate() {
                let slope = 1.0 / ((self.rows[class][at] + 1.0 / beta) * log(beta));
                self.prices[class][at] = self.price(class, node) * slope;
            }
        }
    }

    fn linear(&self, rows: &[Vec<f64>]) -> f64 {
        let rows = rows.iter().zip(&self.prices);
        self.latency(rows.clone().map(|(row, _)| row.clone()).collect::<Vec<_>>().as_slice())
            + rows
                .map(|(row, price)| row.iter().zip(price).map(|(p, c)| p * c).sum::<f64>())
                .sum::<f64>()
    }

    /// The convex rest: projected gradient steps, whose length halves where they do not descend.
    fn descend(&mut self) {
        let mut value = self.linear(&self.rows);
        for _ in 0..self.knobs.steps_max {
            let loads = self.loads(&self.rows);
            let slopes: Vec<f64> =
                self.curves.iter().zip(&loads).map(|(c, &load)| c.at(load, self.z).slope).collect();
            let mut descended = false;
            for _ in 0..60 {
                let next = self.step(&slopes);
                let there = self.linear(&next);
                if there < value {
                    descended = value - there > self.knobs.epsilon * value.abs();
                    (self.rows, value) = (next, there);
                    self.stride *= 1.5;
                    break;
                }
                self.stride *= 0.5;
            }
            if !descended {
                return;
            }
        }
    }

    fn step(&self, slopes: &[f64]) -> Vec<Vec<f64>> {
        let row = |(class, row): (usize, &Vec<f64>)| {
            let rate = self.problem.classes[class].rate;
            let mut next: Vec<f64> = row
                .iter()
                .zip(&self.nodes)
                .zip(&self.prices[class])
                .map(|((p, &node), price)| p - self.stride * (rate * slopes[node] + price))
                .collect();
            project(&mut next, f64::from(self.problem.classes[class].k));
            next
        };
        self.rows.iter().enumerate().map(row).collect()
    }

    fn groups(&self) -> Vec<Vec<Group>> {
        let group = |(row, class): (&Vec<f64>, &crate::Class)| {
            let kept = row.iter().zip(&self.nodes).filter(|&(&p, _)| p > self.knobs.cut);
            let (mut probabilities, nodes): (Vec<f64>, Vec<u16>) =
                kept.map(|(&p, &node)| (p, node as u16)).unzip();
            project(&mut probabilities, f64::from(class.k));
            vec![Group { files: class.files, nodes, probabilities }]
        };
        self.rows.iter().zip(&self.problem.classes).map(group).collect()
    }
}
