//! Who may come in, and what they may do: never with what secret.

pub(super) use super::buckets::Asked;
use super::buckets::PageQuery;
use axum::{
    Json,
    extract::Query,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use ripstop_identity::{Credentials, Right, Rights};
use ripstop_model::TenantId;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Most access keys in one answer, and as many as there are in one if nothing else is asked for.
pub const KEYS_PAGE_MAX: usize = 1000;

/// Shows the access keys after one, this many at most.
pub type Keys = Arc<dyn Fn(&str, usize) -> KeyPage + Send + Sync>;

/// What `GET /keys` answers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct KeyPage {
    /// Access keys in their order.
    pub keys: Vec<KeyStatus>,
    /// The `after` of the next page, if there may be one.
    pub next: Option<String>,
    /// What may be done without a signature.
    pub unsigned: Vec<GrantedStatus>,
}

/// An access key and what it may do.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct KeyStatus {
    /// The key, without its secret.
    pub access_key: String,
    /// The tenant whose requests it signs; none: anybody's.
    pub tenant: Option<String>,
    /// Of the user whom it belongs to.
    pub user: String,
    /// Whether it may do everything.
    pub administrator: bool,
    /// Whether it has an account of its own, which owns the buckets that it makes.
    pub owns_buckets: bool,
    /// What it may do besides.
    pub rights: Vec<GrantedStatus>,
    /// Policies that say what it may do, where they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policies: Option<Vec<String>>,
}

/// Rights in some buckets.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct GrantedStatus {
    /// A bucket's name, or the beginning of names with `*`.
    pub buckets: String,
    /// `read`, `write`, `owner`.
    pub rights: Vec<String>,
}

/// A page of what credentials let in; `tenant` names a tenant.
pub fn keys_of(
    credentials: &Credentials,
    tenant: &dyn Fn(TenantId) -> Option<String>,
    after: &str,
    max: usize,
) -> KeyPage {
    let principals = credentials.principals().into_iter();
    let following = principals.filter(|key| key.access_key().is_some_and(|name| name > after));
    let status = |principal: ripstop_identity::Principal| KeyStatus {
        access_key: principal.access_key().unwrap_or_default().to_owned(),
        tenant: tenant(principal.tenant()),
        user: principal.user().map(|(_, name)| (**name).to_owned()).unwrap_or_default(),
        owns_buckets: principal.rights().is_user(),
        administrator: principal.rights().is_administrator(),
        rights: granted(principal.rights()),
        policies: policies(principal.rights()),
    };
    let keys: Vec<_> = following.take(max).map(status).collect();
    let next = keys.last().filter(|_| keys.len() == max).map(|key| key.access_key.clone());
    KeyPage { keys, next, unsigned: granted(credentials.unsigned().rights()) }
}

fn policies(rights: &Rights) -> Option<Vec<String>> {
    let attached = rights.policies()?;
    Some(attached.iter().map(|policy| (*policy.name).to_owned()).collect())
}

fn granted(rights: &Rights) -> Vec<GrantedStatus> {
    let words = |rights: &mut dyn Iterator<Item = Right>| {
        rights.map(|right| right.name().to_owned()).collect()
    };
    let status = |rule: &ripstop_identity::BucketRights| GrantedStatus {
        buckets: rule.buckets().to_string(),
        rights: words(&mut rule.rights()),
    };
    rights.rules().iter().map(status).collect()
}

/// Answers with a page.
pub(super) fn answer(keys: Option<&Keys>, asked: Asked) -> Response {
    let Some(keys) = keys else {
        return (StatusCode::NOT_IMPLEMENTED, "there are no access keys\n").into_response();
    };
    let max = asked.as_ref().map_or(0, |Query(asked)| asked.max.unwrap_or(KEYS_PAGE_MAX));
    let (Ok(Query(PageQuery { after, .. })), 1..=KEYS_PAGE_MAX) = (asked, max) else {
        let told = format!("the query may only say after=KEY and max=1 to {KEYS_PAGE_MAX}\n");
        return (StatusCode::BAD_REQUEST, told).into_response();
    };
    Json(keys(&after, max)).into_response()
}
