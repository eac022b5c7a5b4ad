use super::{
    name::{NAME_RULE, named},
    pool::PoolConfig,
    raw,
};
use anyhow::{Context as _, Result, anyhow, bail, ensure};
pub(super) use ripstop_gateway::{Grant, Promised};
use ripstop_gateway::{Shaping, TenantTerms};
use ripstop_model::TenantId;
use ripstop_shaping::Promise;
use std::collections::{BTreeMap, BTreeSet};

/// Who asks, and what they are promised.
#[derive(Clone, PartialEq, Debug)]
pub struct TenantConfig {
    /// Unlike every other tenant's.
    pub name: String,
    /// Requests signed with these are the tenant's.
    pub access_keys: Vec<String>,
    /// What it is promised and what is kept free for that, if anything.
    pub promised: Option<Promised>,
    /// The pools in which it is; all of them if none is named.
    pub pools: Vec<String>,
}

/// Numbers of tenants by name: one that was given stays its tenant's for as long as the program
/// runs.
#[derive(Clone, Default, Debug)]
pub struct TenantNumbers(BTreeMap<String, TenantId>);

impl TenantNumbers {
    /// Numbers every tenant that has none.
    pub fn add(&mut self, tenants: &[TenantConfig]) {
        for tenant in tenants {
            let next = TenantId(self.0.len() as u16 + 1);
            self.0.entry(tenant.name.clone()).or_insert(next);
        }
    }

    /// A tenant's number.
    pub fn of(&self, tenant: &TenantConfig) -> TenantId {
        self.0.get(&tenant.name).copied().unwrap_or(TenantId::ANYBODY)
    }
}

/// What the tenants are promised of a pool.
pub fn shaping(pool: &PoolConfig, tenants: &[TenantConfig], numbers: &TenantNumbers) -> Shaping {
    let lanes = pool.lanes();
    let here = tenants.iter().filter(|tenant| tenant.is_in(&pool.name));
    let terms = here.map(|tenant| TenantTerms {
        tenant: numbers.of(tenant),
        tiers: tenant.promised.as_ref().map_or_else(Vec::new, |promised| promised.tiers(lanes)),
    });
    Shaping { recombination: pool.recombination, tenants: terms.collect() }
}

impl TenantConfig {
    /// Whether it is in the pool of this name.
    pub fn is_in(&self, pool: &str) -> bool {
        self.pools.is_empty() || self.pools.iter().any(|name| name == pool)
    }
}

/// Most tenants: each has queues of its own.
const TENANTS_MAX: usize = 1000;

pub(super) fn resolve(raw: Vec<raw::Tenant>, pools: &[PoolConfig]) -> Result<Vec<TenantConfig>> {
    ensure!(raw.len() <= TENANTS_MAX, "there are more than {TENANTS_MAX} tenants");
    let (mut names, mut keys) = (BTreeSet::new(), BTreeSet::new());
    let mut tenants = Vec::with_capacity(raw.len());
    for raw in raw {
        ensure!(named(&raw.name), "tenant.name {:?}: {NAME_RULE}", raw.name);
        ensure!(names.insert(raw.name.clone()), "tenant.name {:?} is given twice", raw.name);
        for key in &raw.access_keys {
            ensure!(keys.insert(key.clone()), "access key {key:?} belongs to two tenants");
        }
        let unknown = raw.pools.iter().find(|name| pools.iter().all(|pool| pool.name != **name));
        if let Some(unknown) = unknown {
            bail!("tenant {:?}: there is no pool {unknown:?}", raw.name);
        }
        let at = format!("tenant {:?}", raw.name);
        tenants.push(tenant(raw).context(at)?);
    }
    for pool in pools {
        check_feasible(pool, &tenants)?;
    }
    Ok(tenants)
}

fn tenant(raw: raw::Tenant) -> Result<TenantConfig> {
    ensure!(!raw.access_keys.is_empty(), "access_keys must name at least one access key");
    let promise = raw.promise.map(|text| text.parse::<Promise>()).transpose().context("promise")?;
    let promised = Promised::of(promise, raw.capacity, raw.share, raw.parts)?;
    Ok(TenantConfig { name: raw.name, access_keys: raw.access_keys, promised, pools: raw.pools })
}

/// Refuses promises that take more than the pool has, with the amount missing.
fn check_feasible(pool: &PoolConfig, tenants: &[TenantConfig]) -> Result<()> {
    let mut numbers = TenantNumbers::default();
    numbers.add(tenants);
    let (lanes, name) = (pool.lanes(), &pool.name);
    let kept = shaping(pool, tenants, &numbers).keeps(lanes);
    kept.map_err(|missing| anyhow!("pool {name:?} has {lanes} lanes, and {missing}"))
}
