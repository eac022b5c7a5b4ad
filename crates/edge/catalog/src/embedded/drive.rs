//! Who takes the committer's steps: a thread of its own and callers that wait on theirs, or, where
//! there are no threads, a task.

use super::committer::{Answer, Asked, Committer};
use crate::{CatalogError, Change};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout_at;

/// A committer, whose steps are taken under its lock. None once it has ended.
type Stepped = Mutex<Option<Committer>>;

/// A committer under way. Dropped, it does what was asked, closes the file and ends.
#[derive(Debug)]
pub(super) enum Drive {
    // Neither queue is longer than callers have places.
    Thread {
        asked: Option<mpsc::Sender<Asked>>,
        thread: Option<JoinHandle<()>>,
        committer: Arc<Stepped>,
    },
    Task {
        asked: UnboundedSender<Asked>,
    },
}

impl Drive {
    pub(super) fn start(committer: Committer) -> Result<Self, CatalogError> {
        if !ripstop_host::has_threads() {
            let (asked, queue) = unbounded_channel();
            ripstop_host::spawn(by_task(committer, queue));
            return Ok(Self::Task { asked });
        }
        let (asked, queue) = mpsc::channel();
        let committer = Arc::new(Mutex::new(Some(committer)));
        let stepped = Arc::clone(&committer);
        let thread = ripstop_host::thread("catalog-commit", move || by_thread(&stepped, &queue))
            .map_err(|error| CatalogError::Unavailable(Box::new(error)))?;
        Ok(Self::Thread { asked: Some(asked), thread: Some(thread), committer })
    }

    /// Whether steps can be taken on callers' threads.
    pub(super) fn is_thread(&self) -> bool {
        matches!(self, Self::Thread { .. })
    }

    /// Commits on the caller's thread.
    pub(super) fn commit_here(&self, now_ms: u64, changes: &[Change]) -> Answer {
        let Self::Thread { committer, .. } = self else { return Err(ended()) };
        // It is poisoned where a step has panicked: then nobody takes another.
        let Ok(mut stepped) = committer.lock() else { return Err(ended()) };
        let Some(committer) = &mut *stepped else { return Err(ended()) };
        let wakes_at = committer.wake_at();
        let answer = committer.commit_now(now_ms, changes);
        let wakes_later = committer.wake_at() != wakes_at;
        drop(stepped);
        if wakes_later { self.ask(Asked::Wake).and(answer) } else { answer }
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
        let Self::Thread { asked, thread, .. } = self else { return };
        *asked = None;
        if thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the catalog's committer had panicked");
        }
    }
}

fn by_thread(committer: &Stepped, queue: &Receiver<Asked>) {
    loop {
        // Nobody asks any more once a step has panicked.
        let Ok(wake_at) = committer.lock().map(|it| it.as_ref().and_then(Committer::wake_at))
        else {
            return;
        };
        let asked = match wake_at {
            None => queue.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(at) => queue.recv_timeout(at.saturating_duration_since(ripstop_host::now())),
        };
        let Ok(mut stepped) = committer.lock() else { return };
        let Some(it) = &mut *stepped else { return };
        match asked {
            Ok(asked) => it.step(Some(asked)),
            Err(RecvTimeoutError::Timeout) => it.step(None),
            Err(RecvTimeoutError::Disconnected) => {
                return stepped.take().into_iter().for_each(Committer::end);
            }
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
