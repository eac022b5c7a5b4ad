use crate::{Delays, Played, Scenario};
use ripstop_figure::{Cell, Table};

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
        for one in played {
            self.push(&mut table, one, "all", &one.outcome.delay());
            if self.setting.classes.len() > 1 {
                for (index, class) in self.setting.classes.iter().enumerate() {
                    let name = format!("{} {}", class.operation.name(), class.bytes);
                    self.push(&mut table, one, &name, &one.outcome.delay_of(index as u16));
                }
            }
        }
        table
    }

    fn push(&self, table: &mut Table, played: &Played, class: &str, delay: &Delays) {
        let Played { policy, recombination, rate_per_s, seed, outcome } = played;
        let label = self.label(policy, *recombination);
        let tasks = outcome.tasks;
        let all = (outcome.took_ns.len().max(1)) as f64;
        let row: [Cell; COLUMNS.len()] = [
            self.name.as_str().into(),
            label.into(),
            (*rate_per_s).into(),
            (rate_per_s / self.setting.capacity_per_s()).into(),
            (*seed as f64).into(),
            class.into(),
            (delay.count as f64).into(),
            (outcome.failed as f64).into(),
            delay.mean_ms.into(),
            delay.deviation_ms.into(),
            delay.p50_ms.into(),
            delay.p90_ms.into(),
            delay.p99_ms.into(),
            delay.p999_ms.into(),
            (outcome.waited_s * 1000.0 / all).into(),
            (tasks.served as f64 / all).into(),
            (tasks.extra as f64 / all).into(),
            (tasks.won as f64 / all).into(),
            (tasks.bytes as f64 / all).into(),
            (tasks.wasted_bytes as f64 / all).into(),
            (tasks.wasted_s / tasks.lane_s.max(1e-12)).into(),
            (tasks.lane_s / outcome.span_s.max(1e-12)).into(),
        ];
        table.push(row);
    }

    /// How often each code began: one row for each run and code.
    pub fn code_table(&self, played: &[Played]) -> Table {
        let mut table = Table::new(["scenario", "policy", "rate_per_s", "seed", "n", "k", "share"]);
        for Played { policy, recombination, rate_per_s, seed, outcome } in played {
            let label = self.label(policy, *recombination);
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
