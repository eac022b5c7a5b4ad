//! Opening the database, the first time and after its disk failed.

use super::convert::convert;
use super::failure::unavailable;
use super::health::caught;
use super::live;
use super::prepare;
use super::settings::CatalogSettings;
use super::storage::{Failure, Storage, Watched};
use super::table::View;
use crate::CatalogError;
use redb::{Database, ReadableDatabase};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// Opens the database over and over.
pub(super) struct Opener {
    storage: Arc<dyn Storage>,
    failed: Arc<Mutex<Option<Failure>>>,
    openings: u64,
}

/// A database, and what it holds.
pub(super) struct Opened {
    pub(super) database: Database,
    pub(super) view: View,
}

impl Opener {
    pub(super) fn new(storage: Arc<dyn Storage>) -> Self {
        Self { storage, failed: Arc::default(), openings: 0 }
    }

    /// What failed since the last opening.
    pub(super) fn failure(&self) -> Option<Failure> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn storage(&self) -> Arc<dyn Storage> {
        Arc::clone(&self.storage)
    }

    pub(super) fn has_room(&self) -> io::Result<()> {
        self.storage.has_room()
    }

    /// How many times it was opened.
    pub(super) fn openings(&self) -> u64 {
        self.openings
    }

    pub(super) fn open(&mut self, settings: &CatalogSettings) -> Result<Opened, CatalogError> {
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.openings += 1;
        let failed = |error: io::Error| CatalogError::Unavailable(Box::new(error));
        let backend = Watched::new(self.storage.open().map_err(failed)?, Arc::clone(&self.failed));
        caught(|| {
            let mut builder = Database::builder();
            builder.set_cache_size(settings.cache_bytes);
            builder.set_check_integrity_on_open(settings.check_pages);
            let database = builder.create_with_backend(backend).map_err(unavailable)?;
            prepare::prepare(database.begin_write().map_err(unavailable)?)?;
            convert(&database)?;
            live::count(&database)?;
            let txn = database.begin_read().map_err(unavailable)?;
            let view = View::open(txn, self.openings)?;
            view.open_all()?;
            Ok(Opened { database, view })
        })
    }
}
