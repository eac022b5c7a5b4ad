//! The pool whose node becomes slow once more, in the simulator: planned by the same code, under
//! the same arrivals.

use super::site::{self, NODES, STRIPE_BYTES, STRIPES};
use anyhow::{Context as _, Result};
use ripstop_estimator::{LogRecord, LoggedOutcome, parse_log};
use ripstop_experiment::{
    ClassSetting, Delay, Layout, Load, NodeSetting, Overhead, PlanSetting, Run, Setting,
};
use ripstop_figure::mean;
use ripstop_gateway::{MachineSettings, ReadSelection};
use ripstop_model::{Operation, Timestamp};
use ripstop_placement::{Group, moving, planning::AutoPlan};
use ripstop_policy::Limits;
use ripstop_world::{Change, Trouble};
use std::time::Duration;

/// Runs, which differ in the luck of the delays: one live run is one draw among such.
const SEEDS: u64 = 10;

/// What is played.
pub(super) struct Twin<'a> {
    /// When reads come, seconds.
    pub times: &'a [f64],
    pub selection: ReadSelection,
    pub auto: AutoPlan,
    /// The plan by which stripes were stored.
    pub former: &'a [Group],
    /// The node that becomes slow, when, and how many times slower.
    pub slowed: (u16, f64, f64),
    /// What a task takes beyond its node's delay, seconds.
    pub overhead_s: f64,
}

/// Reads: when they came, and how long they took, seconds.
pub(super) type Reads = Vec<(f64, f64)>;

impl Twin<'_> {
    /// The reads of each run, and how many plans and fragments were followed and moved after the
    /// node became slow, on average.
    pub(super) fn play(&self) -> Result<(Vec<Reads>, [f64; 2])> {
        let setting = self.setting();
        let at = |&s: &f64| (Timestamp::ZERO + Duration::from_secs_f64(s), 0);
        let load = Load::Trace(self.times.iter().map(at).collect());
        let policy = "fixed".parse()?;
        let (limits, since) = (Limits::default(), at(&self.slowed.1).0);
        let (mut reads, mut counts) = (Vec::new(), [0.0; 2]);
        for seed in 1..=SEEDS {
            let (setting, load, policy) = (&setting, &load, &policy);
            let (memory, warmup, keep_courses) = (0.99, 0, true);
            let run = Run { setting, load, policy, limits, memory, seed, warmup, keep_courses };
            let outcome = run.play();
            let course = |course: &ripstop_experiment::Course| {
                (course.arrived.as_nanos() as f64 / 1e9, course.took_ns as f64 / 1e9)
            };
            reads.push(outcome.courses.iter().map(course).collect());
            let plan = outcome.plan.context("its stripes are known")?;
            let moved = plan.moves.iter().filter(|moved| moved.at >= since).count();
            counts[0] += plan.plans_since(since) as f64 / SEEDS as f64;
            counts[1] += moved as f64 / SEEDS as f64;
        }
        Ok((reads, counts))
    }

    fn setting(&self) -> Setting {
        let (slowed, from_s, factor) = self.slowed;
        let from = Timestamp::ZERO + Duration::from_secs_f64(from_s);
        let change =
            Change { from, until: Timestamp::from_nanos(u64::MAX), trouble: Trouble::Slow(factor) };
        let node = |id: u16| NodeSetting {
            lanes: 1,
            delay: Delay::WithOverhead(
                Box::new(Delay::ShiftedExponential(site::delay(site::factor(id)))),
                Overhead { s: self.overhead_s, s_per_byte: 0.0 },
            ),
            scale: 1.0,
            changes: if id == slowed { vec![change] } else { Vec::new() },
        };
        let parity = site::code().parity() as u8;
        let plan = PlanSetting {
            plans: true,
            auto: self.auto,
            selection: self.selection,
            stripes: STRIPES,
            sites: (0..NODES).collect(),
            prices_per_byte: vec![0.0; usize::from(NODES)],
            move_rate_max: moving::MOVE_RATE_MAX,
            home_after: moving::HOME_AFTER,
            former: Some(self.former.to_vec()),
        };
        Setting {
            nodes: (0..NODES).map(node).collect(),
            code: site::code(),
            layout: Layout::Spread,
            classes: vec![ClassSetting::new(Operation::Read, STRIPE_BYTES.into(), 1.0)],
            paired: false,
            machine: MachineSettings {
                answer_extra: parity,
                answer_extra_min: parity,
                ..MachineSettings::default()
            },
            plan: Some(plan),
            ..Setting::of_tofec(Delay::ShiftedExponential(site::DELAY), 1)
        }
    }
}

/// What tasks took beyond their nodes' delays, on average, by a task log from before one became
/// slow, seconds: the way there and back, and a machine that is busy.
pub(super) fn overhead_s(log: &str) -> Result<f64> {
    let records = parse_log(log)?;
    let first = records.iter().map(|record| record.node.0).min().unwrap_or(0);
    let reads = records.iter().filter(|record| {
        record.operation == Operation::Read && record.outcome == LoggedOutcome::Done
    });
    let beyond = |record: &LogRecord| {
        record.served.as_secs_f64() - site::MEAN_S * site::factor(record.node.0 - first)
    };
    let beyond: Vec<f64> = reads.map(beyond).collect();
    Ok(mean(&beyond).context("the gateway's task log has no reads")?.max(0.0))
}
