//! One measurement, and what the simulator says will come of it.

use ripstop_delay::Preset;
use ripstop_experiment::{Arrivals, Load, Outcome, PolicyChoice, Process, Run, Setting};
use ripstop_model::Code;
use ripstop_policy::{Limits, Policy};
use std::{sync::Arc, time::Duration};

pub(super) const LANES: u16 = 16;
pub(super) const PRESET: Preset = Preset::S3In2025;
const LIMITS: Limits = Limits { k_max: 6, r_max: 2.0 };
/// TOFEC's memory factor, for those who name it.
const MEMORY: f64 = 0.99;
/// If the long run lasts this many times as long as its requests arrive, and some seconds more,
/// they are more than the lanes can serve.
const DRAIN_MAX: (f64, f64) = (1.01, 6.0);
/// What a task and a byte take of one core's time, roughly, seconds.
const CORE_TIME_S: (f64, f64) = (120e-6, 0.09e-9);

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
    pub predicted: Outcome,
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

    pub(super) fn simulate(&self) -> Outcome {
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

    /// Whether requests come faster than the lanes can serve them. Asked while the count is that of
    /// the long run.
    pub(super) fn is_overload(&self) -> bool {
        let arriving_s = (self.count - self.warmup()) as f64 / self.rate;
        self.in_the_long_run.span_s > arriving_s * DRAIN_MAX.0 + DRAIN_MAX.1
    }

    /// Share of one core that it takes.
    pub(super) fn busy(&self) -> f64 {
        let Outcome { tasks, span_s, .. } = &self.in_the_long_run;
        let (task_s, byte_s) = CORE_TIME_S;
        (tasks.served as f64 * task_s + tasks.bytes as f64 * byte_s) / span_s
    }
}

/// What came of a case, live and as predicted.
pub(super) struct Found {
    pub case: Case,
    /// `None`: the lanes cannot keep up, so it was not run.
    pub live: Option<Outcome>,
}
