//! Backfill against the best fixed code and TOFEC in every arena: `cargo run --release -p ripstop-experiment
//! --example duel [-- SEEDS REQUESTS [ARENA…]]`.

use ripstop_experiment::duel::{DuelBudget, arenas, duel, duel_loads, standings};
use std::{
    error::Error,
    io::{Write as _, stdout},
};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: u64| words.get(at).map_or(Ok(default), |word| word.parse());
    let budget = DuelBudget { seeds: number(0, 3)?, requests: number(1, 40_000)? };
    let mut out = stdout();
    for arena in arenas() {
        let asked = words.iter().skip(2).any(|word| *word == arena.name);
        if words.len() > 2 && !asked {
            continue;
        }
        let table = duel(&arena, budget, &duel_loads(), None, || ());
        let standings = standings(&table, "backfill");
        writeln!(out, "{}", arena.name)?;
        for one in &standings {
            let marks = (one.mean_ratio > 1.02, one.p99_ratio > 1.04);
            writeln!(
                out,
                "  {:>3.0} %  mean {:.3}{}  p99 {:.3}{}",
                one.load * 100.0,
                one.mean_ratio,
                if marks.0 { "*" } else { " " },
                one.p99_ratio,
                if marks.1 { "*" } else { " " }
            )?;
        }
    }
    Ok(())
}
