//! What a study found, for a terminal.

use crate::{Comparison, Study, SweepCell, table::percent};
use ripstop_experiment::text_columns;
use ripstop_shaping::{Bound, CapacityPlan};
use std::{fmt::Write as _, time::Duration};

/// A response time as people read it: to the hundredth of a millisecond.
fn short(span: Duration) -> String {
    let micros = span.as_nanos().div_ceil(10_000) * 10;
    Bound(Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))).to_string()
}

fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

impl Study<'_> {
    /// The capacity of each tier by each rule, and their sums.
    pub fn plans_text(&self, plans: &[CapacityPlan]) -> String {
        let requests = self.arrivals.count() as f64;
        let mut rows = vec![row(["rule", "tier", "requests/s", "takes", "of all", "late"])];
        for plan in plans {
            for one in &plan.tiers {
                let share = format!("{:.2}%", one.admitted as f64 * 100.0 / requests);
                let (tier, capacity) = (one.tier.to_string(), one.capacity.to_string());
                let (admitted, late) = (one.admitted.to_string(), one.late.to_string());
                rows.push(row([plan.rule.name(), &tier, &capacity, &admitted, &share, &late]));
            }
            let refused = match plan.refused {
                0 => String::new(),
                refused => format!("{refused} refused"),
            };
            rows.push(row([plan.rule.name(), "total", &plan.total().to_string(), &refused]));
        }
        text_columns(&rows)
    }

    /// What the same capacity does without decomposition, and what the alternatives take.
    pub fn comparison_text(&self, plan: &CapacityPlan, comparison: &Comparison) -> String {
        let Comparison { capacity, decomposed, undecomposed, .. } = comparison;
        let mut text = format!("with {capacity} requests/s in all, by rule {}\n", plan.rule);
        let mut rows = vec![row(["tier", "decomposed", "fcfs", "fcfs gets there in"])];
        for one in &plan.tiers {
            let (fraction, bound) = (one.tier.fraction(), one.tier.bound());
            let share = |share: f64| format!("{:.2}%", share * 100.0);
            let reached = undecomposed.quantile(fraction).map_or("never".to_owned(), short);
            let (with, without) =
                (decomposed.share_within(bound), undecomposed.share_within(bound));
            rows.push(row([&one.tier.to_string(), &share(with), &share(without), &reached]));
        }
        text += &text_columns(&rows);
        text.push('\n');
        let mut rows = vec![row(["to keep the promise", "requests/s"])];
        for (name, capacity) in comparison.keeping() {
            rows.push(row([name, &capacity.to_string()]));
        }
        for (one, min_max) in plan.tiers.iter().zip(&comparison.min_max) {
            let name = format!("MML ({}) for {} alone", Bound(self.window), one.tier);
            rows.push(row([&name, &min_max.to_string()]));
        }
        text + &text_columns(&rows)
    }

    /// The sweep in the form of the paper's tables.
    pub fn sweep_text(&self, cells: &[SweepCell]) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = writeln!(text, "requests/s for a fraction within a bound, by rule {}", self.rule());
        let shares = self.fractions.iter().map(|fraction| format!("{}%", percent(*fraction)));
        let mut rows = vec![std::iter::once("bound".to_owned()).chain(shares).collect()];
        for of_bound in cells.chunks(self.fractions.len().max(1)) {
            let capacities = of_bound.iter().map(|cell| cell.capacity.to_string());
            let bound = Bound(of_bound[0].bound).to_string();
            rows.push(std::iter::once(bound).chain(capacities).collect());
        }
        text + &text_columns(&rows)
    }
}
