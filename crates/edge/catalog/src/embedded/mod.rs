//! The catalog in one file, over redb.

mod apply;
mod audit;
mod committer;
mod encoding;
mod failure;
mod read;
mod reference;
mod settings;
mod short;
mod source;
mod table;

#[cfg(test)]
mod tests;

pub use settings::{Durability, Settings};

use crate::{
    Applied, Audit, Audited, Bucket, Catalog, CatalogError, Change, Leftover, Listing,
    ListingRequest, Located, Stripe, Upload, UploadedPart,
};
use async_trait::async_trait;
use committer::{Committer, Shown, Waiting};
use encoding::object_key;
use failure::unavailable;
use read::Found;
use redb::{Database, ReadableDatabase};
use ripstop_model::{NodeId, StripeId};
use std::fs::{self, File};
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::{self, JoinHandle};
use std::{fmt, io};
use table::View;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::spawn_blocking;

/// Bytes of a record that are decoded on the caller's thread: longer ones are on a thread of their own.
const DECODED_HERE_MAX: usize = 64 << 10;
/// Longer ones that are decoded at once: each takes more memory than its bytes.
static DECODINGS: Semaphore = Semaphore::const_new(4);

/// A catalog in one file, for one process.
///
/// Changes go through a committer thread that puts all that wait into one transaction on disk
/// (group commit). Reads of one record run on the caller's thread, against the state that the last
/// transaction left; listings and sweeps run on tokio's blocking threads, so they need a tokio
/// runtime. Dropping the catalog applies what is queued and closes the file.
///
/// # Safety of what was answered
///
/// A transaction writes its pages to free places, then a commit slot that names their checksums,
/// then syncs once. After a crash in between, some of that is on disk and some not: opening checks
/// the newest slot's whole tree of checksums and falls back to the slot before it, which nothing has
/// overwritten. A second sync between pages and slot ("two-phase commit") would protect further only
/// from one who can forge a 128-bit checksum and cut the power at the right moment, and halves the
/// commits per second. The price of one sync is that opening after a crash reads the whole file:
/// see [`Settings::quick_open`].
///
/// When a sync fails, whether its changes are on disk is unknown: they are answered with
/// [`CatalogError::Unavailable`], and so is every later change until the catalog is opened again.
pub struct Embedded {
    shown: Shown,
    places: Arc<Semaphore>,
    changes: Option<Sender<Waiting>>,
    committer: Option<JoinHandle<()>>,
}

impl Embedded {
    /// Opens the file at `path`, making it (but not its folder) if it is not there. Blocks.
    ///
    /// Two processes must not make the same catalog at the same time; of two that open it, the
    /// second is refused.
    pub fn open(path: &Path, settings: Settings) -> Result<Self, CatalogError> {
        // An empty file is one that somebody reserved.
        if fs::metadata(path).map_or(true, |file| file.is_file() && file.len() == 0) {
            make(path)?;
        }
        let mut builder = Database::builder();
        builder.set_cache_size(settings.cache_bytes);
        builder.set_check_integrity_on_open(settings.check_pages);
        Self::start(builder.open(path).map_err(unavailable)?, settings)
    }

    /// A catalog in memory, for tests: nothing survives it.
    pub fn in_memory(settings: Settings) -> Result<Self, CatalogError> {
        Self::open_on(redb::backends::InMemoryBackend::new(), settings)
    }

    fn open_on(
        backend: impl redb::StorageBackend,
        settings: Settings,
    ) -> Result<Self, CatalogError> {
        let mut builder = Database::builder();
        builder.set_cache_size(settings.cache_bytes);
        Self::start(builder.create_with_backend(backend).map_err(unavailable)?, settings)
    }

    fn start(database: Database, settings: Settings) -> Result<Self, CatalogError> {
        table::prepare(database.begin_write().map_err(unavailable)?)?;
        let view = View::open(&database.begin_read().map_err(unavailable)?).map_err(unavailable)?;
        let shown = Arc::new(RwLock::new(Arc::new(view)));
        let places = Arc::new(Semaphore::new(settings.changes_waiting_max.max(1)));
        let (changes, queue) = channel();
        let committer = Committer::new(database, Arc::clone(&shown), settings);
        let committer = thread::Builder::new()
            .name("catalog-commit".into())
            .spawn(move || committer.run(&queue))
            .map_err(|error| CatalogError::Unavailable(Box::new(error)))?;
        Ok(Self { shown, places, changes: Some(changes), committer: Some(committer) })
    }

    fn view(&self) -> Arc<View> {
        Arc::clone(&self.shown.read().unwrap_or_else(PoisonError::into_inner))
    }

    async fn read_elsewhere<T: Send + 'static>(
        &self,
        read: impl FnOnce(&View) -> Result<T, CatalogError> + Send + 'static,
    ) -> Result<T, CatalogError> {
        let view = self.view();
        elsewhere(move || read(&view)).await
    }
}

async fn elsewhere<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, CatalogError> + Send + 'static,
) -> Result<T, CatalogError> {
    spawn_blocking(read).await.map_err(|error| CatalogError::Unavailable(Box::new(error)))?
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
    table::prepare(database.begin_write().map_err(unavailable)?)?;
    database.close().map_err(unavailable)?;
    fs::rename(&unfinished, path).map_err(failed)?;
    // The new name is on disk only when the folder is.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new("."))).and_then(|it| it.sync_all()).map_err(failed)
}

impl fmt::Debug for Embedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embedded").finish_non_exhaustive()
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.changes = None;
        if let Some(committer) = self.committer.take()
            && committer.join().is_err()
        {
            tracing::error!("the catalog's committer had panicked");
        }
    }
}

#[async_trait]
impl Audited for Embedded {
    async fn audit(&self) -> Result<Audit, CatalogError> {
        self.read_elsewhere(View::audit).await
    }
}

#[async_trait]
impl Catalog for Embedded {
    async fn commit(&self, now_ms: u64, change: Change) -> Result<Applied, CatalogError> {
        let place =
            Arc::clone(&self.places).acquire_owned().await.expect("the semaphore is never closed");
        let (answer, answered) = oneshot::channel();
        let waiting = Waiting { now_ms, change, answer, _place: place };
        let changes = self.changes.as_ref().expect("taken only by drop");
        let ended = || CatalogError::Unavailable("the catalog's committer has ended".into());
        changes.send(waiting).map_err(|_| ended())?;
        answered.await.map_err(|_| ended())?
    }

    async fn bucket(&self, name: &str) -> Result<Option<Bucket>, CatalogError> {
        self.view().bucket(name)
    }

    async fn buckets(&self, after: &str, max: usize) -> Result<Vec<Bucket>, CatalogError> {
        let after = after.to_owned();
        self.read_elsewhere(move |view| view.buckets(&after, max)).await
    }

    async fn object(&self, bucket: &str, key: &str) -> Result<Option<Located>, CatalogError> {
        let (view, key) = (self.view(), object_key(bucket, key.as_bytes()));
        let found = match view.object(&key, DECODED_HERE_MAX)? {
            Found::Long => {
                let _place = DECODINGS.acquire().await.expect("the semaphore is never closed");
                elsewhere(move || view.object(&key, usize::MAX)).await?
            }
            found @ (Found::None | Found::Object(_)) => found,
        };
        match found {
            Found::Object(located) => Ok(Some(located)),
            Found::None | Found::Long => Ok(None),
        }
    }

    async fn list(&self, request: &ListingRequest) -> Result<Listing, CatalogError> {
        let request = request.clone();
        self.read_elsewhere(move |view| view.list(&request)).await
    }

    async fn upload(&self, id: &str) -> Result<Option<Upload>, CatalogError> {
        self.view().upload(id)
    }

    async fn parts(
        &self,
        id: &str,
        after: u16,
        max: usize,
    ) -> Result<Vec<UploadedPart>, CatalogError> {
        let id = id.to_owned();
        self.read_elsewhere(move |view| view.parts(&id, after, max)).await
    }

    async fn uploads(&self, request: &ListingRequest) -> Result<Listing, CatalogError> {
        let request = request.clone();
        self.read_elsewhere(move |view| view.uploads(&request)).await
    }

    async fn stripes(&self, ids: &[StripeId]) -> Result<Vec<Option<Stripe>>, CatalogError> {
        let view = self.view();
        ids.iter().map(|id| view.stripe(*id)).collect()
    }

    async fn stripes_after(
        &self,
        after: StripeId,
        max: usize,
    ) -> Result<Vec<(StripeId, Stripe)>, CatalogError> {
        self.read_elsewhere(move |view| view.stripes_after(after, max)).await
    }

    async fn garbage(
        &self,
        due_ms: u64,
        after: StripeId,
        max: usize,
    ) -> Result<Vec<(StripeId, Stripe)>, CatalogError> {
        self.read_elsewhere(move |view| view.garbage(due_ms, after, max)).await
    }

    async fn is_garbage(&self, id: StripeId) -> Result<bool, CatalogError> {
        Ok(self.view().garbage.get(id.0).map_err(unavailable)?.is_some())
    }

    async fn leftovers(
        &self,
        due_ms: u64,
        after: Option<Leftover>,
        max: usize,
    ) -> Result<Vec<Leftover>, CatalogError> {
        self.read_elsewhere(move |view| view.leftovers(due_ms, after, max)).await
    }

    async fn is_leftover(&self, copy: Leftover) -> Result<bool, CatalogError> {
        self.view().is_leftover(&copy)
    }

    async fn nodes(&self) -> Result<Vec<(String, NodeId)>, CatalogError> {
        self.view().nodes()
    }
}
