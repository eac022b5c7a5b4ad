//! Giving a bucket to another account.

use super::guard::unguarded;
use axum::{
    extract::{Query, rejection::QueryRejection},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use futures::future::BoxFuture;
use serde::Deserialize;
use std::sync::Arc;

/// Has an account own a bucket, by their names; an empty one is the store's own account.
pub type GiveBucket =
    Arc<dyn Fn(String, String) -> BoxFuture<'static, Result<(), NotGiven>> + Send + Sync>;

/// Why a bucket stays whose it was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotGiven {
    /// There is no such bucket.
    NoBucket,
    /// There is no such account.
    NoAccount,
    /// The store cannot change it now.
    Unable,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GivingQuery {
    #[serde(default)]
    account: String,
}

pub(super) type Asked = Result<Query<GivingQuery>, QueryRejection>;

/// Gives a bucket away, if nobody can have asked for it but who may do anything anyway.
pub(super) async fn answer(
    give: Option<&GiveBucket>,
    is_guarded: bool,
    bucket: String,
    asked: Asked,
) -> Response {
    let Some(give) = give else {
        return (StatusCode::NOT_IMPLEMENTED, "there is no store\n").into_response();
    };
    if !is_guarded {
        return unguarded("buckets are given");
    }
    let Ok(Query(GivingQuery { account })) = asked else {
        let told = "the query may only say account=NAME\n";
        return (StatusCode::BAD_REQUEST, told).into_response();
    };
    match give(bucket, account).await {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(NotGiven::NoBucket) => {
            (StatusCode::NOT_FOUND, "there is no such bucket\n").into_response()
        }
        Err(NotGiven::NoAccount) => {
            let told = "there is no such account: a user with an account of its own, or a key that \
                        is a user\n";
            (StatusCode::BAD_REQUEST, told).into_response()
        }
        Err(NotGiven::Unable) => {
            (StatusCode::SERVICE_UNAVAILABLE, "the bucket cannot be changed now\n").into_response()
        }
    }
}
