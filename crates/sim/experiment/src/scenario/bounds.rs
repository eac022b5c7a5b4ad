//! What numbers of a scenario may be, so that no run is without end and memory has bounds.

use super::{definition::Scenario, error::ScenarioError};
use crate::Load;
use core::{fmt::Display, time::Duration};

/// Most runs of one scenario.
pub(super) const RUNS_MAX: usize = 1_000_000;
/// Most requests of one run.
const REQUESTS_MAX: f64 = 2e7;
/// Most times that a pool plans itself in one run.
const PLANS_MAX: f64 = 10_000.0;
/// Most numbers of eight bytes that all runs together may leave behind: 1 GiB.
const KEPT_MAX: f64 = (1_u64 << 27) as f64;
/// The longest time, seconds: virtual time is counted in 64 bits of nanoseconds.
const SECONDS_MAX: f64 = 1e9;
/// The longest delay of a task, milliseconds: a day.
const DELAY_MS_MAX: f64 = 86_400_000.0;
/// A delay is multiplied by no more than this.
const FACTOR_MAX: f64 = 1e6;
/// The slowest encoding and decoding, 10^6 bytes per second.
const CODING_MB_PER_S_MIN: f64 = 1e-3;
/// The shortest mean length of a burst, seconds.
const SPELL_MIN_S: f64 = 1e-3;

pub(super) fn value(text: impl Into<String>) -> ScenarioError {
    ScenarioError::Value(text.into())
}

pub(super) fn positive(name: &str, number: f64) -> Result<f64, ScenarioError> {
    let valid = number.is_finite() && number > 0.0;
    if valid { Ok(number) } else { Err(value(format!("{name} must be more than 0, not {number}"))) }
}

/// A factor of delays.
pub(super) fn factor(name: &str, number: f64) -> Result<f64, ScenarioError> {
    if positive(name, number)? <= FACTOR_MAX {
        return Ok(number);
    }
    Err(value(format!("{name} is at most {FACTOR_MAX}, not {number:?}")))
}

pub(super) fn span(name: &str, seconds: f64) -> Result<Duration, ScenarioError> {
    let valid = (0.0..=SECONDS_MAX).contains(&seconds);
    let wrong =
        || value(format!("{name} must be a time of 0 to {SECONDS_MAX:?} seconds, not {seconds:?}"));
    Duration::try_from_secs_f64(seconds).ok().filter(|_| valid).ok_or_else(wrong)
}

/// The mean length of a burst.
pub(super) fn spell(seconds: f64) -> Result<Duration, ScenarioError> {
    if seconds >= SPELL_MIN_S {
        return span("bursts.seconds", seconds);
    }
    Err(value(format!("bursts.seconds is at least {SPELL_MIN_S}, not {seconds}")))
}

/// The speed of encoding and decoding.
pub(super) fn coding_mb_per_s(speed: f64) -> Result<f64, ScenarioError> {
    if speed.is_finite() && speed >= CODING_MB_PER_S_MIN {
        return Ok(speed);
    }
    Err(value(format!("coding_mb_per_s is at least {CODING_MB_PER_S_MIN}, not {speed:?}")))
}

/// Milliseconds of a delay model.
pub(super) fn delay_ms(name: &str, ms: [f64; 4]) -> Result<(), ScenarioError> {
    let valid =
        ms.iter().all(|ms| (0.0..=DELAY_MS_MAX).contains(ms)) && ms.iter().any(|ms| *ms > 0.0);
    if valid {
        return Ok(());
    }
    Err(value(format!(
        "{name} {ms:?}: all must be from 0 to {DELAY_MS_MAX:?}, and one more than 0"
    )))
}

/// Refuses what is there twice: its runs would count as runs of another seed.
pub(super) fn distinct<T: Display>(name: &str, all: &[T]) -> Result<(), ScenarioError> {
    let texts: Vec<String> = all.iter().map(ToString::to_string).collect();
    let mut sorted: Vec<&String> = texts.iter().collect();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(value(format!("{name}: {} is given twice", pair[0]))),
        None => Ok(()),
    }
}

/// Refuses a load that has no request, too many, or takes too long.
pub(super) fn load(load: &Load) -> Result<(), ScenarioError> {
    let requests = load.requests();
    if requests > REQUESTS_MAX {
        return Err(value(format!(
            "a run of {requests:.0} requests is too long: there are at most {REQUESTS_MAX:.0}"
        )));
    }
    let seconds = seconds_of(load);
    if requests <= 0.0 {
        return Err(value("no request would arrive"));
    }
    if seconds > SECONDS_MAX {
        return Err(value(format!(
            "a run would take {seconds:.3e} seconds: at most {SECONDS_MAX:.0e} are possible"
        )));
    }
    Ok(())
}

fn seconds_of(load: &Load) -> f64 {
    match load {
        Load::Requests { process, count } => *count as f64 / process.rate(),
        Load::Trace(trace) => trace.last().map_or(0.0, |last| last.0.as_nanos() as f64 / 1e9),
        Load::Phases(_) | Load::ByClass(_) => {
            load.rates().iter().map(|(span, _)| span.as_secs_f64()).sum()
        }
    }
}

/// Refuses a pool that would plan itself too often in one run: each time its candidates are
/// rehearsed.
pub(super) fn plans(scenario: &Scenario) -> Result<(), ScenarioError> {
    let Some(plan) = &scenario.setting.plan else { return Ok(()) };
    let longest = scenario.loads.iter().map(|(_, load)| seconds_of(load)).fold(0.0, f64::max);
    let plans = longest / plan.auto.every.as_secs_f64();
    if plans <= PLANS_MAX {
        return Ok(());
    }
    Err(value(format!(
        "a run would plan {plans:.0} times: at most {PLANS_MAX:.0} are possible; raise plan_every_s"
    )))
}

/// Refuses a scenario of no runs, or of too many for what they leave behind to fit into
/// memory.
pub(super) fn runs(scenario: &Scenario) -> Result<(), ScenarioError> {
    let runs = scenario.runs();
    if runs == 0 || runs > RUNS_MAX {
        return Err(value(format!("that makes {runs} runs: there must be 1 to {RUNS_MAX}")));
    }
    let of_tenants = if scenario.setting.tenants.list.is_empty() { 0.0 } else { 1.0 };
    let seeds = scenario.seeds.len() as f64;
    let variants = scenario.recombinations.len() * scenario.plans.len();
    let named = (scenario.policies.len() * variants) as f64 * seeds;
    let all = (runs / scenario.loads.len()) as f64;
    let kept = |(_, load): &(f64, Load)| {
        let is_drawn = load.has_phases() || scenario.setting.plan.is_some();
        let of_courses = if is_drawn { 5.0 } else { 0.0 };
        load.requests() * (named * (1.0 + of_courses) + all * of_tenants)
    };
    let kept = scenario.loads.iter().map(kept).sum::<f64>();
    if kept > KEPT_MAX {
        return Err(value(format!(
            "{runs} runs would keep {:.1} GiB of delays, and at most {:.0} GiB are kept: take fewer \
             requests, seeds, loads or policies",
            kept * 8.0 / (1_u64 << 30) as f64,
            KEPT_MAX * 8.0 / (1_u64 << 30) as f64
        )));
    }
    Ok(())
}
