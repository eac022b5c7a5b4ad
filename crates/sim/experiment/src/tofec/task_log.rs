//! Figures 4, 5 and 6: tasks are recorded, the log is read back, and the delay model fitted to it.

mod draw;

pub(super) use draw::{draw_delays, draw_services, draw_sizes};

use super::{
    paper::{LANES, PRESETS, limits},
    point::setting,
};
use crate::{Arrivals, Budget, Load, PolicyChoice, Process, Run, delay_figures::kept, sweep};
use core::{fmt::Write as _, num::NonZero};
use ripstop_delay::{Preset, ShiftedExponential};
use ripstop_engine::{Engine, Observer};
use ripstop_estimator::{Distribution, Empirical, Fit, LOG_HEADER, LogRecord, parse_log};
use ripstop_figure::{Table, ccdf, percentile};
use ripstop_gateway::{Machine, NodeSpec, Report};
use ripstop_model::{Code, NodeId, Operation, Timestamp};

/// Rate at which the log is recorded: requests hardly ever meet.
const RATE_PER_S: f64 = 0.5;
/// Chunk sizes: 3 MB divided by each of these.
const KS: [usize; 6] = [1, 2, 3, 4, 5, 6];
/// n of figure 5, for k = 3.
const NS: [usize; 4] = [3, 4, 5, 6];
/// A chunk of theirs.
const CHUNK_BYTES: u64 = 1_000_000;
/// How alike the delays of one request's tasks are: chunks with keys of their own, and within one
/// shared key in the middle of the measured 0.11 to 0.17.
pub(super) const CORRELATIONS: [(&str, f64); 2] = [("unique key", 0.0), ("shared key", 0.14)];
/// Points of a distribution's curve.
const CURVE: usize = 120;

/// What was recorded with one preset.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Log {
    pub(super) preset: Preset,
    /// Task delays by chunk size, ascending.
    pub(super) sizes: Vec<(u64, Distribution)>,
    /// The delay model fitted to them.
    pub(super) fit: Fit,
    /// Service delays of any 3 of n chunks: layout, n, ascending milliseconds.
    pub(super) services: Vec<(&'static str, usize, Vec<f64>)>,
}

/// Runs it takes.
pub(super) fn runs() -> u64 {
    (PRESETS.len() * (KS.len() + CORRELATIONS.len() * NS.len())) as u64
}

/// Requests recorded for each chunk size.
fn recorded(budget: Budget) -> u64 {
    budget.requests / 5
}

/// Records and reads back.
pub(super) fn play(
    budget: Budget,
    threads: Option<NonZero<usize>>,
    done: &(impl Fn() + Sync),
) -> Vec<Log> {
    let jobs: Vec<(Preset, usize)> =
        PRESETS.into_iter().flat_map(|preset| KS.map(|k| (preset, k))).collect();
    let texts = sweep(&jobs, threads, |&(preset, k)| record(preset, k, recorded(budget)), done);
    let layouts = CORRELATIONS.into_iter().flat_map(|layout| NS.map(|n| (layout, n)));
    let layouts: Vec<_> = layouts.collect();
    let jobs: Vec<_> =
        PRESETS.into_iter().flat_map(|preset| layouts.iter().map(move |l| (preset, *l))).collect();
    let serve = |&(preset, ((_, correlation), n)): &(Preset, ((&str, f64), usize))| {
        service_ms(preset, correlation, n, budget.requests)
    };
    let services = sweep(&jobs, threads, serve, done);
    let of = |(index, preset): (usize, Preset)| {
        let text = texts[index * KS.len()..][..KS.len()].concat();
        let text = format!("{LOG_HEADER}\n{text}");
        let own = services[index * layouts.len()..][..layouts.len()].iter();
        let services = layouts.iter().zip(own).map(|(&((name, _), n), ms)| (name, n, ms.clone()));
        read(preset, &text, services.collect())
    };
    PRESETS.into_iter().enumerate().map(of).collect()
}

/// What a log tells.
fn read(preset: Preset, text: &str, services: Vec<(&'static str, usize, Vec<f64>)>) -> Log {
    let records = parse_log(text).expect("what is written can be read");
    let samples: Vec<_> = records.iter().filter_map(LogRecord::sample).collect();
    let sizes = Empirical::of(&samples).sizes(Operation::Read).to_vec();
    // As the paper fits it: with all that came.
    let reads = samples.iter().copied().filter(|sample| sample.operation == Operation::Read);
    let fit = Fit::of(reads, None).expect("enough reads were recorded");
    Log { preset, sizes, fit, services }
}

/// Writes a line for each task.
struct Recorder {
    text: String,
}

impl Observer for Recorder {
    fn report(&mut self, at: Timestamp, report: &Report) {
        let Report::Task(end) = report else { return };
        let Some(record) = end.log_record(at) else { return };
        writeln!(self.text, "{record}").expect("a text takes what is written");
    }
}

/// The task log of requests that are each served in k chunks.
fn record(preset: Preset, k: usize, requests: u64) -> String {
    let setting = setting(preset);
    let load = Load::Requests { process: Process::Poisson(RATE_PER_S), count: requests };
    let policy = PolicyChoice::fixed(Code::new(k, k).expect("k of k is a code"));
    let policy = policy.policy(&setting, &load, limits(), 0.99);
    let nodes = vec![NodeSpec { id: NodeId(0), lanes: LANES }];
    let machine = Machine::new(setting.machine, nodes, policy);
    let seed = k as u64;
    let recorder = Recorder { text: String::new() };
    let mut engine = Engine::new(machine, setting.world(seed), recorder);
    engine.run(Arrivals::new(&setting, &load, seed).map(|(_, arrival)| arrival));
    engine.observer.text
}

/// How long 3 of n chunks took, ascending, milliseconds; requests do not meet.
fn service_ms(preset: Preset, correlation: f64, n: usize, requests: u64) -> Vec<f64> {
    let mut setting = setting(preset);
    setting.correlation = correlation;
    let gap = Process::Deterministic(0.05);
    let run = Run {
        setting: &setting,
        load: &Load::Requests { process: gap, count: requests },
        policy: &PolicyChoice::fixed(Code::new(n, 3).expect("3 of n is a code")),
        limits: limits(),
        memory: 0.99,
        seed: 1,
        warmup: 0,
        keep_courses: false,
    };
    let mut ms: Vec<f64> = run.play().took_ns.iter().map(|&ns| ns as f64 / 1e6).collect();
    ms.sort_by(f64::total_cmp);
    ms
}

/// Megabytes of a chunk.
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// Figure 4: share of task delays that are longer.
pub(super) fn delay_table(logs: &[Log]) -> Table {
    let mut table = Table::new(["delays", "chunk_mb", "delay_ms", "share_longer"]);
    for log in logs {
        for (bytes, delays) in &log.sizes {
            for (ms, share) in delays.ccdf_points(CURVE) {
                let chunk = format!("{:.2} MB", megabytes(*bytes));
                table.push([log.preset.name().into(), chunk.into(), ms.into(), share.into()]);
            }
        }
    }
    table
}

/// Figure 5: share of service delays that are longer.
pub(super) fn service_table(logs: &[Log]) -> Table {
    let mut table = Table::new(["delays", "layout", "code", "delay_ms", "share_longer"]);
    for log in logs {
        for (layout, n, sorted) in &log.services {
            for (ms, share) in ccdf(sorted, CURVE) {
                let cells = [log.preset.name(), layout, &format!("({n},3)")].map(Into::into);
                let [preset, layout, code] = cells;
                table.push([preset, layout, code, ms.into(), share.into()]);
            }
        }
    }
    table
}

impl Log {
    /// A percentile of the service delay of 3 of n chunks with keys of their own: n, as played, and
    /// by the model, milliseconds.
    pub(super) fn service_percentiles(&self, percent: f64) -> Vec<(usize, f64, f64)> {
        let (unique, _) = CORRELATIONS[0];
        let model = self.preset.shifted_exponential().expect("the presets of 2013 are");
        let own = self.services.iter().filter(|(layout, ..)| *layout == unique);
        let both = own.map(|(_, n, sorted)| {
            let played = percentile(sorted, percent).expect("there are requests");
            let excess = model.excess_at(CHUNK_BYTES) * third_of(*n, percent / 100.0);
            (*n, played, model.shift_at(CHUNK_BYTES) + excess)
        });
        both.collect()
    }
}

/// The quantile of the third smallest of n exponentials of mean 1.
fn third_of(n: usize, share: f64) -> f64 {
    let done = |t: f64| {
        let late = libm::exp(-t);
        let choose = [1.0, n as f64, (n * (n - 1) / 2) as f64];
        let fewer = (0..3).map(|i| {
            let (i, j) = (i as f64, (n - i) as f64);
            choose[i as usize] * libm::pow(1.0 - late, i) * libm::pow(late, j)
        });
        1.0 - fewer.sum::<f64>()
    };
    let (mut low, mut high) = (0.0, 100.0);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if done(middle) < share { low = middle } else { high = middle }
    }
    high
}

/// Figure 6: what was measured, and the lines.
pub(super) fn size_table(logs: &[Log]) -> Table {
    let mut table = Table::new(["delays", "curve", "chunk_mb", "mean_ms", "deviation_ms"]);
    for log in logs {
        let mut push = |curve: &str, megabytes: f64, mean: f64, deviation: f64| {
            let cells = [megabytes, mean, deviation].map(Into::into);
            let [megabytes, mean, deviation] = cells;
            table.push([log.preset.name().into(), curve.into(), megabytes, mean, deviation]);
        };
        for (bytes, delays) in &log.sizes {
            push("measured", megabytes(*bytes), delays.mean_ms(), delays.deviation_ms());
        }
        for (bytes, delays) in &log.sizes {
            let (mean, deviation) = kept(delays);
            push("measured, slowest 10 % dropped", megabytes(*bytes), mean, deviation);
        }
        let truth = log.preset.shifted_exponential().expect("the presets of 2013 are");
        let lines: [(&str, ShiftedExponential); 3] = [
            ("literal fit", log.fit.literal),
            ("corrected fit", log.fit.model),
            ("what it was drawn from", truth),
        ];
        for (name, model) in lines {
            for bytes in [0, 3_000_000] {
                let (shift, excess) = (model.shift_at(bytes), model.excess_at(bytes));
                push(name, megabytes(bytes), shift + excess, excess);
            }
        }
    }
    table
}
