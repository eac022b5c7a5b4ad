use super::guard::unguarded;
use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures::future::BoxFuture;
use std::sync::Arc;

/// Carries out one command about users, keys or policies, as JSON; answers with JSON, or why
/// nothing was changed.
pub type ChangeUsers =
    Arc<dyn Fn(Bytes) -> BoxFuture<'static, Result<String, String>> + Send + Sync>;

/// Most bytes of a command: the longest policy, all of it spelled out.
pub(super) const COMMAND_LEN_MAX: usize = 128 << 10;

/// Carries a command out, if nobody can have sent it but who may do anything anyway.
pub(super) async fn answer(
    change: Option<&ChangeUsers>,
    is_guarded: bool,
    command: Bytes,
) -> Response {
    let Some(change) = change else {
        return (StatusCode::NOT_IMPLEMENTED, "there are no users\n").into_response();
    };
    if !is_guarded {
        return unguarded("users are changed");
    }
    match change(command).await {
        Ok(answer) => answer.into_response(),
        Err(reason) => {
            tracing::warn!(error = reason.trim_end(), "users were not changed");
            (StatusCode::BAD_REQUEST, format!("{}\n", reason.trim_end())).into_response()
        }
    }
}
