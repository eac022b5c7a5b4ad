//! Promises to tenants, played: what the gateway's shaper keeps when one of them floods the pool,
//! what is answered when, how far a promise can be used, and that nothing is left idle.

mod cascade;
mod conservation;
mod flood;
mod pool;

use crate::Evaluation;
use core::num::NonZero;
use ripstop_figure::TableError;

const INTRODUCTION: &str = "16 lanes of s3-2025, reads of 1 MiB, policy backfill. Shares are of all \
requests of a tenant: one that was refused is within no bound.";

/// Runs it takes with this many seeds.
pub fn runs(seeds: u64) -> u64 {
    flood::runs(seeds) + cascade::runs(seeds) + conservation::runs(seeds)
}

/// Plays everything, on this many threads (all cores if not given); the outcome does not depend on
/// how many. `done` is called after each of [`runs`].
pub fn evaluate(
    seeds: u64,
    threads: Option<NonZero<usize>>,
    done: impl Fn() + Sync,
) -> Result<Evaluation, TableError> {
    let floods = flood::play(seeds, threads, &done);
    let cascades = cascade::play(seeds, threads, &done);
    let idles = conservation::play(seeds, threads, &done);
    let parts = vec![
        flood::part(&floods)?,
        flood::distribution(&floods),
        cascade::part(&cascades)?,
        conservation::part(&idles)?,
    ];
    Ok(Evaluation::new("Promises", INTRODUCTION, parts))
}
