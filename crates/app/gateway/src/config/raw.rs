use super::{
    address::AdminAddress,
    delay_model::DelayModel,
    units::{Size, Span},
};
use ripstop_gateway::{AfterAnswer, ReadSelection, Recombination};
use ripstop_model::Layout;
use ripstop_postgres::{PostgresUrl, PostgresUrlError};
use serde::Deserialize;
use std::{collections::BTreeMap, fmt, net::SocketAddr, path::PathBuf};

/// The file as it is written.
#[derive(Deserialize, Debug, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Raw {
    pub gateway: Gateway,
    pub store: Store,
    pub pool: Vec<Pool>,
    pub node: Vec<Node>,
    pub tenant: Vec<Tenant>,
    pub tier: Vec<Tier>,
    pub quotas: Quotas,
    pub kv: Option<Kv>,
    pub kms: Option<Kms>,
    pub webhook: Vec<Webhook>,
}

/// The key service that named keys of objects may be at.
#[derive(Deserialize, Debug, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Kms {
    pub url: Option<String>,
    pub mount: Option<String>,
    pub namespace: Option<String>,
    pub default_key: Option<String>,
    pub token: Option<PathBuf>,
    pub role_id: Option<String>,
    pub secret_id: Option<PathBuf>,
    pub login_mount: Option<String>,
    pub certificate: Option<PathBuf>,
    pub certificate_key: Option<PathBuf>,
    pub certificate_role: Option<String>,
    pub ca: Option<PathBuf>,
    pub timeout: Option<Span>,
    pub calls_max: Option<usize>,
    pub cached_for: Option<Span>,
    pub cached_max: Option<usize>,
}

/// A place that is told what happens in buckets.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct Webhook {
    pub name: String,
    pub url: String,
    pub token: Option<PathBuf>,
}

#[derive(Deserialize, Debug, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Gateway {
    pub listen: Option<SocketAddr>,
    pub admin: Option<AdminAddress>,
    pub admin_names: Vec<String>,
    pub admin_token: Option<PathBuf>,
    pub admin_tls_certificate: Option<PathBuf>,
    pub admin_tls_key: Option<PathBuf>,
    pub tls_certificate: Option<PathBuf>,
    pub tls_key: Option<PathBuf>,
    pub unsigned_payload_needs_tls: bool,
    pub data: Option<PathBuf>,
    pub credentials: Option<PathBuf>,
    pub region: Option<String>,
    pub signature_v2: Option<bool>,
    pub object_ownership: Option<OwnershipName>,
    pub domain: Option<String>,
    pub website_listen: Option<SocketAddr>,
    pub website_domain: Option<String>,
    pub access_log_every: Option<Span>,
    pub encryption: Option<String>,
    pub connections_max: Option<usize>,
    pub connections_per_address_max: Option<usize>,
    pub trusted_proxies: Vec<String>,
    pub stop_within: Option<Span>,
    pub log: Option<LogFormatName>,
    pub log_filter: Option<String>,
    pub metrics: Option<bool>,
}

/// Who owns what others put into new buckets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
pub(super) enum OwnershipName {
    BucketOwnerEnforced,
    BucketOwnerPreferred,
    ObjectWriter,
    #[serde(rename = "unset")]
    Unset,
}

/// How log lines look.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub enum LogFormatName {
    /// An object a line.
    Json,
    /// For readers at a terminal.
    Text,
}

/// When the checksum of every page of the catalog is verified besides by scrubs and checks.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[serde(rename_all = "lowercase")]
pub(super) enum CatalogCheck {
    /// Whenever it is opened.
    #[default]
    Start,
    /// After a crash only.
    Never,
}

/// Where a database is that keeps the catalog. What is no URL is refused later, by who does not
/// show the line: there may be a password in it.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct CatalogUrl(String);

impl CatalogUrl {
    pub(super) fn read(&self) -> Result<PostgresUrl, PostgresUrlError> {
        self.0.parse()
    }
}

impl fmt::Debug for CatalogUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a URL")
    }
}

#[derive(Deserialize, Debug, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Store {
    pub stripe_max: Option<Size>,
    pub stripes_in_flight: Option<usize>,
    pub stripes_ahead: Option<usize>,
    pub memory_max: Option<Size>,
    pub catalog: Option<CatalogUrl>,
    pub catalog_cache: Option<Size>,
    pub memory_wait: Option<Span>,
    pub catalog_check: Option<CatalogCheck>,
    pub catalog_scrub_every: Option<Span>,
    pub grace: Option<Span>,
    pub sweep_every: Option<Span>,
    pub list_every: Option<Span>,
    pub uploads_expire_after: Option<Span>,
    pub move_rate_max: Option<Size>,
    pub clean_every: Option<Span>,
    pub clean_rate_max: Option<Size>,
    pub inventory_every: Option<Span>,
    pub lifecycle_every: Option<Span>,
    pub lifecycle_day: Option<Span>,
    pub key_file: Option<PathBuf>,
    pub object_keys_file: Option<PathBuf>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct Pool {
    pub name: String,
    pub layout: Option<Layout>,
    pub code: Option<[usize; 2]>,
    #[serde(default)]
    pub encrypt: bool,
    #[serde(default)]
    pub buckets: Vec<String>,
    pub storage_class: Option<String>,
    pub hot: Option<String>,
    pub pack_below: Option<Size>,
    pub batching: Option<String>,
    pub batch_interval: Option<Span>,
    pub puts_per_second_max: Option<f64>,
    pub policy: Option<String>,
    pub read_chunks: Option<u8>,
    pub policy_code: Option<[usize; 2]>,
    pub k_max: Option<u8>,
    pub r_max: Option<f64>,
    pub memory: Option<f64>,
    pub delay_model: Option<DelayModel>,
    pub hedge_after: Option<Span>,
    pub task_log: Option<PathBuf>,
    pub recombination: Option<Recombination>,
    pub plan: Option<PathBuf>,
    pub plan_every: Option<Span>,
    pub plan_gain: Option<f64>,
    pub plan_theta: Option<f64>,
    pub survive_sites: Option<u32>,
    pub selection: Option<ReadSelection>,
    pub answer_extra: Option<u8>,
    pub answer_extra_min: Option<u8>,
    pub after_answer: Option<AfterAnswer>,
    pub left_max: Option<Size>,
    pub degraded_after: Option<Span>,
    pub late_after: Option<Span>,
    pub patience: Option<Span>,
    pub task_timeout: Option<Span>,
    pub request_timeout: Option<Span>,
    pub requests_waiting_max: Option<usize>,
    pub tasks_waiting_max: Option<usize>,
    pub mends_waiting_max: Option<usize>,
    pub tries_max: Option<u8>,
    pub probe_every: Option<Span>,
    pub failures_to_down: Option<u32>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct Tenant {
    pub name: String,
    #[serde(default)]
    pub access_keys: Vec<String>,
    pub promise: Option<String>,
    pub capacity: Option<f64>,
    pub share: Option<f64>,
    pub parts: Option<Vec<f64>>,
    #[serde(default)]
    pub pools: Vec<String>,
}

/// A memory tier.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct Tier {
    pub name: String,
    pub rings: Vec<Vec<SocketAddr>>,
    pub code: Option<[usize; 2]>,
    #[serde(default)]
    pub shared: bool,
    pub memory_max: Option<Size>,
    pub requests_max: Option<Size>,
    pub wait: Option<Span>,
}

/// The door that speaks memcached.
#[derive(Deserialize, Debug, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Kv {
    pub listen: Option<SocketAddr>,
    pub memory_max: Option<Size>,
    pub rings: Option<Vec<Vec<SocketAddr>>>,
    pub code: Option<[usize; 2]>,
    pub shared: Option<bool>,
    pub servers_memory_max: Option<Size>,
    pub users: Option<PathBuf>,
    pub tls_certificate: Option<PathBuf>,
    pub tls_key: Option<PathBuf>,
    pub connections_max: Option<usize>,
    pub connections_per_address_max: Option<usize>,
    pub item_max: Option<Size>,
    pub incoming_max: Option<Size>,
    pub idle_timeout: Option<Span>,
    pub stall_timeout: Option<Span>,
}

/// How much buckets may hold: those that are not named below, and each that is.
#[derive(Deserialize, Debug, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Quotas {
    pub bytes: Option<Size>,
    pub objects: Option<u64>,
    pub bucket: BTreeMap<String, Quota>,
}

/// How much one bucket may hold.
#[derive(Deserialize, Debug, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Quota {
    pub bytes: Option<Size>,
    pub objects: Option<u64>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct Node {
    pub name: String,
    pub pool: Option<String>,
    pub kind: NodeKind,
    pub lanes: Option<u16>,
    pub path: Option<PathBuf>,
    pub durable: Option<bool>,
    pub bytes_max: Option<Size>,
    pub endpoint: Option<String>,
    pub bucket: Option<String>,
    pub prefix: Option<String>,
    pub region: Option<String>,
    pub credentials: Option<PathBuf>,
    pub delay: Option<String>,
    pub delay_scale: Option<f64>,
    pub site: Option<String>,
    pub price_per_get: Option<f64>,
    pub price_per_put: Option<f64>,
    pub price_per_gb_out: Option<f64>,
    pub price_per_gb_month: Option<f64>,
    pub seed: Option<u64>,
}

/// What a node is.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub(super) enum NodeKind {
    Directory,
    Bucket,
    Memory,
}

/// Where a bucket is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BucketTable {
    /// The server, such as `https://…`.
    pub endpoint: String,
    /// What it is called there.
    pub name: String,
    /// What the names of all objects begin with.
    pub prefix: String,
    /// What requests are signed for.
    pub region: String,
    /// A file of credentials; without it: the environment's.
    pub credentials: Option<PathBuf>,
}
