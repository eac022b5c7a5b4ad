use super::{
    arrivals::loads,
    bounds::{self, factor, positive, span, value},
    definition::Scenario,
    error::ScenarioError,
    plan, raw, tenants,
};
use crate::{
    ClassSetting, Delay, Layout, NodeSetting, ParsePolicyError, PolicyChoice, Setting, Tenants,
    Workload, WorkloadError, WorkloadOptions, patient,
};
use core::time::Duration;
use ripstop_delay::{Recorded, Replay, ShiftedExponential};
use ripstop_gateway::MachineSettings;
use ripstop_model::{Code, Operation, Timestamp};
use ripstop_policy::Limits;
use ripstop_world::{Change, Trouble};
use std::path::Path;

/// Most nodes of one scenario.
const NODES_MAX: usize = 4096;

pub(super) fn resolve(raw: raw::Raw, folder: &Path) -> Result<Scenario, ScenarioError> {
    let workload = raw.trace.as_ref().map(|trace| workload(trace, folder)).transpose()?;
    let mut setting = setting(&raw, workload.as_ref(), folder)?;
    let plans = plan::plans(&raw)?;
    setting.plan = plan::plan(&raw, &setting, &plans)?;
    let loads = loads(&raw, workload.as_ref(), &setting)?;
    let policies = policies(&raw, &setting)?;
    let seeds = seeds(raw.seeds)?;
    let warmup = raw.warmup.unwrap_or(0.1);
    if !(0.0..1.0).contains(&warmup) {
        return Err(value(format!("warmup is a share of 0 to less than 1, not {warmup}")));
    }
    let memory = raw.memory.unwrap_or(0.99);
    if !(0.0..1.0).contains(&memory) {
        return Err(value(format!("memory is 0 to less than 1, not {memory}")));
    }
    let limits = limits(raw.k_max, raw.r_max)?;
    let every_fixed = raw.every_fixed;
    let name = raw.name;
    let recombinations = tenants::recombinations(raw.recombination.as_ref(), &setting.tenants)?;
    let scenario = Scenario {
        name,
        setting,
        loads,
        policies,
        every_fixed,
        limits,
        memory,
        seeds,
        warmup,
        recombinations,
        plans,
    };
    bounds::runs(&scenario)?;
    bounds::plans(&scenario)?;
    Ok(scenario)
}

fn policies(raw: &raw::Raw, setting: &Setting) -> Result<Vec<PolicyChoice>, ScenarioError> {
    let policies = raw.policies.iter().map(|text| text.parse::<PolicyChoice>());
    let policies = policies.collect::<Result<Vec<_>, ParsePolicyError>>()?;
    if policies.is_empty() && !raw.every_fixed {
        return Err(value("policies is empty: name at least one"));
    }
    bounds::distinct("policies", &policies)?;
    for policy in &policies {
        policy.check(setting.code, setting.layout)?;
    }
    Ok(policies)
}

fn seeds(raw: Option<raw::Seeds>) -> Result<Vec<u64>, ScenarioError> {
    let seeds = match raw {
        None => (1..=5).collect(),
        Some(raw::Seeds::Count(count)) if count > bounds::RUNS_MAX as u64 => {
            let most = bounds::RUNS_MAX;
            return Err(value(format!("seeds is {count}: there are at most {most} runs")));
        }
        Some(raw::Seeds::Count(count)) => (1..=count).collect(),
        Some(raw::Seeds::List(list)) => list,
    };
    bounds::distinct("seeds", &seeds)?;
    Ok(seeds)
}

fn limits(k_max: Option<u8>, r_max: Option<f64>) -> Result<Limits, ScenarioError> {
    let default = Limits::default();
    let (k_max, r_max) = (k_max.unwrap_or(default.k_max), r_max.unwrap_or(default.r_max));
    if k_max == 0 {
        return Err(value("k_max must be at least 1"));
    }
    if !(r_max.is_finite() && r_max >= 1.0) {
        return Err(value(format!("r_max must be a number from 1, not {r_max}")));
    }
    Ok(Limits { k_max, r_max })
}

/// The log of a scenario.
fn workload(raw: &raw::Trace, folder: &Path) -> Result<Workload, ScenarioError> {
    let path = folder.join(&raw.file);
    let wrong = |source| ScenarioError::Trace { path: path.clone(), source };
    let format = raw.format.as_ref().map(|name| name.parse()).transpose();
    let default = WorkloadOptions::default();
    let options = WorkloadOptions {
        format: format.map_err(|error| wrong(WorkloadError::Trace(error)))?,
        stripe_max: raw.stripe_max.unwrap_or(default.stripe_max),
        requests_max: raw.requests_max,
        skip_bad_lines: raw.skip_bad_lines,
        ..default
    };
    if options.stripe_max == 0 {
        return Err(value("trace.stripe_max must be more than 0"));
    }
    Workload::read(&path, &options).map(|(workload, _)| workload).map_err(wrong)
}

fn setting(
    raw: &raw::Raw,
    workload: Option<&Workload>,
    folder: &Path,
) -> Result<Setting, ScenarioError> {
    let layout = match raw.layout {
        Some(raw::LayoutName::Spread) => Layout::Spread,
        Some(raw::LayoutName::Shared) => Layout::Shared,
        Some(raw::LayoutName::Together) | None => Layout::Unique,
    };
    let [n, k] = raw.code.unwrap_or([24, 12]);
    let code = Code::new(n, k).map_err(ScenarioError::Code)?;
    let mut nodes = Vec::new();
    for (at, raw) in raw.node.iter().enumerate() {
        let node = node(raw, at + 1, folder)?;
        nodes.resize(nodes.len() + usize::from(raw.count.unwrap_or(1)), node);
        if nodes.len() > NODES_MAX {
            return Err(value(format!("there are more than {NODES_MAX} nodes")));
        }
    }
    let least = if layout == Layout::Spread { n } else { 1 };
    if nodes.len() < least {
        return Err(value(format!("there must be at least {least} nodes, not {}", nodes.len())));
    }
    let lanes = nodes.iter().map(|node| u64::from(node.lanes)).sum();
    let tenants = tenants::tenants(&raw.tenant, lanes)?;
    let classes = classes(raw, workload, &tenants)?;
    if !(0.0..=1.0).contains(&raw.correlation) {
        return Err(value(format!("correlation is 0 to 1, not {}", raw.correlation)));
    }
    let coding = raw.coding_mb_per_s.map(bounds::coding_mb_per_s).transpose()?;
    Ok(Setting {
        nodes,
        code,
        layout,
        classes,
        correlation: raw.correlation,
        cancellation: span("cancellation_ms", raw.cancellation_ms / 1000.0)?,
        coding_s_per_byte: coding.map_or(0.0, |speed| 1e-6 / speed),
        paired: true,
        machine: machine(&raw.machine)?,
        tenants,
        plan: None,
    })
}

fn classes(
    raw: &raw::Raw,
    workload: Option<&Workload>,
    tenants: &Tenants,
) -> Result<Vec<ClassSetting>, ScenarioError> {
    let class = |class: &raw::Class| {
        let operation = match class.operation {
            raw::OperationName::Read => Operation::Read,
            raw::OperationName::Write => Operation::Write,
        };
        let share = positive("share", class.share.unwrap_or(1.0))?;
        if class.bytes > u64::from(u32::MAX) {
            return Err(value(format!("a class has at most {} bytes", u32::MAX)));
        }
        let tenant = tenants::named(tenants, class.tenant.as_deref())?;
        Ok(ClassSetting { tenant, ..ClassSetting::new(operation, class.bytes, share) })
    };
    let classes = raw.class.iter().map(class).collect::<Result<Vec<_>, _>>()?;
    match (workload, classes.is_empty()) {
        (None, false) => Ok(classes),
        (Some(workload), true) => Ok(workload.classes.clone()),
        (None, true) => Err(value("there is no [[class]], nor a [trace]")),
        (Some(_), false) => Err(value("a [trace] has its own classes: leave [[class]] out")),
    }
}

fn node(raw: &raw::Node, number: usize, folder: &Path) -> Result<NodeSetting, ScenarioError> {
    let delay = match (&raw.delay, &raw.delay_log, raw.shifted_exponential) {
        (Some(name), None, None) => {
            Delay::Preset(name.parse().map_err(|source| ScenarioError::Preset { number, source })?)
        }
        (None, Some(path), None) => Delay::Recorded(recorded(&folder.join(path))?),
        (None, None, Some(ms)) => {
            bounds::delay_ms(&format!("node {number}: shifted_exponential"), ms)?;
            let [shift_ms, shift_ms_per_mb, mean_ms, mean_ms_per_mb] = ms;
            Delay::ShiftedExponential(ShiftedExponential {
                shift_ms,
                shift_ms_per_mb,
                mean_ms,
                mean_ms_per_mb,
            })
        }
        _ => {
            let one = "delay (a preset), delay_log (a file) or shifted_exponential (four numbers)";
            return Err(value(format!("node {number}: give one of {one}")));
        }
    };
    let change = |change: &raw::Change| {
        let at = |name, s| span(name, s).map(|s| Timestamp::ZERO + s);
        let trouble = match (change.slow, change.lost) {
            (Some(slow), false) => Trouble::Slow(factor("slow", slow)?),
            (None, true) => Trouble::Lost,
            (Some(_), true) | (None, false) => {
                return Err(value(format!(
                    "node {number}: a change is slow = factor or lost = true"
                )));
            }
        };
        let (from, until) = (at("from_s", change.from_s)?, at("until_s", change.until_s)?);
        if until <= from {
            return Err(value(format!("node {number}: a change ends after it begins")));
        }
        Ok(Change { from, until, trouble })
    };
    if raw.lanes == 0 {
        return Err(value(format!("node {number}: lanes must be at least 1")));
    }
    let scale = factor("scale", raw.scale.unwrap_or(1.0))?;
    let changes = raw.change.iter().map(change).collect::<Result<_, _>>()?;
    Ok(NodeSetting { lanes: raw.lanes, delay, scale, changes })
}

fn recorded(path: &Path) -> Result<Recorded, ScenarioError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| ScenarioError::File { path: path.to_owned(), source })?;
    Recorded::parse(&text, Replay::Sampled)
        .map_err(|source| ScenarioError::Recorded { path: path.to_owned(), source })
}

fn machine(raw: &raw::Machine) -> Result<MachineSettings, ScenarioError> {
    let mut machine = patient();
    let set = |name, seconds: Option<f64>, field: &mut Duration| {
        if let Some(seconds) = seconds {
            *field = span(name, seconds)?;
        }
        Ok::<(), ScenarioError>(())
    };
    set("request_timeout_s", raw.request_timeout_s, &mut machine.request_timeout)?;
    set("task_timeout_s", raw.task_timeout_s, &mut machine.task_timeout)?;
    set("late_after_s", raw.late_after_s, &mut machine.late_after)?;
    set("patience_ms", raw.patience_ms.map(|ms| ms / 1000.0), &mut machine.patience)?;
    machine.requests_waiting_max = raw.requests_waiting_max.unwrap_or(machine.requests_waiting_max);
    machine.answer_extra = raw.answer_extra.unwrap_or(machine.answer_extra);
    machine.after_answer = raw.after_answer.unwrap_or(machine.after_answer);
    machine.validate().map_err(|error| value(format!("machine: {error}")))?;
    Ok(machine)
}
