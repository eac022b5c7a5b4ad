use super::{
    bounds::{self, given},
    raw,
};
use anyhow::{Context as _, Result, bail, ensure};
use ripstop_model::Code;
use ripstop_policy::{Chunking, PolicySettings, SettingKey, readers};
use ripstop_runtime::Layout;
use std::fmt::Write as _;

/// The pool's policy by name, and what it is told. Whether any of its nodes is remote decides which
/// it is if none is named: a lane that waits for another machine costs nothing while nobody else
/// wants it, but a read from this machine's disk takes its processor from others. A plan says how
/// often each node is asked, and redundancy would ask those too that it spares.
pub(super) fn resolve(
    raw: &raw::Pool,
    layout: Layout,
    code: Code,
    is_remote: bool,
) -> Result<(String, PolicySettings)> {
    let is_told = raw.read_chunks.is_some() || raw.policy_code.is_some() || raw.plan.is_some();
    let usual = match layout {
        Layout::Spread if is_told || !is_remote => "fixed",
        Layout::Spread | Layout::Shared | Layout::Unique => "backfill",
    };
    let name = raw.policy.clone().unwrap_or_else(|| usual.into());
    let default = PolicySettings::default();
    let mut settings = PolicySettings {
        code: raw.policy_code.map(|[n, k]| Code::new(n, k)).transpose().context("policy_code")?,
        read_chunks: raw.read_chunks,
        memory: raw.memory.unwrap_or(default.memory),
        model: raw.delay_model.map(|model| model.0),
        hedge_after: bounds::span(
            "hedge_after",
            raw.hedge_after,
            default.hedge_after,
            &bounds::TIMEOUT,
        )?,
        ..default
    };
    let limits = settings.limits;
    settings.limits.k_max = given("k_max", raw.k_max, &bounds::CHUNKS)?.unwrap_or(limits.k_max);
    settings.limits.r_max = given("r_max", raw.r_max, &bounds::REDUNDANCY)?.unwrap_or(limits.r_max);
    ripstop_policy::by_name(&name, &settings)?;
    if let Some(key) = foreign_key(raw, &name) {
        bail!("{key} means nothing for the policy {name}");
    }
    check(&settings, layout, code)?;
    ensure!(
        raw.k_max.is_none() || layout != Layout::Spread,
        "k_max means nothing in the layout spread: k is {} there",
        code.k()
    );
    Ok((name, settings))
}

/// A key that is given and that the policy does not read.
fn foreign_key(raw: &raw::Pool, policy: &str) -> Option<&'static str> {
    let keys = [
        ("policy_code", raw.policy_code.is_some(), SettingKey::Code),
        ("read_chunks", raw.read_chunks.is_some(), SettingKey::ReadChunks),
        ("k_max", raw.k_max.is_some(), SettingKey::Limits),
        ("r_max", raw.r_max.is_some(), SettingKey::Limits),
        ("memory", raw.memory.is_some(), SettingKey::Model),
        ("delay_model", raw.delay_model.is_some(), SettingKey::Model),
        ("hedge_after", raw.hedge_after.is_some(), SettingKey::HedgeAfter),
    ];
    let reads = |key| readers(key).any(|reader| reader == policy);
    let strange = keys.into_iter().find(|&(_, given, key)| given && !reads(key));
    strange.map(|(key, ..)| key)
}

fn check(settings: &PolicySettings, layout: Layout, code: Code) -> Result<()> {
    let PolicySettings { memory, .. } = *settings;
    let (n, k) = (code.n(), code.k());
    if let Some(chunks) = settings.read_chunks {
        ensure!(layout == Layout::Spread, "read_chunks means nothing in the layout {layout}");
        ensure!(settings.code.is_none(), "read_chunks and policy_code say the same: give one");
        ensure!(
            (k..=n).contains(&chunks.into()),
            "read_chunks is {chunks}: it must be from {k} to {n}"
        );
    }
    if let Some(chosen) = settings.code {
        let chunking = match layout {
            Layout::Spread => Chunking::Strip,
            Layout::Shared | Layout::Unique => Chunking::Run,
        };
        ensure!(
            chunking.serves(code, chosen),
            "policy_code is {chosen}: with the code {code} in the layout {layout}, k must {} and n be \
             at most {n}·k/{k}",
            if layout == Layout::Spread { format!("be {k}") } else { format!("divide {k}") },
        );
    }
    ensure!((0.0..1.0).contains(&memory), "memory is {memory}: it must be from 0 to less than 1");
    Ok(())
}

/// What a policy does, and what it was told beyond its defaults.
pub(super) fn describe(name: &str, settings: &PolicySettings) -> String {
    let default = PolicySettings::default();
    let does = ripstop_policy::descriptions().find(|(known, _)| *known == name);
    let mut text = format!("{name} ({})", does.map_or("", |(_, does)| does));
    let PolicySettings { code, read_chunks, limits, memory, model, hedge_after } = *settings;
    let mut add = |part: String| write!(text, ", {part}").expect("a string takes all");
    if let Some(code) = code {
        add(format!("code {code}"));
    }
    if let Some(chunks) = read_chunks {
        add(format!("{chunks} chunks"));
    }
    if limits.k_max != default.limits.k_max {
        add(format!("k at most {}", limits.k_max));
    }
    if limits.r_max < default.limits.r_max {
        add(format!("n at most {} k", limits.r_max));
    }
    let reads = |key| readers(key).any(|reader| reader == name);
    if reads(SettingKey::Model) {
        add(format!("memory {memory}"));
        add(match model {
            None => "delay model learned".into(),
            Some(model) => format!(
                "delay model {} + {} B ms, {} + {} B ms",
                model.shift_ms, model.shift_ms_per_mb, model.mean_ms, model.mean_ms_per_mb
            ),
        });
    }
    if reads(SettingKey::HedgeAfter) {
        let words = match name {
            "hedge" => "after",
            "hedge-p95" => "at first after",
            _ => "hedge_after",
        };
        add(format!("{words} {hedge_after:?}"));
    }
    text
}
