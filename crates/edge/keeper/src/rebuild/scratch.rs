use std::{
    fs::{self, File},
    io,
    os::unix::fs::{FileExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};
use thiserror::Error;

/// What a rebuild puts aside could not be written or read.
#[derive(Debug, Error)]
#[error("{}", path.display())]
pub struct ScratchError {
    path: PathBuf,
    #[source]
    source: io::Error,
}

impl ScratchError {
    pub(super) fn new(path: &Path, source: impl Into<io::Error>) -> Self {
        Self { path: path.to_owned(), source: source.into() }
    }
}

/// The folder of what a rebuild puts aside: made empty, and removed with everything in it at the
/// end. One that a killed rebuild left is removed by the next.
#[derive(Debug)]
pub(super) struct Scratch {
    folder: PathBuf,
}

impl Scratch {
    pub(super) fn create(folder: &Path) -> Result<Self, ScratchError> {
        let made = match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => fs::create_dir(folder),
        };
        made.map_err(|source| ScratchError::new(folder, source))?;
        Ok(Self { folder: folder.to_owned() })
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A new file, for this user alone: it holds keys and what is known of their objects.
    pub(super) fn create_file(path: &Path) -> Result<File, ScratchError> {
        let mut options = File::options();
        options.read(true).write(true).create_new(true).mode(0o600);
        options.open(path).map_err(|source| ScratchError::new(path, source))
    }

    pub(super) fn remove(&self, path: &Path) -> Result<(), ScratchError> {
        debug_assert!(path.starts_with(&self.folder), "only what is this folder's");
        fs::remove_file(path).map_err(|source| ScratchError::new(path, source))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.folder) {
            tracing::warn!(%error, folder = %self.folder.display(), "not removed; the next rebuild will do it");
        }
    }
}

/// Long records, one behind the other in a file: what is sorted names their places.
#[derive(Debug)]
pub(super) struct Records {
    path: PathBuf,
    file: File,
    len: u64,
}

impl Records {
    pub(super) fn create(scratch: &Scratch) -> Result<Self, ScratchError> {
        let path = scratch.path("records");
        Ok(Self { file: Scratch::create_file(&path)?, path, len: 0 })
    }

    /// Appends a record; answers where it begins.
    pub(super) fn append(&mut self, record: &[u8]) -> Result<u64, ScratchError> {
        let at = self.len;
        let written = self.file.write_all_at(record, at);
        written.map_err(|source| ScratchError::new(&self.path, source))?;
        self.len += record.len() as u64;
        Ok(at)
    }

    pub(super) fn read(&self, at: u64, len: u32) -> Result<Vec<u8>, ScratchError> {
        let mut record = vec![0; len as usize];
        let read = self.file.read_exact_at(&mut record, at);
        read.map_err(|source| ScratchError::new(&self.path, source))?;
        Ok(record)
    }
}
