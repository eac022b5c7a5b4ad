//! Pools of a scenario that plan themselves.

use super::{
    bounds::{positive, span, value},
    error::ScenarioError,
    raw,
};
use crate::{Layout, PlanSetting, Setting};
use core::time::Duration;
use ripstop_gateway::ReadSelection;
use ripstop_placement::{
    moving::{HOME_AFTER, MOVE_RATE_MAX},
    planning::{AutoPlan, site_numbers},
};

/// Most stripes of a pool.
const STRIPES_MAX: usize = 1_000_000;
/// Stripes of a pool of which it is not said how many it has.
const STRIPES: usize = 1000;
/// The shortest time from one plan to the next, as for live pools.
const EVERY_MIN: Duration = Duration::from_millis(10);
/// What a dollar a month is worth at most, seconds.
const THETA_MAX: f64 = 1e9;

/// The first key that only means something beside `plan`.
fn given(raw: &raw::Raw) -> Option<&'static str> {
    let keys = [
        ("plan_every_s", raw.plan_every_s.is_some()),
        ("plan_gain", raw.plan_gain.is_some()),
        ("plan_theta", raw.plan_theta.is_some()),
        ("survive_sites", raw.survive_sites.is_some()),
        ("selection", raw.selection.is_some()),
        ("stripes", raw.stripes.is_some()),
        ("move_rate_max", raw.move_rate_max.is_some()),
        ("home_after_s", raw.home_after_s.is_some()),
        ("node.site", raw.node.iter().any(|node| node.site.is_some())),
        ("node.price_per_gb_month", raw.node.iter().any(|node| node.price_per_gb_month.is_some())),
    ];
    keys.into_iter().find(|(_, is_given)| *is_given).map(|(key, _)| key)
}

/// Whether the pool plans itself: each way that is to be tried.
pub(super) fn plans(raw: &raw::Raw) -> Result<Vec<bool>, ScenarioError> {
    let names = match &raw.plan {
        None => return Ok(vec![false]),
        Some(raw::Plans::One(name)) => core::slice::from_ref(name),
        Some(raw::Plans::Several(names)) => names,
    };
    let twice = (1..names.len()).any(|at| names[..at].contains(&names[at]));
    if names.is_empty() || twice {
        return Err(value("plan is \"auto\", \"none\" or a list of both, each once"));
    }
    Ok(names.iter().map(|&name| name == raw::PlanName::Auto).collect())
}

/// The stripes of such a pool, if it is one.
pub(super) fn plan(
    raw: &raw::Raw,
    setting: &Setting,
    plans: &[bool],
) -> Result<Option<PlanSetting>, ScenarioError> {
    if raw.plan.is_none() {
        return match given(raw) {
            Some(key) => Err(value(format!("{key} is for a pool with plan = \"auto\""))),
            None => Ok(None),
        };
    }
    if setting.layout != Layout::Spread {
        return Err(value("plan is for the layout \"spread\": in others a stripe is at one node"));
    }
    let stripes = raw.stripes.unwrap_or(STRIPES);
    if !(1..=STRIPES_MAX).contains(&stripes) {
        return Err(value(format!("stripes is from 1 to {STRIPES_MAX}, not {stripes}")));
    }
    let selection = raw.selection.unwrap_or_default();
    if selection == ReadSelection::LeastWorkPlanned && plans == [false] {
        return Err(value("selection \"least-work-planned\" needs plan = \"auto\""));
    }
    let counts = raw.node.iter().map(|node| (usize::from(node.count.unwrap_or(1)), node));
    let nodes: Vec<&raw::Node> =
        counts.flat_map(|(count, node)| core::iter::repeat_n(node, count)).collect();
    let home_after = raw.home_after_s.map(|s| span("home_after_s", s)).transpose()?;
    Ok(Some(PlanSetting {
        plans: true,
        auto: auto(raw)?,
        selection,
        stripes,
        sites: site_numbers(nodes.iter().map(|node| node.site.as_deref())),
        prices_per_byte: nodes.iter().map(|node| price(node)).collect::<Result<_, _>>()?,
        move_rate_max: raw.move_rate_max.unwrap_or(MOVE_RATE_MAX),
        home_after: home_after.unwrap_or(HOME_AFTER),
        former: None,
    }))
}

fn price(node: &raw::Node) -> Result<f64, ScenarioError> {
    let price = node.price_per_gb_month.unwrap_or(0.0);
    if (0.0..=1e9).contains(&price) {
        return Ok(price / 1e9);
    }
    Err(value(format!("node.price_per_gb_month is from 0 to 10^9, not {price:?}")))
}

fn auto(raw: &raw::Raw) -> Result<AutoPlan, ScenarioError> {
    let default = AutoPlan::default();
    let every = match raw.plan_every_s {
        Some(s) => span("plan_every_s", positive("plan_every_s", s)?)?,
        None => default.every,
    };
    if every < EVERY_MIN {
        return Err(value(format!("plan_every_s is at least {:?}", EVERY_MIN.as_secs_f64())));
    }
    let gain = raw.plan_gain.unwrap_or(default.gain);
    if !(0.0..1.0).contains(&gain) {
        return Err(value(format!("plan_gain is {gain:?}: it must be from 0 to less than 1")));
    }
    let seconds_per_dollar = raw.plan_theta.unwrap_or(default.seconds_per_dollar);
    if !(0.0..=THETA_MAX).contains(&seconds_per_dollar) {
        return Err(value(format!(
            "plan_theta is {seconds_per_dollar:?}: it must be from 0 to {THETA_MAX:?}"
        )));
    }
    let survive_sites = raw.survive_sites.unwrap_or(default.survive_sites);
    if survive_sites > 255 {
        return Err(value(format!("survive_sites is {survive_sites}: it must be from 0 to 255")));
    }
    Ok(AutoPlan { every, gain, seconds_per_dollar, survive_sites })
}
