//! The paper's evaluation, replayed: Figs. 6 to 13, and one about nodes with several lanes.
//!
//! Simulations, with everything that decides taken from `ripstop-placement`. What the paper does
//! not print is chosen here and told in `docs/placement.md`: the samples behind its moments (a
//! shifted Gamma distribution with the same three stands in), its nodes' differences, and how
//! service grows with file size.

mod bounds;
mod codes;
mod convergence;
mod lanes;
mod latency;
mod play;
mod prices;
mod schemes;
mod service;
mod setting;

pub use play::{Budget, FigureError};

use ripstop_experiment::{Evaluation, Part};

const INTRODUCTION: &str = "Twelve nodes at three sites; service of a chunk with the paper's measured moments, \
mean 13.9 s and deviation 4.3 s. Latencies are simulated: Poisson arrivals, every node first come, first \
served. Bands are 95 % confidence intervals over the seeds.";

/// Parts of the evaluation: `done` is called this often.
pub const PARTS: u64 = 9;

/// Plays everything.
pub fn evaluate(budget: Budget, done: impl Fn()) -> Result<Evaluation, FigureError> {
    let makers: [fn(Budget) -> Result<Part, FigureError>; PARTS as usize] = [
        service::part,
        bounds::part,
        convergence::part,
        schemes::part,
        codes::part,
        latency::against_size,
        latency::against_rate,
        prices::part,
        lanes::part,
    ];
    let mut parts = Vec::with_capacity(makers.len());
    for maker in makers {
        parts.push(maker(budget)?);
        done();
    }
    Ok(Evaluation::new("Placement for latency and cost", INTRODUCTION, parts))
}
