//! Records of format 1 become those of this one, once, as a file is opened to be written to: a part
//! of them in each transaction, so that memory is bounded, and what was done stays done if it is
//! cut short.

use super::failure::unavailable;
use super::kinds::{BUCKETS, CONVERTING, FACTS, GARBAGE, OBJECTS, PARTS, STRIPES, UPLOADS};
use super::rows::{Kind, Stored};
use crate::CatalogError;
use redb::{Database, Key};
use std::ops::Bound;
use std::time::{Duration, Instant};

/// Most records of one transaction, and most bytes of them.
const RECORDS_MAX: usize = 1 << 14;
const BYTES_MAX: usize = 16 << 20;
/// How often it is said how far it is.
const TOLD_EVERY: Duration = Duration::from_secs(5);

/// Converts what is left of format 1.
pub(super) fn convert(database: &Database) -> Result<(), CatalogError> {
    let txn = database.begin_write().map_err(unavailable)?;
    let is_due = FACTS.write(&txn, false).has(&CONVERTING)?;
    txn.abort().map_err(unavailable)?;
    if !is_due {
        return Ok(());
    }
    tracing::info!("converting the catalog from an older format: this takes a while, once");
    let mut progress = Progress { records: 0, told: ripstop_host::now() };
    turn(database, BUCKETS, &mut progress)?;
    turn(database, OBJECTS, &mut progress)?;
    turn(database, STRIPES, &mut progress)?;
    turn(database, GARBAGE, &mut progress)?;
    turn(database, UPLOADS, &mut progress)?;
    turn(database, PARTS, &mut progress)?;
    let txn = database.begin_write().map_err(unavailable)?;
    FACTS.write(&txn, false).remove(&CONVERTING)?;
    txn.commit().map_err(unavailable)?;
    tracing::info!(records = progress.records, "the catalog has been converted");
    Ok(())
}

struct Progress {
    records: u64,
    told: Instant,
}

impl Progress {
    fn add(&mut self, records: usize) {
        self.records += records as u64;
        if ripstop_host::since(self.told) >= TOLD_EVERY {
            self.told = ripstop_host::now();
            tracing::info!(records = self.records, "the catalog is being converted");
        }
    }
}

fn turn<K: Key + 'static, R: Stored>(
    database: &Database,
    kind: Kind<K, R>,
    progress: &mut Progress,
) -> Result<(), CatalogError> {
    let mut after = None;
    while let Some(last) = turn_some(database, kind, after.as_deref(), progress)? {
        after = Some(last);
    }
    Ok(())
}

/// Converts records behind a key; the key of the last that was looked at, if there may be more.
fn turn_some<K: Key + 'static, R: Stored>(
    database: &Database,
    kind: Kind<K, R>,
    after: Option<&[u8]>,
    progress: &mut Progress,
) -> Result<Option<Vec<u8>>, CatalogError> {
    let txn = database.begin_write().map_err(unavailable)?;
    let (mut turned, mut len, mut last) = (Vec::new(), 0, None);
    {
        let rows = kind.write(&txn, true);
        let after = after.map_or(Bound::Unbounded, |key| Bound::Excluded(K::from_bytes(key)));
        for entry in rows.range((after, Bound::Unbounded))? {
            let entry = entry?;
            let key = K::as_bytes(&entry.key()).as_ref().to_vec();
            if entry.older().is_some() {
                match entry.read() {
                    Ok(record) => turned.push((key.clone(), kind.seal(&entry.key(), &record))),
                    // It stays as it is: callers that ask for it, and a check, are told so.
                    Err(error) => {
                        let key = String::from_utf8_lossy(&key).escape_debug().to_string();
                        tracing::error!(table = kind.name, key, %error, "a record could not be converted");
                    }
                }
            }
            len += entry.len();
            if turned.len() == RECORDS_MAX || len > BYTES_MAX {
                last = Some(key);
                break;
            }
        }
    }
    if turned.is_empty() {
        txn.abort().map_err(unavailable)?;
        return Ok(last);
    }
    {
        let mut rows = kind.write(&txn, true);
        for (key, record) in &turned {
            rows.insert_raw(&K::from_bytes(key), record)?;
        }
    }
    txn.commit().map_err(unavailable)?;
    progress.add(turned.len());
    Ok(last)
}
