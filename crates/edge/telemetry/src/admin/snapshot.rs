use axum::{
    body::Body,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures::stream;
use ripstop_catalog::{Embedded, Extracted, Snapshot};
use serde::Serialize;
use std::{
    convert::Infallible,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

/// How often it is said that the snapshot is still kept.
const SAID_EVERY: Duration = Duration::from_millis(500);
/// Longest that a snapshot is kept for one who copies it: meanwhile the file grows.
const KEPT_MAX: Duration = Duration::from_hours(1);

/// One line of the answer.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Line<'a> {
    /// Where the snapshot is in the catalog's file.
    Snapshot { header: &'a str, len: u64 },
    /// It is still there.
    Kept(bool),
    /// It is no longer there.
    Error(&'a str),
}

impl Line<'_> {
    fn bytes(&self) -> Bytes {
        let mut line = serde_json::to_vec(self).expect("lines are made of strings and numbers");
        line.push(b'\n');
        line.into()
    }
}

/// A snapshot that somebody copies.
struct Keeping {
    snapshot: Snapshot,
    _permit: OwnedSemaphorePermit,
    shutdown: CancellationToken,
    until: Instant,
    is_told: bool,
    is_over: bool,
}

/// Keeps a state of the catalog in its file until the client leaves. The answer only says where it
/// is: who may read the file copies it.
pub(crate) async fn keep(
    catalog: Arc<Embedded>,
    permit: OwnedSemaphorePermit,
    shutdown: CancellationToken,
) -> Response {
    let snapshot = match catalog.snapshot().await {
        Ok(snapshot) => snapshot,
        Err(error) => {
            return (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")).into_response();
        }
    };
    let until = ripstop_host::now() + KEPT_MAX;
    let (is_told, is_over) = (false, false);
    let keeping = Keeping { snapshot, _permit: permit, shutdown, until, is_told, is_over };
    let lines = stream::unfold(keeping, |mut keeping| async {
        let line = keeping.next().await?;
        Some((Ok::<_, Infallible>(line), keeping))
    });
    ([(header::CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(lines)).into_response()
}

impl Keeping {
    async fn next(&mut self) -> Option<Bytes> {
        if self.is_over {
            return None;
        }
        if !self.is_told {
            self.is_told = true;
            let Extracted { header, len } = self.snapshot.extracted();
            let used = header.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
            let header = hex::encode(&header[..used]);
            return Some(Line::Snapshot { header: &header, len: *len }.bytes());
        }
        tokio::select! {
            () = tokio::time::sleep(SAID_EVERY) => {}
            () = self.shutdown.cancelled() => {
                self.is_over = true;
                return Some(Line::Error("shutting down").bytes());
            }
        }
        if self.snapshot.is_kept() && ripstop_host::now() < self.until {
            return Some(Line::Kept(true).bytes());
        }
        self.is_over = true;
        Some(Line::Error("the snapshot is no longer kept").bytes())
    }
}
