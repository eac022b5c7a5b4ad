//! What other policies would have made of a log, on the same pool.

mod packs;

pub use packs::Packed;

use crate::{
    Delays, NodeTasks, ObjectDelays, PolicyChoice, Report, Run, Setting, Tasks, Workload, sweep,
    text::{number, percent},
    text_columns,
};
use core::num::NonZero;
use ripstop_figure::{Axis, Cell, Figure, Panel, Series, Table, TableError};
use ripstop_model::{Operation, Price};
use ripstop_policy::Limits;

/// The seconds of a month: 730 hours, as clouds count.
const MONTH_S: f64 = 730.0 * 3600.0;
/// The most and the fewest stripes with which the headroom is sought.
const PROBE_STRIPES: (usize, usize) = (50_000, 10_000);
/// As many times as fast is not tried.
const SPEED_MAX: f64 = 64.0;
/// How many times as long as at the log's own rate p99 may get.
const LONGER_MAX: f64 = 2.0;
/// The share of objects that may fail.
const FAILED_MAX: f64 = 0.01;
/// A queue grows without end if lanes are busy for so much of the time,
const BUSY_MIN: f64 = 0.98;
/// … and the last third of the requests takes this many times as long as the first.
const GROWTH_MAX: f64 = 2.0;
/// Halvings of the last interval, by which it is known to 4 %.
const HALVINGS: u32 = 4;
const CCDF_POINTS: usize = 200;

/// Some policies, a pool, and what a log asks of it.
#[derive(Clone, Debug)]
pub struct WhatIf<'a> {
    /// The pool; its classes are the workload's.
    pub setting: &'a Setting,
    /// What is asked.
    pub workload: &'a Workload,
    /// Who decides.
    pub policies: &'a [PolicyChoice],
    /// What adaptive policies do not exceed.
    pub limits: Limits,
    /// TOFEC's memory factor.
    pub memory: f64,
    /// One run for each, on the same arrivals.
    pub seeds: &'a [u64],
    /// By node.
    pub prices: &'a [Price],
}

/// What came of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    verdicts: Vec<Verdict>,
    headrooms: Vec<Headroom>,
}

/// One policy under one seed.
#[derive(Clone, PartialEq, Debug)]
struct Verdict {
    policy: usize,
    seed: u64,
    delays: [Delays; 3],
    failed: u64,
    tasks: Tasks,
    nodes: Vec<NodeTasks>,
    span_s: f64,
    curves: [Vec<(f64, f64)>; 2],
}

/// How much more one policy could bear.
#[derive(Clone, PartialEq, Debug)]
struct Headroom {
    /// How many times the rate, at most; `None`: more than was tried.
    multiple: Option<f64>,
    /// Whether more than a few objects failed at the log's own rate, or the queue grew without end.
    overloaded: bool,
    probes: Vec<Probe>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Probe {
    speed: f64,
    p99_ms: f64,
    failed: f64,
    /// Whether the queue grew without end.
    grows: bool,
}

impl Probe {
    fn lasts(&self) -> bool {
        self.failed <= FAILED_MAX && !self.grows
    }
}

/// Rows of the results: their names.
const OPERATIONS: [&str; 3] = ["all", "read", "write"];

enum Job {
    Play(usize, u64),
    Seek(usize),
}

enum Done {
    Played(Box<Verdict>),
    Found(Headroom),
}

impl WhatIf<'_> {
    /// How often `done` is called.
    pub fn steps(&self) -> usize {
        self.policies.len() * (self.seeds.len() + 1)
    }

    /// Plays the log under every policy and seed, then seeks how much more each policy could bear;
    /// the same whatever the number of threads.
    pub fn play(&self, threads: Option<NonZero<usize>>, done: impl Fn() + Sync) -> Answer {
        let busiest = self.workload.busiest(PROBE_STRIPES.0);
        let busiest = busiest.repeated(PROBE_STRIPES.1);
        let policies = 0..self.policies.len();
        let plays = policies.clone().flat_map(|p| self.seeds.iter().map(move |&s| Job::Play(p, s)));
        let jobs: Vec<Job> = plays.chain(policies.map(Job::Seek)).collect();
        let load = self.workload.load(1.0);
        let work = |job: &Job| match *job {
            Job::Play(policy, seed) => Done::Played(Box::new(self.verdict(policy, seed, &load))),
            Job::Seek(policy) => Done::Found(self.headroom(policy, &busiest)),
        };
        let (mut verdicts, mut headrooms) = (Vec::new(), Vec::new());
        for result in sweep(&jobs, threads, work, done) {
            match result {
                Done::Played(verdict) => verdicts.push(*verdict),
                Done::Found(headroom) => headrooms.push(headroom),
            }
        }
        Answer { verdicts, headrooms }
    }

    fn run(&self, policy: usize, seed: u64, load: &crate::Load) -> crate::Outcome {
        let (setting, limits, memory) = (self.setting, self.limits, self.memory);
        let (policy, warmup, keep_courses) = (&self.policies[policy], 0, true);
        Run { setting, load, policy, limits, memory, seed, warmup, keep_courses }.play()
    }

    fn verdict(&self, policy: usize, seed: u64, load: &crate::Load) -> Verdict {
        let outcome = self.run(policy, seed, load);
        let ObjectDelays { all, reads, writes, failed, took_ns } = self.workload.delays(&outcome);
        let curve = |took: Vec<u64>| {
            let ms: Vec<f64> = took.into_iter().map(|took| took as f64 / 1e6).collect();
            ripstop_figure::ccdf(&ms, CCDF_POINTS)
        };
        let (tasks, nodes, span_s) = (outcome.tasks, outcome.nodes, outcome.span_s);
        let (delays, curves) = ([all, reads, writes], took_ns.map(curve));
        Verdict { policy, seed, delays, failed, tasks, nodes, span_s, curves }
    }

    /// Whether the queue of a run grew from its beginning to its end.
    fn grows(&self, outcome: &crate::Outcome, span_s: f64) -> bool {
        let third = outcome.courses.len() / 3;
        let took = |courses: &[crate::Course]| {
            courses.iter().map(|course| course.took_ns as f64).sum::<f64>()
        };
        let (first, last) = (
            took(&outcome.courses[..third]),
            took(&outcome.courses[outcome.courses.len() - third..]),
        );
        let lane_s = f64::from(self.setting.lanes()) * span_s;
        outcome.tasks.lane_s > BUSY_MIN * lane_s && last > GROWTH_MAX * first
    }

    /// By how much the busiest part of the log, if it went on, may be faster before p99 doubles,
    /// more than a hundredth fails, or the queue grows without end.
    fn headroom(&self, policy: usize, part: &Workload) -> Headroom {
        let probe = |speed: f64| {
            let outcome = self.run(policy, self.seeds[0], &part.load(speed));
            let delays = part.delays(&outcome);
            let failed = delays.failed as f64 / part.objects.len().max(1) as f64;
            let grows = self.grows(&outcome, part.span_s() / speed);
            Probe { speed, p99_ms: delays.all.p99_ms, failed, grows }
        };
        let first = probe(1.0);
        let mut probes = vec![first];
        if !first.lasts() {
            return Headroom { multiple: Some(1.0), overloaded: true, probes };
        }
        let mut holds = |speed: f64| {
            let probe = probe(speed);
            probes.push(probe);
            probe.lasts() && probe.p99_ms <= LONGER_MAX * first.p99_ms
        };
        let (mut low, mut high) = (1.0, 2.0);
        while holds(high) {
            low = high;
            high *= 2.0;
            if high > SPEED_MAX {
                probes.sort_by(|a, b| a.speed.total_cmp(&b.speed));
                return Headroom { multiple: None, overloaded: false, probes };
            }
        }
        for _ in 0..HALVINGS {
            let middle = libm::sqrt(low * high);
            *(if holds(middle) { &mut low } else { &mut high }) = middle;
        }
        probes.sort_by(|a, b| a.speed.total_cmp(&b.speed));
        Headroom { multiple: Some(low), overloaded: false, probes }
    }

    /// The mean load over full capacity.
    pub fn load(&self) -> f64 {
        self.workload.rate_per_s() / self.setting.capacity_per_s()
    }

    /// Dollars a month: for tasks, for bytes fetched, for bytes kept; what has no price counts
    /// nothing.
    fn dollars(&self, nodes: &[NodeTasks]) -> [f64; 3] {
        let month = MONTH_S / self.workload.span_s();
        let (mut tasks, mut moved) = (0.0, 0.0);
        let (mut stored, mut kept) = (0, 0.0);
        for (price, node) in self.prices.iter().zip(nodes) {
            tasks += price.per_1000_gets.unwrap_or(0.0) * node.reads as f64 / 1000.0;
            tasks += price.per_1000_puts.unwrap_or(0.0) * node.writes as f64 / 1000.0;
            moved += price.per_gb_out.unwrap_or(0.0) * node.bytes_read as f64 / 1e9;
            stored += node.bytes_written;
        }
        if let Some(bytes) = self.workload.named_bytes {
            let prices = self.prices.iter().filter_map(|price| price.per_gb_month);
            let mean = prices.sum::<f64>() / self.prices.len().max(1) as f64;
            kept = mean * bytes as f64 * self.expansion(stored) / 1e9;
        }
        [tasks * month, moved * month, kept]
    }

    /// Bytes stored for each byte written.
    fn expansion(&self, stored: u64) -> f64 {
        let writes =
            self.setting.classes.iter().filter(|class| class.operation == Operation::Write);
        let written: f64 = writes.map(|class| class.share * class.bytes as f64).sum();
        match self.setting.layout {
            crate::Layout::Unique if written > 0.0 => stored as f64 / written,
            crate::Layout::Unique => 1.0,
            crate::Layout::Spread | crate::Layout::Shared => {
                self.setting.code.n() as f64 / self.setting.code.k() as f64
            }
        }
    }

    fn has_prices(&self) -> bool {
        self.prices.iter().any(|price| *price != Price::default())
    }

    /// A row for each policy, seed, and direction with all together.
    pub fn table(&self, answer: &Answer) -> Table {
        let mut table = Table::new([
            "policy",
            "seed",
            "operation",
            "objects",
            "failed",
            "mean_ms",
            "p50_ms",
            "p90_ms",
            "p99_ms",
            "p999_ms",
            "tasks_per_request",
            "extra_per_request",
            "won_per_request",
            "bytes_per_byte",
            "wasted_lane_share",
            "lanes_busy",
            "task_dollars_per_month",
            "transfer_dollars_per_month",
            "storage_dollars_per_month",
        ]);
        let requests = self.workload.stripes.len() as f64;
        for verdict in &answer.verdicts {
            for (name, delays) in OPERATIONS.into_iter().zip(&verdict.delays) {
                let ms =
                    [delays.mean_ms, delays.p50_ms, delays.p90_ms, delays.p99_ms, delays.p999_ms];
                let known = delays.count > 0;
                let mut row: Vec<Cell> = vec![
                    self.policies[verdict.policy].to_string().into(),
                    (verdict.seed as f64).into(),
                    name.into(),
                    delays.count.into(),
                    if name == OPERATIONS[0] { verdict.failed.into() } else { Cell::Missing },
                ];
                row.extend(ms.map(|ms| Cell::from(known.then_some(ms))));
                let tasks = verdict.tasks;
                let of_all = [
                    tasks.served as f64 / requests,
                    tasks.extra as f64 / requests,
                    tasks.won as f64 / requests,
                    tasks.bytes as f64 / self.workload.bytes(),
                    tasks.wasted_s / tasks.lane_s.max(1e-12),
                    tasks.lane_s / verdict.span_s.max(1e-12),
                ];
                let dollars = self.dollars(&verdict.nodes);
                let of_all = of_all
                    .map(Some)
                    .into_iter()
                    .chain(dollars.map(|dollars| self.has_prices().then_some(dollars)));
                let whole = name == OPERATIONS[0];
                row.extend(of_all.map(|value| Cell::from(value.filter(|_| whole))));
                table.push(row);
            }
        }
        table
    }

    /// Every rate at which headroom was sought: `policy`, `speed` (times the log's), `p99_ms` and
    /// `failed_share`, over the busiest part of the log.
    pub fn headroom_table(&self, answer: &Answer) -> Table {
        let mut table = Table::new(["policy", "speed", "p99_ms", "failed_share"]);
        for (policy, headroom) in self.policies.iter().zip(&answer.headrooms) {
            for probe in &headroom.probes {
                let numbers = [probe.speed, probe.p99_ms, probe.failed].map(Cell::from);
                table.push(std::iter::once(policy.to_string().into()).chain(numbers));
            }
        }
        table
    }

    /// The policies beside one another, for a terminal; delays are means over the seeds.
    pub fn text(&self, answer: &Answer) -> Result<String, TableError> {
        let results = self.table(answer);
        let mut header = vec!["policy".to_owned()];
        for name in &OPERATIONS[1..] {
            header.extend(["p50", "p99", "p99.9"].map(|p| format!("{name} {p}")));
        }
        header.extend(["tasks/req", "bytes moved", "wasted", "bears", "failed"].map(str::to_owned));
        header.extend(self.has_prices().then(|| "$/month".to_owned()));
        let mut rows = vec![header];
        for (policy, headroom) in self.policies.iter().zip(&answer.headrooms) {
            let of_policy = results.only("policy", policy.to_string())?;
            let mean = |operation: &str, column: &str| {
                let rows = of_policy.only("operation", operation)?;
                Ok::<_, TableError>(ripstop_figure::mean(&rows.numbers(column)?))
            };
            let shown = |value: Option<f64>, show: fn(f64) -> String| {
                value.map_or_else(|| "-".to_owned(), show)
            };
            let mut row = vec![policy.to_string()];
            for operation in &OPERATIONS[1..] {
                for column in ["p50_ms", "p99_ms", "p999_ms"] {
                    row.push(shown(mean(operation, column)?, number));
                }
            }
            row.push(shown(mean("all", "tasks_per_request")?, number));
            row.push(shown(mean("all", "bytes_per_byte")?, |share| percent(share - 1.0)));
            if let Some(last) = row.last_mut().filter(|text| !text.starts_with('-')) {
                last.insert(0, '+');
            }
            row.push(shown(mean("all", "wasted_lane_share")?, percent));
            row.push(headroom.text());
            row.push(shown(mean("all", "failed")?, |failed| format!("{failed:.0}")));
            if self.has_prices() {
                let columns =
                    ["task", "transfer", "storage"].map(|of| format!("{of}_dollars_per_month"));
                let dollars = columns.iter().map(|column| mean("all", column));
                let dollars = dollars.map(|sum| Ok::<_, TableError>(sum?.unwrap_or(0.0)));
                row.push(format!("{:.2}", dollars.sum::<Result<f64, _>>()?));
            }
            rows.push(row);
        }
        Ok(text_columns(&rows))
    }

    /// Everything, as files and a page.
    pub fn report(&self, answer: &Answer, intro: &str) -> Result<Report, TableError> {
        let mut report = Report::new("What if", intro);
        let mut curves = Table::new(["policy", "operation", "delay_ms", "share_longer"]);
        let first = answer.verdicts.iter().filter(|verdict| verdict.seed == self.seeds[0]);
        for verdict in first {
            for (operation, points) in OPERATIONS[1..].iter().zip(&verdict.curves) {
                for &(ms, share) in points {
                    let policy = self.policies[verdict.policy].to_string();
                    curves.push([policy.into(), (*operation).into(), ms.into(), share.into()]);
                }
            }
        }
        let headroom = self.headroom_table(answer);
        let mut figure = Figure::new("Share of objects that take longer");
        for operation in &OPERATIONS[1..] {
            let rows = curves.only("operation", *operation)?;
            if rows.rows().is_empty() {
                continue;
            }
            let y = Axis::log("share that takes longer").to(1.0);
            let mut panel = Panel::new(format!("{operation}s"), Axis::log("delay, ms"), y);
            for (policy, points) in rows.series("policy", "delay_ms", "share_longer")? {
                panel = panel.series(Series::step(policy, points));
            }
            figure = figure.panel(panel);
        }
        report.figure(
            "ccdf",
            "The share of objects that take longer, under the first seed.",
            &figure,
        );
        let mut panel =
            Panel::new("", Axis::log("speed, times the log's own"), Axis::log("p99, ms"));
        for (policy, points) in headroom.series("policy", "speed", "p99_ms")? {
            panel = panel.series(Series::line(policy, points).markers());
        }
        let caption =
            "The 99th percentile of objects if the log's busiest part went on, and came faster.";
        report.figure("headroom", caption, &Figure::new("p99 against speed").panel(panel));
        report.table("results", "Each policy, seed and direction.", self.table(answer));
        report.long_table("headroom", headroom);
        report.long_table("ccdf", curves);
        Ok(report)
    }
}

impl Headroom {
    fn text(&self) -> String {
        match (self.multiple, self.overloaded) {
            (_, true) => "overloaded".into(),
            (None, false) => format!("> {SPEED_MAX}x"),
            (Some(multiple), false) => format!("{multiple:.2}x"),
        }
    }
}

#[cfg(test)]
mod tests;
