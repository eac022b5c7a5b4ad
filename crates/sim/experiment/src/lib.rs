//! Scenarios: what is played, with which policies, how often, and what came of it.
//!
//! A [`Setting`] is a pool, a [`Load`] what arrives at it, a [`Run`] both with a policy and a seed.
//! Runs are independent of one another, so [`sweep`] spreads them over the cores; equal runs have
//! equal outcomes on every machine. It deliberately decides nothing: every decision is the
//! machine's.
//!
//! ```
//! use ripstop_delay::Preset;
//! use ripstop_experiment::{Delay, Load, Process, Run, Setting};
//! use ripstop_policy::Limits;
//!
//! let setting = Setting::of_tofec(Delay::Preset(Preset::S3In2013B), 16);
//! let load = Load::Requests { process: Process::Poisson(10.0), count: 2000 };
//! let policy = "fixed(1,1)".parse().expect("it is a policy");
//! let limits = Limits { k_max: 6, r_max: 2.0 };
//! let (memory, seed, warmup, keep_courses) = (0.99, 1, 200, false);
//! let (setting, load, policy) = (&setting, &load, &policy);
//! let run = Run { setting, load, policy, limits, memory, seed, warmup, keep_courses };
//! let delay = run.play().delay();
//! assert!((delay.mean_ms / 205.5 - 1.0).abs() < 0.1, "{delay:?}");
//! ```

mod arrivals;
mod budget;
mod check;
mod choice;
mod delay_figures;
mod delays;
pub mod duel;
mod evaluation;
mod fit;
mod gathering;
mod load;
mod plan_report;
mod plan_setting;
mod promise_tables;
pub mod promises;
mod report;
mod run;
mod scenario;
mod scenario_report;
mod setting;
mod stripe_pool;
mod summary;
mod sweep;
mod tables;
mod tenant;
mod text;
pub mod tofec;
mod what_if;
mod workload;

pub use arrivals::Arrivals;
pub use budget::Budget;
pub use check::{Check, Expected, Verdict};
pub use choice::{ImpossibleCode, ParsePolicyError, PolicyChoice};
pub use delay_figures::{
    delay_ccdf_figure, delay_ccdf_table, delay_model_table, delay_size_figure, delay_size_table,
    delay_trust,
};
pub use delays::Delays;
pub use evaluation::{Evaluation, Part};
pub use gathering::Gathering;
pub use load::{Load, Process};
pub use plan_setting::PlanSetting;
pub use report::Report;
pub use ripstop_model::Layout;
pub use ripstop_model::Price;
pub use run::{Codes, Course, NodeTasks, Outcome, Run, Tasks};
pub use scenario::{Played, Scenario, ScenarioError};
pub use setting::{
    ByOperation, ClassSetting, Delay, NodeSetting, Overhead, Setting, TenantSetting, Tenants,
    patient,
};
pub use summary::{best_fixed_table, summary_table};
pub use sweep::sweep;
pub use tenant::TenantOutcome;
pub use text::text_columns;
pub use what_if::{Answer, Packed, WhatIf};
pub use workload::{
    CLASSES_MAX, ObjectDelays, STRIPES_MAX, Workload, WorkloadError, WorkloadObject,
    WorkloadOptions,
};
