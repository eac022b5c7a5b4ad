use super::{
    address::{AdminAddress, TlsFiles, networks, tls_files},
    bounds::{self, given},
    kms::{self, KmsConfig},
    kv::{self, KvConfig},
    pool::{PoolConfig, pools},
    quota,
    raw::{self, CatalogCheck, CatalogUrl, LogFormatName, OwnershipName, Raw},
    tenant::{self, TenantConfig},
    tier::{self, TierConfig},
    units::{Size, Span},
    webhook::{self, WebhookConfig},
};
use anyhow::{Context as _, Error, Result, anyhow, bail, ensure};
use ripstop_keeper::KeeperSettings;
use ripstop_lifecycle::Day;
use ripstop_listen::Network;
use ripstop_postgres::PostgresUrl;
use ripstop_s3::{DEFAULT_NAME, DefaultEncryption, ObjectOwnership};
use ripstop_shaping::{memory_beside_strips, memory_of_strips};
use ripstop_store::{Quotas, StoreSettings};
use std::{net::SocketAddr, path::PathBuf, time::Duration};

/// Name of the store's key in the data folder, unless another path is configured.
pub const KEY_FILE: &str = "store.key";

/// Name of the file of the keys of encrypted objects in the data folder, unless another path is
/// configured.
pub const OBJECT_KEYS_FILE: &str = "object.keys";

/// Everything that was configured, complete and consistent.
#[derive(Clone, PartialEq, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key that is on or off by itself")]
pub struct Config {
    /// Where S3 is served.
    pub listen: SocketAddr,
    /// Where the admin port is.
    pub admin: AdminAddress,
    /// Names under which the admin port may be asked, beside addresses.
    pub admin_names: Vec<String>,
    /// The file of the admin port's token.
    pub admin_token: Option<PathBuf>,
    /// What the admin port speaks TLS with.
    pub admin_tls: Option<TlsFiles>,
    /// What the S3 port speaks TLS with.
    pub tls: Option<TlsFiles>,
    /// Whether bodies whose hash is not signed are refused without TLS.
    pub unsigned_payload_needs_tls: bool,
    /// The data folder.
    pub data: PathBuf,
    /// The file of the credentials.
    pub credentials: PathBuf,
    /// Where the store's key is kept; without it: in the data folder.
    pub key_file: Option<PathBuf>,
    /// Where the keys of encrypted objects are kept; without it: in the data folder.
    pub object_keys_file: Option<PathBuf>,
    /// How objects are encrypted of which neither request nor bucket says anything.
    pub encryption: DefaultEncryption,
    /// What requests are signed for.
    pub region: String,
    /// Whether the older signature is taken too.
    pub signature_v2: bool,
    /// Who owns what others put into new buckets, unless their makers say otherwise.
    pub object_ownership: ObjectOwnership,
    /// Under which buckets are hosts of their own.
    pub domain: Option<String>,
    /// Where websites of buckets are served, if they are.
    pub website_listen: Option<SocketAddr>,
    /// Hosts below this name the bucket whose website they are.
    pub website_domain: Option<String>,
    /// How often access logs of buckets are delivered.
    pub access_log_every: Duration,
    /// Without it: as many as descriptors allow.
    pub connections_max: Option<usize>,
    /// Without it: half of them, and all from this machine.
    pub connections_per_address_max: Option<usize>,
    /// Whose word for a client's address is taken.
    pub trusted_proxies: Vec<Network>,
    /// How long requests that run may take once it is told to stop.
    pub stop_within: Duration,
    /// Without it: text on a terminal, JSON elsewhere.
    pub log: Option<LogFormatName>,
    /// What is logged.
    pub log_filter: String,
    /// Whether anything is counted for `/metrics`.
    pub metrics: bool,
    /// Bytes of memory for strips and the S3 face.
    pub memory_max: usize,
    /// The database that keeps the catalog; by default it is in a file of the data folder.
    pub catalog: Option<PostgresUrl>,
    /// Bytes of the catalog's pages in memory.
    pub catalog_cache: usize,
    /// Whether opening the catalog verifies its pages.
    pub catalog_check: bool,
    /// How often it is scrubbed; zero: never.
    pub catalog_scrub_every: Duration,
    /// Limits and times of the store.
    pub store: StoreSettings,
    /// Times and paces of what is done beside requests.
    pub keeper: KeeperSettings,
    /// At least one.
    pub pools: Vec<PoolConfig>,
    /// In which pools keep what is read often.
    pub tiers: Vec<TierConfig>,
    /// Who is promised something, or told apart.
    pub tenants: Vec<TenantConfig>,
    /// How much buckets may hold.
    pub quotas: Quotas,
    /// The door that speaks memcached, if there is one.
    pub kv: Option<KvConfig>,
    /// The key service that named keys of objects may be at.
    pub kms: Option<KmsConfig>,
    /// Who may be told what happens in buckets.
    pub webhooks: Vec<WebhookConfig>,
}

impl Config {
    /// Where the store's key is kept.
    pub fn key_file(&self) -> PathBuf {
        self.key_file.clone().unwrap_or_else(|| self.data.join(KEY_FILE))
    }

    /// Where the keys of encrypted objects are kept.
    pub fn object_keys_file(&self) -> PathBuf {
        self.object_keys_file.clone().unwrap_or_else(|| self.data.join(OBJECT_KEYS_FILE))
    }

    /// Bytes of memory for strips: all but what the S3 face has for its three purposes.
    pub fn strip_memory(&self) -> usize {
        memory_of_strips(self.memory_max)
    }

    /// Bytes of memory for each of documents, pages of listings, and lists of objects' pieces.
    pub fn face_memory(&self) -> usize {
        memory_beside_strips(self.memory_max)
    }

    /// Whether this machine has the memory; where that cannot be told, it has.
    pub fn fits_machine(&self) -> Result<()> {
        let known = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let total = known.lines().find_map(|line| line.strip_prefix("MemTotal:"));
        let kib =
            total.and_then(|total| total.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
        kib.map_or(Ok(()), |kib| self.fits_memory(kib << 10))
    }

    pub(super) fn fits_memory(&self, machine: u64) -> Result<()> {
        let kv = self.kv.as_ref().map_or(0, KvConfig::memory);
        let tiers: u64 = self.tiers.iter().map(|tier| tier.requests_max as u64).sum();
        let wanted = self.memory_max as u64 + self.catalog_cache as u64 + kv + tiers;
        let what = match self.kv {
            None => "store.memory_max and store.catalog_cache",
            Some(_) => "store.memory_max, store.catalog_cache, kv.memory_max and kv.incoming_max",
        };
        let more = if tiers > 0 { ", with requests_max of each tier," } else { "" };
        ensure!(
            wanted <= machine,
            "{what}{more} come to {}: this machine has {}",
            Size(wanted),
            Size(machine)
        );
        Ok(())
    }
}

const SCRUB_EVERY: Duration = Duration::from_hours(24);

pub(super) fn resolve(raw: Raw) -> Result<Config> {
    let Raw { gateway, store, pool, node, tenant, tier, quotas, kv, kms, webhook } = raw;
    let data = gateway.data.unwrap_or_else(|| "ripstop-data".into());
    let credentials = gateway.credentials.unwrap_or_else(|| data.join("credentials"));
    let memory_max = memory("store.memory_max", store.memory_max, 256 << 20)?;
    let pools = pools(pool, node, &data, memory_max)?;
    let tenants = tenant::resolve(tenant, &pools)?;
    let kv = kv::resolve(kv)?;
    let tiers = tier::tiers(tier, kv.as_ref())?;
    must_have_tiers(&pools, &tiers)?;
    let catalog_cache = memory("store.catalog_cache", store.catalog_cache, 32 << 20)?;
    let connections = gateway.connections_max;
    Ok(Config {
        listen: gateway.listen.unwrap_or_else(|| ([127, 0, 0, 1], 9000).into()),
        admin: gateway
            .admin
            .unwrap_or_else(|| AdminAddress::Network(([127, 0, 0, 1], 9001).into())),
        admin_names: gateway.admin_names,
        admin_token: gateway.admin_token,
        admin_tls: tls_files(
            (gateway.admin_tls_certificate, gateway.admin_tls_key),
            ("gateway.admin_tls_certificate", "gateway.admin_tls_key"),
        )?,
        tls: tls_files(
            (gateway.tls_certificate, gateway.tls_key),
            ("gateway.tls_certificate", "gateway.tls_key"),
        )?,
        unsigned_payload_needs_tls: gateway.unsigned_payload_needs_tls,
        data,
        credentials,
        key_file: store.key_file.clone(),
        object_keys_file: store.object_keys_file.clone(),
        encryption: encryption(gateway.encryption.as_deref())?,
        region: gateway.region.unwrap_or_else(|| "us-east-1".into()),
        signature_v2: gateway.signature_v2.unwrap_or(true),
        object_ownership: gateway.object_ownership.map(ownership).unwrap_or_default(),
        domain: gateway.domain,
        website_listen: gateway.website_listen,
        website_domain: gateway.website_domain,
        access_log_every: access_log_every(gateway.access_log_every)?,
        connections_max: given("gateway.connections_max", connections, &bounds::CONNECTIONS)?,
        connections_per_address_max: given(
            "gateway.connections_per_address_max",
            gateway.connections_per_address_max,
            &bounds::CONNECTIONS,
        )?,
        trusted_proxies: networks(&gateway.trusted_proxies)?,
        stop_within: bounds::span(
            "gateway.stop_within",
            gateway.stop_within,
            Duration::from_secs(30),
            &bounds::STOP,
        )?,
        log: gateway.log,
        log_filter: gateway.log_filter.unwrap_or_else(|| "info".into()),
        metrics: gateway.metrics.unwrap_or(true),
        memory_max,
        catalog: database(store.catalog.as_ref())?,
        catalog_cache,
        catalog_check: store.catalog_check.unwrap_or_default() == CatalogCheck::Start,
        catalog_scrub_every: store.catalog_scrub_every.map_or(SCRUB_EVERY, |span| span.0),
        store: store_settings(&store, memory_max, &pools)?,
        keeper: keeper_settings(&store)?,
        pools,
        tiers,
        tenants,
        quotas: quota::resolve(quotas)?,
        kv,
        kms: kms::resolve(kms)?,
        webhooks: webhook::resolve(webhook)?,
    })
}

/// The database that keeps the catalog, if one does.
fn database(url: Option<&CatalogUrl>) -> Result<Option<PostgresUrl>> {
    let read = url.map(CatalogUrl::read).transpose();
    read.map_err(|error| anyhow!("store.catalog: {error}"))
}

/// Refuses a pool that wants what it reads kept in a tier that is none.
fn must_have_tiers(pools: &[PoolConfig], tiers: &[TierConfig]) -> Result<()> {
    for pool in pools {
        let is_there = |hot: &String| tiers.iter().any(|tier| tier.name == *hot);
        if let Some(hot) = pool.hot.as_ref().filter(|hot| !is_there(hot)) {
            bail!("pool {:?}: hot = {hot:?}, and there is no such tier", pool.name);
        }
    }
    Ok(())
}

fn access_log_every(said: Option<Span>) -> Result<Duration> {
    const USUAL: Duration = Duration::from_mins(5);
    bounds::span("gateway.access_log_every", said, USUAL, &bounds::DELIVERY)
}

const fn ownership(name: OwnershipName) -> ObjectOwnership {
    match name {
        OwnershipName::BucketOwnerEnforced => ObjectOwnership::Enforced,
        OwnershipName::BucketOwnerPreferred => ObjectOwnership::Preferred,
        OwnershipName::ObjectWriter => ObjectOwnership::Writer,
        OwnershipName::Unset => ObjectOwnership::Unsaid,
    }
}

/// What `gateway.encryption` says.
fn encryption(said: Option<&str>) -> Result<DefaultEncryption> {
    match said {
        None | Some("off") => Ok(DefaultEncryption::Off),
        Some("AES256") => Ok(DefaultEncryption::Managed),
        Some("aws:kms") => Ok(DefaultEncryption::Named(DEFAULT_NAME.to_owned())),
        Some(other) => match other.strip_prefix("aws:kms:").filter(|name| !name.is_empty()) {
            Some(name) => Ok(DefaultEncryption::Named(name.to_owned())),
            None => bail!(
                "gateway.encryption is {other:?}: \"off\", \"AES256\", \"aws:kms\" or \"aws:kms:NAME\" is wanted"
            ),
        },
    }
}

fn memory(key: &str, value: Option<Size>, default: usize) -> Result<usize> {
    let bytes = bounds::size(key, value, default as u64, &bounds::MEMORY)?;
    usize::try_from(bytes).with_context(|| format!("{key} is more than this machine can address"))
}

fn store_settings(
    raw: &raw::Store,
    memory_max: usize,
    pools: &[PoolConfig],
) -> Result<StoreSettings> {
    let default = StoreSettings::default();
    let stripe_max = bounds::size(
        "store.stripe_max",
        raw.stripe_max,
        default.stripe_max.into(),
        &bounds::STRIPE,
    )?;
    ensure!(
        memory_max as u64 >= 4 * stripe_max,
        "store.memory_max is {}: it must hold at least four stripes of store.stripe_max ({})",
        Size(memory_max as u64),
        Size(stripe_max)
    );
    for PoolConfig { name, code, .. } in pools {
        let stored = stripe_max * code.n() as u64 / code.k() as u64;
        ensure!(
            memory_max as u64 >= 2 * stored,
            "store.memory_max is {}: half of it must hold a stripe of pool {name:?}, which comes to {} \
             with the parity of its code {code}",
            Size(memory_max as u64),
            Size(stored)
        );
    }
    let stripes = |key, value, default| {
        Ok::<_, Error>(given(key, value, &bounds::STRIPES)?.unwrap_or(default))
    };
    let span = bounds::span;
    Ok(StoreSettings {
        // The embedded catalog opens for one process.
        is_shared: raw.catalog.is_some(),
        stripe_max: stripe_max as u32,
        stripes_in_flight: stripes(
            "store.stripes_in_flight",
            raw.stripes_in_flight,
            default.stripes_in_flight,
        )?,
        stripes_ahead: stripes("store.stripes_ahead", raw.stripes_ahead, default.stripes_ahead)?,
        memory_wait: span(
            "store.memory_wait",
            raw.memory_wait,
            default.memory_wait,
            &bounds::WAIT,
        )?,
        packs: default.packs,
        classes: default.classes,
    })
}

/// How long a day of buckets' rules is.
fn day(raw: &raw::Store) -> Result<Day> {
    let calendar = Duration::from_hours(24);
    let day = bounds::span("store.lifecycle_day", raw.lifecycle_day, calendar, &bounds::RULE_DAY)?;
    Ok(Day::of_ms(u64::try_from(day.as_millis()).unwrap_or(u64::MAX)))
}

/// What the section of the store says of what is done beside requests.
fn keeper_settings(raw: &raw::Store) -> Result<KeeperSettings> {
    let (default, span) = (KeeperSettings::default(), bounds::span);
    let rate = |name, given, default| bounds::size(name, given, default, &bounds::RATE);
    Ok(KeeperSettings {
        grace: span("store.grace", raw.grace, default.grace, &bounds::AGE)?,
        sweep_every: span(
            "store.sweep_every",
            raw.sweep_every,
            default.sweep_every,
            &bounds::SWEEP,
        )?,
        list_every: span("store.list_every", raw.list_every, default.list_every, &bounds::LIST)?,
        uploads_expire_after: span(
            "store.uploads_expire_after",
            raw.uploads_expire_after,
            default.uploads_expire_after,
            &bounds::AGE,
        )?,
        move_rate_max: rate("store.move_rate_max", raw.move_rate_max, default.move_rate_max)?,
        clean_every: span(
            "store.clean_every",
            raw.clean_every,
            default.clean_every,
            &bounds::SWEEP,
        )?,
        clean_rate_max: rate("store.clean_rate_max", raw.clean_rate_max, default.clean_rate_max)?,
        home_after: default.home_after,
        inventory_every: span(
            "store.inventory_every",
            raw.inventory_every,
            default.inventory_every,
            &bounds::WALK,
        )?,
        lifecycle_every: span(
            "store.lifecycle_every",
            raw.lifecycle_every,
            default.lifecycle_every,
            &bounds::WALK,
        )?,
        lifecycle_day: day(raw)?,
    })
}
