//! Plans that leave one of the three decisions out: the comparisons of Fig. 9.

use crate::{Group, Plan, Problem, domain::usable, published::project};
use alloc::vec::Vec;

/// The plan's placements, but every file's requests go to its nodes in proportion to what they can
/// serve ("oblivious load balancing").
pub fn oblivious(problem: &Problem, plan: &Plan) -> Plan {
    with_groups(problem, plan, |class, group| {
        let rate = |&node: &u16| problem.nodes[usize::from(node)].service.rate();
        let k = f64::from(problem.classes[class].k);
        group.probabilities = in_proportion(&group.nodes.iter().map(rate).collect::<Vec<_>>(), k);
    })
}

/// The plan's number of chunks of every group, at random nodes, which take turns ("random
/// placement"). `random` gives 64 random bits with every call.
pub fn random_placement(problem: &Problem, plan: &Plan, mut random: impl FnMut() -> u64) -> Plan {
    let up = usable(problem);
    let nodes: Vec<u16> = (0..up.len()).filter(|&node| up[node]).map(|node| node as u16).collect();
    let mut classes = Vec::new();
    for (groups, class) in plan.classes.iter().zip(&problem.classes) {
        let mut drawn = Vec::new();
        // A draw for every file, or for every part of many.
        let draws = groups.iter().map(|group| group.files).sum::<u64>().min(DRAWS_MAX);
        for draw in 0..draws {
            let files: u64 = groups.iter().map(|group| group.files).sum();
            let part = files * (draw + 1) / draws - files * draw / draws;
            let n = groups[(draw as usize) % groups.len()].nodes.len();
            let mut pool = nodes.clone();
            for at in 0..n {
                let left = (pool.len() - at) as u64;
                let other = at + ((u128::from(random()) * u128::from(left)) >> 64) as usize;
                pool.swap(at, other);
            }
            pool.truncate(n);
            pool.sort_unstable();
            drawn.push(turns(pool, part, class.k));
        }
        classes.push(drawn);
    }
    Plan::new(problem, classes, plan.certificate.lower_bound)
}

/// How many different placements a class gets at most in [`random_placement`].
const DRAWS_MAX: u64 = 1000;

/// A chunk of every file at every node, which take turns ("maximum code").
pub fn maximum_code(problem: &Problem, plan: &Plan) -> Plan {
    let up = usable(problem);
    let nodes: Vec<u16> = (0..up.len()).filter(|&node| up[node]).map(|node| node as u16).collect();
    let classes = problem.classes.iter().filter(|class| class.files > 0);
    let groups = classes.map(|class| [turns(nodes.clone(), class.files, class.k)].into()).collect();
    Plan::new(problem, groups, plan.certificate.lower_bound)
}

fn turns(nodes: Vec<u16>, files: u64, k: u32) -> Group {
    let probabilities = nodes.iter().map(|_| f64::from(k) / nodes.len() as f64).collect();
    Group { files, nodes, probabilities }
}

fn with_groups(problem: &Problem, plan: &Plan, mut change: impl FnMut(usize, &mut Group)) -> Plan {
    let mut classes = plan.classes.clone();
    for (at, groups) in classes.iter_mut().enumerate() {
        for group in groups {
            change(at, group);
        }
    }
    Plan::new(problem, classes, plan.certificate.lower_bound)
}

/// Probabilities that sum to k, as nearly in proportion to the weights as none is above 1.
fn in_proportion(weights: &[f64], k: f64) -> Vec<f64> {
    let mut full = alloc::vec![false; weights.len()];
    loop {
        let taken = full.iter().filter(|&&full| full).count() as f64;
        let rest: f64 = weights.iter().zip(&full).filter(|&(_, &full)| !full).map(|(w, _)| w).sum();
        let share: Vec<f64> = weights
            .iter()
            .zip(&full)
            .map(|(w, &full)| if full { 1.0 } else { (k - taken) * w / rest })
            .collect();
        if share.iter().all(|&p| p <= 1.0 + 1e-12) {
            let mut share = share;
            project(&mut share, k);
            return share;
        }
        full.iter_mut().zip(&share).for_each(|(full, &p)| *full |= p >= 1.0);
    }
}
