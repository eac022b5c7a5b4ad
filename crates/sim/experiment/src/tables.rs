use crate::{Delays, Played, Scenario};
use ripstop_figure::{Cell, Table};

/// The class of all requests together.
const ALL: &str = "all";

/// Columns of [`Scenario::table`].
const COLUMNS: [&str; 22] = [
    "scenario",
    "policy",
    "rate_per_s",
    "load",
    "seed",
    "class",
    "requests",
    "failed",
    "mean_ms",
    "deviation_ms",
    "p50_ms",
    "p90_ms",
    "p99_ms",
    "p999_ms",
    "waited_ms",
    "tasks_per_request",
    "extra_per_request",
    "won_per_request",
    "bytes_per_request",
    "wasted_bytes_per_request",
    "wasted_lane_share",
    "lanes_busy",
];

impl Scenario {
    /// One row for each run, and, if there are several classes, for each class of it.
    pub fn table(&self, played: &[Played]) -> Table {
        let mut table = Table::new(COLUMNS);
        let names = std::iter::once(ALL.to_owned()).chain(self.class_names());
        let names: Vec<String> = names.collect();
        for one in played {
            for (name, delays) in names.iter().zip(&one.delays) {
                self.push(&mut table, one, name, delays);
            }
        }
        table
    }

    fn push(&self, table: &mut Table, played: &Played, class: &str, delay: &Delays) {
        let Played { rate_per_s, seed, delays, outcome, .. } = played;
        let label = self.label_of(played);
        let tasks = outcome.tasks;
        let all = delays.first().map_or(1, |all| all.count.max(1)) as f64;
        // Only of all requests together.
        let whole = |value: f64| Cell::from((class == ALL).then_some(value));
        let known = |ms: f64| Cell::from((delay.count > 0).then_some(ms));
        let row: [Cell; COLUMNS.len()] = [
            self.name.as_str().into(),
            label.into(),
            (*rate_per_s).into(),
            (rate_per_s / self.setting.capacity_per_s()).into(),
            (*seed as f64).into(),
            class.into(),
            (delay.count as f64).into(),
            whole(outcome.failed as f64),
            known(delay.mean_ms),
            known(delay.deviation_ms),
            known(delay.p50_ms),
            known(delay.p90_ms),
            known(delay.p99_ms),
            known(delay.p999_ms),
            whole(outcome.waited_s * 1000.0 / all),
            whole(tasks.served as f64 / all),
            whole(tasks.extra as f64 / all),
            whole(tasks.won as f64 / all),
            whole(tasks.bytes as f64 / all),
            whole(tasks.wasted_bytes as f64 / all),
            whole(tasks.wasted_s / tasks.lane_s.max(1e-12)),
            whole(tasks.lane_s / outcome.span_s.max(1e-12)),
        ];
        table.push(row);
    }

    /// How often each code began: one row for each run and code.
    pub fn code_table(&self, played: &[Played]) -> Table {
        let mut table = Table::new(["scenario", "policy", "rate_per_s", "seed", "n", "k", "share"]);
        for one in played {
            let Played { rate_per_s, seed, outcome, .. } = one;
            let label = self.label_of(one);
            let total = outcome.codes.total().max(1) as f64;
            for (n, k, count) in outcome.codes.iter() {
                table.push([
                    self.name.as_str().into(),
                    label.as_str().into(),
                    (*rate_per_s).into(),
                    (*seed as f64).into(),
                    (n as f64).into(),
                    (k as f64).into(),
                    (count as f64 / total).into(),
                ]);
            }
        }
        table
    }
}
