//! What is measured, batch after batch.

use super::{
    arguments::Tail,
    case::{Case, LANES, PRESET, storage_code},
    live::Stock,
};
use ripstop_experiment::{
    ClassSetting, Delay, Layout, Outcome, Overhead, PolicyChoice, Setting, sweep,
};
use ripstop_model::Operation;
use std::{collections::BTreeMap, sync::Arc, thread, time::Duration};

/// Requests of the simulator's answer to what would come of a much longer run.
const LONG: u64 = 400_000;
/// Most of the machine's time that measurements which run at once may take.
const BUSY_MAX: f64 = 0.3;

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
                        predicted: Outcome::default(),
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
            let predicted = sweep(batch, None, Case::simulate, || ());
            for (case, predicted) in batch.iter_mut().zip(predicted) {
                case.predicted = predicted;
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
             Predicted with this machine's own share, measured before:\n{}  decoding {:.3} ns a byte\n\
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

/// As few as the machine's time allows. Those with large objects, which are checked and decoded,
/// would disturb those with small ones.
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
