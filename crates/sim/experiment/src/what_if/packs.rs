//! What would have come of a log if its small writes had been gathered.

use super::WhatIf;
use crate::{Gathering, Run, gathering::SmallWrites, text::number, text_columns};
use ripstop_figure::{Cell, Table};

/// What came of a log's small writes, each by itself and gathered.
#[derive(Clone, PartialEq, Debug)]
pub struct Packed {
    below: u32,
    batching: String,
    /// Small writes of the log.
    count: u64,
    alone: SmallWrites,
    gathered: SmallWrites,
}

impl Packed {
    /// What the rows are about, by name.
    fn rows(&self) -> [(&'static str, &SmallWrites); 2] {
        [("each by itself", &self.alone), ("in packs", &self.gathered)]
    }
}

impl WhatIf<'_> {
    /// Plays the log with its small writes each by itself and gathered, under the first policy and
    /// seed; none if it has no small writes.
    pub fn packed(&self, gathering: Gathering<'_>) -> Option<Packed> {
        let below = gathering.below;
        let objects = 0..self.workload.objects.len();
        let count = objects.filter(|at| self.workload.is_small(*at, below)).count() as u64;
        if count == 0 {
            return None;
        }
        let (load, seed) = (self.workload.load(1.0), self.seeds[0]);
        let (setting, limits, memory) = (self.setting, self.limits, self.memory);
        let (load, policy, warmup, keep_courses) = (&load, &self.policies[0], 0, true);
        let run = Run { setting, load, policy, limits, memory, seed, warmup, keep_courses };
        let alone = SmallWrites::alone(self.workload, &run.play(), below);
        let gathered = SmallWrites::gathered(&run, self.workload, gathering);
        Some(Packed { below, batching: gathering.batching.to_owned(), count, alone, gathered })
    }

    /// For a terminal.
    pub fn packed_text(&self, packed: &Packed) -> String {
        let Packed { below, batching, count, gathered, .. } = packed;
        let header = ["small writes", "stripes", "node requests", "p50", "p99", "failed"];
        let mut rows = vec![header.map(str::to_owned).to_vec()];
        rows[0].extend(self.has_prices().then(|| "$/month".to_owned()));
        for (name, writes) in packed.rows() {
            let delays = writes.delays();
            let mut row = vec![
                name.to_owned(),
                writes.stripes.to_string(),
                writes.node_requests().to_string(),
                number(delays.p50_ms),
                number(delays.p99_ms),
                writes.failed.to_string(),
            ];
            row.extend(self.requests_dollars(writes).map(|dollars| format!("{dollars:.2}")));
            rows.push(row);
        }
        let collapsed = if self.workload.named_bytes.is_some() {
            format!("{} were collapsed", gathered.collapsed)
        } else {
            "the log does not name its objects, so nothing is collapsed".to_owned()
        };
        let left = count - gathered.failed - gathered.collapsed;
        let each = number(left as f64 / gathered.stripes.max(1) as f64);
        format!(
            "Packs under {}, batching {batching}: {count} writes are shorter than {below} bytes; {each} to a \
             stripe, {collapsed}.\n{}",
            self.policies[0],
            text_columns(&rows)
        )
    }

    /// A row for the small writes each by itself, and one for those in packs.
    pub fn packed_table(&self, packed: &Packed) -> Table {
        let mut table = Table::new([
            "small_writes",
            "count",
            "stripes",
            "collapsed",
            "failed",
            "node_requests",
            "mean_ms",
            "p50_ms",
            "p99_ms",
            "p999_ms",
            "dollars_per_month",
        ]);
        for (name, writes) in packed.rows() {
            let delays = writes.delays();
            let counts = [packed.count, writes.stripes, writes.collapsed, writes.failed];
            let mut row = vec![Cell::from(name)];
            row.extend(counts.map(Cell::from));
            row.push(writes.node_requests().into());
            let ms = [delays.mean_ms, delays.p50_ms, delays.p99_ms, delays.p999_ms];
            row.extend(ms.map(|ms| Cell::from((delays.count > 0).then_some(ms))));
            row.push(self.requests_dollars(writes).into());
            table.push(row);
        }
        table
    }

    /// Dollars a month for requests and bytes fetched, if anything has a price.
    fn requests_dollars(&self, writes: &SmallWrites) -> Option<f64> {
        let [tasks, transfer, _] = self.dollars(&writes.nodes);
        self.has_prices().then_some(tasks + transfer)
    }
}
