//! Looks at every page and every record of a state of the catalog.

use super::failure::{corrupt, unavailable};
use super::health::caught;
use super::prepare::prepare;
use super::snapshot::{Extracted, HEADER_LEN, Overlay, Pace, Reading};
use super::table::View;
use crate::key::split_object_key;
use crate::{Audit, AuditFinding, CatalogError};
use redb::{Database, ReadableDatabase, StorageBackend};
use std::sync::PoisonError;

/// Bytes of pages in memory while a catalog is inspected.
const CACHE_BYTES: usize = 8 << 20;
/// Most keys that are named of a damaged page.
const KEYS_MAX: usize = 8;
/// What begins redb's pages that hold records.
const LEAF: u8 = 1;

/// What an inspection found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Inspection {
    /// Bytes of the file.
    pub len: u64,
    /// The first page that is not what was written, if there is one: where, and what it seems to
    /// hold.
    pub damaged: Option<String>,
    /// What the records say of each other.
    pub audit: Audit,
}

impl Inspection {
    /// Whether everything is as it was written, and agrees.
    pub fn is_clean(&self) -> bool {
        self.damaged.is_none() && self.audit.is_clean()
    }

    /// The first thing of it that is not what was written.
    pub(super) fn damage(&self) -> Option<String> {
        let unreadable =
            |finding: &AuditFinding| matches!(finding, AuditFinding::Unreadable { .. });
        let record = || self.audit.findings.iter().find(|finding| unreadable(finding));
        self.damaged.clone().or_else(|| record().map(ToString::to_string))
    }

    /// A sentence for each thing that is not as it should be, at most a thousand and one.
    pub fn findings(&self) -> Vec<String> {
        let audit = self.audit.findings.iter().map(ToString::to_string);
        self.damaged.iter().cloned().chain(audit).collect()
    }
}

/// What is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Depth {
    /// The checksum of every page.
    Pages,
    /// Every record too.
    Records,
}

/// Verifies the checksum of every page of a snapshot in `file`, then recounts its records. Of one
/// whose pages are damaged, `fallback` is audited instead, as far as it can be read.
pub(super) fn inspect(
    file: Box<dyn StorageBackend>,
    extracted: &Extracted,
    (reading, pace): (&Reading, Option<Pace>),
    depth: Depth,
    fallback: impl FnOnce() -> Result<Audit, CatalogError>,
) -> Result<Inspection, CatalogError> {
    let len = extracted.len;
    if extracted.header.len() != HEADER_LEN || len < HEADER_LEN as u64 {
        return Err(corrupt(format!("a file of {len} bytes is too short")));
    }
    let overlay = Overlay::new(file, extracted, reading.clone(), pace);
    let last = overlay.last();
    let opened = caught(|| {
        let mut builder = Database::builder();
        builder.set_cache_size(CACHE_BYTES).set_check_integrity_on_open(true);
        let database = builder.create_with_backend(overlay).map_err(unavailable)?;
        prepare(database.begin_write().map_err(unavailable)?)?;
        let txn = database.begin_read().map_err(unavailable)?;
        let view = View::open(txn, 0)?;
        view.open_all()?;
        Ok((database, view))
    });
    reading.go_on().map_err(|error| CatalogError::Unavailable(Box::new(error)))?;
    match opened {
        Ok((database, view)) => {
            let audit = match depth {
                Depth::Pages => Ok(Audit::default()),
                Depth::Records => caught(|| view.audit(reading)),
            };
            drop(view);
            drop(database);
            Ok(Inspection { len, damaged: None, audit: audit? })
        }
        Err(CatalogError::Corrupt { reason }) => {
            let last = last.lock().unwrap_or_else(PoisonError::into_inner);
            let (at, page) = &*last;
            let keys = keys_of(page);
            let keys = if keys.is_empty() { keys } else { format!(", which seem to hold {keys}") };
            let reason = format!(
                "the file is not what was written: {reason}; last read were {} bytes at {at}{keys}",
                page.len()
            );
            let audit = match depth {
                Depth::Pages => Audit::default(),
                Depth::Records => fallback().unwrap_or_default(),
            };
            Ok(Inspection { len, damaged: Some(reason), audit })
        }
        Err(error) => Err(error),
    }
}

/// The first keys of objects on a page, for people: what is damaged may be anything.
fn keys_of(page: &[u8]) -> String {
    let number = |at: usize| -> Option<usize> {
        Some(u32::from_le_bytes(page.get(at..at + 4)?.try_into().ok()?) as usize)
    };
    let (Some(&LEAF), Some(&[low, high])) =
        (page.first(), page.get(2..4).and_then(|it| it.first_chunk()))
    else {
        return String::new();
    };
    let count = usize::from(u16::from_le_bytes([low, high]));
    // Of each record, where its key ends and where its value ends come before all keys.
    let mut begin = 4 + 8 * count;
    let mut keys = Vec::new();
    for entry in 0..count.min(KEYS_MAX) {
        let Some(end) = number(4 + 4 * entry) else { break };
        let key = page.get(begin..end).and_then(|key| split_object_key(key).ok());
        if let Some((bucket, key)) = key {
            keys.push(format!("{bucket}/{key}").escape_debug().to_string());
        }
        begin = end;
    }
    keys.join(", ")
}
