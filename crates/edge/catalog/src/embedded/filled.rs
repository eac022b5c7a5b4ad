//! A new file, filled with rows of another catalog.

use super::carried::EmbeddedRows;
use super::copy::{Copied, as_of_before, inspected};
use super::failure::unavailable;
use super::health::caught;
use super::inspect::Inspection;
use super::prepare::prepare;
use super::snapshot::Reading;
use super::table::{Tables, View};
use crate::CatalogError;
use crate::carry::RowSink;
use async_trait::async_trait;
use redb::{Database, ReadableDatabase};
use ripstop_host::spawn_blocking;
use ripstop_object::Writes;
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of pages in memory while a file is filled.
const CACHE_BYTES: usize = 32 << 20;

/// A new file for its owner alone, under a name of its own beside the one that it is to have, until
/// it is whole: no gateway takes it for a catalog before.
pub struct FilledFile {
    /// Until it is closed.
    database: Option<Arc<Database>>,
    path: PathBuf,
    unfinished: PathBuf,
}

impl fmt::Debug for FilledFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FilledFile").field("path", &self.path).finish_non_exhaustive()
    }
}

impl FilledFile {
    /// Begins one that is to be called `path`; writes over what an earlier one of that name left.
    /// Blocks.
    ///
    /// # Errors
    /// If there is a file `path`, or none can be made.
    pub fn begin(path: &Path) -> Result<Self, CatalogError> {
        let failed = |error: io::Error| CatalogError::Unavailable(Box::new(error));
        if path.symlink_metadata().is_ok() {
            let exists =
                io::Error::new(io::ErrorKind::AlreadyExists, "there is a file of that name");
            return Err(failed(exists));
        }
        let unfinished = path.with_added_extension("unfinished");
        if unfinished.symlink_metadata().is_ok() {
            fs::remove_file(&unfinished).map_err(failed)?;
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(&unfinished).map_err(failed)?;
        let mut builder = Database::builder();
        builder.set_cache_size(CACHE_BYTES);
        let database = builder.create(&unfinished).map_err(unavailable)?;
        prepare(database.begin_write().map_err(unavailable)?)?;
        Ok(Self { database: Some(Arc::new(database)), path: path.to_owned(), unfinished })
    }

    /// What is in it by now.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn rows(&self) -> Result<EmbeddedRows, CatalogError> {
        let txn = self.open().begin_read().map_err(unavailable)?;
        Ok(EmbeddedRows::of(Arc::new(View::open(txn, 0)?)))
    }

    /// Inspects it, and has it be a catalog as it is. Blocks.
    ///
    /// # Errors
    /// If it cannot be read, or a page is not what was written.
    pub fn finish(self, reading: &Reading) -> Result<Copied, CatalogError> {
        self.finish_by(|unfinished| inspected(unfinished, reading))
    }

    /// The same, as a copy of a catalog that is written to meanwhile: like any copy it vouches for
    /// no names of stripes. Blocks.
    ///
    /// # Errors
    /// The same.
    pub fn finish_copy(self, reading: &Reading) -> Result<Copied, CatalogError> {
        self.finish_by(|unfinished| {
            let inspection = inspected(unfinished, reading)?;
            as_of_before(unfinished, &inspection)?;
            Ok(inspection)
        })
    }

    fn finish_by(
        self,
        inspect: impl FnOnce(&Path) -> Result<Inspection, CatalogError>,
    ) -> Result<Copied, CatalogError> {
        let (path, unfinished) = self.closed()?;
        match inspect(&unfinished) {
            Ok(inspection) => Ok(Copied { path, unfinished, inspection }),
            Err(error) => {
                drop(fs::remove_file(&unfinished));
                Err(error)
            }
        }
    }

    fn open(&self) -> &Arc<Database> {
        self.database.as_ref().expect("it is open until it is finished")
    }

    fn closed(mut self) -> Result<(PathBuf, PathBuf), CatalogError> {
        let database = Arc::clone(self.open());
        let names = (self.path.clone(), self.unfinished.clone());
        self.database = None;
        let busy = |_| CatalogError::Unavailable("the file is being read still".into());
        let database = Arc::try_unwrap(database).map_err(busy)?;
        caught(|| database.close().map_err(unavailable))?;
        Ok(names)
    }
}

impl Drop for FilledFile {
    fn drop(&mut self) {
        if self.database.is_some() {
            drop(fs::remove_file(&self.unfinished));
        }
    }
}

#[async_trait]
impl RowSink for FilledFile {
    async fn put(&mut self, rows: Writes<'static>) -> Result<(), CatalogError> {
        let database = Arc::clone(self.open());
        let written = spawn_blocking(move || {
            caught(|| {
                let txn = database.begin_write().map_err(unavailable)?;
                Tables::open(&txn)?.write(&rows)?;
                txn.commit().map_err(unavailable)
            })
        });
        written.await.map_err(|error| CatalogError::Unavailable(Box::new(error)))?
    }
}
