//! A file is made ready to be written to: by its format, which is looked at first.

use super::failure::{corrupt, unavailable};
use super::kinds::{COUNTED, FACTS, FORMAT, FORMAT_NAME, LIVE, META, Number, VOUCHED};
use super::rows::Stored;
use super::table::{NAMES, Tables, Written};
use super::{live, older, usage};
use crate::CatalogError;
use redb::{TableHandle, WriteTransaction};
use ripstop_model::StripeId;

/// The format before live bytes, tombstones, and what is outlived.
const UNCOUNTED: u64 = 2;

/// Makes the tables of a new file, and those that an older one lacks, counts what buckets hold
/// where nobody has, and notes where live bytes are to be counted; takes over from format 1 all but
/// its long tables, whose records stay as they are until they are [converted](super::convert).
/// Refuses a file of another format.
pub(super) fn prepare(txn: WriteTransaction) -> Result<(), CatalogError> {
    let format = format(&txn)?;
    match format {
        Some(FORMAT) if is_prepared(&txn)? => return txn.abort().map_err(unavailable),
        Some(older::FORMAT | UNCOUNTED | FORMAT) | None => {}
        Some(format) => {
            return Err(corrupt(format!(
                "the file has format {format}, and this program knows none above {FORMAT}: a newer one wrote it"
            )));
        }
    }
    if format == Some(older::FORMAT) {
        older::adopt(&txn)?;
    }
    {
        let mut tables = Tables::open(&txn)?;
        tables.open_all()?;
        if !tables.facts.has(&VOUCHED)? {
            let before = first_vouched(&tables)?;
            tables.facts.insert(&VOUCHED, &Number(before))?;
        }
        if !tables.facts.has(&COUNTED)? {
            usage::count(&mut tables)?;
        }
        if matches!(format, Some(older::FORMAT | UNCOUNTED)) {
            tables.cursors.insert(&LIVE, &live::BEGIN)?;
        }
    }
    set_format(&txn)?;
    txn.commit().map_err(unavailable)
}

fn format(txn: &WriteTransaction) -> Result<Option<u64>, CatalogError> {
    let meta = txn.open_table(META).map_err(unavailable)?;
    let format = redb::ReadableTable::get(&meta, FORMAT_NAME).map_err(unavailable)?;
    Ok(format.map(|format| format.value()))
}

/// Writes which format the file has.
pub(super) fn set_format(txn: &WriteTransaction) -> Result<(), CatalogError> {
    let mut meta = txn.open_table(META).map_err(unavailable)?;
    meta.insert(FORMAT_NAME, FORMAT).map(drop).map_err(unavailable)
}

/// Whether all tables are there, and what buckets hold is counted.
fn is_prepared(txn: &WriteTransaction) -> Result<bool, CatalogError> {
    let names: Vec<String> =
        txn.list_tables().map_err(unavailable)?.map(|table| table.name().to_owned()).collect();
    if NAMES.iter().any(|wanted| !names.iter().any(|name| name == wanted)) {
        return Ok(false);
    }
    let facts = FACTS.write(txn, false);
    Ok(facts.has(&VOUCHED)? && facts.has(&COUNTED)?)
}

/// What a file that never said so is taken to know: all names given until now, and those it holds.
fn first_vouched(tables: &Tables<'_>) -> Result<u64, CatalogError> {
    let now = ripstop_host::since_1970().as_millis();
    let mut before = u64::try_from(now).unwrap_or(u64::MAX);
    let last = [last_of(&tables.stripes)?, last_of(&tables.garbage)?];
    for id in last.into_iter().flatten() {
        before = before.max(id.unix_ms() + 1);
    }
    Ok(before)
}

fn last_of<R: Stored>(table: &Written<'_, u128, R>) -> Result<Option<StripeId>, CatalogError> {
    let last = table.all()?.next_back().transpose()?;
    Ok(last.map(|entry| StripeId(entry.key())))
}
