//! What is measured, and what the simulator says will come of it.

use super::{Tail, live::Stock};
use ripstop_delay::Preset;
use ripstop_experiment::{
    Arrivals, ClassSetting, Delay, Layout, Load, Outcome, Overhead, PolicyChoice, Process, Run,
    Setting, sweep,
};
use ripstop_model::{Code, Operation};
use ripstop_policy::{Limits, Policy};
use std::{collections::BTreeMap, sync::Arc, thread, time::Duration};

pub(super) const LANES: u16 = 16;
pub(super) const PRESET: Preset = Preset::S3In2025;
const LIMITS: Limits = Limits { k_max: 6, r_max: 2.0 };
/// TOFEC's memory factor, for those who name it.
const MEMORY: f64 = 0.99;
/// Requests of the simulator's answer to what would come of a much longer run.
const LONG: u64 = 400_000;
/// If the long run lasts so many times as long as its requests arrive, and some seconds more, they are
/// more than the lanes can serve.
const DRAIN_MAX: (f64, f64) = (1.01, 6.0);
/// What a task and a byte take of one core's time, roughly, seconds.
const CORE_TIME_S: (f64, f64) = (120e-6, 0.09e-9);
/// Most of the machine's time that measurements which run at once may take.
const BUSY_MAX: f64 = 0.3;

/// The code that all objects are stored with.
pub(super) fn storage_code() -> Code {
    Code::new(24, 12).expect("12 of 24 is a code")
}

/// One policy at one load with objects of one size.
#[derive(Clone)]
pub(super) struct Case {
    /// Its place in the table.
    pub number: usize,
    /// Bytes of an object.
    pub size: u32,
    /// Share of full capacity.
    pub load: f64,
    /// Requests per second.
    pub rate: f64,
    pub policy: PolicyChoice,
    pub setting: Arc<Setting>,
    /// Requests of the live run.
    pub count: u64,
    pub seed: u64,
    /// What the simulator makes of the same arrivals and the same luck.
    pub foretold: Outcome,
    /// And of many more.
    pub in_the_long_run: Outcome,
}

impl Case {
    /// Requests at the beginning that do not count: policies learn.
    pub(super) fn warmup(&self) -> u64 {
        (self.count / 10).max(300).min(self.count / 2)
    }

    fn arriving(&self) -> Load {
        Load::Requests { process: Process::Poisson(self.rate), count: self.count }
    }

    /// When requests arrive, after the start.
    pub(super) fn times(&self) -> Vec<Duration> {
        let arriving = self.arriving();
        let arrivals = Arrivals::new(&self.setting, &arriving, self.seed);
        arrivals.map(|(_, arrival)| Duration::from_nanos(arrival.at.as_nanos())).collect()
    }

    /// The policy, knowing nothing yet.
    pub(super) fn policy(&self) -> Box<dyn Policy> {
        self.policy.policy(&self.setting, &self.arriving(), LIMITS, MEMORY)
    }

    fn simulate(&self) -> Outcome {
        let run = Run {
            setting: &self.setting,
            load: &self.arriving(),
            policy: &self.policy,
            limits: LIMITS,
            memory: MEMORY,
            seed: self.seed,
            warmup: self.warmup(),
            keep_courses: false,
        };
        run.play()
    }

    /// Whether requests come faster than the lanes can serve them. Asked while the count is that of the
    /// long run.
    fn is_overload(&self) -> bool {
        let arriving_s = (self.count - self.warmup()) as f64 / self.rate;
        self.in_the_long_run.span_s > arriving_s * DRAIN_MAX.0 + DRAIN_MAX.1
    }

    /// Share of one core that it takes.
    fn busy(&self) -> f64 {
        let Outcome { tasks, span_s, .. } = &self.in_the_long_run;
        let (task_s, byte_s) = CORE_TIME_S;
        (tasks.served as f64 * task_s + tasks.bytes as f64 * byte_s) / span_s
    }
}

/// What runs at the same time, and one after the other.
pub(super) struct Plan {
    pub batches: Vec<Vec<Case>>,
    /// What the lanes could not keep up with.
    pub overloaded: Vec<Case>,
    /// How long requests arrive in each batch, seconds.
    each_s: f64,
    coding_s_per_byte: f64,
    overheads: String,
}

impl Plan {
    /// Everything asked for, so that requests arrive for `span` in all.
    pub(super) fn new(
        arguments: &Tail,
        policies: &[PolicyChoice],
        stocks: &BTreeMap<u32, Stock>,
        coding_s_per_byte: f64,
        span: Duration,
    ) -> Self {
        let mut cases = Vec::new();
        for &size in &arguments.sizes {
            let stock = &stocks[&size];
            let plain = setting(stock, coding_s_per_byte);
            let capacity_per_s = plain.capacity_per_s();
            let setting = Arc::new(with_overhead(plain, stock.overhead()));
            for &load in &arguments.loads {
                for policy in policies {
                    cases.push(Case {
                        number: cases.len(),
                        size,
                        load,
                        rate: load * capacity_per_s,
                        policy: policy.clone(),
                        setting: setting.clone(),
                        count: LONG,
                        seed: arguments.seed,
                        foretold: Outcome::default(),
                        in_the_long_run: Outcome::default(),
                    });
                }
            }
        }
        let long = sweep(&cases, None, Case::simulate, || ());
        for (case, long) in cases.iter_mut().zip(long) {
            case.in_the_long_run = long;
        }
        let (overloaded, cases) = cases.into_iter().partition(Case::is_overload);
        let mut batches = batches(cases);
        let each_s = span.as_secs_f64() / batches.len().max(1) as f64;
        for batch in &mut batches {
            for case in &mut *batch {
                case.count = ((case.rate * each_s).ceil() as u64).max(20);
            }
            let foretold = sweep(batch, None, Case::simulate, || ());
            for (case, foretold) in batch.iter_mut().zip(foretold) {
                case.foretold = foretold;
            }
        }
        let overhead = |(size, stock): (&u32, &Stock)| {
            let Overhead { s, s_per_byte } = stock.overhead();
            let (us, ns) = (s * 1e6, s_per_byte * 1e9);
            format!("  {us:.0} µs a task and {ns:.3} ns a byte with objects of {size} B\n")
        };
        let overheads = stocks.iter().map(overhead).collect();
        Self { batches, overloaded, each_s, coding_s_per_byte, overheads }
    }

    /// All requests to come.
    pub(super) fn requests(&self) -> u64 {
        self.batches.iter().flatten().map(|case| case.count).sum()
    }

    /// What is measured, in words.
    pub(super) fn intro(&self) -> String {
        format!(
            "One node in memory with {LANES} lanes and the delays of {}, code {} in the layout shared; \
             Poisson arrivals.\n\
             Every policy meets the same arrivals; the simulator beside it has the luck of the live \
             node, start by start.\n\
             Foretold with this machine's own share, measured before:\n{}  decoding {:.3} ns a byte\n\
             {} measurements in {} batches of {:.0} s.",
            PRESET.name(),
            storage_code(),
            self.overheads,
            self.coding_s_per_byte * 1e9,
            self.batches.iter().map(Vec::len).sum::<usize>(),
            self.batches.len(),
            self.each_s
        )
    }
}

fn setting(stock: &Stock, coding_s_per_byte: f64) -> Setting {
    let bytes = u64::from(stock.strip_bytes()) * storage_code().k() as u64;
    Setting {
        code: storage_code(),
        layout: Layout::Shared,
        classes: vec![ClassSetting::new(Operation::Read, bytes, 1.0)],
        coding_s_per_byte,
        paired: false,
        ..Setting::of_tofec(Delay::Preset(PRESET), LANES)
    }
}

fn with_overhead(mut setting: Setting, overhead: Overhead) -> Setting {
    for node in &mut setting.nodes {
        let plain = Box::new(node.delay.clone());
        node.delay = Delay::WithOverhead(plain, overhead);
    }
    setting
}

/// As few as the machine's time allows. Those with large objects, which are checked and decoded, would
/// disturb those with small ones.
fn batches(cases: Vec<Case>) -> Vec<Vec<Case>> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let mut batches: Vec<(f64, Vec<Case>)> = Vec::new();
    for case in cases {
        let busy = case.busy();
        let fits = |(taken, batch): &&mut (f64, Vec<Case>)| {
            batch[0].size == case.size && *taken + busy <= BUSY_MAX * cores as f64
        };
        match batches.iter_mut().find(fits) {
            Some((taken, batch)) => {
                *taken += busy;
                batch.push(case);
            }
            None => batches.push((busy, vec![case])),
        }
    }
    batches.into_iter().map(|(_, batch)| batch).collect()
}
