//! Where the database's bytes are, so that it can be opened again after the disk failed.

use redb::StorageBackend;
use redb::backends::FileBackend;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fmt, ops::Bound};

/// Bytes that a disk must take before a catalog that it had no room for tries it again: pages of a
/// few transactions.
const ROOM: usize = 256 << 10;

/// Opens the database's bytes, again after each failure.
pub(super) trait Storage: Send + Sync {
    /// The bytes, to read and write.
    fn open(&self) -> io::Result<Box<dyn StorageBackend>>;

    /// The bytes, to read while another writes.
    fn look(&self) -> io::Result<Box<dyn StorageBackend>>;

    /// Fails if the disk has no room for a few transactions.
    fn has_room(&self) -> io::Result<()> {
        Ok(())
    }
}

/// A file.
pub(super) struct InFile(pub(super) PathBuf);

impl Storage for InFile {
    fn open(&self) -> io::Result<Box<dyn StorageBackend>> {
        let file = OpenOptions::new().read(true).write(true).open(&self.0)?;
        let backend = FileBackend::new(file).map_err(io::Error::other)?;
        Ok(Box::new(backend))
    }

    fn look(&self) -> io::Result<Box<dyn StorageBackend>> {
        look_at(&self.0)
    }

    fn has_room(&self) -> io::Result<()> {
        let path = self.0.with_added_extension("room");
        let wrote = File::create(&path)
            .and_then(|mut file| file.write_all(&vec![1; ROOM]).and_then(|()| file.sync_data()));
        fs::remove_file(&path)?;
        wrote
    }
}

/// A file to read, while another may write to it.
pub(super) fn look_at(path: &Path) -> io::Result<Box<dyn StorageBackend>> {
    let backend = FileBackend::new(File::open(path)?).map_err(io::Error::other)?;
    Ok(Box::new(backend))
}

/// Bytes that clones share.
pub(super) struct Shared<B>(pub(super) B);

impl<B: StorageBackend + Clone> Storage for Shared<B> {
    fn open(&self) -> io::Result<Box<dyn StorageBackend>> {
        Ok(Box::new(self.0.clone()))
    }

    fn look(&self) -> io::Result<Box<dyn StorageBackend>> {
        self.open()
    }
}

/// Syncs the folder that a file is in: a new name is on disk only when its folder is.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new("."))).and_then(|it| it.sync_all())
}

/// What failed first.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    /// Whether it was a sync: what was written before may be anywhere.
    pub(super) is_sync: bool,
    /// What the disk said.
    pub(super) reason: String,
}

/// A backend that remembers what failed: the database only says that something did.
pub(super) struct Watched {
    inner: Box<dyn StorageBackend>,
    failed: Arc<Mutex<Option<Failure>>>,
}

impl Watched {
    pub(super) fn new(inner: Box<dyn StorageBackend>, failed: Arc<Mutex<Option<Failure>>>) -> Self {
        Self { inner, failed }
    }

    fn noted<T>(&self, what: &str, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result {
            let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
            let reason = format!("{what}: {error}");
            failed.get_or_insert(Failure { is_sync: what == SYNC, reason });
        }
        result
    }
}

/// What a sync is called in a [`Failure`].
const SYNC: &str = "sync";

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl StorageBackend for Watched {
    fn len(&self) -> io::Result<u64> {
        self.noted("length", self.inner.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.noted("read", self.inner.read(offset, out))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.noted("growth", self.inner.set_len(len))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.noted(SYNC, self.inner.sync_data())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.noted("write", self.inner.write(offset, data))
    }

    fn close(&self) -> io::Result<()> {
        self.inner.close()
    }

    fn try_lock_range(
        &self,
        start: Bound<u64>,
        end: Bound<u64>,
    ) -> Result<bool, redb::BackendError> {
        self.inner.try_lock_range(start, end)
    }

    fn try_lock_shared_range(
        &self,
        start: Bound<u64>,
        end: Bound<u64>,
    ) -> Result<bool, redb::BackendError> {
        self.inner.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), redb::BackendError> {
        self.inner.lock_range(start, end)
    }

    fn lock_shared_range(
        &self,
        start: Bound<u64>,
        end: Bound<u64>,
    ) -> Result<(), redb::BackendError> {
        self.inner.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), redb::BackendError> {
        self.inner.unlock_range(start, end)
    }

    fn query_lock_range(
        &self,
        start: Bound<u64>,
        end: Bound<u64>,
    ) -> Result<bool, redb::BackendError> {
        self.inner.query_lock_range(start, end)
    }
}

/// Bytes in memory.
#[derive(Clone, Debug, Default)]
pub(super) struct InMemory(Arc<std::sync::RwLock<Vec<u8>>>);

impl StorageBackend for InMemory {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.read().unwrap_or_else(PoisonError::into_inner).len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let bytes = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let from = offset as usize;
        let found = from.checked_add(out.len()).and_then(|end| bytes.get(from..end));
        out.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.write().unwrap_or_else(PoisonError::into_inner).resize(len as usize, 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut bytes = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let from = offset as usize;
        let found = from.checked_add(data.len()).and_then(|end| bytes.get_mut(from..end));
        found.ok_or(io::ErrorKind::UnexpectedEof)?.copy_from_slice(data);
        Ok(())
    }
}
