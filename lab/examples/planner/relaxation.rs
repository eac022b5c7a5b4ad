//! The relaxation by a general solver: for a given z, linear programs with tangents to each node's
//! latency until they hold; over z, a search.

use clarabel::{
    algebra::CscMatrix,
    solver::{
        DefaultSettings, DefaultSolver, IPSolver as _, NonnegativeConeT, SolverStatus, ZeroConeT,
    },
};
use ripstop_placement::{Problem, Sojourn};
use std::error::Error;

/// Nodes are not used beyond this, as in the planner.
const UTILISATION_MAX: f64 = 0.9995;
const ROUNDS_MAX: usize = 200;

/// The least objective over parts of files and z, within a part of it, from above. `near` is where
/// the search over z begins.
pub(crate) fn optimum(problem: &Problem, near: f64, tolerance: f64) -> Result<f64, Box<dyn Error>> {
    let mut program = Program::new(problem);
    let mut at = |z: f64| program.least(z, tolerance);
    let (mut low, mut high) = (near - 0.2 * near.abs() - 1e-3, near + 0.2 * near.abs() + 1e-3);
    let mut best = at(near)?;
    let ratio = 0.5 * (5f64.sqrt() - 1.0);
    let (mut a, mut b) = (high - ratio * (high - low), low + ratio * (high - low));
    let (mut at_a, mut at_b) = (at(a)?, at(b)?);
    for _ in 0..12 {
        if at_a < at_b {
            (high, b, at_b) = (b, a, at_a);
            a = high - ratio * (high - low);
            at_a = at(a)?;
        } else {
            (low, a, at_a) = (a, b, at_b);
            b = low + ratio * (high - low);
            at_b = at(b)?;
        }
        best = best.min(at_a).min(at_b);
    }
    Ok(best)
}

/// Variables: for each class and node the part of its files with a chunk there, then each node's
/// latency.
struct Program<'a> {
    problem: &'a Problem,
    /// Parts at which tangents are laid, for the next z as well.
    loads: Vec<Vec<f64>>,
}

impl<'a> Program<'a> {
    fn new(problem: &'a Problem) -> Self {
        let parts = [0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97];
        let rates = problem.nodes.iter().map(|node| node.service.rate());
        let loads = rates.map(|rate| parts.map(|part| part * rate).to_vec()).collect();
        Self { problem, loads }
    }

    /// The least for one z, from above.
    fn least(&mut self, z: f64, tolerance: f64) -> Result<f64, Box<dyn Error>> {
        let mut best = f64::INFINITY;
        for _ in 0..ROUNDS_MAX {
            let (value, parts) = self.solve(z)?;
            let loads = self.sums(&parts);
            let bends: f64 =
                loads.iter().enumerate().map(|(node, &load)| self.term(node, load, z)).sum();
            let true_value = z + bends + self.money(&parts);
            best = best.min(true_value);
            if best - value <= tolerance * best.abs() {
                return Ok(best);
            }
            for (known, load) in self.loads.iter_mut().zip(loads) {
                known.push(load);
            }
        }
        Err("the tangents do not come to an end".into())
    }

    fn sums(&self, parts: &[f64]) -> Vec<f64> {
        let m = self.problem.nodes.len();
        let load = |node: usize| {
            let classes = self.problem.classes.iter().enumerate();
            let load: f64 = classes.map(|(at, class)| class.rate * parts[at * m + node]).sum();
            load.clamp(0.0, UTILISATION_MAX * self.problem.nodes[node].service.rate())
        };
        (0..m).map(load).collect()
    }

    /// What a load adds to the mean latency.
    fn term(&self, node: usize, load: f64, z: f64) -> f64 {
        let sojourn =
            Sojourn::new(&self.problem.nodes[node].service, load).expect("below its limit");
        load / self.problem.rate() * sojourn.excess(z)
    }

    /// Its value and slope.
    fn tangent(&self, node: usize, load: f64, z: f64) -> (f64, f64) {
        let rate = self.problem.nodes[node].service.rate();
        let step = 1e-5 * (rate - load).min(load.max(1e-3 * rate));
        let (before, after) = ((load - step).max(0.0), load + step);
        let slope = (self.term(node, after, z) - self.term(node, before, z)) / (after - before);
        (self.term(node, load, z), slope)
    }

    fn price(&self, at: usize, m: usize) -> f64 {
        let (class, node) = (at / m, at % m);
        let files = self.problem.classes[class].files as f64;
        self.problem.seconds_per_money * files * self.problem.chunk_price(class, node)
    }

    fn money(&self, parts: &[f64]) -> f64 {
        let m = self.problem.nodes.len();
        parts.iter().enumerate().map(|(at, part)| part * self.price(at, m)).sum()
    }

    /// Value and parts of the linear program with the tangents that there are.
    fn solve(&self, z: f64) -> Result<(f64, Vec<f64>), Box<dyn Error>> {
        let (classes, m) = (&self.problem.classes, self.problem.nodes.len());
        let count = classes.len() * m;
        let mut cost: Vec<f64> = (0..count).map(|at| self.price(at, m)).collect();
        cost.resize(count + m, 1.0);
        let (mut entries, mut sides) = (Vec::new(), Vec::new());
        for (at, class) in classes.iter().enumerate() {
            entries.extend((0..m).map(|node| (sides.len(), at * m + node, 1.0)));
            sides.push(f64::from(class.k));
        }
        for at in 0..count {
            for sign in [1.0, -1.0] {
                entries.push((sides.len(), at, sign));
                sides.push(f64::max(sign, 0.0));
            }
        }
        for (node, loads) in self.loads.iter().enumerate() {
            for (at, class) in classes.iter().enumerate() {
                entries.push((sides.len(), at * m + node, class.rate));
            }
            sides.push(UTILISATION_MAX * self.problem.nodes[node].service.rate());
            for &load in loads {
                let (value, slope) = self.tangent(node, load, z);
                for (at, class) in classes.iter().enumerate() {
                    entries.push((sides.len(), at * m + node, slope * class.rate));
                }
                entries.push((sides.len(), count + node, -1.0));
                sides.push(slope * load - value);
            }
        }
        let matrix = sparse(sides.len(), count + m, entries);
        let cones = [ZeroConeT(classes.len()), NonnegativeConeT(sides.len() - classes.len())];
        let zero = CscMatrix::zeros((count + m, count + m));
        let settings = DefaultSettings {
            verbose: false,
            tol_gap_abs: 1e-9,
            tol_gap_rel: 1e-9,
            tol_feas: 1e-9,
            ..DefaultSettings::default()
        };
        let mut solver = DefaultSolver::new(&zero, &cost, &matrix, &sides, &cones, settings)?;
        solver.solve();
        let solution = &solver.solution;
        if !matches!(solution.status, SolverStatus::Solved | SolverStatus::AlmostSolved) {
            return Err(format!("Clarabel: {:?}", solution.status).into());
        }
        Ok((z + solution.obj_val, solution.x[..count].to_vec()))
    }
}

/// From (row, column, value).
fn sparse(rows: usize, columns: usize, mut entries: Vec<(usize, usize, f64)>) -> CscMatrix<f64> {
    entries.sort_unstable_by_key(|&(row, column, _)| (column, row));
    let mut starts = vec![0; columns + 1];
    for entry in &entries {
        starts[entry.1 + 1] += 1;
    }
    for column in 0..columns {
        starts[column + 1] += starts[column];
    }
    let (places, values) = entries.iter().map(|entry| (entry.0, entry.2)).unzip();
    CscMatrix::new(rows, columns, starts, places, values)
}
