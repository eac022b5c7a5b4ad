//! What a scenario says, and how it is played.

use crate::{
    ClassSetting, Delays, Load, Outcome, PolicyChoice, Process, Run, Setting, Tenants, sweep,
};
use core::num::NonZero;
use ripstop_gateway::Recombination;
use ripstop_model::Code;
use ripstop_policy::Limits;

/// A pool, the loads to put on it, and the policies to try.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What it is called in tables.
    pub name: String,
    /// The pool.
    pub setting: Setting,
    /// Each load with the rate or the name it goes by in tables, requests per second.
    pub loads: Vec<(f64, Load)>,
    /// Who decides.
    pub policies: Vec<PolicyChoice>,
    /// Whether every fixed code is tried too, to know the best.
    pub every_fixed: bool,
    /// What adaptive policies do not exceed.
    pub limits: Limits,
    /// TOFEC's memory factor.
    pub memory: f64,
    /// One run for each.
    pub seeds: Vec<u64>,
    /// Share of the requests, those that come first, that do not count.
    pub warmup: f64,
    /// How the tenants' tiers share the lanes, each a variant to play; `None`: as if nobody were
    /// promised anything. One entry, `None`, without tenants.
    pub recombinations: Vec<Option<Recombination>>,
    /// Whether the pool plans itself, each a variant to play; one entry, `false`, of a pool whose
    /// stripes are not known one by one.
    pub plans: Vec<bool>,
}

/// One run of a scenario to be played.
type Job<'a> = (&'a PolicyChoice, &'a Setting, f64, &'a Load, u64);

/// One run of a scenario and what came of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Played {
    /// Who decided.
    pub policy: PolicyChoice,
    /// How the tenants' tiers shared the lanes, if they did.
    pub recombination: Option<Recombination>,
    /// Whether the pool planned itself.
    pub plans: bool,
    /// The load's rate, requests per second.
    pub rate_per_s: f64,
    /// All luck.
    pub seed: u64,
    /// How long requests took: all, then, if there are several classes, those of each.
    pub delays: Vec<Delays>,
    /// What came of it. Each request's delay is kept for the policies that the scenario names,
    /// courses for what is drawn of them.
    pub outcome: Outcome,
}

impl Scenario {
    /// A sweep over Poisson rates.
    pub fn sweep(name: &str, setting: Setting, rates_per_s: &[f64], requests: u64) -> Self {
        let load = |&rate: &f64| {
            let process = Process::Poisson(rate);
            (rate, Load::Requests { process, count: requests })
        };
        Self {
            name: name.to_owned(),
            setting,
            loads: rates_per_s.iter().map(load).collect(),
            policies: Vec::new(),
            every_fixed: false,
            limits: Limits { k_max: 6, r_max: 2.0 },
            memory: 0.99,
            seeds: (1..=5).collect(),
            warmup: 0.1,
            recombinations: vec![None],
            plans: vec![false],
        }
    }

    /// The policies, every fixed code included if that is asked for.
    pub fn all_policies(&self) -> Vec<PolicyChoice> {
        let mut all = self.policies.clone();
        if self.every_fixed {
            let fixed = self.fixed_codes().into_iter().map(PolicyChoice::fixed);
            let new: Vec<_> = fixed.filter(|policy| !all.contains(policy)).collect();
            all.extend(new);
        }
        all
    }

    /// Every code within the limits.
    pub fn fixed_codes(&self) -> Vec<Code> {
        let storage = self.setting.code;
        let ks = (1..=storage.k()).filter(|k| match self.setting.layout {
            crate::Layout::Unique | crate::Layout::Shared => {
                storage.k().is_multiple_of(*k) && *k <= usize::from(self.limits.k_max)
            }
            crate::Layout::Spread => *k == storage.k(),
        });
        let ns = |k: usize| {
            let most = (self.limits.r_max * k as f64) as usize;
            k..=most.min(storage.n() * k / storage.k()).max(k)
        };
        ks.flat_map(|k| ns(k).filter_map(move |n| Code::new(n, k).ok())).collect()
    }

    /// Runs to be played.
    pub fn runs(&self) -> usize {
        let variants = self.recombinations.len() * self.plans.len();
        self.all_policies().len() * variants * self.loads.len() * self.seeds.len()
    }

    /// A policy with how the tenants' tiers share the lanes, and whether the pool plans itself, if
    /// several ways are tried.
    fn label(
        &self,
        policy: &PolicyChoice,
        recombination: Option<Recombination>,
        plans: bool,
    ) -> String {
        let mut label = policy.to_string();
        if self.recombinations.len() > 1 {
            label.extend([", ", Tenants::recombination_name(recombination)]);
        }
        if self.plans.len() > 1 {
            label += if plans { ", plan auto" } else { ", plan none" };
        }
        label
    }

    /// The label of a run.
    pub(crate) fn label_of(&self, played: &Played) -> String {
        self.label(&played.policy, played.recombination, played.plans)
    }

    /// The labels of the policies that the scenario names.
    pub(crate) fn labels(&self) -> Vec<String> {
        let of_plans =
            |policy, r| self.plans.iter().map(move |&plans| self.label(policy, r, plans));
        let variants = |policy| self.recombinations.iter().flat_map(move |&r| of_plans(policy, r));
        self.policies.iter().flat_map(variants).collect()
    }

    /// Plays every run; in the order of policies, recombinations, plans, loads,
    /// seeds, whatever the number
    /// of threads (all cores if that is not given). `done` is called after each.
    pub fn play(&self, threads: Option<NonZero<usize>>, done: impl Fn() + Sync) -> Vec<Played> {
        let policies = self.all_policies();
        let mut jobs = Vec::with_capacity(self.runs());
        let variant = |recombination, plans| {
            let mut setting = self.setting.clone();
            setting.tenants.recombination = recombination;
            if let Some(plan) = &mut setting.plan {
                plan.plans = plans;
            }
            setting
        };
        let of_plans =
            |&r: &Option<Recombination>| self.plans.iter().map(move |&plans| variant(r, plans));
        let settings: Vec<Setting> = self.recombinations.iter().flat_map(of_plans).collect();
        for policy in &policies {
            for setting in &settings {
                for (rate_per_s, load) in &self.loads {
                    let seeds = self.seeds.iter();
                    jobs.extend(seeds.map(|&seed| (policy, setting, *rate_per_s, load, seed)));
                }
            }
        }
        let work = |job: &Job<'_>| self.play_one(job);
        sweep(&jobs, threads, work, done)
    }

    /// Plays a run, and keeps of it what tables and figures need.
    fn play_one(&self, &(policy, setting, rate_per_s, load, seed): &Job<'_>) -> Played {
        let is_named = self.policies.contains(policy);
        // Of tenants and of plans all runs are looked at over time, else the first.
        let is_drawn = !setting.tenants.list.is_empty()
            || setting.plan.is_some()
            || self.seeds.first() == Some(&seed);
        let run = Run {
            setting,
            load,
            policy,
            limits: self.limits,
            memory: self.memory,
            seed,
            warmup: (load.requests() * self.warmup) as u64,
            keep_courses: (load.has_phases() || setting.plan.is_some()) && is_named && is_drawn,
        };
        let mut outcome = run.play();
        let classes = setting.classes.len();
        let each = (0..classes).filter(|_| classes > 1);
        let each = each.map(|class| outcome.delay_of(class as u16));
        let delays = std::iter::once(outcome.delay()).chain(each).collect();
        outcome.classes = Vec::new();
        if !is_named {
            outcome.took_ns = Vec::new();
        }
        outcome.took_ns.shrink_to_fit();
        outcome.courses.shrink_to_fit();
        let (policy, recombination) = (policy.clone(), setting.tenants.recombination);
        let plans = setting.plan.as_ref().is_some_and(|plan| plan.plans);
        Played { policy, recombination, plans, rate_per_s, seed, delays, outcome }
    }

    /// The name of each class in tables: what it does, its size, and whose it is; numbered where
    /// several are called alike.
    pub(crate) fn class_names(&self) -> Vec<String> {
        let tenants = &self.setting.tenants.list;
        let name = |class: &ClassSetting| {
            let name = format!("{} {}", class.operation.name(), class.bytes);
            let tenant = usize::from(class.tenant.0).checked_sub(1).and_then(|at| tenants.get(at));
            tenant.map_or(name.clone(), |tenant| format!("{name} {}", tenant.name))
        };
        let names: Vec<String> = self.setting.classes.iter().map(name).collect();
        let alike = |name: &String, among: &[String]| among.iter().filter(|n| *n == name).count();
        let numbered = names.iter().enumerate().map(|(at, name)| match alike(name, &names) {
            1 => name.clone(),
            _ => format!("{name} #{}", alike(name, &names[..=at])),
        });
        numbered.collect()
    }
}
