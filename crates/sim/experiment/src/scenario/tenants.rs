use super::{
    bounds::value,
    error::ScenarioError,
    raw::{self, RecombinationName},
};
use crate::{TenantSetting, Tenants};
use ripstop_gateway::{Promised, Recombination, Shaping};
use ripstop_model::TenantId;
use ripstop_shaping::Promise;

/// Most tenants of one scenario.
const TENANTS_MAX: usize = 1000;

/// The tenants of a pool with this many lanes; refuses promises that take more than those.
pub(super) fn tenants(raw: &[raw::Tenant], lanes: u64) -> Result<Tenants, ScenarioError> {
    if raw.len() > TENANTS_MAX {
        return Err(value(format!("there are more than {TENANTS_MAX} tenants")));
    }
    let mut list: Vec<TenantSetting> = Vec::with_capacity(raw.len());
    for raw in raw {
        let name = raw.name.clone();
        if name.is_empty() || list.iter().any(|tenant| tenant.name == name) {
            return Err(value(format!(
                "tenant.name {name:?}: there must be one, and no two alike"
            )));
        }
        let promise = raw.promise.as_ref().map(|text| text.parse::<Promise>()).transpose();
        let promise =
            promise.map_err(|error| value(format!("tenant {name:?}: promise: {error}")))?;
        let promised = Promised::of(promise, raw.capacity, raw.share, raw.parts.clone())
            .map_err(|error| value(format!("tenant {name:?}: {error}")))?;
        let tiers = promised.map_or_else(Vec::new, |promised| promised.tiers(lanes));
        list.push(TenantSetting { name, tiers });
    }
    let tenants = Tenants { recombination: None, list };
    let shaping = Shaping { recombination: Recombination::default(), tenants: tenants.terms() };
    shaping
        .keeps(lanes)
        .map_err(|missing| value(format!("the pool has {lanes} lanes, and {missing}")))?;
    Ok(tenants)
}

/// Whose requests a class is; anybody's if nobody is named.
pub(super) fn named(tenants: &Tenants, name: Option<&str>) -> Result<TenantId, ScenarioError> {
    let Some(name) = name else { return Ok(TenantId::ANYBODY) };
    let index = tenants.list.iter().position(|tenant| tenant.name == name);
    let wrong = || value(format!("class.tenant {name:?}: there is no [[tenant]] of that name"));
    index.map(Tenants::id).ok_or_else(wrong)
}

/// The ways in which tiers share the lanes that are to be tried.
pub(super) fn recombinations(
    raw: Option<&raw::Recombinations>,
    tenants: &Tenants,
) -> Result<Vec<Option<Recombination>>, ScenarioError> {
    let names = match raw {
        None if tenants.list.is_empty() => return Ok(vec![None]),
        None => return Ok(vec![Some(Recombination::default())]),
        Some(raw::Recombinations::One(name)) => core::slice::from_ref(name),
        Some(raw::Recombinations::Several(names)) => names,
    };
    if tenants.list.is_empty() || names.is_empty() {
        return Err(value("recombination is one name or several, and for tenants: there are none"));
    }
    let recombination = |name: &RecombinationName| match name {
        RecombinationName::None => None,
        RecombinationName::Fifo => Some(Recombination::Fifo),
        RecombinationName::Split => Some(Recombination::Split),
        RecombinationName::Fair => Some(Recombination::Fair),
        RecombinationName::PClock => Some(Recombination::PClock),
        RecombinationName::Miser => Some(Recombination::Miser),
    };
    let all: Vec<_> = names.iter().map(recombination).collect();
    let twice = (1..all.len()).any(|at| all[..at].contains(&all[at]));
    if twice { Err(value("recombination: a name is given twice")) } else { Ok(all) }
}
