//! The catalog in one file, over redb.

mod answer;
mod audit;
mod carried;
mod committer;
mod convert;
mod copy;
#[cfg(any(test, feature = "disk"))]
mod disk;
mod drive;
mod failure;
mod filled;
mod health;
mod inspect;
mod kinds;
mod latest;
mod live;
mod lookup;
mod older;
mod opening;
mod prepare;
mod read;
mod rows;
mod settings;
mod short;
mod shown;
mod snapshot;
mod source;
mod storage;
mod table;
mod usage;
mod write;

#[cfg(test)]
mod tests;

pub use carried::EmbeddedRows;
pub use copy::{Copied, copy, verify};
#[cfg(any(test, feature = "disk"))]
pub use disk::PowerCutDisk;
pub use filled::FilledFile;
pub use health::{Health, Trouble};
pub use inspect::Inspection;
pub use settings::{CatalogSettings, Durability};
pub use snapshot::{Extracted, HEADER_LEN, Reading, Snapshot};

use crate::{Audit, Audited, Catalog, CatalogError, Change, Outcome, Query, Reply};
use async_trait::async_trait;
use committer::{Asked, Commit, Committer};
use drive::{Drive, ended};
use failure::{corrupt, unavailable};
use health::caught;
use inspect::{Depth, inspect};
use opening::{Opened, Opener};
use redb::Database;
use ripstop_host::spawn_blocking;
use shown::Shown;
use snapshot::Pace;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::{fmt, io};
use storage::{InFile, InMemory, Shared, Storage, sync_folder};
use table::View;
use tokio::sync::{Semaphore, oneshot};

/// A catalog in one file, for one process.
///
/// A commit is one transaction, made by a thread that waits for the disk; callers that come at the
/// same time share commits through a [`Grouped`](crate::Grouped). Reads of one record run on the
/// caller's thread, against the state that the last transaction left; listings and sweeps run on
/// tokio's blocking threads, so they need a tokio runtime. Dropping the catalog applies what is
/// queued and closes the file.
///
/// # Safety of what was answered
///
/// A transaction writes its pages to free places, then a commit slot that names their checksums,
/// then syncs once. After a crash in between, some of that is on disk and some not: opening checks
/// the newest slot's whole tree of checksums and falls back to the slot before it, which nothing
/// has overwritten. A second sync between pages and slot ("two-phase commit") would protect further
/// only from one who can forge a 128-bit checksum and cut the power at the right moment, and halves
/// the commits per second. The price of one sync is that opening after a crash reads the whole
/// file: see [`CatalogSettings::quick_open`].
///
/// When a write fails, because the disk is full perhaps, whether its changes are on disk is
/// unknown: they are answered with [`CatalogError::Unavailable`]. The database is opened again at
/// once, for readers, and takes changes again as soon as the disk takes writes. After a failed sync
/// it takes none until the catalog is opened again, and after damage was met neither: see
/// [`Health`].
pub struct Embedded {
    shown: Arc<Shown>,
    health: Health,
    places: Arc<Semaphore>,
    committer: Drive,
}

/// Commits that wait for the thread; further callers wait for a place.
const COMMITS_WAITING_MAX: usize = 1024;
/// How often a read is tried whose database was opened again meanwhile.
const READS_MAX: usize = 3;

impl Embedded {
    /// Opens the file at `path`, making it (but not its folder) if it is not there. A file without
    /// a byte is what is left of a catalog, not a new one. Blocks.
    ///
    /// Two processes must not make the same catalog at the same time; of two that open it, the
    /// second is refused.
    pub fn open(path: &Path, settings: CatalogSettings) -> Result<Self, CatalogError> {
        match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => make(path)?,
            Ok(file) if file.is_file() && file.len() == 0 => {
                return Err(corrupt("the file is empty".into()));
            }
            Ok(_) | Err(_) => {}
        }
        Self::start(Arc::new(InFile(path.to_owned())), settings)
    }

    /// A catalog in memory, for tests: nothing survives it.
    pub fn in_memory(settings: CatalogSettings) -> Result<Self, CatalogError> {
        Self::start(Arc::new(Shared(InMemory::default())), settings)
    }

    /// A catalog on bytes that clones of `backend` share.
    #[cfg(any(test, feature = "disk"))]
    pub fn open_on(
        backend: impl redb::StorageBackend + Clone,
        settings: CatalogSettings,
    ) -> Result<Self, CatalogError> {
        Self::start(Arc::new(Shared(backend)), settings)
    }

    fn start(storage: Arc<dyn Storage>, settings: CatalogSettings) -> Result<Self, CatalogError> {
        let mut opener = Opener::new(storage);
        let Opened { database, view } = opener.open(&settings)?;
        let (shown, health) = (Arc::new(Shown::new(view)), Health::default());
        let places = Arc::new(Semaphore::new(COMMITS_WAITING_MAX));
        let committer =
            Committer::new(opener, database, Arc::clone(&shown), health.clone(), settings);
        Ok(Self { shown, health, places, committer: Drive::start(committer)? })
    }

    /// How it stands.
    pub fn health(&self) -> Health {
        self.health.clone()
    }

    /// A state of the catalog whose pages stay in the file for as long as it lives.
    pub async fn snapshot(&self) -> Result<Snapshot, CatalogError> {
        let (answer, answered) = oneshot::channel();
        self.committer.ask(Asked::Snapshot(answer))?;
        answered.await.map_err(|_| ended())?
    }

    /// Verifies the checksum of every page as they are in the file, and recounts every record, of
    /// one state of the catalog, while it is in use; reads no more bytes of pages a second than
    /// given. Damage stops changes, as if a reader had met it. Dropped, it stops.
    pub async fn inspect(
        &self,
        reading: &Reading,
        bytes_per_second: Option<u64>,
    ) -> Result<Inspection, CatalogError> {
        self.inspection(reading, bytes_per_second, Depth::Records).await
    }

    async fn inspection(
        &self,
        reading: &Reading,
        bytes_per_second: Option<u64>,
        depth: Depth,
    ) -> Result<Inspection, CatalogError> {
        let snapshot = self.snapshot().await?;
        let (view, stopping) = (self.view(), Stopping(reading.clone()));
        let reading = reading.clone();
        let inspected = spawn_blocking(move || {
            let failed = |error: io::Error| CatalogError::Unavailable(Box::new(error));
            let file = snapshot.storage.look().map_err(failed)?;
            let pace = bytes_per_second.map(Pace::new);
            let fallback = || caught(|| view.audit(&reading));
            let inspection =
                inspect(file, snapshot.extracted(), (&reading, pace), depth, fallback)?;
            if inspection.damaged.is_some() && !snapshot.is_kept() {
                let error = "the catalog was opened again meanwhile".into();
                return Err(CatalogError::Unavailable(error));
            }
            Ok(inspection)
        });
        let inspected = inspected.await;
        drop(stopping);
        let inspection =
            inspected.map_err(|error| CatalogError::Unavailable(Box::new(error)))??;
        if let Some(reason) = inspection.damage() {
            self.health.fall(Trouble::Damaged { reason });
        }
        Ok(inspection)
    }

    fn view(&self) -> Arc<View> {
        self.shown.view()
    }

    /// Reads on this thread: one record, or few.
    async fn here<T>(
        &self,
        read: impl Fn(&View) -> Result<T, CatalogError>,
    ) -> Result<T, CatalogError> {
        for _ in 1..READS_MAX {
            let view = self.view();
            match caught(|| read(&view)) {
                Err(error) if self.turned(&error, &view).await => {}
                result => return self.health.noted(result),
            }
        }
        self.health.noted(caught(|| read(&self.view())))
    }

    /// Reads on a thread for what takes long.
    async fn elsewhere<T: Send + 'static>(
        &self,
        read: impl Fn(&View) -> Result<T, CatalogError> + Send + Sync + 'static,
    ) -> Result<T, CatalogError> {
        let read = Arc::new(read);
        for _ in 1..READS_MAX {
            let view = self.view();
            match on_a_thread(Arc::clone(&view), Arc::clone(&read)).await {
                Err(error) if self.turned(&error, &view).await => {}
                result => return self.health.noted(result),
            }
        }
        self.health.noted(on_a_thread(self.view(), read).await)
    }

    /// Whether `error` only says that the database was closed, and it is open again.
    async fn turned(&self, error: &CatalogError, view: &View) -> bool {
        let nudge = || drop(self.committer.ask(Asked::Look));
        self.shown.turned(error, view.opening, nudge).await
    }
}

/// Has a reading end when nobody waits for it any more.
struct Stopping(Reading);

impl Drop for Stopping {
    fn drop(&mut self) {
        self.0.stop();
    }
}

async fn on_a_thread<T: Send + 'static>(
    view: Arc<View>,
    read: Arc<impl Fn(&View) -> Result<T, CatalogError> + Send + Sync + 'static>,
) -> Result<T, CatalogError> {
    spawn_blocking(move || caught(|| read(&view)))
        .await
        .map_err(|error| CatalogError::Unavailable(Box::new(error)))?
}

/// Makes an empty catalog under another name and renames it: a file that lost power while redb was
/// laying it out would never open again.
fn make(path: &Path) -> Result<(), CatalogError> {
    let failed = |error: io::Error| CatalogError::Unavailable(Box::new(error));
    let unfinished = path.with_added_extension("unfinished");
    if unfinished.exists() {
        fs::remove_file(&unfinished).map_err(failed)?;
    }
    let database = Database::create(&unfinished).map_err(unavailable)?;
    prepare::prepare(database.begin_write().map_err(unavailable)?)?;
    database.close().map_err(unavailable)?;
    fs::rename(&unfinished, path).map_err(failed)?;
    sync_folder(path).map_err(failed)
}

impl fmt::Debug for Embedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embedded").finish_non_exhaustive()
    }
}

#[async_trait]
impl Audited for Embedded {
    async fn audit(&self) -> Result<Audit, CatalogError> {
        self.elsewhere(|view| view.audit(&Reading::default())).await
    }
}

#[async_trait]
impl Catalog for Embedded {
    async fn commit(
        &self,
        now_ms: u64,
        changes: Vec<Change>,
    ) -> Result<Vec<Outcome>, CatalogError> {
        let place =
            Arc::clone(&self.places).acquire_owned().await.expect("the semaphore is never closed");
        let (answer, answered) = oneshot::channel();
        let commit = Commit { now_ms, changes, answer, _place: place };
        self.committer.ask(Asked::Commit(commit))?;
        answered.await.map_err(|_| ended())?
    }

    async fn read(&self, query: Query<'_>) -> Result<Reply, CatalogError> {
        self.answer(query).await
    }
}
