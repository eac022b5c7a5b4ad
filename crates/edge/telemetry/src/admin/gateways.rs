//! Which gateways there are over the catalog.

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Shows the gateways over the catalog, or says why it cannot.
pub type Gateways =
    Arc<dyn Fn() -> BoxFuture<'static, Result<Vec<GatewayStatus>, String>> + Send + Sync>;

/// What `GET /gateways` answers of a gateway.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct GatewayStatus {
    /// Its number, in hexadecimal.
    pub id: String,
    /// Which of its lives it is, from 1.
    pub epoch: u64,
    /// `alive`, `dead`, or `left`: it told that it stops.
    pub state: String,
    /// Whether it is the one that answers.
    pub is_this: bool,
    /// For how long it has told nothing new, in milliseconds, by the clock of the one that answers.
    pub silent_ms: u64,
    /// Where it serves.
    pub address: String,
    /// Which program it is.
    pub version: String,
    /// The session in which it names stripes, in hexadecimal.
    pub session: String,
    /// The least stripe that it may be writing still; none if nothing is known of that.
    pub watermark: Option<String>,
}

pub(super) async fn answer(gateways: Option<&Gateways>) -> Response {
    let Some(gateways) = gateways else {
        let told = "gateways are not shown here\n";
        return (StatusCode::NOT_IMPLEMENTED, told).into_response();
    };
    match gateways().await {
        Ok(shown) => Json(shown).into_response(),
        Err(reason) => (StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")).into_response(),
    }
}
