//! What can be changed while the gateway runs: who may come in, what tenants are promised, how much
//! buckets may hold, which plans pools follow, and how slow nodes are made.

use crate::{
    assembly::Assembly,
    config::{self, Config, PlanFile, PlanSource, TenantConfig, TenantNumbers, TierConfig},
    credentials,
    data_folder::plan_file,
    fleet::names_of,
    kms,
    object_keys::read_ring,
    owner_only,
    planning::{PlannedPool, Planning, StartPlanning},
    users::UsersFile,
};
use anyhow::{Context as _, Result, bail};
use ripstop_fleet::Fleet;
use ripstop_gateway::Placement;
use ripstop_hot::HotTier;
use ripstop_identity::{Credentials, Keyring};
use ripstop_keeper::Keeper;
use ripstop_kms::Kms;
use ripstop_kv::KvUsers;
use ripstop_listen::{NewPair, Tls};
use ripstop_model::TenantId;
use ripstop_node::DelayFactor;
use ripstop_roster::Roster;
use ripstop_runtime::{Memory, MemoryClaim, Pool};
use ripstop_s3::ObjectKeys;
use ripstop_store::Store;
use ripstop_telemetry::{Metrics, TenantNames};
use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

/// Reads the configuration again, from where it was read at the start.
pub type Reread = Arc<dyn Fn() -> Result<Config> + Send + Sync>;

/// Puts tenants into force, at the start and whenever it is asked to.
pub(crate) struct Reload {
    reread: Reread,
    start_planning: StartPlanning,
    keyring: Keyring,
    pools: Vec<(String, Pool)>,
    store: Store,
    keeper: Keeper,
    memory: Memory,
    delays: BTreeMap<String, DelayFactor>,
    rosters: Vec<Arc<Roster>>,
    tiers: Vec<HotTier>,
    fleet: Fleet,
    object_keys: ObjectKeys,
    kms: Kms,
    metrics: Option<Metrics>,
    /// Of the S3 port, of the admin port, and of the door that speaks memcached.
    tls: OnceLock<[Option<Tls>; 3]>,
    /// Who comes in through the door that speaks memcached.
    kv_users: OnceLock<Option<KvUsers>>,
    now: Mutex<Now>,
}

/// What is in force.
#[derive(Debug)]
struct Now {
    config: Config,
    /// Whom the credentials' own file lets in.
    credentials: Credentials,
    numbers: TenantNumbers,
    /// Of the pools that plan themselves, by name.
    planners: BTreeMap<String, Arc<dyn Planning>>,
}

impl fmt::Debug for Reload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reload").field("now", &self.now).finish_non_exhaustive()
    }
}

impl Reload {
    /// Lets in those who have `credentials` and puts the tenants of `config` into force.
    pub(crate) fn begin(
        (reread, start_planning): (Reread, StartPlanning),
        config: &Config,
        credentials: Credentials,
        assembly: &Assembly,
        fleet: Fleet,
        metrics: Option<Metrics>,
    ) -> Result<Arc<Self>> {
        let keyring = Keyring::default();
        let now = Now {
            config: config.clone(),
            credentials: Credentials::new(),
            numbers: TenantNumbers::default(),
            planners: BTreeMap::new(),
        };
        let reload = Self {
            reread,
            start_planning,
            keyring,
            pools: assembly.pools.clone(),
            store: assembly.store.clone(),
            keeper: assembly.keeper.clone(),
            memory: assembly.memory.clone(),
            delays: assembly.delays.clone(),
            rosters: assembly.rosters.clone(),
            tiers: assembly.tiers.clone(),
            fleet,
            object_keys: assembly.object_keys.clone(),
            kms: assembly.kms.clone(),
            metrics,
            tls: OnceLock::new(),
            kv_users: OnceLock::new(),
            now: Mutex::new(now),
        };
        reload.enforce(config.clone(), config, credentials)?;
        Ok(Arc::new(reload))
    }

    /// The credentials in force.
    pub(crate) fn keyring(&self) -> Keyring {
        self.keyring.clone()
    }

    /// What a tenant is called; `None` of anybody.
    pub(crate) fn tenant_name(&self, tenant: TenantId) -> Option<String> {
        let now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tenants = now.config.tenants.iter();
        let found = tenants.find(|named| now.numbers.of(named) == tenant);
        found.map(|named| named.name.clone())
    }

    /// Reads the names and passwords of the door that speaks memcached along with the rest.
    pub(crate) fn admit_with(&self, users: Option<KvUsers>) {
        // Said once, by the caller that began it.
        let _ = self.kv_users.set(users);
    }

    /// Names and passwords of the door that speaks memcached, and what they are to be.
    fn admitted(&self, config: &Config) -> Result<Option<(KvUsers, KvUsers)>> {
        let served = self.kv_users.get().cloned().flatten();
        let file = config.kv.as_ref().and_then(|kv| kv.users.as_deref());
        let (Some(served), Some(file)) = (served, file) else { return Ok(None) };
        Ok(Some((served, owner_only::users(file)?)))
    }

    /// Reads the certificates of these ports, S3, admin and memcached, along with the rest.
    pub(crate) fn renew_with(&self, ports: [Option<Tls>; 3]) {
        // Said once, by the caller that began it.
        let _ = self.tls.set(ports);
    }

    /// Certificates and keys, read again where they were and are configured.
    fn renewals(&self, config: &Config) -> Result<Vec<NewPair>> {
        let served = self.tls.get().into_iter().flatten();
        let mut renewals = Vec::new();
        let kv = config.kv.as_ref().and_then(|kv| kv.tls.as_ref());
        let files = [config.tls.as_ref(), config.admin_tls.as_ref(), kv];
        for (tls, files) in served.zip(files) {
            if let (Some(tls), Some(files)) = (tls, files) {
                renewals.push(tls.renewal(&files.certificate, &files.key)?);
            }
        }
        Ok(renewals)
    }

    /// Reads configuration and credentials again and puts into force what can be; says what was
    /// done. After an error everything is as it was.
    pub(crate) fn reload(&self) -> Result<String> {
        let read = (self.reread)()?;
        let credentials = credentials::reload(&read.credentials)?;
        let before = self.keyring.credentials();
        let tenants = read.tenants.len();
        let (adopted, changed) = {
            let now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
            let adopted = now.config.adopting(&read);
            let same = adopted.quotas == now.config.quotas;
            let quotas = if same { "" } else { ", quotas have changed" };
            let tiers = rerung(&now.config, &adopted);
            let changed = format!("{quotas}{tiers}{}", rescaled(&now.config, &adopted));
            (adopted, changed)
        };
        let rest = if adopted == read { "" } else { "; what else has changed takes a restart" };
        let (renewals, admitted) = (self.renewals(&read)?, self.admitted(&read)?);
        // Where it was at the start: another place takes a restart.
        let ring =
            read_ring(&adopted.object_keys_file())?.context("the keys of objects are gone")?;
        let link = kms::link(&adopted)?;
        self.enforce(adopted, &read, credentials)?;
        self.object_keys.replace(ring);
        kms::adopt(&self.kms, link, &self.object_keys);
        renewals.into_iter().for_each(NewPair::adopt);
        if let Some((served, read)) = admitted {
            served.replace(&read);
        }
        let same = before.grant_the_same_as(&self.keyring.credentials());
        let rights = if same { "" } else { ", rights have changed" };
        Ok(format!("credentials and {tenants} tenants are in force{rights}{changed}{rest}"))
    }

    /// Reads users, keys and policies again that are managed by commands. A tenant's key that is
    /// gone stands in nobody's way here: it must not come in any more.
    pub(crate) fn refresh_users(&self) -> Result<()> {
        let now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        let mut credentials = now.credentials.clone();
        UsersFile::of(&now.config).read()?.let_in(&mut credentials).context("users")?;
        for tenant in &now.config.tenants {
            for key in &tenant.access_keys {
                if !credentials.assign(key, now.numbers.of(tenant)) {
                    tracing::warn!(tenant = tenant.name, key, "the tenant's key is gone");
                }
            }
        }
        self.keyring.replace(credentials);
        Ok(())
    }

    /// The file of users that are managed by commands.
    pub(crate) fn users(&self) -> UsersFile {
        UsersFile::of(&self.now.lock().unwrap_or_else(PoisonError::into_inner).config)
    }

    /// Puts `config` into force; `read` says which of its pools the file still has.
    fn enforce(&self, config: Config, read: &Config, of_file: Credentials) -> Result<()> {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        let mut credentials = of_file.clone();
        UsersFile::of(&config).read()?.let_in(&mut credentials).context("users")?;
        let mut numbers = now.numbers.clone();
        numbers.add(&config.tenants);
        for tenant in &config.tenants {
            for key in &tenant.access_keys {
                if !credentials.assign(key, numbers.of(tenant)) {
                    bail!("tenant {:?}: access key {key:?} is not in the credentials", tenant.name);
                }
            }
        }
        let placements = self.placements(&config, read)?;
        let mut shapings = Vec::with_capacity(self.pools.len());
        for (name, _) in &self.pools {
            if let Some(shown) = config.pool(name) {
                let shaping = config::shaping(shown, &config.tenants, &numbers);
                shaping.keeps(shown.lanes()).with_context(|| format!("pool {name:?}"))?;
                shapings.push((name, shaping));
            }
        }
        let tiers = self.tiers(&config)?;
        let tenants = names_of(&config.tenants, &numbers);
        for (pool, shaping) in shapings {
            self.fleet.shape(pool, shaping, &tenants);
        }
        for (pool, placement) in placements {
            self.keeper.follow(pool.id(), &placement);
        }
        let former = now.config.clone();
        self.start_planners(&config, &former, &mut now.planners);
        for node in config.pools.iter().flat_map(|pool| &pool.nodes) {
            if let (Some(factor), Some(delay)) = (self.delays.get(&node.name), &node.delay) {
                factor.set(delay.scale);
            }
        }
        for counts in self.metrics.iter().flat_map(Metrics::pools) {
            counts.set_tenants(names(counts.name(), &config, &numbers));
        }
        for (tier, shown) in tiers {
            let memory = tier.memory();
            memory.limit_memory(shown.stored_max);
            let name = tier.name();
            memory.set_rings(&shown.rings).with_context(|| format!("tier {name:?}"))?;
        }
        self.memory.divide(&claims(&config, &numbers));
        self.store.set_quotas(config.quotas.clone());
        self.keyring.replace(credentials);
        now.credentials = of_file;
        (now.config, now.numbers) = (config, numbers);
        Ok(())
    }
}

impl Reload {
    /// Has pools plan themselves that are to, and no others.
    fn start_planners(
        &self,
        config: &Config,
        former: &Config,
        planners: &mut BTreeMap<String, Arc<dyn Planning>>,
    ) {
        for (name, pool) in &self.pools {
            let Some(shown) = config.pool(name) else { continue };
            let Some(PlanSource::Auto(auto)) = shown.plan else {
                planners.remove(name);
                forget_plan(config, name);
                continue;
            };
            if planners.get(name).is_some_and(|planner| planner.goes_by(auto)) {
                continue;
            }
            let Some(roster) = self.roster(name) else { continue };
            let followed = former.pool(name);
            let followed = followed.and_then(|pool| match &pool.plan {
                Some(PlanSource::File(path)) => PlanFile::read(path).ok(),
                Some(PlanSource::Auto(_)) | None => None,
            });
            let planning = (self.start_planning)(PlannedPool {
                config: shown.clone(),
                auto,
                pool: pool.clone(),
                keeper: self.keeper.clone(),
                roster: roster.clone(),
                file: plan_file(&config.data, name),
                former: followed,
            });
            planners.insert(name.clone(), planning);
        }
    }

    /// The tiers that the configuration has, whose rings can be what it says.
    fn tiers<'a>(&'a self, config: &'a Config) -> Result<Vec<(&'a HotTier, &'a TierConfig)>> {
        let mut tiers = Vec::with_capacity(self.tiers.len());
        for tier in &self.tiers {
            let shown = config.tiers.iter().find(|shown| shown.name == tier.name());
            let Some(shown) = shown else { continue };
            let checked = tier.memory().check_rings(&shown.rings);
            checked.with_context(|| format!("tier {:?}", tier.name()))?;
            tiers.push((tier, shown));
        }
        Ok(tiers)
    }

    fn roster(&self, pool: &str) -> Option<&Arc<Roster>> {
        self.rosters.iter().find(|roster| roster.name() == pool)
    }

    /// Where the stripes of each pool go.
    fn placements(&self, config: &Config, read: &Config) -> Result<Vec<(&Pool, Placement)>> {
        let mut placements = Vec::new();
        for (name, pool) in &self.pools {
            let Some(shown) = config.pool(name).filter(|_| read.pool(name).is_some()) else {
                continue;
            };
            let placement = match &shown.plan {
                None => Placement { selection: shown.selection, groups: Vec::new() },
                // Once it plans itself, the plan is its own affair.
                Some(PlanSource::Auto(_)) => continue,
                Some(PlanSource::File(path)) => {
                    let nodes = self.roster(name).map_or(&[][..], |roster| roster.nodes());
                    let code = (pool.code().n(), pool.code().k());
                    let plan = PlanFile::read(path)?.placement(name, nodes, code);
                    plan.with_context(|| format!("plan {}", path.display()))?
                }
            };
            placements.push((pool, placement));
        }
        Ok(placements)
    }
}

/// Of a pool that no longer plans itself nobody is to go on with the plan that it had.
fn forget_plan(config: &Config, pool: &str) {
    let path = plan_file(&config.data, pool);
    if path.exists()
        && let Err(error) = std::fs::remove_file(&path)
    {
        tracing::warn!(pool, path = %path.display(), %error, "an old plan could not be removed");
    }
}

/// The tenants of a pool that are promised something, as metrics call them.
fn names(pool: &str, config: &Config, numbers: &TenantNumbers) -> Vec<TenantNames> {
    let here = config.tenants.iter().filter(|tenant| tenant.is_in(pool));
    let names = here.map(|tenant| {
        let tiers = tenant.promised.iter().flat_map(|promised| promised.promise.tiers());
        TenantNames {
            id: numbers.of(tenant),
            name: tenant.name.clone(),
            promise: tiers.map(|tier| (tier.fraction(), tier.bound())).collect(),
        }
    });
    names.collect()
}

/// Memory in proportion to lanes: to what is kept free in the pool where that is the largest part.
fn claims(config: &Config, numbers: &TenantNumbers) -> Vec<MemoryClaim> {
    let claim = |tenant: &TenantConfig| {
        let promised = tenant.promised.as_ref()?;
        let pools = config.pools.iter().filter(|pool| tenant.is_in(&pool.name));
        let share = pools.map(|pool| promised.share(pool.lanes())).fold(0.0, f64::max);
        let patience = promised.promise.tiers().last().map(ripstop_shaping::Tier::bound);
        Some(MemoryClaim { tenant: numbers.of(tenant), share, patience })
    };
    config.tenants.iter().filter_map(claim).collect()
}

/// The tiers whose servers come or go, to be added to a sentence.
fn rerung(serving: &Config, read: &Config) -> String {
    let pairs = serving.tiers.iter().zip(&read.tiers);
    let changed = pairs.filter(|(before, after)| before.rings != after.rings);
    changed.fold(String::new(), |told, (tier, _)| {
        told + ", servers of tier " + &tier.name + " come or go"
    })
}

/// The nodes that are as slow as they were not before, to be added to a sentence.
fn rescaled(serving: &Config, read: &Config) -> String {
    let scales = |config: &Config| -> BTreeMap<String, f64> {
        let nodes = config.pools.iter().flat_map(|pool| &pool.nodes);
        nodes.filter_map(|node| Some((node.name.clone(), node.delay.as_ref()?.scale))).collect()
    };
    let before = scales(serving);
    let changed = scales(read).into_iter().filter(|(node, scale)| {
        before.get(node).is_some_and(|before| before.to_bits() != scale.to_bits())
    });
    let said: Vec<_> =
        changed.map(|(node, scale)| format!(", delay_scale of {node} is {scale}")).collect();
    said.concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        assembly::assemble, data_folder::DataFolder, fleet::fleet_of, telemetry::Telemetry,
    };
    use std::fs;

    fn text(data: &std::path::Path, scale: &str) -> String {
        let node = |name: &str| format!("[[node]]\nname = \"{name}\"\nkind = \"memory\"\n");
        format!(
            "[gateway]\ndata = {data:?}\n[[pool]]\nname = \"p\"\ncode = [2, 1]\n{}{}delay = \"s3-2025\"\n\
             delay_scale = {scale}\n",
            node("fast"),
            node("slow")
        )
    }

    #[tokio::test]
    async fn a_reload_names_the_delay_scales_that_it_took() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ripstop.toml");
        fs::write(&file, text(&folder.path().join("data"), "0.5")).unwrap();
        let from = file.clone();
        let reread: Reread = Arc::new(move || config::load(Some(&from), std::iter::empty()));
        let config = reread().unwrap();
        let nobody: StartPlanning = |_| unreachable!("no pool is to plan itself");
        let _folder = DataFolder::create(&config).unwrap();
        let (credentials, _) = credentials::load(&config.credentials).unwrap();
        let telemetry = Telemetry::new(true, None);
        let assembly = assemble(&config, &telemetry).await.unwrap();
        let metrics = telemetry.metrics.clone();
        let fleet = fleet_of(&config, &assembly, config.listen).unwrap();
        let seams = (reread, nobody);
        let reload = Reload::begin(seams, &config, credentials, &assembly, fleet, metrics).unwrap();
        let said = reload.reload().unwrap();
        assert_eq!(said, "credentials and 0 tenants are in force");
        fs::write(&file, text(&folder.path().join("data"), "20")).unwrap();
        let said = reload.reload().unwrap();
        assert_eq!(said, "credentials and 0 tenants are in force, delay_scale of slow is 20");
        let quotas = "[quotas.bucket.photos]\nobjects = 7\n";
        fs::write(&file, text(&folder.path().join("data"), "20") + quotas).unwrap();
        let said = reload.reload().unwrap();
        assert_eq!(said, "credentials and 0 tenants are in force, quotas have changed");
        assert_eq!(assembly.store.quota("photos").objects, Some(7));
        assert_eq!(assembly.store.quota("other"), ripstop_catalog::Quota::NONE);
        fs::write(&file, text(&folder.path().join("data"), "-1")).unwrap();
        let refused = format!("{:#}", reload.reload().unwrap_err());
        assert!(refused.ends_with("delay_scale is -1: it must be from 0 to 1000000"), "{refused}");
    }
}
