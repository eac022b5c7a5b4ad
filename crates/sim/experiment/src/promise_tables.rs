//! What became of promises in the runs of a scenario: tables, text and figures, by tenant and tier.

use crate::{
    Outcome, Played, Report, Scenario, TenantOutcome, Tenants,
    summary::groups,
    text::{number, percent, trimmed},
    text_columns,
};
use ripstop_figure::{Axis, Cell, Figure, Panel, Points, Series, Table, TableError};
use ripstop_gateway::TierTerms;
use ripstop_model::Timestamp;

/// Columns of [`Scenario::promise_table`].
const COLUMNS: [&str; 19] = [
    "scenario",
    "policy",
    "shaping",
    "rate_per_s",
    "seed",
    "tenant",
    "tier",
    "requests",
    "moved_down",
    "refused",
    "failed",
    "p50_ms",
    "p95_ms",
    "p99_ms",
    "admitted",
    "late",
    "promised",
    "within",
    "kept",
];
/// By which runs differ only in their seed.
const GROUP: [&str; 5] = ["policy", "shaping", "rate_per_s", "tenant", "tier"];
/// Columns that are summed over the seeds, and those of which the mean is taken.
const SUMMED: [&str; 6] = ["requests", "moved_down", "refused", "failed", "admitted", "late"];
const AVERAGED: [&str; 4] = ["p50_ms", "p95_ms", "p99_ms", "within"];
/// Pieces into which the time of a scenario with phases is cut, and points of a distribution.
const BINS: u64 = 100;
const POINTS: usize = 200;

impl Scenario {
    /// A row for each run, tenant and tier of it: what was asked, what the tier took in, and which
    /// share of all requests of the tenant (refused and failed ones are not) was within the tier's
    /// bound. `kept` is 1 or 0. A tenant who was promised nothing has one row without a tier.
    pub fn promise_table(&self, played: &[Played]) -> Table {
        let mut table = Table::new(COLUMNS);
        for one in played {
            let tenants = self.setting.tenants.list.iter().zip(&one.outcome.tenants);
            for (tenant, outcome) in tenants {
                let row =
                    |tier: Option<(usize, &TierTerms)>| self.row(one, &tenant.name, outcome, tier);
                if tenant.tiers.is_empty() {
                    table.push(row(None));
                }
                tenant.tiers.iter().enumerate().for_each(|tier| table.push(row(Some(tier))));
            }
        }
        table
    }

    fn row(
        &self,
        played: &Played,
        tenant: &str,
        outcome: &TenantOutcome,
        tier: Option<(usize, &TierTerms)>,
    ) -> [Cell; COLUMNS.len()] {
        let within = tier.map(|(_, terms)| outcome.within(terms.bound));
        let promised = tier.map(|(_, terms)| terms.fraction.as_f64());
        let count = |counts: &[u64]| tier.map(|(at, _)| counts[at] as f64);
        let kept = within.zip(promised).map(|(within, promised)| f64::from(within >= promised));
        let name = |(_, terms): (usize, &TierTerms)| {
            format!("{}:{}", terms.fraction, ripstop_shaping::Bound(terms.bound))
        };
        [
            self.name.as_str().into(),
            played.policy.to_string().into(),
            Tenants::recombination_name(played.recombination).into(),
            played.rate_per_s.into(),
            (played.seed as f64).into(),
            tenant.into(),
            tier.map_or(Cell::Missing, |tier| name(tier).into()),
            outcome.asked.into(),
            outcome.moved_down().into(),
            outcome.refused.into(),
            outcome.failed.into(),
            outcome.percentile_ms(50.0).into(),
            outcome.percentile_ms(95.0).into(),
            outcome.percentile_ms(99.0).into(),
            count(&outcome.admitted).into(),
            count(&outcome.late).into(),
            promised.into(),
            within.into(),
            kept.into(),
        ]
    }

    /// Promises in short, for a terminal: a block for each rate, a line for each tenant and tier of
    /// it; empty without tenants.
    pub fn promises_text(&self, played: &[Played]) -> Result<String, TableError> {
        let summary = promise_summary(&self.promise_table(played))?;
        let mut text = String::new();
        for group in groups(&summary, &["rate_per_s"])? {
            let cell = |row: &[Cell], column: &str| -> Result<Cell, TableError> {
                Ok(row[summary.index(column)?].clone())
            };
            let rate = cell(group[0], "rate_per_s")?.number().unwrap_or(0.0);
            text.extend(["\npromises at ", &trimmed(rate), " requests/s\n"]);
            let header = ["policy", "shaping", "tenant", "requests", "refused", "moved down"];
            let header = header.into_iter().chain(["p50 ms", "p95 ms", "p99 ms", "promised"]);
            let header = header.chain(["within", "worst run", "late", "kept"]);
            let mut rows = vec![header.map(str::to_owned).collect::<Vec<_>>()];
            for row in group {
                let shown = |column: &str| cell(row, column).map(|cell| cell.shown());
                let with = |column: &str, as_text: fn(f64) -> String| {
                    Ok::<_, TableError>(
                        cell(row, column)?.number().map_or_else(|| "-".into(), as_text),
                    )
                };
                let (tier, kept) = (shown("tier")?, with("kept", |kept| kept.to_string())?);
                rows.push(vec![
                    shown("policy")?,
                    shown("shaping")?,
                    shown("tenant")?,
                    shown("requests")?,
                    shown("refused")?,
                    shown("moved_down")?,
                    with("p50_ms", number)?,
                    with("p95_ms", number)?,
                    with("p99_ms", number)?,
                    if tier.is_empty() { "nothing".into() } else { tier },
                    with("within", share)?,
                    with("within_least", share)?,
                    with("late", |late| late.to_string())?,
                    format!("{kept} of {}", shown("seeds")?),
                ]);
            }
            text += &text_columns(&rows);
        }
        Ok(text)
    }

    /// Adds what became of promises to the report.
    pub(crate) fn report_promises(
        &self,
        played: &[Played],
        report: &mut Report,
    ) -> Result<(), TableError> {
        if self.setting.tenants.list.is_empty() {
            return Ok(());
        }
        let table = self.promise_table(played);
        let caption = "The share of all requests of a tenant, refused ones included, answered within a time; all \
             loads and seeds together.";
        report.figure("promises", caption, &self.distributions(played));
        if self.loads.iter().any(|(_, load)| load.has_phases()) {
            let courses = self.tenant_courses(played);
            let mut figure = Figure::new("Tenants over time").columns(2);
            for label in self.labels() {
                let x = Axis::linear("arrival, s").from(0.0);
                let mut panel = Panel::new(&label, x, Axis::log("95th percentile, ms"));
                let rows = courses.only("policy", label.as_str())?;
                for (tenant, points) in rows.series("tenant", "time_s", "p95_ms")? {
                    panel = panel.series(Series::line(tenant, points));
                }
                figure = figure.panel(panel);
            }
            let caption =
                "What happened over time, all seeds together: 95th percentiles by arrival.";
            report.figure("tenant_course", caption, &figure);
            report.long_table("tenant_course", courses);
        }
        let caption = "Promises, over the seeds: means, and the worst run.";
        report.table("promise_summary", caption, promise_summary(&table)?);
        report.long_table("promises", table);
        Ok(())
    }

    fn distributions(&self, played: &[Played]) -> Figure {
        let mut figure = Figure::new("Promised and kept");
        for (at, tenant) in self.setting.tenants.list.iter().enumerate() {
            let y = Axis::linear("share of all requests").from(0.0).to(1.0);
            let mut panel = Panel::new(&tenant.name, Axis::log("ms"), y);
            let tiers = tenant.tiers.iter();
            let steps: Points =
                tiers.map(|t| (t.bound.as_secs_f64() * 1e3, t.fraction.as_f64())).collect();
            panel = panel.series(Series::points("promised", steps));
            for label in self.labels() {
                let mut whole = TenantOutcome::default();
                let own = played.iter().filter(|one| self.label_of(one) == label);
                own.for_each(|one| whole.merge(&one.outcome.tenants[at]));
                panel = panel.series(Series::step(label, whole.shares_within(POINTS)));
            }
            figure = figure.panel(panel);
        }
        figure
    }

    fn tenant_courses(&self, played: &[Played]) -> Table {
        let columns = ["policy", "tenant", "time_s", "requests", "refused", "p50_ms", "p95_ms"];
        let mut table = Table::new(columns);
        for label in self.labels() {
            let own = played.iter().filter(|one| self.label_of(one) == label);
            let outcomes: Vec<&Outcome> = own.map(|one| &one.outcome).collect();
            let last = |outcome: &&Outcome| outcome.courses.last().map(|course| course.arrived);
            let end = outcomes.iter().filter_map(last).max().map_or(0, Timestamp::as_nanos);
            let width = (end / BINS).max(1);
            for (index, tenant) in self.setting.tenants.list.iter().enumerate() {
                let id = Tenants::id(index);
                let is_own = |class: u16| self.setting.classes[usize::from(class)].tenant == id;
                for bin in by_arrival(&outcomes, width, is_own) {
                    let row = [bin.time_s, bin.requests as f64, bin.refused as f64];
                    let [p50, p95] = [50.0, 95.0]
                        .map(|percent| ripstop_figure::percentile(&bin.took_ms, percent).into());
                    let names = [label.as_str().into(), tenant.name.as_str().into()];
                    table.push(names.into_iter().chain(row.map(Into::into)).chain([p50, p95]));
                }
            }
        }
        table
    }
}

fn share(share: f64) -> String {
    percent((share * 1e4).floor() / 1e4)
}

/// Requests that arrived in the same span of time.
pub(crate) struct Bin {
    /// Its middle.
    pub time_s: f64,
    pub requests: usize,
    pub refused: usize,
    /// Of those that were done, ascending.
    pub took_ms: Vec<f64>,
}

/// The requests of some classes in spans of this many nanoseconds, all runs together; spans in
/// which none arrived are left out.
pub(crate) fn by_arrival(
    outcomes: &[&Outcome],
    width_ns: u64,
    is_own: impl Fn(u16) -> bool,
) -> Vec<Bin> {
    let mut bins = std::collections::BTreeMap::<u64, (usize, Vec<f64>)>::new();
    for outcome in outcomes {
        for course in outcome.courses.iter().filter(|course| is_own(course.class)) {
            let bin = bins.entry(course.arrived.as_nanos() / width_ns).or_default();
            bin.1.push(course.took_ns as f64 / 1e6);
        }
        for (at, _) in outcome.refusals.iter().filter(|(_, class)| is_own(*class)) {
            bins.entry(at.as_nanos() / width_ns).or_default().0 += 1;
        }
    }
    let bin = |(number, (refused, mut took_ms)): (u64, (usize, Vec<f64>))| {
        took_ms.sort_by(f64::total_cmp);
        let time_s = (number as f64 + 0.5) * width_ns as f64 / 1e9;
        Bin { time_s, requests: took_ms.len() + refused, refused, took_ms }
    };
    bins.into_iter().map(bin).collect()
}

/// A [`Scenario::promise_table`] over its seeds: counts summed, shares and percentiles averaged,
/// the worst run's share, and how many runs kept the promise.
pub(crate) fn promise_summary(table: &Table) -> Result<Table, TableError> {
    let mut columns = GROUP.to_vec();
    columns.push("seeds");
    columns.extend(SUMMED.into_iter().chain(AVERAGED));
    columns.extend(["promised", "within_least", "kept"]);
    let mut summary = Table::new(columns);
    for group in groups(table, &GROUP)? {
        let samples = |column: &str| -> Result<Vec<f64>, TableError> {
            let at = table.index(column)?;
            Ok(group.iter().filter_map(|row| row[at].number()).collect())
        };
        let sum = |samples: Vec<f64>| (!samples.is_empty()).then(|| samples.iter().sum::<f64>());
        let mut row = Vec::new();
        for column in GROUP {
            row.push(group[0][table.index(column)?].clone());
        }
        row.push(group.len().into());
        for column in SUMMED {
            row.push(sum(samples(column)?).into());
        }
        for column in AVERAGED {
            row.push(ripstop_figure::mean(&samples(column)?).into());
        }
        row.push(samples("promised")?.first().copied().into());
        row.push(samples("within")?.into_iter().reduce(f64::min).into());
        row.push(sum(samples("kept")?).into());
        summary.push(row);
    }
    Ok(summary)
}

#[cfg(test)]
mod tests;
