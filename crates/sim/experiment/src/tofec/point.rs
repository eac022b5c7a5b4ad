use super::paper::{LANES, PRESETS, RATES_PER_S, limits};
use crate::{Budget, Delay, Delays, Load, PolicyChoice, Process, Run, Scenario, Setting, sweep};
use core::num::NonZero;
use ripstop_delay::Preset;
use ripstop_figure::Estimate;
use ripstop_model::Code;
use ripstop_policy::Demand;

/// A rate that no code keeps up with: what is then served is the capacity.
pub(super) const OVERLOAD_PER_S: f64 = 160.0;
/// A rate at which requests hardly ever meet.
pub(super) const ALONE_PER_S: f64 = 0.25;
/// A code whose own load is beyond this has no steady state that so few requests would show.
const LOAD_MAX: f64 = 0.97;
/// The load of each code's last point in figure 1.
const EDGE: f64 = 0.93;
/// Share of the requests, those that come first, that do not count.
const WARMUP: f64 = 0.1;

/// What adapts, and what it is called in the figures.
pub(super) const ADAPTIVE: [(&str, &str); 5] = [
    ("tofec", "TOFEC"),
    ("tofec-multi", "TOFEC, multi-server"),
    ("greedy", "greedy"),
    ("fixed-dimension", "fixed dimension, k = 6"),
    ("backfill", "Backfill"),
];

/// A policy at a rate.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) preset: Preset,
    pub(super) policy: PolicyChoice,
    pub(super) rate_per_s: f64,
}

/// What came of a plan; each list has an entry for each seed.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Point {
    pub(super) preset: Preset,
    pub(super) policy: PolicyChoice,
    pub(super) rate_per_s: f64,
    pub(super) delays: Vec<Delays>,
    /// Lane time of a request, milliseconds.
    pub(super) lane_ms: Vec<f64>,
    /// Share of the requests that had k = 1, 2, …
    pub(super) ks: Vec<Vec<f64>>,
}

/// All of them.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Points(Vec<Point>);

/// A figure of merit of a run's delays.
pub(super) type Metric = fn(&Delays) -> f64;

/// The four panels of figure 8.
pub(super) const METRICS: [(&str, Metric); 4] = [
    ("mean", |delays| delays.mean_ms),
    ("median", |delays| delays.p50_ms),
    ("90th percentile", |delays| delays.p90_ms),
    ("99th percentile", |delays| delays.p99_ms),
];

impl Point {
    /// A figure of merit with its confidence interval over the seeds.
    pub(super) fn estimate(&self, metric: Metric) -> Estimate {
        let samples: Vec<f64> = self.delays.iter().map(metric).collect();
        Estimate::of(&samples).expect("there is a seed")
    }

    /// How it compares with another under the same arrivals: other over self, seed by seed.
    pub(super) fn ratio(&self, other: &Self, metric: Metric) -> Estimate {
        let pairs = self.delays.iter().zip(&other.delays);
        let ratios: Vec<f64> = pairs.map(|(own, other)| metric(other) / metric(own)).collect();
        Estimate::of(&ratios).expect("there is a seed")
    }

    /// Requests per second that all lanes could serve at this lane time.
    pub(super) fn capacity_per_s(&self) -> Estimate {
        let all: Vec<f64> = self.lane_ms.iter().map(|ms| f64::from(LANES) * 1000.0 / ms).collect();
        Estimate::of(&all).expect("there is a seed")
    }

    /// Share of each k, from 1 on, over all seeds.
    pub(super) fn shares(&self) -> Vec<f64> {
        let of = |k: usize| self.share_of(&[k]).mean;
        (1..=usize::from(limits().k_max)).map(of).collect()
    }

    /// Share of these k together.
    pub(super) fn share_of(&self, ks: &[usize]) -> Estimate {
        let of = |shares: &Vec<f64>| ks.iter().map(|k| shares[k - 1]).sum();
        let all: Vec<f64> = self.ks.iter().map(of).collect();
        Estimate::of(&all).expect("there is a seed")
    }
}

impl Points {
    /// Everyone at one preset and rate.
    pub(super) fn at(&self, preset: Preset, rate_per_s: f64) -> impl Iterator<Item = &Point> {
        let here = move |point: &&Point| {
            point.preset == preset && point.rate_per_s.total_cmp(&rate_per_s).is_eq()
        };
        self.0.iter().filter(here)
    }

    /// One policy at each rate that it was played at below the overload, ascending.
    pub(super) fn of(&self, preset: Preset, policy: &str) -> Vec<&Point> {
        let own = self.0.iter().filter(|point| point.preset == preset);
        let steady =
            own.filter(|point| (RATES_PER_S[0]..OVERLOAD_PER_S).contains(&point.rate_per_s));
        let mut own: Vec<_> = steady.filter(|point| point.policy.to_string() == policy).collect();
        own.sort_by(|one, other| one.rate_per_s.total_cmp(&other.rate_per_s));
        own
    }

    /// One policy at one preset and rate, unless the rate is beyond its capacity.
    pub(super) fn find(&self, preset: Preset, policy: &str, rate_per_s: f64) -> Option<&Point> {
        self.at(preset, rate_per_s).find(|point| point.policy.to_string() == policy)
    }

    /// The same where it must be.
    pub(super) fn get(&self, preset: Preset, policy: &str, rate_per_s: f64) -> &Point {
        self.find(preset, policy, rate_per_s).expect("it was planned")
    }

    /// The fixed code with the least of this metric.
    pub(super) fn best_fixed(&self, preset: Preset, rate_per_s: f64, metric: Metric) -> &Point {
        let fixed = self.at(preset, rate_per_s).filter(|point| point.policy.name() == "fixed");
        let least = |one: &&Point, other: &&Point| {
            one.estimate(metric).mean.total_cmp(&other.estimate(metric).mean)
        };
        fixed.min_by(least).expect("(1,1) keeps up with every rate of the figures")
    }
}

/// The pool of the paper with these delays.
pub(super) fn setting(preset: Preset) -> Setting {
    Setting::of_tofec(Delay::Preset(preset), LANES)
}

/// Every fixed code: k up to 6, n up to 2k.
pub(super) fn codes() -> Vec<Code> {
    Scenario::sweep("", setting(PRESETS[0]), &[], 0)
        .fixed_codes()
        .into_iter()
        .filter(|code| code.k() <= 6)
        .collect()
}

/// The load that a code makes of a rate.
fn load(preset: Preset, code: Code, rate_per_s: f64) -> f64 {
    let setting = setting(preset);
    let model = preset.shifted_exponential().expect("the presets of 2013 are");
    let demand = Demand { model, megabytes: setting.classes[0].bytes as f64 / 1e6 };
    rate_per_s / 1000.0 * demand.lane_time_ms(code.n() as f64, code.k() as f64) / f64::from(LANES)
}

/// What is played: every policy at every rate that it can keep up with, and those whose capacity is
/// asked for at one that nobody can.
pub(super) fn plans() -> Vec<Plan> {
    let mut plans = Vec::new();
    let fixed = |n, k| PolicyChoice::fixed(Code::new(n, k).expect("a code"));
    for preset in PRESETS {
        let mut plan = |policy: &PolicyChoice, rate_per_s| {
            plans.push(Plan { preset, policy: policy.clone(), rate_per_s });
        };
        for (name, _) in ADAPTIVE {
            let policy = name.parse().expect("it is registered");
            let least = Code::new(6, 6).expect("a code");
            for rate in RATES_PER_S {
                if name != "fixed-dimension" || load(preset, least, rate) < LOAD_MAX {
                    plan(&policy, rate);
                }
            }
            plan(&policy, OVERLOAD_PER_S);
        }
        for code in codes() {
            let rates = RATES_PER_S.into_iter();
            for rate in rates.filter(|&rate| load(preset, code, rate) < LOAD_MAX) {
                plan(&PolicyChoice::fixed(code), rate);
            }
            let edge = (EDGE / load(preset, code, 1.0)).round();
            if !RATES_PER_S.contains(&edge) {
                plan(&PolicyChoice::fixed(code), edge);
            }
        }
        for (n, k) in [(1, 1), (2, 1), (6, 6), (12, 6)] {
            plan(&fixed(n, k), OVERLOAD_PER_S);
        }
        for policy in [fixed(1, 1), fixed(2, 1), "tofec".parse().expect("it is registered")] {
            plan(&policy, ALONE_PER_S);
        }
    }
    plans
}

/// Plays all plans for each seed.
pub(super) fn play(
    plans: &[Plan],
    Budget { seeds, requests }: Budget,
    threads: Option<NonZero<usize>>,
    done: &(impl Fn() + Sync),
) -> Points {
    let jobs: Vec<(&Plan, u64)> =
        plans.iter().flat_map(|plan| (1..=seeds).map(move |seed| (plan, seed))).collect();
    let results = sweep(&jobs, threads, |&(plan, seed)| one(plan, seed, requests), done);
    let mut results = results.into_iter();
    let points = plans.iter().map(|plan| {
        let Plan { preset, policy, rate_per_s } = plan.clone();
        let (mut delays, mut lane_ms, mut ks) = (Vec::new(), Vec::new(), Vec::new());
        for (delay, lane, k) in results.by_ref().take(seeds as usize) {
            delays.push(delay);
            lane_ms.push(lane);
            ks.push(k);
        }
        Point { preset, policy, rate_per_s, delays, lane_ms, ks }
    });
    Points(points.collect())
}

fn one(plan: &Plan, seed: u64, requests: u64) -> (Delays, f64, Vec<f64>) {
    let load = Load::Requests { process: Process::Poisson(plan.rate_per_s), count: requests };
    let run = Run {
        setting: &setting(plan.preset),
        load: &load,
        policy: &plan.policy,
        limits: limits(),
        memory: 0.99,
        seed,
        warmup: (requests as f64 * WARMUP) as u64,
        keep_courses: false,
    };
    let outcome = run.play();
    let answered = outcome.took_ns.len().max(1) as f64;
    let mut ks = vec![0.0; usize::from(limits().k_max)];
    for (_, k, count) in outcome.codes.iter() {
        if let Some(share) = ks.get_mut(k - 1) {
            *share += count as f64 / outcome.codes.total().max(1) as f64;
        }
    }
    (outcome.delay(), outcome.tasks.lane_s * 1000.0 / answered, ks)
}
