//! The evaluation of Stout, and of what goes beyond it.

mod capacity;
mod collapsing;
mod drawn;
mod fairness;
mod latency;
mod point;

pub use point::Budget;

use core::num::NonZero;
use ripstop_experiment::{Evaluation, Part};
use ripstop_figure::TableError;

const INTRODUCTION: &str = "Writers, each with a batcher, share a store. Writes of 256 bytes come as a Poisson \
stream; the load is that of all writers together. Reads, half of the requests, pass batchers by. A store that \
serves one batch at a time takes 5 ms and 0.05 ms for each write, lognormal with 0.3; one that slows down takes \
5 % more for each batch that waits; one that serves all side by side takes 20 ms and 0.05 ms for each write. \
Fixed intervals of the best are tried afterwards, at every load, with one batch outstanding.";

/// Runs it takes.
pub fn runs(budget: Budget) -> u64 {
    latency::runs(budget)
        + collapsing::runs(budget)
        + capacity::runs(budget)
        + fairness::runs(budget)
        + drawn::runs(budget)
}

/// Plays everything, on this many threads (all cores if not given); the outcome does not depend on
/// how many. `done` is called after each of the [`runs`].
pub fn evaluate(
    budget: Budget,
    threads: Option<NonZero<usize>>,
    done: impl Fn() + Sync,
) -> Result<Evaluation, TableError> {
    let mut parts: Vec<Part> = latency::parts(budget, threads, &done)?;
    parts.extend(collapsing::parts(budget, threads, &done)?);
    parts.push(capacity::part(budget, threads, &done)?);
    parts.push(fairness::part(budget, threads, &done)?);
    parts.push(drawn::part(budget, threads, &done)?);
    Ok(Evaluation::new("Stout, replayed, and an interval by a model", INTRODUCTION, parts))
}
