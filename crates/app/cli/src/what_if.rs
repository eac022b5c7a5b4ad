//! `ripstop whatif`: an access log, replayed through a configured pool under several policies.

mod arguments;
mod pool;

pub(crate) use arguments::WhatIf;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use pool::DelaySource;
use ripstop_assembly::config::{self, Config, PoolConfig};
use ripstop_experiment::{Gathering, PolicyChoice, Workload, WorkloadError, WorkloadOptions};
use ripstop_figure::Progress;
use ripstop_trace::{BadLine, Summary, TraceError};
use std::{fmt::Write as _, num::NonZero, path::Path, process::ExitCode};

/// Logs are played at most this many times as fast, or as slow.
const SPEED_MAX: f64 = 1e6;

pub(crate) fn run(arguments: &WhatIf) -> Result<ExitCode> {
    let speed = arguments.speed;
    ensure!(
        (1.0 / SPEED_MAX..=SPEED_MAX).contains(&speed),
        "--speed is {speed:?}: it must be from {:?} to {SPEED_MAX:?}",
        1.0 / SPEED_MAX
    );
    let config = config::load(arguments.config.as_deref(), std::iter::empty())?;
    let pool = chosen_pool(&config, arguments.pool.as_deref())?;
    let (workload, summary) = read_log(arguments, &config)?;
    let source = DelaySource::of(arguments)?;
    let setting = pool::setting(pool, &source, &workload, arguments)?;
    let policies = policies(&arguments.policies, pool)?;
    let packs = pool::packs(pool, arguments.pack_below)?;
    let seeds: Vec<u64> = (1..=u64::from(arguments.seeds.get())).collect();
    let prices: Vec<_> = pool.nodes.iter().map(|node| node.price).collect();
    let what_if = ripstop_experiment::WhatIf {
        setting: &setting,
        workload: &workload,
        policies: &policies,
        limits: pool.policy_settings.limits,
        memory: pool.policy_settings.memory,
        seeds: &seeds,
        prices: &prices,
    };
    arguments.out.as_deref().map_or(Ok(()), ripstop_figure::ready_folder)?;
    let answer = {
        let progress = Progress::new(what_if.steps() as u64, "runs");
        what_if.play(arguments.threads, || progress.advance(1))
    };
    let batcher = || packs.batcher(config.store.stripe_max).expect("it was checked as it was read");
    let (below, batching) = (packs.below, &*packs.batching);
    let packed = what_if.packed(Gathering { below, batcher: &batcher, batching });
    let intro = intro(arguments, pool, &workload, &summary, &source, what_if.load());
    if let Some(folder) = &arguments.out {
        let mut report = what_if.report(&answer, &intro.replace('\n', "\n\n"))?;
        if let Some(packed) = &packed {
            let caption = "The small writes each by itself, and gathered in packs.";
            report.table("packs", caption, what_if.packed_table(packed));
        }
        report.write(folder)?;
    }
    say_line!("{intro}")?;
    say!("{}", what_if.text(&answer)?)?;
    let none = "no write of the log is shorter than";
    match &packed {
        Some(packed) => say!("\n{}", what_if.packed_text(packed))?,
        None if below > 0 => say_line!("\nPacks: {none} {below} bytes.")?,
        None => {}
    }
    say_line!("\n{}", legend(&workload, &prices, packed.is_some()))?;
    if let Some(folder) = &arguments.out {
        say_line!("\nWritten to {}: report.html and its figures and tables.", folder.display())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn chosen_pool<'a>(config: &'a Config, name: Option<&str>) -> Result<&'a PoolConfig> {
    let Some(name) = name else {
        return config.pools.first().context("the configuration has no pool");
    };
    config.pools.iter().find(|pool| pool.name == name).with_context(|| {
        let names: Vec<_> = config.pools.iter().map(|pool| pool.name.as_str()).collect();
        format!("there is no pool {name:?}; there are: {}", names.join(", "))
    })
}

fn read_log(arguments: &WhatIf, config: &Config) -> Result<(Workload, Summary)> {
    let options = WorkloadOptions {
        format: arguments.format,
        stripe_max: config.store.stripe_max,
        speed: arguments.speed,
        requests_max: arguments.first.map(NonZero::get),
        skip_bad_lines: arguments.skip_bad_lines,
    };
    let path = &arguments.log;
    Workload::read(path, &options).map_err(|error| {
        let advice = match &error {
            WorkloadError::Trace(TraceError::Line { reason: BadLine::Late { .. }, .. }) => {
                " (without --first all are sorted)"
            }
            WorkloadError::Trace(TraceError::Line { .. }) => " (--skip-bad-lines leaves it out)",
            WorkloadError::TooLarge | WorkloadError::Trace(TraceError::Many { .. }) => {
                " (--first N plays its beginning)"
            }
            WorkloadError::Trace(_) | WorkloadError::Empty | WorkloadError::TooLong { .. } => "",
        };
        let error = anyhow::Error::from(error);
        anyhow!("access log {}: {error:#}{advice}", path.display())
    })
}

/// The policies to compare; those the same as one before them are left out.
fn policies(given: &[String], pool: &PoolConfig) -> Result<Vec<PolicyChoice>> {
    let texts: Vec<String> = if given.is_empty() {
        let direct = pool::direct(pool);
        let others = ["backfill", "tofec-multi", &direct, "hedge-p95"].map(str::to_owned);
        std::iter::once(pool::own_policy(pool)).chain(others).collect()
    } else {
        given.iter().flat_map(|list| split(list)).collect()
    };
    let mut policies: Vec<PolicyChoice> = Vec::with_capacity(texts.len());
    for text in &texts {
        let policy: PolicyChoice = text.parse()?;
        // Who knows the rates to come is no choice.
        ensure!(policy.name() != "ideal", "ideal knows the future: it can only be simulated");
        policy.check(pool.code, pool.layout)?;
        if !policies.contains(&policy) {
            policies.push(policy);
        }
    }
    if policies.is_empty() {
        bail!("--policies names no policy");
    }
    Ok(policies)
}

/// The parts of a list that is divided by semicolons, blanks, or commas outside parentheses.
fn split(list: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut depth = 0_u32;
    for c in list.chars() {
        depth = match c {
            '(' => depth + 1,
            ')' => depth.saturating_sub(1),
            _ => depth,
        };
        if depth == 0 && matches!(c, ',' | ';' | ' ') {
            parts.push(String::new());
        } else if let Some(last) = parts.last_mut() {
            last.push(c);
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// What was asked, of what.
fn intro(
    arguments: &WhatIf,
    pool: &PoolConfig,
    workload: &Workload,
    summary: &Summary,
    source: &DelaySource,
    load: f64,
) -> String {
    let mut text = format!("{summary}");
    let name = |path: &Path| path.display().to_string();
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        "played        {} at {} times its speed: {} objects, {} stripes, {:.2} stripes per second",
        name(&arguments.log),
        arguments.speed,
        workload.objects.len(),
        workload.stripes.len(),
        workload.rate_per_s()
    );
    let _ = writeln!(
        text,
        "pool          {}: {} nodes, {} lanes, layout {}, code {}; {source}",
        pool.name,
        pool.nodes.len(),
        pool.nodes.iter().map(|node| u32::from(node.lanes)).sum::<u32>(),
        pool.layout,
        pool.code
    );
    let _ = writeln!(text, "mean load     {:.1}% of full capacity", load * 100.0);
    text
}

/// What the columns mean.
fn legend(workload: &Workload, prices: &[ripstop_experiment::Price], packs: bool) -> String {
    let mut text = String::from(
        "Delays of objects in milliseconds. tasks/req: tasks that had a lane, per stripe. bytes moved: more \
         than clients asked for, cancelled tasks as if they had moved all of theirs. wasted: share of the \
         lanes' time for tasks without which the answer came. bears: how many times as fast the busiest \
         part of the log may come, if it went on like that, before p99 doubles, 1% fails or the queue grows \
         without end.",
    );
    if packs {
        text += " Packs: under the first seed; the delays are those of the small writes, the requests at nodes \
                 and the price those of the whole log. Reads stay as they are, and commits of the catalog take \
                 no time.";
    }
    let kept = prices.iter().any(|price| price.per_gb_month.is_some());
    if prices.iter().any(|price| *price != ripstop_experiment::Price::default()) {
        text += " $/month: what the nodes' prices make of it, at 730 hours a month";
        text += match (kept, workload.named_bytes) {
            (true, Some(_)) => ", with the storage of the objects that the log names.",
            (true, None) => ", without storage: the log does not name its objects.",
            (false, _) => ", without storage, which has no price.",
        };
    }
    wrapped(&text)
}

/// Text in lines that a terminal shows whole.
fn wrapped(text: &str) -> String {
    const WIDTH: usize = 100;
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        if lines.last().is_some_and(|line| line.len() + word.len() >= WIDTH) {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            let gap = if line.is_empty() { "" } else { " " };
            line.extend([gap, word]);
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_policies_may_hold_codes() {
        assert_eq!(
            split("tofec,fixed(2,1), hedge(3,2)@50ms;greedy"),
            ["tofec", "fixed(2,1)", "hedge(3,2)@50ms", "greedy"]
        );
        assert!(split(" ,;").is_empty());
    }
}
