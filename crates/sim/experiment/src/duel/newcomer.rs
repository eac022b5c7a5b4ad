//! One more policy in the arenas, beside rivals that were played before.

use super::{Bound, arenas, bounds, play};
use crate::{Budget, PolicyChoice, sweep};
use core::num::NonZero;
use ripstop_figure::{Table, TableError};

/// Plays `policy` in every arena and at every load of `kept`, the joined table of a duel, and
/// judges it as Backfill is judged: against the rivals that the table holds. So that luck is the
/// same, the budget is to be that of the table. `done` is called after each run. Errors: columns
/// that the table lacks.
pub fn newcomer(
    kept: &Table,
    policy: &PolicyChoice,
    budget: Budget,
    threads: Option<NonZero<usize>>,
    done: impl Fn() + Sync,
) -> Result<Vec<Bound>, TableError> {
    let (mean, p99) = (kept.index("backfill_mean_ms")?, kept.index("backfill_p99_ms")?);
    let mut all = Vec::new();
    for arena in arenas() {
        let rows = kept.only("arena", arena.name.as_str())?;
        let seeds = 1..=budget.seeds;
        let runs: Vec<(f64, u64)> = rows
            .numbers("load")?
            .into_iter()
            .flat_map(|load| seeds.clone().map(move |seed| (load, seed)))
            .collect();
        let setting = &arena.setting;
        let one = |&(load, seed): &(f64, u64)| play(setting, policy, load, budget.requests, seed);
        let delays = sweep(&runs, threads, one, &done);
        let mut table = Table::new(rows.columns().to_vec());
        for (row, delays) in rows.rows().iter().zip(delays.chunks(budget.seeds as usize)) {
            let count = delays.len() as f64;
            let mut row = row.clone();
            row[mean] = (delays.iter().map(|it| it.mean_ms).sum::<f64>() / count).into();
            row[p99] = (delays.iter().map(|it| it.p99_ms).sum::<f64>() / count).into();
            table.push(row);
        }
        if !table.rows().is_empty() {
            all.extend(bounds(&table)?);
        }
    }
    Ok(all)
}
