//! What writes to the file: each step applies the changes of one commit in one transaction, and
//! answers when that is on disk.

use super::failure::unavailable;
use super::health::{Health, Trouble, caught};
use super::opening::{Opened, Opener};
use super::prepare::set_format;
use super::settings::{CatalogSettings, Durability};
use super::shown::Shown;
use super::snapshot::Snapshot;
use super::table::{Tables, View};
use crate::{CatalogError, Change, Outcome};
use redb::{Database, ReadableDatabase};
use ripstop_object::decide;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

/// Longest that an answered change stays in memory only, under [`Durability::Relaxed`].
const FLUSH_AFTER: Duration = Duration::from_millis(200);
/// How long after a failure of the disk it is tried again, at least.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// The same in times that opening took: a large catalog is not opened all the time.
const RETRY_AFTER_OPENINGS: u32 = 4;

type Answer = Result<Vec<Outcome>, CatalogError>;

/// What the committer is asked.
#[derive(Debug)]
pub(super) enum Asked {
    /// To apply changes.
    Commit(Commit),
    /// To keep a state of the catalog in the file.
    Snapshot(oneshot::Sender<Result<Snapshot, CatalogError>>),
    /// To see whether the database still works: a reader found it closed.
    Look,
}

/// Changes, and who waits for them.
#[derive(Debug)]
pub(super) struct Commit {
    pub(super) now_ms: u64,
    pub(super) changes: Vec<Change>,
    pub(super) answer: oneshot::Sender<Answer>,
    /// Its place among those that wait.
    pub(super) _place: OwnedSemaphorePermit,
}

impl Commit {
    /// A caller that has gone needs no answer; its changes stand all the same.
    fn answer(self, answer: Answer) {
        drop(self.answer.send(answer));
    }
}

pub(super) struct Committer {
    opener: Opener,
    /// None while it cannot be opened.
    database: Option<Database>,
    /// Whether this opening of the database lasts.
    kept: Arc<AtomicBool>,
    shown: Arc<Shown>,
    health: Health,
    settings: CatalogSettings,
    /// When the oldest commit was made that is not on disk yet.
    unflushed_since: Option<Instant>,
    /// When the disk is tried again.
    retry_at: Option<Instant>,
}

/// Why a whole transaction came to nothing.
enum Lost {
    /// It was given up before it was committed.
    Abandoned(CatalogError),
    /// Its commit failed: it may be on disk or not.
    InDoubt(CatalogError),
}

impl Lost {
    fn error(self) -> CatalogError {
        match self {
            Self::Abandoned(error) | Self::InDoubt(error) => error,
        }
    }
}

impl Committer {
    pub(super) fn new(
        opener: Opener,
        database: Database,
        shown: Arc<Shown>,
        health: Health,
        settings: CatalogSettings,
    ) -> Self {
        let (unflushed_since, retry_at) = (None, None);
        let (database, kept) = (Some(database), Arc::new(AtomicBool::new(true)));
        Self { opener, database, kept, shown, health, settings, unflushed_since, retry_at }
    }

    /// When it has something to do although nobody asks: to flush, or to try a disk that failed.
    pub(super) fn wake_at(&self) -> Option<Instant> {
        [self.flush_at(), self.retry_at].into_iter().flatten().min()
    }

    fn flush_at(&self) -> Option<Instant> {
        self.unflushed_since.map(|since| since + FLUSH_AFTER)
    }

    /// Does what is due, and then what is asked.
    pub(super) fn step(&mut self, asked: Option<Asked>) {
        let now = ripstop_host::now();
        if self.flush_at().is_some_and(|at| at <= now) {
            self.flush();
        }
        if self.retry_at.is_some_and(|at| at <= now) {
            self.retry();
        }
        match asked {
            Some(Asked::Commit(commit)) => self.commit(commit),
            Some(Asked::Look) => self.look(),
            // One who has gone needs none.
            Some(Asked::Snapshot(answer)) => drop(answer.send(self.snapshot())),
            None => {}
        }
    }

    /// The last step, once nobody can ask any more.
    pub(super) fn end(mut self) {
        self.flush();
        self.close();
    }

    fn commit(&mut self, commit: Commit) {
        if let Some(trouble) = self.health.trouble() {
            return commit.answer(Err(CatalogError::Unavailable(Box::new(trouble))));
        }
        match self.guarded(|this| this.transact(commit.now_ms, &commit.changes)) {
            Ok(outcomes) => commit.answer(Ok(outcomes)),
            Err(lost) => {
                let (error, changes) = (lost.error(), commit.changes.len());
                tracing::error!(%error, changes, "a catalog transaction failed");
                let is_closed = self.fall(&error);
                commit.answer(Err(error));
                if is_closed {
                    self.reopen();
                }
            }
        }
    }

    /// Runs a transaction; a panic of the database leaves it in doubt.
    fn guarded<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, Lost>) -> Result<T, Lost> {
        caught(|| Ok(work(self))).unwrap_or_else(|error| Err(Lost::InDoubt(error)))
    }

    /// Takes the consequences of a failed transaction.
    fn suffer(&mut self, error: &CatalogError) {
        if self.fall(error) {
            self.reopen();
        }
    }

    /// Notes what a failed transaction means; answers whether the database must be opened again.
    fn fall(&self, error: &CatalogError) -> bool {
        if let CatalogError::Corrupt { reason } = error {
            self.health.fall(Trouble::Damaged { reason: reason.clone() });
            return false;
        }
        let Some(failure) = self.opener.failure() else { return false };
        let reason = failure.reason;
        if failure.is_sync {
            // What the system could not write it may have forgotten, while reads still show it.
            self.health.fall(Trouble::InDoubt { reason });
        } else {
            self.health.fall(Trouble::Unwritable { reason });
        }
        true
    }

    /// Opens the database again, so that it can be read.
    fn reopen(&mut self) {
        self.close();
        self.unflushed_since = None;
        let begun = ripstop_host::now();
        match self.opener.open(&self.settings) {
            Ok(Opened { database, view }) => {
                self.database = Some(database);
                self.kept = Arc::new(AtomicBool::new(true));
                self.shown.show(view);
            }
            Err(CatalogError::Corrupt { reason }) => self.health.fall(Trouble::Damaged { reason }),
            Err(error) => tracing::warn!(%error, "the catalog could not be opened again"),
        }
        let wait = (ripstop_host::since(begun) * RETRY_AFTER_OPENINGS).max(RETRY_AFTER);
        self.retry_at = Some(ripstop_host::now() + wait);
    }

    /// Sees whether the disk can be read, and takes writes, again.
    fn retry(&mut self) {
        self.retry_at = None;
        if self.database.is_none() {
            self.reopen();
        }
        if !matches!(self.health.trouble(), Some(Trouble::Unwritable { .. })) {
            return;
        }
        let room = self.opener.has_room();
        if self.database.is_none() || room.is_err() {
            self.retry_at = Some(ripstop_host::now() + RETRY_AFTER);
            return;
        }
        match self.guarded(Self::probe) {
            Ok(()) => {
                self.retry_at = None;
                self.health.rise();
            }
            Err(lost) => self.suffer(&lost.error()),
        }
    }

    /// Commits next to nothing.
    fn probe(&mut self) -> Result<(), Lost> {
        let txn = self.database()?.begin_write().map_err(abandoned)?;
        set_format(&txn).map_err(Lost::Abandoned)?;
        txn.commit().map_err(in_doubt)?;
        self.show()
    }

    fn snapshot(&mut self) -> Result<Snapshot, CatalogError> {
        self.flush();
        let (storage, kept) = (self.opener.storage(), Arc::clone(&self.kept));
        let is_written = self.health.trouble().is_none();
        let taken = self.guarded(|this| {
            Snapshot::take(this.database()?, is_written, storage, kept).map_err(Lost::InDoubt)
        });
        taken.map_err(|lost| {
            let error = lost.error();
            self.suffer(&error);
            error
        })
    }

    /// A reader found the database closed. One that could not be opened is tried again as it is.
    fn look(&mut self) {
        if self.database.is_none() {
            return;
        }
        let looked = self.guarded(|this| {
            this.database()?.begin_write().map_err(abandoned)?.abort().map_err(abandoned)
        });
        if let Err(lost) = looked {
            self.suffer(&lost.error());
        }
    }

    fn database(&self) -> Result<&Database, Lost> {
        let closed = || CatalogError::Unavailable(Box::new(redb::Error::DatabaseClosed));
        self.database.as_ref().ok_or_else(|| Lost::Abandoned(closed()))
    }

    /// Applies changes in order in one transaction and shows the result to readers.
    fn transact(&mut self, now_ms: u64, changes: &[Change]) -> Result<Vec<Outcome>, Lost> {
        let mut txn = self.database()?.begin_write().map_err(abandoned)?;
        if self.settings.durability == Durability::Relaxed {
            txn.set_durability(redb::Durability::None).map_err(abandoned)?;
        }
        txn.set_quick_repair(self.settings.quick_open);
        let outcomes = {
            let mut tables = Tables::open(&txn).map_err(Lost::Abandoned)?;
            let (outcomes, writes) = decide(&tables, now_ms, changes).map_err(Lost::Abandoned)?;
            tables.write(&writes).map_err(Lost::Abandoned)?;
            outcomes
        };
        if outcomes.iter().all(Result::is_err) {
            txn.abort().map_err(abandoned)?;
            return Ok(outcomes);
        }
        txn.commit().map_err(in_doubt)?;
        if self.settings.durability == Durability::Relaxed {
            self.unflushed_since.get_or_insert_with(ripstop_host::now);
        }
        self.show()?;
        Ok(outcomes)
    }

    /// Shows readers what the last transaction left.
    fn show(&self) -> Result<(), Lost> {
        let txn = self.database()?.begin_read().map_err(in_doubt)?;
        self.shown.show(View::open(txn, self.opener.openings()).map_err(Lost::InDoubt)?);
        Ok(())
    }

    /// Puts on disk what is committed in memory only.
    fn flush(&mut self) {
        if self.unflushed_since.take().is_none() {
            return;
        }
        let flushed = self.guarded(|this| {
            let txn = this.database()?.begin_write().map_err(abandoned)?;
            txn.commit().map_err(in_doubt)
        });
        if let Err(lost) = flushed {
            let error = lost.error();
            tracing::error!(%error, "the catalog could not be flushed");
            self.suffer(&error);
        }
    }

    fn close(&mut self) {
        self.kept.store(false, Ordering::Release);
        let Some(database) = self.database.take() else { return };
        // A damaged database may panic as it is closed, and a failed one has said what it had to
        // say.
        let closed = caught(|| database.close().map_err(unavailable));
        if let Err(error) = closed
            && self.health.trouble().is_none()
        {
            tracing::error!(%error, "the catalog was not closed properly");
        }
    }
}

fn abandoned(error: impl Into<redb::Error>) -> Lost {
    Lost::Abandoned(unavailable(error))
}

fn in_doubt(error: impl Into<redb::Error>) -> Lost {
    Lost::InDoubt(unavailable(error))
}
