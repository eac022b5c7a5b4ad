mod buckets;
mod check;
mod gateways;
mod giving;
mod guard;
mod keys;
mod reload;
mod serve;
mod snapshot;
mod status;
#[cfg(test)]
mod tests;
mod tiers;
mod token;
mod users;

pub use buckets::{BUCKETS_PAGE_MAX, BucketPage, BucketStatus};
pub use check::{Check, Checked, Progress, check_of};
pub use gateways::{GatewayStatus, Gateways};
pub use giving::{GiveBucket, NotGiven};
pub use keys::{GrantedStatus, KEYS_PAGE_MAX, KeyPage, KeyStatus, Keys, keys_of};
pub use reload::Reload;
pub use serve::serve_admin;
pub use status::{NodeStatus, PoolStatus, Status, TenantStatus, TierStatus};
pub use tiers::{MemoryServerStatus, MemoryTierStatus, NamedTier};
pub use token::AdminToken;
pub use users::ChangeUsers;

use crate::metrics::{Metrics, PAGE_TYPE};
use axum::{
    Json, Router,
    body::Body,
    extract::{DefaultBodyLimit, Path, Query, Request, State, rejection::QueryRejection},
    http::{StatusCode, header},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use bytes::Bytes;
use ripstop_catalog::Embedded;
use ripstop_listen::Tls;
use ripstop_roster::Roster;
use ripstop_store::Store;
use serde::Deserialize;
use std::{
    convert::Infallible,
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// How the admin port behaves.
#[derive(Clone, Debug)]
pub struct AdminSettings {
    /// Names, without port, under which it may be asked; addresses and `localhost` always may.
    /// Default none.
    pub names: Vec<String>,
    /// What callers must show, except for `/livez` and `/readyz`. Default nothing.
    pub token: Option<AdminToken>,
    /// Speaks TLS with this. Default: plain HTTP.
    pub tls: Option<Tls>,
    /// Most connections at once. Where all are taken, idle ones give way. Default 64.
    pub connections_max: usize,
    /// Longest wait for a request's head, on a new connection and between requests. Default 10 s.
    pub head_timeout: Duration,
    /// How long requests may go on once it shuts down. Default 5 s.
    pub drain_timeout: Duration,
    /// Whether the owner of this process alone can reach it. Default no.
    pub is_private: bool,
}

impl Default for AdminSettings {
    fn default() -> Self {
        Self {
            names: Vec::new(),
            token: None,
            tls: None,
            connections_max: 64,
            head_timeout: Duration::from_secs(10),
            drain_timeout: Duration::from_secs(5),
            is_private: false,
        }
    }
}

/// Says why the program is not ready, apart from its pools; `Ok` if it is.
pub type Readiness = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;

/// What the admin port shows, and what it can be told to do.
#[derive(Clone)]
pub struct Admin {
    /// The running version.
    pub version: &'static str,
    /// When the program started.
    pub started: Instant,
    /// The pools, which decide readiness.
    pub pools: Vec<Arc<Roster>>,
    /// What buckets hold is in there; without it, that is not shown.
    pub store: Option<Store>,
    /// What is counted; without it, there is no page of it, and of tenants nothing is told.
    pub metrics: Option<Metrics>,
    /// Asked before the pools are.
    pub readiness: Readiness,
    /// Runs a check of the store.
    pub check: Check,
    /// Reads the configuration again; without it, that cannot be asked for.
    pub reload: Option<Reload>,
    /// The catalog, whose file may be copied while it is in use.
    pub catalog: Option<Arc<Embedded>>,
    /// Who may come in and what they may do; without it, that is not shown.
    pub keys: Option<Keys>,
    /// Changes users, keys and policies; without it, that cannot be asked for.
    pub users: Option<ChangeUsers>,
    /// Gives buckets to other accounts; without it, that cannot be asked for.
    pub give: Option<GiveBucket>,
    /// Memory tiers, by name.
    pub tiers: Vec<NamedTier>,
    /// The gateways over the catalog; without it, they are not shown.
    pub gateways: Option<Gateways>,
}

impl Admin {
    fn status(&self) -> Status {
        Status::of(self.version, self.started, &self.pools, self.metrics.as_ref())
    }
}

impl fmt::Debug for Admin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admin").field("pools", &self.pools).finish_non_exhaustive()
    }
}

/// What the routes share.
#[derive(Clone)]
struct Desk {
    admin: Admin,
    names: Arc<[String]>,
    token: Option<AdminToken>,
    /// Whether the owner of this process alone can reach the port.
    is_private: bool,
    /// One permit: one check at a time.
    checking: Arc<Semaphore>,
    /// One permit: one copy of the catalog at a time.
    copying: Arc<Semaphore>,
    /// One permit: one reload after the other.
    reloading: Arc<Semaphore>,
    shutdown: CancellationToken,
}

impl Desk {
    /// Whether nobody is let in but who may do anything anyway.
    const fn is_guarded(&self) -> bool {
        self.token.is_some() || self.is_private
    }
}

fn router(admin: Admin, settings: &AdminSettings, shutdown: CancellationToken) -> Router {
    let names = settings.names.iter().map(|name| name.to_ascii_lowercase()).collect();
    let (checking, reloading) = (Arc::new(Semaphore::new(1)), Arc::new(Semaphore::new(1)));
    let copying = Arc::new(Semaphore::new(1));
    let token = settings.token.clone();
    let is_private = settings.is_private;
    let desk = Desk { admin, names, token, is_private, checking, copying, reloading, shutdown };
    Router::new()
        .route("/livez", get(|| async { "ok" }))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .route("/status", get(show_status))
        .route("/buckets", get(show_buckets))
        .route("/buckets/{bucket}/owner", post(give_bucket))
        .route("/keys", get(show_keys))
        .route("/gateways", get(show_gateways))
        .route("/users", post(change_users).layer(DefaultBodyLimit::max(users::COMMAND_LEN_MAX)))
        .route("/tiers", get(show_tiers))
        .route("/tiers/{tier}/add", post(add_server))
        .route("/tiers/{tier}/remove", post(remove_server))
        .route("/tiers/{tier}/repair", post(repair_tier))
        .route("/check", post(start_check))
        .route("/reload", post(start_reload))
        .route("/snapshot", post(keep_snapshot))
        .route("/pools/{pool}/task-log", get(task_log))
        .layer(from_fn_with_state(desk.clone(), admit))
        .with_state(desk)
}

/// Lets a request through, or says why not.
async fn admit(State(desk): State<Desk>, request: Request, next: Next) -> Response {
    match guard::admit(&request, &desk.names, desk.token.as_ref()) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

async fn readyz(State(desk): State<Desk>) -> Response {
    let mut reasons = Vec::new();
    if let Err(reason) = (desk.admin.readiness)() {
        reasons.push(reason);
    }
    reasons.extend(status::unready(&desk.admin.pools));
    if reasons.is_empty() {
        let told = [vec!["ok".to_owned()], status::bare(&desk.admin.pools)].concat();
        return told.join("\n").into_response();
    }
    (StatusCode::SERVICE_UNAVAILABLE, reasons.join("\n")).into_response()
}

async fn metrics(State(desk): State<Desk>) -> Response {
    let Some(metrics) = desk.admin.metrics else {
        let told = "metrics are off (gateway.metrics)\n";
        return (StatusCode::NOT_IMPLEMENTED, told).into_response();
    };
    metrics.look_at_buckets().await;
    ([(header::CONTENT_TYPE, PAGE_TYPE)], metrics.page()).into_response()
}

async fn show_status(State(desk): State<Desk>) -> Json<Status> {
    Json(desk.admin.status())
}

async fn show_buckets(State(desk): State<Desk>, asked: buckets::Asked) -> Response {
    buckets::answer(desk.admin.store.as_ref(), asked).await
}

async fn give_bucket(
    State(desk): State<Desk>,
    Path(bucket): Path<String>,
    asked: giving::Asked,
) -> Response {
    giving::answer(desk.admin.give.as_ref(), desk.is_guarded(), bucket, asked).await
}

async fn show_keys(State(desk): State<Desk>, asked: keys::Asked) -> Response {
    keys::answer(desk.admin.keys.as_ref(), asked)
}

async fn show_gateways(State(desk): State<Desk>) -> Response {
    gateways::answer(desk.admin.gateways.as_ref()).await
}

async fn change_users(State(desk): State<Desk>, command: Bytes) -> Response {
    users::answer(desk.admin.users.as_ref(), desk.is_guarded(), command).await
}

async fn show_tiers(State(desk): State<Desk>) -> Response {
    tiers::show(&desk.admin.tiers)
}

async fn add_server(
    State(desk): State<Desk>,
    Path(tier): Path<String>,
    query: tiers::AddAsked,
) -> Response {
    tiers::add(&desk.admin.tiers, &tier, &query)
}

async fn remove_server(
    State(desk): State<Desk>,
    Path(tier): Path<String>,
    query: tiers::RemoveAsked,
) -> Response {
    tiers::remove(&desk.admin.tiers, &tier, &query)
}

async fn repair_tier(State(desk): State<Desk>, Path(tier): Path<String>) -> Response {
    tiers::repair(&desk.admin.tiers, &tier)
}

async fn task_log(State(desk): State<Desk>, Path(pool): Path<String>) -> Response {
    let Some(roster) = desk.admin.pools.iter().find(|roster| roster.name() == pool) else {
        return (StatusCode::NOT_FOUND, "there is no such pool\n").into_response();
    };
    let pages = roster.task_log().clone().pages().map(Ok::<_, Infallible>);
    let kind = [(header::CONTENT_TYPE, "text/csv; charset=utf-8")];
    (kind, Body::from_stream(futures::stream::iter(pages))).into_response()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckQuery {
    #[serde(default)]
    repair: bool,
}

async fn start_check(
    State(desk): State<Desk>,
    query: Result<Query<CheckQuery>, QueryRejection>,
) -> Response {
    let Ok(Query(CheckQuery { repair })) = query else {
        let told = "the query may only say repair=true or repair=false\n";
        return (StatusCode::BAD_REQUEST, told).into_response();
    };
    let Ok(permit) = desk.checking.try_acquire_owned() else {
        return (StatusCode::CONFLICT, "a check is running\n").into_response();
    };
    check::stream(&desk.admin.check, repair, permit, desk.shutdown)
}

async fn keep_snapshot(State(desk): State<Desk>) -> Response {
    let Some(catalog) = desk.admin.catalog else {
        return (StatusCode::NOT_IMPLEMENTED, "there is no catalog's file\n").into_response();
    };
    let Ok(permit) = desk.copying.try_acquire_owned() else {
        return (StatusCode::CONFLICT, "the catalog is being copied\n").into_response();
    };
    snapshot::keep(catalog, permit, desk.shutdown).await
}

async fn start_reload(State(desk): State<Desk>) -> Response {
    let Some(reload) = desk.admin.reload else {
        return (StatusCode::NOT_IMPLEMENTED, "there is nothing to reload\n").into_response();
    };
    reload::answer(reload, desk.reloading).await
}
