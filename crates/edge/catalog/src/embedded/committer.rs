//! Group commit: one thread gathers the changes that wait, applies them in one transaction, and
//! answers each when the transaction is on disk.

use super::apply::apply;
use super::failure::{Stop, unavailable};
use super::settings::{Durability, Settings};
use super::table::{Tables, View};
use crate::{Applied, CatalogError, Change};
use redb::{Database, ReadableDatabase};
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

/// Longest that an answered change stays in memory only, under [`Durability::Relaxed`].
const FLUSH_AFTER: Duration = Duration::from_millis(200);

type Answer = Result<Applied, CatalogError>;

/// One change and who waits for it.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) now_ms: u64,
    pub(super) change: Change,
    pub(super) answer: oneshot::Sender<Answer>,
    /// Its place among `changes_waiting_max`.
    pub(super) _place: OwnedSemaphorePermit,
}

/// What readers see; the committer replaces it after each transaction.
pub(super) type Shown = Arc<RwLock<Arc<View>>>;

pub(super) struct Committer {
    database: Database,
    shown: Shown,
    settings: Settings,
    /// When the oldest commit was made that is not on disk yet.
    unflushed_since: Option<Instant>,
}

/// Why a whole transaction came to nothing.
enum Lost {
    /// It was given up before it was committed.
    Abandoned(CatalogError),
    /// Its commit failed: it may be on disk or not.
    InDoubt(CatalogError),
}

impl Committer {
    pub(super) fn new(database: Database, shown: Shown, settings: Settings) -> Self {
        Self { database, shown, settings, unflushed_since: None }
    }

    /// Serves until every sender is gone and all that was queued is answered.
    pub(super) fn run(mut self, changes: &Receiver<Waiting>) {
        while let Some(first) = self.next(changes) {
            let mut batch = vec![first];
            while batch.len() < self.settings.changes_per_commit_max.max(1) {
                match changes.try_recv() {
                    Ok(waiting) => batch.push(waiting),
                    Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
                }
            }
            self.commit(batch);
        }
        self.flush();
    }

    /// The next change; meanwhile, flushes what has been in memory for long enough.
    fn next(&mut self, changes: &Receiver<Waiting>) -> Option<Waiting> {
        while let Some(since) = self.unflushed_since {
            match changes.recv_timeout(FLUSH_AFTER.saturating_sub(since.elapsed())) {
                Ok(waiting) if since.elapsed() < FLUSH_AFTER => return Some(waiting),
                Ok(waiting) => {
                    self.flush();
                    return Some(waiting);
                }
                Err(RecvTimeoutError::Timeout) => self.flush(),
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
        changes.recv().ok()
    }

    fn commit(&mut self, batch: Vec<Waiting>) {
        match self.transact(&batch) {
            Ok(outcomes) => {
                for (waiting, outcome) in batch.into_iter().zip(outcomes) {
                    answer(waiting, outcome);
                }
            }
            // One change met what is corrupt; the others must not suffer for it.
            Err(Lost::Abandoned(_)) if batch.len() > 1 => {
                for waiting in batch {
                    self.commit(vec![waiting]);
                }
            }
            Err(Lost::Abandoned(error) | Lost::InDoubt(error)) => {
                tracing::error!(%error, changes = batch.len(), "a catalog transaction failed");
                answer_all(batch, error);
            }
        }
    }

    /// Applies the batch in order in one transaction and shows the result to readers.
    fn transact(&mut self, batch: &[Waiting]) -> Result<VecDeque<Answer>, Lost> {
        let mut txn = self.database.begin_write().map_err(abandoned)?;
        if self.settings.durability == Durability::Relaxed {
            txn.set_durability(redb::Durability::None).map_err(abandoned)?;
        }
        txn.set_quick_repair(self.settings.quick_open);
        let mut outcomes = VecDeque::with_capacity(batch.len());
        {
            let mut tables = Tables::open(&txn).map_err(abandoned)?;
            for waiting in batch {
                outcomes.push_back(match apply(&mut tables, waiting.now_ms, &waiting.change) {
                    Ok(applied) => Ok(applied),
                    Err(Stop::Refused(error)) => Err(error),
                    Err(Stop::Failed(error)) => return Err(Lost::Abandoned(error)),
                });
            }
        }
        if outcomes.iter().all(Result::is_err) {
            txn.abort().map_err(abandoned)?;
            return Ok(outcomes);
        }
        txn.commit().map_err(in_doubt)?;
        if self.settings.durability == Durability::Relaxed {
            self.unflushed_since.get_or_insert_with(Instant::now);
        }
        let view = self.database.begin_read().map_err(in_doubt)?;
        let view = View::open(&view).map_err(in_doubt)?;
        *self.shown.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(view);
        Ok(outcomes)
    }

    /// Puts on disk what is committed in memory only.
    fn flush(&mut self) {
        if self.unflushed_since.take().is_none() {
            return;
        }
        let flushed = self
            .database
            .begin_write()
            .map_err(unavailable)
            .and_then(|txn| txn.commit().map_err(unavailable));
        if let Err(error) = flushed {
            tracing::error!(%error, "the catalog could not be flushed");
        }
    }
}

fn abandoned(error: impl Into<redb::Error>) -> Lost {
    Lost::Abandoned(unavailable(error))
}

fn in_doubt(error: impl Into<redb::Error>) -> Lost {
    Lost::InDoubt(unavailable(error))
}

/// A caller that has gone needs no answer; its change stands all the same.
fn answer(waiting: Waiting, outcome: Answer) {
    drop(waiting.answer.send(outcome));
}

fn answer_all(batch: Vec<Waiting>, error: CatalogError) {
    if let (1, CatalogError::Corrupt { reason }) = (batch.len(), &error) {
        for waiting in batch {
            answer(waiting, Err(CatalogError::Corrupt { reason: reason.clone() }));
        }
        return;
    }
    let error = Arc::new(error);
    for waiting in batch {
        answer(waiting, Err(CatalogError::Unavailable(Box::new(Arc::clone(&error)))));
    }
}
