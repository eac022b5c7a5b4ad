//! Plans whose files have exactly the chunks that their class must have.
//!
//! The planner gives files at least that many chunks, and more where that pays; the stripes of a
//! pool have a code. A price on every chunk alike changes nothing among plans with as few chunks as
//! there must be, and makes others dear. What no plan can be below is then that price of all the
//! chunks less.

use crate::{Plan, PlanError, Problem, solve};

/// The price is made ten times as high at most this often.
const RAISES_MAX: usize = 6;

/// The plan with as many chunks of every file as its class must have, as far as sites admit.
pub fn exactly(problem: &Problem, previous: Option<&Plan>) -> Result<Plan, PlanError> {
    let free = solve(problem, previous)?;
    if is_exact(problem, &free) {
        return Ok(free);
    }
    let files: f64 = problem.classes.iter().map(|class| class.files as f64).sum();
    let chunks: f64 = problem
        .classes
        .iter()
        .map(|class| class.files as f64 * (f64::from(class.k) + f64::from(class.survive_nodes)))
        .sum();
    // As much as a file's part of the latency.
    let mut seconds = free.latency.min(1e9) / files;
    let mut priced = free.clone();
    for _ in 0..RAISES_MAX {
        let dear = with_price(problem, seconds);
        priced = solve(&dear, previous)?;
        if is_exact(problem, &priced) {
            break;
        }
        seconds *= 10.0;
    }
    let bound = priced.certificate.lower_bound - seconds * chunks;
    let mut plan = Plan::new(problem, priced.classes, bound.max(free.certificate.lower_bound));
    plan.moves = priced.moves;
    Ok(plan)
}

/// Whether no file has more chunks than its class says.
pub fn is_exact(problem: &Problem, plan: &Plan) -> bool {
    plan.classes.iter().zip(&problem.classes).all(|(groups, class)| {
        groups
            .iter()
            .all(|group| group.nodes.len() == class.k as usize + class.survive_nodes as usize)
    })
}

/// The problem where every chunk costs this many seconds more.
fn with_price(problem: &Problem, seconds: f64) -> Problem {
    let mut dear = problem.clone();
    if dear.seconds_per_money <= 0.0 {
        dear.seconds_per_money = 1.0;
        for node in &mut dear.nodes {
            (node.price_per_chunk, node.price_per_byte) = (0.0, 0.0);
        }
    }
    let money = seconds / dear.seconds_per_money;
    dear.nodes.iter_mut().for_each(|node| node.price_per_chunk += money);
    dear
}
