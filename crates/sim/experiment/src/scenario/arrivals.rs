use super::{
    bounds::{self, positive, span, value},
    error::ScenarioError,
    raw,
};
use crate::{Load, Process, Setting, Workload};
use core::time::Duration;
use ripstop_figure::Cell;

/// The loads of a scenario, each with its rate.
pub(super) fn loads(
    raw: &raw::Raw,
    workload: Option<&Workload>,
    setting: &Setting,
) -> Result<Vec<(f64, Load)>, ScenarioError> {
    let loads = any_loads(raw, workload, setting)?;
    // Tables know loads by their rates, to six digits.
    let rates: Vec<Cell> = loads.iter().map(|(rate, _)| Cell::from(*rate).kept()).collect();
    let rates: Vec<String> = rates.iter().map(Cell::shown).collect();
    bounds::distinct("requests per second", &rates)?;
    for (_, load) in &loads {
        bounds::load(load)?;
    }
    Ok(loads)
}

fn any_loads(
    raw: &raw::Raw,
    workload: Option<&Workload>,
    setting: &Setting,
) -> Result<Vec<(f64, Load)>, ScenarioError> {
    if let (Some(workload), Some(trace)) = (workload, &raw.trace) {
        if raw.rates_per_s.is_some() || raw.loads.is_some() || !raw.phase.is_empty() {
            return Err(value(
                "a [trace] has its own rate: leave rates_per_s, loads, [[phase]] out",
            ));
        }
        if raw.requests.is_some() || raw.arrivals.is_some() || raw.bursts.is_some() {
            return Err(value(
                "a [trace] says what arrives: leave requests, arrivals, [bursts] out",
            ));
        }
        let speeds = trace.speeds.as_deref().unwrap_or(&[1.0]);
        let load = |&speed: &f64| {
            let speed = positive("trace.speeds", speed)?;
            Ok((workload.rate_per_s() * speed, workload.load(speed)))
        };
        return speeds.iter().map(load).collect();
    }
    if raw.class.iter().any(|class| class.rate_per_s.is_some() || !class.phase.is_empty()) {
        return by_class(raw);
    }
    let own = |class: &raw::Class| class.arrivals.is_some() || class.bursts.is_some();
    if raw.seconds.is_some() || raw.class.iter().any(own) {
        return Err(value(
            "seconds, class.arrivals and class.bursts are for classes with a rate_per_s or [[class.phase]] of their own",
        ));
    }
    rates(raw, setting)
}

/// The highest rate of a burst over the mean rate.
const BURST_MAX: f64 = 1e6;

/// Classes that arrive each by itself.
fn by_class(raw: &raw::Raw) -> Result<Vec<(f64, Load)>, ScenarioError> {
    let rates = raw.rates_per_s.is_some() || raw.loads.is_some() || raw.requests.is_some();
    if rates || !raw.phase.is_empty() {
        return Err(value(
            "classes have rates of their own: leave rates_per_s, loads, requests, [[phase]] out",
        ));
    }
    let of_class = |class: &raw::Class| {
        let kind = class.arrivals.or(raw.arrivals).unwrap_or_default();
        let bursts = match kind {
            raw::ArrivalKind::Bursty => class.bursts.or(raw.bursts),
            raw::ArrivalKind::Poisson | raw::ArrivalKind::Deterministic => class.bursts,
        };
        let process = |rate: f64| process(kind, bursts, rate);
        match (class.rate_per_s, raw.seconds) {
            (None, _) if !class.phase.is_empty() => phases(&class.phase, process),
            (Some(rate), Some(seconds)) if class.phase.is_empty() => {
                let seconds = span("seconds", positive("seconds", seconds)?)?;
                Ok(vec![(seconds, process(positive("class.rate_per_s", rate)?)?)])
            }
            (Some(_), None) if class.phase.is_empty() => {
                Err(value("class.rate_per_s needs seconds: how long it goes on"))
            }
            (Some(_), _) => Err(value("give class.rate_per_s or [[class.phase]], not both")),
            (None, _) => Err(value(
                "if one class has a rate_per_s or [[class.phase]] of its own, all must have",
            )),
        }
    };
    let load = Load::ByClass(raw.class.iter().map(of_class).collect::<Result<_, _>>()?);
    Ok(vec![(mean_rate(&load), load)])
}

fn process(
    kind: raw::ArrivalKind,
    bursts: Option<raw::Bursts>,
    rate: f64,
) -> Result<Process, ScenarioError> {
    Ok(match (kind, bursts) {
        (raw::ArrivalKind::Poisson, None) => Process::Poisson(rate),
        (raw::ArrivalKind::Deterministic, None) => Process::Deterministic(rate),
        (raw::ArrivalKind::Poisson | raw::ArrivalKind::Deterministic, Some(_)) => {
            return Err(value("[bursts] is for arrivals = \"bursty\""));
        }
        (raw::ArrivalKind::Bursty, None) => {
            return Err(value("bursty arrivals need [bursts] with high, low and seconds"));
        }
        (raw::ArrivalKind::Bursty, Some(bursts)) => {
            let is_high = bursts.high > 1.0 && bursts.high <= BURST_MAX;
            if !is_high || !(0.0..1.0).contains(&bursts.low) {
                return Err(value(format!(
                    "bursts: high must be above 1 and at most {BURST_MAX}, low from 0 to below 1"
                )));
            }
            let (high, low) = (bursts.high, bursts.low);
            let spell = bounds::spell(bursts.seconds)?;
            Process::Bursty { rate, high, low, spell }
        }
    })
}

type Phases = Vec<(Duration, Process)>;

fn phases(
    phases: &[raw::Phase],
    process: impl Fn(f64) -> Result<Process, ScenarioError>,
) -> Result<Phases, ScenarioError> {
    let phase = |phase: &raw::Phase| {
        let seconds = span("phase.seconds", positive("phase.seconds", phase.seconds)?)?;
        if !(phase.rate_per_s.is_finite() && phase.rate_per_s >= 0.0) {
            return Err(value(format!("phase.rate_per_s is 0 or more, not {}", phase.rate_per_s)));
        }
        Ok((seconds, process(phase.rate_per_s)?))
    };
    phases.iter().map(phase).collect()
}

/// Requests per second from the beginning to the end of the longest.
fn mean_rate(load: &Load) -> f64 {
    let seconds: f64 = load.rates().iter().map(|(span, _)| span.as_secs_f64()).sum();
    load.requests() / seconds
}

fn rates(raw: &raw::Raw, setting: &Setting) -> Result<Vec<(f64, Load)>, ScenarioError> {
    let process = |rate: f64| process(raw.arrivals.unwrap_or_default(), raw.bursts, rate);
    if !raw.phase.is_empty() {
        if raw.rates_per_s.is_some() || raw.loads.is_some() {
            return Err(value("give [[phase]], rates_per_s or loads, not two of them"));
        }
        if raw.requests.is_some() {
            return Err(value(
                "requests is for rates_per_s and loads: phases have their own length",
            ));
        }
        let load = Load::Phases(phases(&raw.phase, process)?);
        return Ok(vec![(mean_rate(&load), load)]);
    }
    let rates = match (&raw.rates_per_s, &raw.loads) {
        (Some(rates), None) => rates.clone(),
        (None, Some(loads)) => loads.iter().map(|load| load * setting.capacity_per_s()).collect(),
        (Some(_), Some(_)) | (None, None) => {
            return Err(value(
                "give rates_per_s, or loads (shares of full capacity), or [[phase]]",
            ));
        }
    };
    let count = raw.requests.unwrap_or(25_000);
    let load = |&rate: &f64| {
        Ok((rate, Load::Requests { process: process(positive("rate", rate)?)?, count }))
    };
    rates.iter().map(load).collect()
}
