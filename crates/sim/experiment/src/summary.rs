//! What the runs of a scenario come to, over their seeds.

use crate::{
    Scenario,
    text::{number, percent, trimmed},
    text_columns,
};
use ripstop_figure::{Cell, Estimate, Table, TableError};
use std::collections::BTreeMap;

/// Delays in tables and figures: column of the results, and name.
pub(crate) const METRICS: [(&str, &str); 4] =
    [("mean_ms", "mean"), ("p50_ms", "p50"), ("p99_ms", "p99"), ("p999_ms", "p99.9")];

/// What else is averaged over the seeds.
const OTHERS: [&str; 6] = [
    "tasks_per_request",
    "extra_per_request",
    "won_per_request",
    "bytes_per_request",
    "wasted_lane_share",
    "lanes_busy",
];

/// More classes than this are not shown on a terminal.
const CLASSES_SHOWN: usize = 8;

/// The rows of a table in groups of equal cells in some columns, in the order in which these first
/// appear.
pub(crate) fn groups<'a>(
    table: &'a Table,
    by: &[&str],
) -> Result<Vec<Vec<&'a [Cell]>>, TableError> {
    let at = by.iter().map(|column| table.index(column)).collect::<Result<Vec<_>, _>>()?;
    let mut places = BTreeMap::<Vec<String>, usize>::new();
    let mut groups: Vec<Vec<&[Cell]>> = Vec::new();
    for row in table.rows() {
        let key = at.iter().map(|&index| row[index].shown()).collect();
        let place = *places.entry(key).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        groups[place].push(row);
    }
    Ok(groups)
}

/// Means over the seeds of [`Scenario::table`], delays with half the width of their 95 % confidence
/// interval (`…_half_width_ms`, missing for one seed): a row for each policy, rate and class.
pub fn summary_table(results: &Table) -> Result<Table, TableError> {
    let mut columns: Vec<String> =
        ["policy", "rate_per_s", "load", "class", "seeds", "requests", "failed"]
            .map(Into::into)
            .into();
    for (metric, _) in METRICS {
        columns.extend([metric.to_owned(), half_width(metric)]);
    }
    columns.extend(OTHERS.map(Into::into));
    let mut summary = Table::new(columns);
    for group in groups(results, &["policy", "rate_per_s", "class"])? {
        let samples = |column: &str| -> Result<Vec<f64>, TableError> {
            let at = results.index(column)?;
            Ok(group.iter().filter_map(|row| row[at].number()).collect())
        };
        let first = |column: &str| Ok::<_, TableError>(group[0][results.index(column)?].clone());
        let mut row = vec![
            first("policy")?,
            first("rate_per_s")?,
            first("load")?,
            first("class")?,
            group.len().into(),
            samples("requests")?.iter().sum::<f64>().into(),
            samples("failed")?.into_iter().reduce(|sum, failed| sum + failed).into(),
        ];
        for (metric, _) in METRICS {
            let estimate = Estimate::of(&samples(metric)?);
            let half = estimate.map(|estimate| estimate.half_width).filter(|half| half.is_finite());
            row.extend([estimate.map(|estimate| estimate.mean).into(), half.into()]);
        }
        for column in OTHERS {
            row.push(ripstop_figure::mean(&samples(column)?).into());
        }
        summary.push(row);
    }
    Ok(summary)
}

/// The column of a metric's confidence.
pub(crate) fn half_width(metric: &str) -> String {
    metric.replace("_ms", "_half_width_ms")
}

/// Of a [`summary_table`]: the fixed code with the least of each delay at each rate, among those
/// under which nothing failed.
pub fn best_fixed_table(summary: &Table) -> Result<Table, TableError> {
    let mut best = Table::new(["rate_per_s", "metric", "policy", "value_ms", "half_width_ms"]);
    let (policy, failed) = (summary.index("policy")?, summary.index("failed")?);
    let rate = summary.index("rate_per_s")?;
    let whole = summary.only("class", "all")?;
    for group in groups(&whole, &["rate_per_s"])? {
        for (metric, name) in METRICS {
            let (at, half) = (summary.index(metric)?, summary.index(&half_width(metric))?);
            let fixed = group.iter().filter(|row| {
                row[policy].shown().starts_with("fixed(") && row[failed].number() == Some(0.0)
            });
            let value = |row: &[Cell]| row[at].number().unwrap_or(f64::INFINITY);
            let Some(least) = fixed.min_by(|a, b| value(a).total_cmp(&value(b))) else { continue };
            best.push([
                least[rate].clone(),
                name.into(),
                least[policy].clone(),
                least[at].clone(),
                least[half].clone(),
            ]);
        }
    }
    Ok(best)
}

impl Scenario {
    /// A [`summary_table`] as text: one block for each rate, a line for each policy that the
    /// scenario names, and, if every fixed code was tried, the best of them for each delay.
    pub fn summary_text(&self, summary: &Table) -> Result<String, TableError> {
        let best = best_fixed_table(summary)?;
        let named = self.labels();
        let policy = summary.index("policy")?;
        let (rate, load) = (summary.index("rate_per_s")?, summary.index("load")?);
        let mut text = String::new();
        for group in groups(summary, &["rate_per_s"])? {
            let at = group[0][rate].number().unwrap_or(0.0);
            let share = group[0][load].number().unwrap_or(0.0);
            if !text.is_empty() {
                text.push('\n');
            }
            let load = percent(share);
            text.extend([&trimmed(at), " requests/s, ", &load, " of full capacity\n"]);
            let shown = group.iter().filter(|row| named.contains(&row[policy].shown()));
            let rows: Vec<Vec<String>> = self.lines(summary, shown.copied())?;
            if rows.len() > 1 {
                text += &text_columns(&rows);
            }
            if self.every_fixed {
                text += &best_text(&best.only("rate_per_s", at)?);
            }
        }
        Ok(text)
    }

    fn lines<'a>(
        &self,
        summary: &Table,
        shown: impl Iterator<Item = &'a [Cell]>,
    ) -> Result<Vec<Vec<String>>, TableError> {
        let classes = self.setting.classes.len();
        let by_class = (2..=CLASSES_SHOWN).contains(&classes);
        let class = summary.index("class")?;
        let mut header = vec!["policy".to_owned()];
        header.extend(by_class.then(|| "class".to_owned()));
        header.extend(METRICS.map(|(_, name)| format!("{name} ms")));
        header.extend(
            ["tasks/req", "extra", "won", "wasted", "busy lanes", "failed"].map(str::to_owned),
        );
        let others = ["tasks_per_request", "extra_per_request", "won_per_request"];
        let others = others.map(|column| summary.index(column));
        let (wasted, busy) = (summary.index("wasted_lane_share")?, summary.index("lanes_busy")?);
        let (policy, failed) = (summary.index("policy")?, summary.index("failed")?);
        let mut rows = vec![header];
        for row in shown {
            let whole = row[class].shown() == "all";
            if !whole && !by_class {
                continue;
            }
            let mut line = vec![row[policy].shown()];
            line.extend(by_class.then(|| row[class].shown()));
            for (metric, _) in METRICS {
                let half = summary.index(&half_width(metric))?;
                line.push(with_confidence(&row[summary.index(metric)?], &row[half]));
            }
            if whole {
                for at in &others {
                    let at = at.as_ref().map_or(0, |at| *at);
                    line.push(row[at].number().map_or_else(|| "-".into(), number));
                }
                line.push(row[wasted].number().map_or_else(|| "-".into(), percent));
                line.push(row[busy].number().map_or_else(|| "-".into(), number));
                line.push(row[failed].shown());
            }
            rows.push(line);
        }
        Ok(rows)
    }
}

/// A mean and how far it may be off.
fn with_confidence(mean: &Cell, half: &Cell) -> String {
    let Some(mean) = mean.number() else { return "-".into() };
    match half.number() {
        Some(half) => format!("{} ±{}", number(mean), number(half)),
        None => number(mean),
    }
}

fn best_text(best: &Table) -> String {
    let of = |row: &Vec<Cell>| {
        let value = with_confidence(&row[3], &row[4]);
        format!("{} {} {value} ms", row[1].shown(), row[2].shown())
    };
    let all: Vec<String> = best.rows().iter().map(of).collect();
    if all.is_empty() {
        return "best fixed code: none keeps up\n".into();
    }
    format!("best fixed code: {}\n", all.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(rows: &[(&str, f64, u64, f64, f64)]) -> Table {
        let columns = ["policy", "rate_per_s", "load", "class", "seed", "requests", "failed"];
        let columns = columns.into_iter().chain(METRICS.map(|(column, _)| column)).chain(OTHERS);
        let mut table = Table::new(columns);
        for &(policy, rate, seed, mean, failed) in rows {
            let mut row: Vec<Cell> = vec![policy.into(), rate.into(), (rate / 100.0).into()];
            row.extend([Cell::from("all"), (seed as f64).into(), 50.0.into(), failed.into()]);
            row.extend([mean, mean / 2.0, mean * 3.0, mean * 5.0].map(Cell::from));
            row.extend([2.0, 1.0, 0.25, 3e6, 0.125, 7.0].map(Cell::from));
            table.push(row);
        }
        table
    }

    #[test]
    fn seeds_become_means_with_confidence_and_the_best_fixed_code_is_found() {
        let summary = summary_table(&results(&[
            ("tofec", 10.0, 1, 100.0, 0.0),
            ("tofec", 10.0, 2, 110.0, 0.0),
            ("fixed(2,1)", 10.0, 1, 90.0, 0.0),
            ("fixed(1,1)", 10.0, 1, 120.0, 0.0),
            ("fixed(6,6)", 10.0, 1, 20.0, 3.0),
            ("tofec", 20.0, 1, 130.0, 0.0),
        ]))
        .unwrap();
        let half: f64 = summary.rows()[0][8].number().unwrap();
        assert!((half - 12.706_2 * 5.0).abs() < 0.01, "t of one degree times the error: {half}");
        assert_eq!(summary.rows()[1][8], Cell::Missing, "one seed says nothing");
        let best = best_fixed_table(&summary).unwrap();
        assert_eq!(best.rows()[0][2].shown(), "fixed(2,1)", "what fails is not best");
        assert_eq!(best.rows().len(), 4, "none at 20/s");
    }

    #[test]
    fn texts_name_the_policies_that_were_asked_for() {
        let toml = "name = \"t\"\npolicies = [\"tofec\"]\nevery_fixed = true\nrates_per_s = [10]\n\
            [[node]]\nlanes = 16\ndelay = \"s3-2013-a\"\n[[class]]\noperation = \"read\"\nbytes = 3000000\n";
        let scenario = Scenario::parse(toml).unwrap();
        let rows = [("tofec", 10.0, 1, 100.0, 0.0), ("fixed(2,1)", 10.0, 1, 90.0, 0.0)];
        let text = scenario.summary_text(&summary_table(&results(&rows)).unwrap()).unwrap();
        expect_test::expect![[r"
            10 requests/s, 10.0% of full capacity
            policy  mean ms  p50 ms  p99 ms  p99.9 ms  tasks/req  extra   won  wasted  busy lanes  failed
            tofec     100.0    50.0   300.0     500.0       2.00   1.00  0.25   12.5%        7.00       0
            best fixed code: mean fixed(2,1) 90.0 ms; p50 fixed(2,1) 45.0 ms; p99 fixed(2,1) 270.0 ms; p99.9 fixed(2,1) 450.0 ms
        "]]
        .assert_eq(&text);
    }
}
