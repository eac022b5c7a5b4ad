//! The report of a study: figures and tables in the form of the paper's.

use crate::{
    Comparison, Distribution, Study, SweepCell,
    curve::{curve_table, curves},
    figure::{
        curve_figure, distribution_figure, fraction_figure, min_max_figure, min_max_table,
        window_figure, window_table,
    },
    table::{
        comparison_table, distribution_table, keeping_table, millis, percent, plan_table,
        sweep_table, wide_table,
    },
};
use ripstop_experiment::Report;
use ripstop_figure::TableError;
use ripstop_shaping::{Bound, CapacityPlan, Fraction};
use std::{collections::BTreeSet, time::Duration};

impl Study<'_> {
    /// Everything that was found, and the figures that need finding more: for the capacity against
    /// the fraction, from 90 to 100 % by halves, the last percent by tenths and closer at its end.
    /// The comparison is that of the first plan.
    ///
    /// Figures about one tier are about the promise's first, or the first fraction within the first
    /// bound of the sweep.
    pub fn report(
        &self,
        intro: &str,
        plans: &[CapacityPlan],
        comparison: Option<&Comparison>,
        cells: &[SweepCell],
        seen: impl FnMut(u32),
    ) -> Result<Report, TableError> {
        let mut report = Report::new("Capacity that a promise takes", intro);
        let Some((fraction, bound, capacity)) = first_tier(plans, cells) else {
            return Ok(report);
        };
        self.add_windows(&mut report, fraction)?;
        self.add_curves(&mut report, bound, capacity)?;
        self.add_min_max(&mut report, fraction)?;
        self.add_fractions(&mut report, seen)?;
        self.add_distribution(&mut report, bound, capacity)?;
        if let Some(plan) = plans.first()
            && let Some(comparison) = comparison
        {
            add_comparison(&mut report, plan, comparison)?;
            let caption = "The smallest capacity of each tier, by rule.";
            report.table("plan", caption, plan_table(plans, self.arrivals.count()));
        }
        let caption = "Capacity in requests/s for a fraction of requests within a bound.";
        report.table("capacity_by_bound", caption, wide_table(&self.fractions, cells));
        report.long_table("capacity", sweep_table(self, cells));
        Ok(report)
    }

    /// Fig. 2.
    fn add_windows(&self, report: &mut Report, fraction: Fraction) -> Result<(), TableError> {
        let (load, _) = self.min_max(fraction, &[]);
        let table = window_table(self.arrivals, &load, self.window);
        let window = Bound(self.window).to_string();
        let caption = format!(
            "Requests per window around the busiest one, and the cut with which the min–max load heuristic \
             keeps {} % of all.",
            percent(fraction)
        );
        report.figure("arrivals", caption, &window_figure(&table, load.cap, &window)?);
        report.long_table("arrivals", table);
        Ok(())
    }

    /// Fig. 3.
    fn add_curves(
        &self,
        report: &mut Report,
        bound: Duration,
        capacity: u64,
    ) -> Result<(), TableError> {
        let table = curve_table(&curves(self.arrivals, self.rule(), bound, capacity));
        let caption = "Requests that have arrived, that must have ended, and that have. Where \"served\" \
                       falls right of \"due\", requests miss the bound.";
        report.figure("curves", caption, &curve_figure(&table, capacity)?);
        report.long_table("curves", table);
        Ok(())
    }

    /// Fig. 4.
    fn add_min_max(&self, report: &mut Report, fraction: Fraction) -> Result<(), TableError> {
        let (_, mml) = self.min_max(fraction, &self.bounds);
        let rtt = self.sweep_of(&[fraction], &self.bounds, |_| ());
        let rows = rtt.iter().zip(mml).map(|(cell, mml)| (millis(cell.bound), cell.capacity, mml));
        let table = min_max_table(&rows.collect::<Vec<_>>());
        let share = format!("{} %", percent(fraction));
        let caption = format!(
            "What decomposition (RTT) and the min–max load heuristic (MML, windows of {}) take.",
            Bound(self.window)
        );
        report.figure("mml", caption, &min_max_figure(&table, &share)?);
        report.long_table("mml", table);
        Ok(())
    }

    /// Figs. 5–10.
    fn add_fractions(&self, report: &mut Report, seen: impl FnMut(u32)) -> Result<(), TableError> {
        let hundredths = (180..200).map(|half| half * 50);
        let hundredths = hundredths.chain((990..=1000).map(|tenth| tenth * 10)).chain([9995, 9999]);
        let fractions: BTreeSet<Fraction> =
            hundredths.filter_map(|part| Fraction::from_billionths(part * 100_000)).collect();
        let fractions: Vec<_> = fractions.into_iter().collect();
        let table = sweep_table(self, &self.sweep_of(&fractions, &self.bounds, seen));
        let caption = "What the last percents take.";
        report.figure("fractions", caption, &fraction_figure(&table)?);
        report.long_table("fractions", table);
        Ok(())
    }

    /// Fig. 11.
    fn add_distribution(
        &self,
        report: &mut Report,
        bound: Duration,
        capacity: u64,
    ) -> Result<(), TableError> {
        let fcfs = Distribution::undecomposed(self.arrivals, capacity);
        let table = distribution_table(&[("fcfs", capacity, &fcfs)]);
        let title = format!("First come, first served, at {capacity} requests/s");
        let rules = [(millis(bound), Bound(bound).to_string())];
        let caption = format!(
            "Without decomposition, with the capacity of the first tier: {:.1} % within {}.",
            fcfs.share_within(bound) * 100.0,
            Bound(bound)
        );
        report.figure("fcfs", caption, &distribution_figure(&title, &table, &rules)?);
        report.long_table("fcfs", table);
        Ok(())
    }
}

/// Fig. 12.
fn add_comparison(
    report: &mut Report,
    plan: &CapacityPlan,
    comparison: &Comparison,
) -> Result<(), TableError> {
    let Comparison { capacity, decomposed, undecomposed, .. } = comparison;
    let table = distribution_table(&[
        ("fcfs", *capacity, undecomposed),
        ("decomposed", *capacity, decomposed),
    ]);
    let rules: Vec<_> = plan
        .tiers
        .iter()
        .map(|one| (millis(one.tier.bound()), Bound(one.tier.bound()).to_string()))
        .collect();
    let title = format!("First come, first served against tiers, at {capacity} requests/s");
    let caption = "The same capacity in one queue, and divided among the tiers for good: no tier uses \
                   what another leaves idle.";
    report.figure("tiers", caption, &distribution_figure(&title, &table, &rules)?);
    report.long_table("tiers", table);
    let caption = "The smallest capacity with which the promise is kept.";
    report.table("keeping", caption, keeping_table(comparison));
    let caption = "The plan's capacity with decomposition and without; what the min–max load \
                   heuristic takes for each tier.";
    report.table("comparison", caption, comparison_table(plan, comparison));
    Ok(())
}

/// The tier that figures are about, and its capacity.
fn first_tier(plans: &[CapacityPlan], cells: &[SweepCell]) -> Option<(Fraction, Duration, u64)> {
    let tier = plans.first().and_then(|plan| plan.tiers.first());
    let cell = || cells.first().map(|cell| (cell.fraction, cell.bound, cell.capacity));
    tier.map(|one| (one.tier.fraction(), one.tier.bound(), one.capacity)).or_else(cell)
}
