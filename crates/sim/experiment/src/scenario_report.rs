//! A scenario's report: what is drawn of its runs.

use crate::{
    Played, Report, Scenario,
    summary::{METRICS, best_fixed_table, half_width, summary_table},
};
use ripstop_figure::{Axis, Figure, Panel, Points, Series, Table, TableError, ccdf};
use std::collections::BTreeMap;

/// A delay this many times the least is above the figure: a policy that does not keep up would
/// flatten the others.
const TIMES_SHOWN: f64 = 30.0;
/// Panels of one figure.
const PANELS_MAX: usize = 6;
/// Points of each curve.
const CCDF_POINTS: usize = 200;
/// Pieces into which the time of a scenario with phases is cut.
const BINS: u64 = 200;
const BEST: &str = "best fixed code";

impl Scenario {
    /// Everything about its runs: `results.csv` (a row for each run, and class), `summary.csv`,
    /// `codes.csv`, curves and figures.
    pub fn report(&self, played: &[Played]) -> Result<Report, TableError> {
        let (results, codes) = (self.table(played), self.code_table(played));
        let summary = summary_table(&results)?;
        let mut report = Report::new(&self.name, self.intro());
        if self.loads.len() > 1 {
            let caption =
                "Delays against the rate of arrivals; bands are 95 % confidence intervals.";
            report.figure("delay", caption, &self.delay_figure(&summary)?);
            let caption = "The codes that were chosen: mean k, and mean n over k.";
            report.figure("codes", caption, &self.code_figure(&codes)?);
        }
        let curves = self.curves(played);
        report.figure("ccdf", "The share of requests that take longer.", &ccdf_figure(&curves)?);
        if self.has_phases() {
            let courses = self.course_table(played);
            let caption =
                "What happened over time, under the first seed: means of requests by arrival.";
            report.figure("course", caption, &course_figure(&courses)?);
            report.long_table("course", courses);
        }
        self.report_promises(played, &mut report)?;
        self.report_plans(played, &mut report);
        if self.every_fixed {
            report.table(
                "best_fixed",
                "The best fixed code for each delay.",
                best_fixed_table(&summary)?,
            );
        }
        report.table("summary", "Means over the seeds.", summary);
        report.long_table("results", results);
        report.long_table("codes", codes);
        report.long_table("ccdf", curves);
        Ok(report)
    }

    fn intro(&self) -> String {
        let (setting, seeds) = (&self.setting, self.seeds.len());
        format!(
            "A pool of {} nodes with {} lanes, storage code {}; its full capacity, without redundancy, is \
             {:.1} requests/s. {seeds} runs for each policy and load, which differ in their seed; the first \
             {:.0} % of the requests do not count.",
            setting.nodes.len(),
            setting.lanes(),
            setting.code,
            setting.capacity_per_s(),
            self.warmup * 100.0
        )
    }

    fn has_phases(&self) -> bool {
        self.loads.iter().any(|(_, load)| load.has_phases())
    }

    /// Names of the policies that are drawn: those the scenario names.
    fn drawn(&self) -> Vec<String> {
        self.labels()
    }

    fn delay_figure(&self, summary: &Table) -> Result<Figure, TableError> {
        let whole = summary.only("class", "all")?;
        let best = best_fixed_table(summary)?;
        let mut figure = Figure::new(format!("{}: delay against rate", self.name));
        for (metric, name) in METRICS {
            let x = Axis::linear("rate, requests/s").from(0.0);
            let delays = whole.numbers(metric)?;
            let least = delays.iter().copied().fold(f64::INFINITY, f64::min);
            let most = delays.iter().copied().fold(0.0, f64::max);
            let y = Axis::log("delay, ms");
            let y = if most > TIMES_SHOWN * least { y.to(TIMES_SHOWN * least) } else { y };
            let mut panel = Panel::new(name, x, y);
            for policy in self.drawn() {
                let rows = whole.only("policy", policy.as_str())?;
                let line = points(&rows, "rate_per_s", metric)?;
                let half = points(&rows, "rate_per_s", &half_width(metric))?;
                let band = line.iter().filter_map(|&(x, y)| {
                    let half = half.iter().find(|(at, _)| at.total_cmp(&x).is_eq())?.1;
                    Some((x, y - half, y + half))
                });
                let band = band.collect();
                panel = panel.series(Series::line(policy, line).markers().band(band));
            }
            if self.every_fixed {
                let line = points(&best.only("metric", name)?, "rate_per_s", "value_ms")?;
                panel = panel.series(Series::line(BEST, line).markers());
            }
            figure = figure.panel(panel);
        }
        Ok(figure)
    }

    fn code_figure(&self, codes: &Table) -> Result<Figure, TableError> {
        let rate = || Axis::linear("rate, requests/s").from(0.0);
        let mut chunks = Panel::new("", rate(), Axis::linear("mean k").from(0.0));
        let mut redundancy = Panel::new("", rate(), Axis::linear("mean n/k").from(1.0));
        let seeds = self.seeds.len() as f64;
        for policy in self.drawn() {
            let rows = codes.only("policy", policy.as_str())?;
            let (n, k, share) = (rows.index("n")?, rows.index("k")?, rows.index("share")?);
            let rate = rows.index("rate_per_s")?;
            let mut means: Vec<(f64, f64, f64)> = Vec::new();
            for row in rows.rows() {
                let number = |at: usize| row[at].number().unwrap_or(0.0);
                let weight = number(share) / seeds;
                if means.last().is_none_or(|last| last.0.total_cmp(&number(rate)).is_ne()) {
                    means.push((number(rate), 0.0, 0.0));
                }
                if let Some(last) = means.last_mut() {
                    last.1 += weight * number(k);
                    last.2 += weight * number(n) / number(k).max(1.0);
                }
            }
            let (ks, rs) = means.iter().map(|&(x, k, r)| ((x, k), (x, r))).unzip();
            chunks = chunks.series(Series::line(&policy, ks).markers());
            redundancy = redundancy.series(Series::line(&policy, rs).markers());
        }
        Ok(Figure::new(format!("{}: codes", self.name)).panel(chunks).panel(redundancy))
    }

    /// The share of requests that take longer, by `policy` and `rate_per_s`, all seeds together.
    fn curves(&self, played: &[Played]) -> Table {
        let mut table = Table::new(["policy", "rate_per_s", "delay_ms", "share_longer"]);
        let drawn = self.drawn();
        let runs = self.seeds.len().max(1);
        for runs in played.chunks(runs).filter(|runs| drawn.contains(&self.label_of(&runs[0]))) {
            let took = runs.iter().flat_map(|one| &one.outcome.took_ns);
            let mut ms: Vec<f64> = took.map(|&took| took as f64 / 1e6).collect();
            ms.sort_by(f64::total_cmp);
            for (ms, share) in ccdf(&ms, CCDF_POINTS) {
                let policy = self.label_of(&runs[0]);
                table.push([policy.into(), runs[0].rate_per_s.into(), ms.into(), share.into()]);
            }
        }
        table
    }

    /// Means of requests that arrived in the same two hundredth of the time, under the first seed.
    fn course_table(&self, played: &[Played]) -> Table {
        let mut table = Table::new(["policy", "time_s", "requests", "mean_ms", "mean_n", "mean_k"]);
        let drawn = self.drawn();
        let first = self.seeds.first().copied();
        for one in played.iter().filter(|one| Some(one.seed) == first) {
            let policy = self.label_of(one);
            if !drawn.contains(&policy) {
                continue;
            }
            let courses = &one.outcome.courses;
            let end = courses.last().map_or(0, |course| course.arrived.as_nanos());
            let width = (end / BINS).max(1);
            let mut bins = BTreeMap::<u64, [f64; 4]>::new();
            for course in courses {
                let bin = bins.entry(course.arrived.as_nanos() / width).or_default();
                let values = [1.0, course.took_ns as f64 / 1e6, course.n.into(), course.k.into()];
                bin.iter_mut().zip(values).for_each(|(sum, value): (&mut f64, f64)| *sum += value);
            }
            for (bin, [count, ms, n, k]) in bins {
                let time = (bin as f64 + 0.5) * width as f64 / 1e9;
                let means = [time, count, ms / count, n / count, k / count];
                table.push(std::iter::once(policy.as_str().into()).chain(means.map(Into::into)));
            }
        }
        table
    }
}

fn points(rows: &Table, x: &str, y: &str) -> Result<Points, TableError> {
    let series = rows.series("class", x, y).or_else(|_| rows.series("metric", x, y))?;
    Ok(series.into_iter().flat_map(|(_, points)| points).collect())
}

fn ccdf_figure(curves: &Table) -> Result<Figure, TableError> {
    let mut rates = curves.numbers("rate_per_s")?;
    rates.dedup();
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    let count = rates.len();
    let few = count.min(PANELS_MAX);
    let shown = (0..few).map(|at| rates[at * (count - 1) / (few - 1).max(1)]);
    let mut figure = Figure::new("Share of requests that take longer");
    for rate in shown {
        let x = Axis::log("delay, ms");
        let y = Axis::log("share that takes longer").to(1.0);
        let mut panel = Panel::new(format!("{} requests/s", crate::text::trimmed(rate)), x, y);
        let rows = curves.only("rate_per_s", rate)?;
        for (policy, points) in rows.series("policy", "delay_ms", "share_longer")? {
            panel = panel.series(Series::step(policy, points));
        }
        figure = figure.panel(panel);
    }
    Ok(figure)
}

fn course_figure(courses: &Table) -> Result<Figure, TableError> {
    let mut figure = Figure::new("Over time").columns(1);
    for (column, label) in [("mean_ms", "mean delay, ms"), ("mean_k", "mean k")] {
        let y = if column == "mean_ms" { Axis::log(label) } else { Axis::linear(label).from(0.0) };
        let mut panel = Panel::new("", Axis::linear("time, s").from(0.0), y);
        for (policy, points) in courses.series("policy", "time_s", column)? {
            panel = panel.series(Series::line(policy, points));
        }
        figure = figure.panel(panel);
    }
    Ok(figure)
}
