use axum::{
    body::Body,
    http::header,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures::{future::BoxFuture, stream};
use ripstop_keeper::{CheckOptions, CheckReport, Keeper};
use ripstop_store::StoreError;
use serde::{Deserialize, Serialize};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::{OwnedSemaphorePermit, mpsc, watch},
    time::MissedTickBehavior,
};
use tokio_util::sync::CancellationToken;

/// How far a check has come.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Checked {
    /// Bytes read of the catalog, which comes first. Those that are read twice count twice.
    #[serde(default)]
    pub catalog_bytes: u64,
    /// Stripes that are done.
    pub stripes: u64,
}

/// Is told how far it has come.
pub type Progress = Box<dyn Fn(Checked) + Send + Sync>;

/// Runs a check; dropped, it stops.
pub type Check = Arc<
    dyn Fn(CheckOptions, Progress) -> BoxFuture<'static, Result<CheckReport, StoreError>>
        + Send
        + Sync,
>;

/// The check that a keeper makes of its store.
pub fn check_of(keeper: Keeper) -> Check {
    Arc::new(move |options, progress| {
        let keeper = keeper.clone();
        let progress = move |stripes| progress(Checked { stripes, ..Checked::default() });
        Box::pin(async move { keeper.check(options, progress).await })
    })
}

/// How often progress is told.
const PROGRESS_EVERY: Duration = Duration::from_millis(500);
/// Lines that wait for a client that is slow to take them; further progress is not told.
const LINES_WAITING_MAX: usize = 16;

/// One line of the answer.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Line<'a> {
    Progress(Checked),
    /// The end.
    Report(&'a CheckReport),
    /// The end, of a check that could not be finished.
    Error(String),
}

impl Line<'_> {
    fn bytes(&self) -> Bytes {
        let mut line = serde_json::to_vec(self).expect("lines are made of strings and numbers");
        line.push(b'\n');
        line.into()
    }
}

/// Starts a check and answers with its lines as they come. A client that leaves, or the end of the
/// program, stops it; `permit` is given back then, or at its end.
pub(crate) fn stream(
    check: &Check,
    repair: bool,
    permit: OwnedSemaphorePermit,
    shutdown: CancellationToken,
) -> Response {
    let (counted, done) = watch::channel(Checked::default());
    let count = move |checked| {
        counted.send_replace(checked);
    };
    let running = check(CheckOptions { repair }, Box::new(count));
    let (lines, said) = mpsc::channel(LINES_WAITING_MAX);
    ripstop_host::spawn(async move {
        tracing::info!(repair, "check started");
        let last = tokio::select! {
            result = running => Some(end(&result)),
            () = tell(&lines, &done) => None,
            () = shutdown.cancelled() => Some(Line::Error("shutting down".to_owned()).bytes()),
        };
        drop(permit);
        match last {
            None => {
                tracing::info!(stripes = done.borrow().stripes, "check stopped: its client left");
            }
            // A client that has left by now misses the end.
            Some(last) => drop(lines.send(last).await),
        }
    });
    let lines = stream::unfold(said, |mut said| async {
        said.recv().await.map(|line| (Ok::<_, std::convert::Infallible>(line), said))
    });
    ([(header::CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(lines)).into_response()
}

/// Tells of progress until the client leaves.
async fn tell(lines: &mpsc::Sender<Bytes>, done: &watch::Receiver<Checked>) {
    let mut ticks = tokio::time::interval(PROGRESS_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = lines.closed() => return,
            _ = ticks.tick() => {
                let line = Line::Progress(*done.borrow()).bytes();
                // Full: the client is slow, and the next tick will tell it more.
                let _ = lines.try_send(line);
            }
        }
    }
}

fn end(result: &Result<CheckReport, StoreError>) -> Bytes {
    match result {
        Ok(report) => {
            tracing::info!(
                stripes = report.stripes,
                missing = report.missing,
                damaged = report.damaged,
                forged = report.forged,
                lost = report.lost,
                repaired = report.repaired,
                clean = report.is_clean(),
                "check ended"
            );
            Line::Report(report).bytes()
        }
        Err(error) => {
            tracing::warn!(%error, "check failed");
            Line::Error(error.to_string()).bytes()
        }
    }
}
