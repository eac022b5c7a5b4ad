//! What would have come of a log if its small writes had been gathered.

use super::WhatIf;
use crate::{Gathering, Run, gathering::SmallWrites, text::number, text_columns};

impl WhatIf<'_> {
    /// The small writes of the log each by itself and gathered, under the first policy and seed,
    /// for a terminal.
    pub fn packs_text(&self, gathering: Gathering<'_>) -> String {
        let Gathering { below, batching, .. } = gathering;
        let small =
            (0..self.workload.objects.len()).filter(|at| self.workload.is_small(*at, below));
        let count = small.count();
        if count == 0 {
            return format!(
                "Packs: no write of the log is shorter than {below} bytes, so they would change nothing.\n"
            );
        }
        let (load, seed) = (self.workload.load(1.0), self.seeds[0]);
        let (setting, limits, memory) = (self.setting, self.limits, self.memory);
        let policy = &self.policies[0];
        let run = Run {
            setting,
            load: &load,
            policy,
            limits,
            memory,
            seed,
            warmup: 0,
            keep_courses: true,
        };
        let alone = SmallWrites::alone(self.workload, &run.play(), below);
        let gathered = SmallWrites::gathered(&run, self.workload, gathering);
        let mut header = ["small writes", "stripes", "node requests", "p50", "p99", "failed"]
            .map(str::to_owned)
            .to_vec();
        header.extend(self.has_prices().then(|| "$/month".to_owned()));
        let rows = [
            header,
            self.packs_row("each by itself", &alone),
            self.packs_row("in packs", &gathered),
        ];
        let collapsed = if self.workload.named_bytes.is_some() {
            format!("{} were collapsed", gathered.collapsed)
        } else {
            "the log does not name its objects, so nothing is collapsed".to_owned()
        };
        let left = count as u64 - gathered.failed - gathered.collapsed;
        format!(
            "Packs under {policy}, batching {batching}: {count} writes are shorter than {below} bytes; \
             {} to a stripe, {collapsed}.\n{}",
            number(left as f64 / gathered.stripes.max(1) as f64),
            text_columns(&rows)
        )
    }

    fn packs_row(&self, name: &str, writes: &SmallWrites) -> Vec<String> {
        let delays = writes.delays();
        let requests: u64 = writes.nodes.iter().map(|node| node.reads + node.writes).sum();
        let mut row = vec![
            name.to_owned(),
            writes.stripes.to_string(),
            requests.to_string(),
            number(delays.p50_ms),
            number(delays.p99_ms),
            writes.failed.to_string(),
        ];
        if self.has_prices() {
            let [tasks, transfer, _] = self.dollars(&writes.nodes);
            row.push(format!("{:.2}", tasks + transfer));
        }
        row
    }
}
