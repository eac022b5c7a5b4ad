//! Who takes the committer's steps: a thread of its own, or, where there are no threads, a task.

use super::committer::{Asked, Committer};
use crate::CatalogError;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout_at;

/// A committer under way. Dropped, it does what was asked, closes the file and ends.
#[derive(Debug)]
pub(super) enum Drive {
    // Neither queue is longer than callers have places.
    Thread { asked: Option<mpsc::Sender<Asked>>, thread: Option<JoinHandle<()>> },
    Task { asked: UnboundedSender<Asked> },
}

impl Drive {
    pub(super) fn start(committer: Committer) -> Result<Self, CatalogError> {
        if !ripstop_host::has_threads() {
            let (asked, queue) = unbounded_channel();
            ripstop_host::spawn(by_task(committer, queue));
            return Ok(Self::Task { asked });
        }
        let (asked, queue) = mpsc::channel();
        let thread = ripstop_host::thread("catalog-commit", move || by_thread(committer, &queue))
            .map_err(|error| CatalogError::Unavailable(Box::new(error)))?;
        Ok(Self::Thread { asked: Some(asked), thread: Some(thread) })
    }

    /// Asks the committer for something, unless it has panicked.
    pub(super) fn ask(&self, what: Asked) -> Result<(), CatalogError> {
        let sent = match self {
            Self::Thread { asked, .. } => {
                asked.as_ref().is_some_and(|asked| asked.send(what).is_ok())
            }
            Self::Task { asked } => asked.send(what).is_ok(),
        };
        if sent { Ok(()) } else { Err(ended()) }
    }
}

/// Nobody answers any more.
pub(super) fn ended() -> CatalogError {
    CatalogError::Unavailable("the catalog's committer has ended".into())
}

impl Drop for Drive {
    fn drop(&mut self) {
        let Self::Thread { asked, thread } = self else { return };
        *asked = None;
        if thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the catalog's committer had panicked");
        }
    }
}

fn by_thread(mut committer: Committer, queue: &Receiver<Asked>) {
    loop {
        let asked = match committer.wake_at() {
            None => queue.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(at) => queue.recv_timeout(at.saturating_duration_since(ripstop_host::now())),
        };
        match asked {
            Ok(asked) => committer.step(Some(asked)),
            Err(RecvTimeoutError::Timeout) => committer.step(None),
            Err(RecvTimeoutError::Disconnected) => return committer.end(),
        }
    }
}

async fn by_task(mut committer: Committer, mut queue: UnboundedReceiver<Asked>) {
    loop {
        let asked = match committer.wake_at() {
            None => Ok(queue.recv().await),
            Some(at) => timeout_at(at.into(), queue.recv()).await,
        };
        match asked {
            Ok(Some(asked)) => committer.step(Some(asked)),
            Err(_) => committer.step(None),
            Ok(None) => return committer.end(),
        }
    }
}
