//! What buckets hold, and how much they may.

use axum::{
    Json,
    extract::{Query, rejection::QueryRejection},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use ripstop_catalog::{Quota, Usage};
use ripstop_store::{Store, StoreError};
use serde::{Deserialize, Serialize};

/// Most buckets in one answer, and as many as there are in one if nothing else is asked for.
pub const BUCKETS_PAGE_MAX: usize = 1000;

/// What `GET /buckets` answers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BucketPage {
    /// Buckets by name.
    pub buckets: Vec<BucketStatus>,
    /// The `after` of the next page, if there may be one.
    pub next: Option<String>,
}

/// What a bucket holds, and how much it may.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BucketStatus {
    /// Its name.
    pub name: String,
    /// Bytes of its objects, and of the parts of its unfinished uploads.
    pub bytes: u64,
    /// How many objects it has.
    pub objects: u64,
    /// Most bytes; none: as much as there is room for.
    pub bytes_max: Option<u64>,
    /// Most objects.
    pub objects_max: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PageQuery {
    #[serde(default)]
    pub(super) after: String,
    pub(super) max: Option<usize>,
}

pub(super) type Asked = Result<Query<PageQuery>, QueryRejection>;

/// Answers with a page.
pub(super) async fn answer(store: Option<&Store>, asked: Asked) -> Response {
    let Some(store) = store else {
        return (StatusCode::NOT_IMPLEMENTED, "there is no store\n").into_response();
    };
    let max = asked.as_ref().map_or(0, |Query(asked)| asked.max.unwrap_or(BUCKETS_PAGE_MAX));
    let (Ok(Query(PageQuery { after, .. })), 1..=BUCKETS_PAGE_MAX) = (asked, max) else {
        let told = format!("the query may only say after=NAME and max=1 to {BUCKETS_PAGE_MAX}\n");
        return (StatusCode::BAD_REQUEST, told).into_response();
    };
    match page(store, &after, max).await {
        Ok(page) => Json(page).into_response(),
        Err(error) => {
            tracing::error!(error = &error as &dyn std::error::Error, "buckets cannot be listed");
            (StatusCode::SERVICE_UNAVAILABLE, "the catalog cannot be read\n").into_response()
        }
    }
}

async fn page(store: &Store, after: &str, max: usize) -> Result<BucketPage, StoreError> {
    let (found, quotas) = (store.usages(after, max).await?, store.quotas());
    let next = found.last().filter(|_| found.len() == max).map(|(name, _)| name.clone());
    let status = |(name, Usage { bytes, objects }): (String, Usage)| {
        let Quota { bytes: bytes_max, objects: objects_max } = quotas.of(&name);
        BucketStatus { name, bytes, objects, bytes_max, objects_max }
    };
    Ok(BucketPage { buckets: found.into_iter().map(status).collect(), next })
}
