//! Live bytes of stripes, counted once in a file of a format that had none: a part of the records
//! in each transaction, and how far it is in the same, so that memory is bounded and a kill counts
//! nothing twice.

use super::failure::unavailable;
use super::kinds::{CURSORS, Cursor, LIVE};
use super::rows::{Entry, Stored};
use super::table::{Tables, Written};
use crate::{CatalogError, Extent, Object, UploadedPart};
use redb::{Database, Key};
use ripstop_model::StripeId;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::time::Duration;

/// Most records of one transaction, and most bytes of them.
const RECORDS_MAX: usize = 1 << 14;
const BYTES_MAX: usize = 16 << 20;
/// How often it is said how far it is.
const TOLD_EVERY: Duration = Duration::from_secs(5);

/// Every count is taken to be nothing.
const CLEARING: u64 = 0;
const OBJECTS: u64 = 1;
const PARTS: u64 = 2;
const DONE: u64 = 3;

/// Where it begins in a file that has no counts.
pub(super) const BEGIN: Cursor = Cursor { stage: OBJECTS, last: Vec::new() };
/// Where it begins in one whose counts are not to be believed.
pub(super) const BEGIN_AGAIN: Cursor = Cursor { stage: CLEARING, last: Vec::new() };

/// Counts what is left to be counted.
pub(super) fn count(database: &Database) -> Result<(), CatalogError> {
    count_by(database, RECORDS_MAX, usize::MAX).map(drop)
}

/// Counts `records_max` records in a transaction, in as many as are given; whether all is counted.
pub(super) fn count_by(
    database: &Database,
    records_max: usize,
    transactions_max: usize,
) -> Result<bool, CatalogError> {
    let txn = database.begin_write().map_err(unavailable)?;
    let is_due = CURSORS.write(&txn, false).has(&LIVE)?;
    txn.abort().map_err(unavailable)?;
    if !is_due {
        return Ok(true);
    }
    tracing::info!("counting live bytes of the catalog's stripes: this takes a while, once");
    let (mut records, mut told) = (0, ripstop_host::now());
    for _ in 0..transactions_max {
        let Some(counted) = count_some(database, records_max)? else {
            tracing::info!(records, "live bytes have been counted");
            return Ok(true);
        };
        records += counted;
        if ripstop_host::since(told) >= TOLD_EVERY {
            told = ripstop_host::now();
            tracing::info!(records, "live bytes are being counted");
        }
    }
    Ok(false)
}

/// Counts some records, in one transaction; how many, or `None` if none were left.
fn count_some(database: &Database, records_max: usize) -> Result<Option<u64>, CatalogError> {
    let txn = database.begin_write().map_err(unavailable)?;
    let counted = {
        let mut tables = Tables::open(&txn)?;
        let Some(Cursor { stage, last }) = tables.cursors.find(&LIVE)? else { return Ok(None) };
        let mut part = Part::default();
        match stage {
            CLEARING => part.walk(&tables.stripes, &last, records_max, |_, _| {})?,
            OBJECTS => part.walk(&tables.objects, &last, records_max, |live, object: Object| {
                add(live, &object.extents);
            })?,
            PARTS => part.walk(&tables.parts, &last, records_max, |live, part: UploadedPart| {
                add(live, &part.extents);
            })?,
            _ => {}
        }
        for (id, live) in &part.live {
            // One that is not there, or cannot be read, is an audit's business.
            if let Ok(Some(mut held)) = tables.stripes.find(&id.0) {
                held.live = held.live.saturating_add(*live);
                tables.stripes.insert(&id.0, &held)?;
            }
        }
        if stage == CLEARING {
            clear(&mut tables, &part.keys)?;
        }
        match part.last {
            Some(last) => tables.cursors.insert(&LIVE, &Cursor { stage, last })?,
            None if stage + 1 < DONE => {
                tables.cursors.insert(&LIVE, &Cursor { stage: stage + 1, last: vec![] })?;
            }
            None => tables.cursors.remove(&LIVE)?,
        }
        part.records
    };
    txn.commit().map_err(unavailable)?;
    Ok(Some(counted))
}

fn add(live: &mut BTreeMap<StripeId, u64>, extents: &[Extent]) {
    for Extent { stripe, len, .. } in extents {
        *live.entry(*stripe).or_default() += u64::from(*len);
    }
}

fn clear(tables: &mut Tables<'_>, keys: &[Vec<u8>]) -> Result<(), CatalogError> {
    for key in keys {
        let id = <u128 as redb::Value>::from_bytes(key);
        if let Ok(Some(mut held)) = tables.stripes.find(&id)
            && held.live != 0
        {
            held.live = 0;
            tables.stripes.insert(&id, &held)?;
        }
    }
    Ok(())
}

/// What some records of a table come to.
#[derive(Default)]
struct Part {
    records: u64,
    keys: Vec<Vec<u8>>,
    live: BTreeMap<StripeId, u64>,
    /// The last key, if there may be more behind it.
    last: Option<Vec<u8>>,
}

impl Part {
    /// Goes through records behind a key. What cannot be read is left out: an audit names it.
    fn walk<K: Key + 'static, R: Stored>(
        &mut self,
        rows: &Written<'_, K, R>,
        after: &[u8],
        records_max: usize,
        mut take: impl FnMut(&mut BTreeMap<StripeId, u64>, R),
    ) -> Result<(), CatalogError> {
        let is_begin = after.is_empty();
        let after = if is_begin { Bound::Unbounded } else { Bound::Excluded(K::from_bytes(after)) };
        let mut len = 0;
        for entry in rows.range((after, Bound::Unbounded))? {
            let entry: Entry<'_, K, R> = entry?;
            if let Ok(record) = entry.read() {
                take(&mut self.live, record);
            }
            self.records += 1;
            len += entry.len();
            let key = K::as_bytes(&entry.key()).as_ref().to_vec();
            self.keys.push(key.clone());
            if self.records == records_max as u64 || len > BYTES_MAX {
                self.last = Some(key);
                break;
            }
        }
        Ok(())
    }
}
