use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use futures::future::BoxFuture;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Reads the configuration again and goes by it from now on. Says what has changed; or why nothing
/// has. Never runs twice at once.
pub type Reload = Arc<dyn Fn() -> BoxFuture<'static, Result<String, String>> + Send + Sync>;

/// Reloads once those before are over. A client that leaves does not stop it halfway.
pub(crate) async fn answer(reload: Reload, reloading: Arc<Semaphore>) -> Response {
    let run = async move {
        let _permit = reloading.acquire_owned().await.expect("the semaphore is never closed");
        let told = reload().await;
        match &told {
            Ok(said) => tracing::info!(said = said.trim_end(), "configuration reloaded"),
            Err(error) => tracing::warn!(error = error.trim_end(), "reload refused"),
        }
        told
    };
    let (status, text) = match ripstop_host::spawn(run).await {
        Ok(Ok(said)) => (StatusCode::OK, said),
        Ok(Err(reason)) => (StatusCode::BAD_REQUEST, reason),
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, "the reload broke off".to_owned()),
    };
    (status, format!("{}\n", text.trim_end())).into_response()
}
