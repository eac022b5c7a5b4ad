use super::arguments::WhatIf;
use anyhow::{Context as _, Result, bail, ensure};
use ripstop_assembly::config::{NodeConfig, PACK_BELOW_MAX, PoolConfig, Size};
use ripstop_delay::{Preset, Recorded, Replay};
use ripstop_estimator::{Empirical, Fit, LogRecord, Sample, parse_log};
use ripstop_experiment::{ByOperation, Delay, NodeSetting, Setting, Tenants, Workload};
use ripstop_model::{NodeId, Operation};
use ripstop_planner::read_log;
use ripstop_runtime::Layout;
use ripstop_store::PackSettings;
use std::{collections::BTreeMap, fmt, path::Path, time::Duration};

/// Where the delays of the nodes come from.
#[derive(Debug)]
pub(super) enum DelaySource {
    /// Each node's own setting.
    Configured,
    /// One for all.
    One(String, Delay),
    /// A task log: what it says of all nodes, and of each, by their numbers.
    TaskLog { name: String, all: Delay, each: Vec<Delay>, fitted: bool, alike: &'static str },
}

impl DelaySource {
    pub(super) fn of(arguments: &WhatIf) -> Result<Self> {
        if let Some(name) = &arguments.delay {
            return Ok(Self::One(name.clone(), named(name)?));
        }
        let Some(path) = &arguments.task_log else { return Ok(Self::Configured) };
        let name = path.display().to_string();
        let records = parse_log(&read_log(path)?).with_context(|| format!("task log {name}"))?;
        let samples: Vec<Sample> = records.iter().filter_map(LogRecord::sample).collect();
        let mut by_node = BTreeMap::<NodeId, Vec<Sample>>::new();
        for sample in &samples {
            by_node.entry(sample.node).or_default().push(*sample);
        }
        let law = |samples: &[Sample]| {
            let law = if arguments.fitted { fitted(samples) } else { replayed(samples) };
            law.with_context(|| format!("task log {name}"))
        };
        let all = law(&samples)?;
        let each = by_node.values().map(|own| law(&filled(own, &samples)));
        let each = each.collect::<Result<_>>()?;
        let known = [Operation::Read, Operation::Write].map(|of| says_enough(&samples, of));
        let alike = match known {
            [true, false] => "; writes like reads, of which alone it says enough",
            [false, true] => "; reads like writes, of which alone it says enough",
            [true, true] | [false, false] => "",
        };
        let fitted = arguments.fitted;
        Ok(Self::TaskLog { name, all, each, fitted, alike })
    }

    /// The law and the factor of one node among this many.
    fn node(&self, index: usize, count: usize, node: &NodeConfig) -> Result<(Delay, f64)> {
        match self {
            Self::One(_, delay) => Ok((delay.clone(), 1.0)),
            Self::TaskLog { all, each, .. } => {
                let own = each.get(index).filter(|_| each.len() == count);
                Ok((own.unwrap_or(all).clone(), 1.0))
            }
            Self::Configured => {
                let Some(delay) = &node.delay else {
                    bail!(
                        "node {:?}: nothing is known of its delays. Give --task-log (what `ripstop serve \
                         --task-log` recorded), --delay (a preset), or a delay for the node in the configuration",
                        node.name
                    );
                };
                ensure!(
                    delay.scale > 0.0,
                    "node {:?}: with a delay_scale of 0 there is nothing to simulate",
                    node.name
                );
                let law = named(&delay.model);
                Ok((law.with_context(|| format!("node {:?}", node.name))?, delay.scale))
            }
        }
    }
}

impl fmt::Display for DelaySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Configured => f.write_str("delays as configured"),
            Self::One(name, _) => write!(f, "delays of {name}"),
            Self::TaskLog { name, each, fitted, alike, .. } => {
                let how = if *fitted { "fitted to" } else { "drawn from" };
                let nodes = if each.len() == 1 { "node" } else { "nodes" };
                write!(f, "delays {how} {name} ({} {nodes}){alike}", each.len())
            }
        }
    }
}

/// A preset, or a recorded log by its path.
fn named(name: &str) -> Result<Delay> {
    if let Ok(preset) = name.parse::<Preset>() {
        return Ok(Delay::Preset(preset));
    }
    let names = Preset::ALL.map(Preset::name).join(", ");
    let wanted = || format!("delay {name:?} is neither a preset ({names}) nor a log's path");
    let path = Path::new(name);
    ensure!(path.is_file(), wanted());
    let recorded = Recorded::parse(&read_log(path)?, Replay::Sampled);
    Ok(Delay::Recorded(recorded.with_context(|| format!("delay log {name}"))?))
}

/// Whether there is a chunk size of this direction with as many finished tasks as a fit takes.
fn says_enough(samples: &[Sample], operation: Operation) -> bool {
    let of = samples.iter().copied().filter(|sample| sample.operation == operation);
    Fit::of(of, None).is_some()
}

/// What one node's tasks say; of a direction of which they say too little, what those of all nodes
/// say.
fn filled(own: &[Sample], all: &[Sample]) -> Vec<Sample> {
    let of = |operation: Operation| {
        let samples = if says_enough(own, operation) { own } else { all };
        samples.iter().copied().filter(move |sample| sample.operation == operation)
    };
    of(Operation::Read).chain(of(Operation::Write)).collect()
}

fn replayed(samples: &[Sample]) -> Result<Delay> {
    let recorded = Empirical::of(samples).replay();
    Ok(Delay::Recorded(recorded.context("no task finished")?))
}

/// A direction that says too little is taken for the other.
fn fitted(samples: &[Sample]) -> Result<Delay> {
    let model = |operation: Operation| {
        let of = samples.iter().copied().filter(|sample| sample.operation == operation);
        Fit::of(of, None).map(|fit| fit.model)
    };
    let (read, write) = (model(Operation::Read), model(Operation::Write));
    match (read.or(write), write.or(read)) {
        (Some(read), Some(write)) => Ok(Delay::ByOperation(ByOperation { read, write })),
        (_, None) | (None, _) => bail!("it says too little: no chunk size has ten finished tasks"),
    }
}

/// The pool as the simulator has it.
pub(super) fn setting(
    pool: &PoolConfig,
    source: &DelaySource,
    workload: &Workload,
    arguments: &WhatIf,
) -> Result<Setting> {
    let count = pool.nodes.len();
    let node = |(index, node): (usize, &NodeConfig)| {
        let (delay, scale) = source.node(index, count, node)?;
        Ok(NodeSetting { lanes: node.lanes, delay, scale, changes: Vec::new() })
    };
    let (correlation, ms) = (arguments.correlation, arguments.cancellation_ms);
    ensure!(
        (0.0..=1.0).contains(&correlation),
        "--correlation is {correlation}: it must be from 0 to 1"
    );
    let cancellation = Duration::try_from_secs_f64(ms / 1000.0);
    Ok(Setting {
        nodes: pool.nodes.iter().enumerate().map(node).collect::<Result<_>>()?,
        code: pool.code,
        layout: pool.layout,
        classes: workload.classes.clone(),
        correlation,
        cancellation: cancellation
            .with_context(|| format!("--cancellation-ms is {ms}: it is a time of 0 or more"))?,
        coding_s_per_byte: 0.0,
        paired: true,
        machine: pool.machine,
        tenants: Tenants::default(),
        plan: None,
    })
}

/// How the pool is to gather small writes: as it is configured, but for the length below which they
/// are gathered; without one, nothing is.
pub(super) fn packs(pool: &PoolConfig, below: Option<Size>) -> Result<PackSettings> {
    let mut packs = PackSettings { below: 0, ..pool.packs.clone() };
    if let Some(Size(below)) = below {
        ensure!(
            (1..=PACK_BELOW_MAX).contains(&below),
            "--pack-below is {below}: it must be from 1 B to 128 KiB"
        );
        packs.below = below as u32;
    }
    Ok(packs)
}

/// The pool's own policy with what it is told, as a choice is written.
pub(super) fn own_policy(pool: &PoolConfig) -> String {
    let settings = &pool.policy_settings;
    let mut text = match (pool.policy.as_str(), settings.code, settings.read_chunks, pool.layout) {
        (name, Some(code), _, _) => format!("{name}{code}"),
        ("fixed", None, Some(chunks), _) => format!("fixed({chunks},{})", pool.code.k()),
        ("fixed", None, None, Layout::Spread) => direct(pool),
        (name, None, _, _) => name.to_owned(),
    };
    let default = ripstop_policy::PolicySettings::default();
    if settings.hedge_after != default.hedge_after {
        let ms = settings.hedge_after.as_secs_f64() * 1000.0;
        text.extend(["@", &ms.to_string(), "ms"]);
    }
    text
}

/// Reads of what is needed and no more, each in as few pieces as the layout has.
pub(super) fn direct(pool: &PoolConfig) -> String {
    match pool.layout {
        Layout::Spread => format!("fixed({k},{k})", k = pool.code.k()),
        Layout::Shared | Layout::Unique => "fixed(1,1)".to_owned(),
    }
}
