use ripstop_gateway::{AfterAnswer, ReadSelection};
use serde::Deserialize;
use std::path::PathBuf;

/// The file as it is written.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Raw {
    pub name: String,
    pub policies: Vec<String>,
    #[serde(default)]
    pub every_fixed: bool,
    pub rates_per_s: Option<Vec<f64>>,
    pub loads: Option<Vec<f64>>,
    #[serde(default)]
    pub phase: Vec<Phase>,
    pub arrivals: Option<ArrivalKind>,
    pub bursts: Option<Bursts>,
    pub requests: Option<u64>,
    pub seconds: Option<f64>,
    pub seeds: Option<Seeds>,
    pub warmup: Option<f64>,
    pub code: Option<[usize; 2]>,
    pub layout: Option<LayoutName>,
    pub k_max: Option<u8>,
    pub r_max: Option<f64>,
    pub memory: Option<f64>,
    #[serde(default)]
    pub correlation: f64,
    #[serde(default)]
    pub cancellation_ms: f64,
    pub coding_mb_per_s: Option<f64>,
    pub node: Vec<Node>,
    #[serde(default)]
    pub class: Vec<Class>,
    pub trace: Option<Trace>,
    #[serde(default)]
    pub tenant: Vec<Tenant>,
    pub recombination: Option<Recombinations>,
    #[serde(default)]
    pub machine: Machine,
    pub plan: Option<Plans>,
    pub plan_every_s: Option<f64>,
    pub plan_gain: Option<f64>,
    pub plan_theta: Option<f64>,
    pub survive_sites: Option<u32>,
    pub selection: Option<ReadSelection>,
    pub stripes: Option<usize>,
    pub move_rate_max: Option<u64>,
    pub home_after_s: Option<f64>,
}

#[derive(Deserialize, Debug)]
#[serde(untagged, expecting = "plan is one or a list of: auto, none")]
pub(crate) enum Plans {
    One(PlanName),
    Several(Vec<PlanName>),
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PlanName {
    Auto,
    None,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ArrivalKind {
    #[default]
    Poisson,
    Deterministic,
    Bursty,
}

#[derive(Deserialize, Clone, Copy, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bursts {
    pub high: f64,
    pub low: f64,
    pub seconds: f64,
}

#[derive(Deserialize, Debug)]
#[serde(untagged, expecting = "seeds is a number of runs or a list of whole numbers")]
pub(crate) enum Seeds {
    Count(u64),
    List(Vec<u64>),
}

#[derive(Deserialize, Clone, Copy, Debug)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LayoutName {
    Spread,
    #[serde(alias = "unique")]
    Together,
    Shared,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Trace {
    pub file: PathBuf,
    pub format: Option<String>,
    pub speeds: Option<Vec<f64>>,
    pub stripe_max: Option<u32>,
    pub requests_max: Option<usize>,
    #[serde(default)]
    pub skip_bad_lines: bool,
}

#[derive(Deserialize, Clone, Copy, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Phase {
    pub seconds: f64,
    pub rate_per_s: f64,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Node {
    pub lanes: u16,
    pub delay: Option<String>,
    pub delay_log: Option<PathBuf>,
    pub shifted_exponential: Option<[f64; 4]>,
    pub scale: Option<f64>,
    pub count: Option<u16>,
    pub site: Option<String>,
    pub price_per_gb_month: Option<f64>,
    #[serde(default)]
    pub change: Vec<Change>,
}

#[derive(Deserialize, Clone, Copy, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change {
    pub from_s: f64,
    pub until_s: f64,
    pub slow: Option<f64>,
    #[serde(default)]
    pub lost: bool,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Class {
    pub operation: OperationName,
    pub bytes: u64,
    pub share: Option<f64>,
    pub tenant: Option<String>,
    pub rate_per_s: Option<f64>,
    #[serde(default)]
    pub phase: Vec<Phase>,
    pub arrivals: Option<ArrivalKind>,
    pub bursts: Option<Bursts>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tenant {
    pub name: String,
    pub promise: Option<String>,
    pub capacity: Option<f64>,
    pub share: Option<f64>,
    pub parts: Option<Vec<f64>>,
}

#[derive(Deserialize, Debug)]
#[serde(
    untagged,
    expecting = "recombination is one or a list of: none, fifo, split, fair, pclock, miser"
)]
pub(crate) enum Recombinations {
    One(RecombinationName),
    Several(Vec<RecombinationName>),
}

#[derive(Deserialize, Clone, Copy, Debug)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RecombinationName {
    None,
    Fifo,
    Split,
    Fair,
    PClock,
    Miser,
}

#[derive(Deserialize, Clone, Copy, Debug)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OperationName {
    Read,
    Write,
}

#[derive(Deserialize, Clone, Copy, Debug, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Machine {
    pub requests_waiting_max: Option<usize>,
    pub request_timeout_s: Option<f64>,
    pub task_timeout_s: Option<f64>,
    pub late_after_s: Option<f64>,
    pub patience_ms: Option<f64>,
    pub answer_extra: Option<u8>,
    pub after_answer: Option<AfterAnswer>,
}
