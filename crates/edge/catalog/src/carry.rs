//! Rows of one catalog, carried as they are into another, of whatever kind.
//!
//! What goes along is what every catalog has: rows of buckets, objects with their versions,
//! tombstones, uploads and parts, stripes, garbage, leftovers, what is outlived, what buckets hold,
//! numbers of nodes, sessions, watermarks and leases. Leases are released on the way: whoever had
//! them has stopped. Their epochs go on. What gateways told of themselves stays behind: none of
//! them serves.

use crate::CatalogError;
use async_trait::async_trait;
use ripstop_form::{Record, encode};
use ripstop_object::{Place, Writes};
use std::fmt;
use twox_hash::XxHash3_128;

/// Most rows that are carried together.
pub const CARRIED_ROWS_MAX: usize = 4096;

/// Most bytes of records that are carried together, unless a single one is longer.
pub const CARRIED_BYTES_MAX: usize = 4 << 20;

/// All rows of a catalog as they were at one moment, some at a time.
#[async_trait]
pub trait RowSource: Send {
    /// The next rows, none of them to be removed; nothing at the end.
    async fn next(&mut self) -> Result<Option<Writes<'static>>, CatalogError>;
}

/// A catalog that is being filled.
#[async_trait]
pub trait RowSink: Send {
    /// Writes rows, all or none.
    async fn put(&mut self, rows: Writes<'static>) -> Result<(), CatalogError>;
}

/// Which rows there are: two catalogs with equal counts hold the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RowCount {
    /// How many.
    pub rows: u64,
    /// How many of them stand for objects, versions among them.
    pub objects: u64,
    /// The sum of checksums of each row, its table and its key, in whatever order they came.
    pub sum: u128,
}

impl fmt::Display for RowCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rows, objects, sum } = self;
        write!(f, "{rows} records, {objects} of them objects, checksum {sum:032x}")
    }
}

/// Carries all rows, telling how many it has carried.
///
/// # Errors
/// If one of the two catalogs fails: what was carried until then stays where it is.
pub async fn carry(
    from: &mut impl RowSource,
    to: &mut impl RowSink,
    told: impl Fn(u64),
) -> Result<RowCount, CatalogError> {
    let mut count = RowCount::default();
    while let Some(mut rows) = from.next().await? {
        release(&mut rows);
        count.add(&rows);
        to.put(rows).await?;
        told(count.rows);
    }
    Ok(count)
}

/// Counts all rows as they would be carried.
///
/// # Errors
/// If the catalog fails.
pub async fn count_rows(
    from: &mut impl RowSource,
    told: impl Fn(u64),
) -> Result<RowCount, CatalogError> {
    carry(from, &mut Nowhere, told).await
}

/// Takes rows that are only counted.
struct Nowhere;

#[async_trait]
impl RowSink for Nowhere {
    async fn put(&mut self, _rows: Writes<'static>) -> Result<(), CatalogError> {
        Ok(())
    }
}

fn release(rows: &mut Writes<'_>) {
    for lease in rows.leases.values_mut() {
        lease.until_ms = 0;
    }
}

impl RowCount {
    fn add(&mut self, rows: &Writes<'_>) {
        for (name, row) in &rows.buckets {
            self.add_record("bucket", &[name.as_bytes()], row.as_deref());
        }
        for (at, row) in &rows.objects {
            self.objects += u64::from(row.is_some());
            self.add_record("object", &place(at), row.as_deref());
        }
        for (at, row) in &rows.tombstones {
            self.add_record("tombstone", &place(at), row.as_deref());
        }
        for (id, row) in &rows.stripes {
            self.add_record("stripe", &[&id.0.to_be_bytes()], row.as_ref());
        }
        for (id, row) in &rows.garbage {
            self.add_record("garbage", &[&id.0.to_be_bytes()], row.as_ref());
        }
        for (id, row) in &rows.uploads {
            self.add_record("upload", &[id.as_bytes()], row.as_deref());
        }
        for ((upload, number), row) in &rows.parts {
            let key: [&[u8]; 2] = [upload.as_bytes(), &number.to_be_bytes()];
            self.add_record("part", &key, row.as_deref());
        }
        for (bucket, row) in &rows.accounts {
            self.add_record("account", &[bucket.as_bytes()], row.as_ref());
        }
        for (session, row) in &rows.watermarks {
            self.add_record("watermark", &[&session.0.to_be_bytes()], row.as_ref());
        }
        for (name, lease) in &rows.leases {
            self.add_record("lease", &[name.as_bytes()], Some(lease));
        }
        self.add_numbers(rows);
    }

    /// Of what is a key, or a key and a number. Places of uploads follow from their records.
    fn add_numbers(&mut self, rows: &Writes<'_>) {
        for ((at, stripe), is_so) in &rows.outlived {
            let stripe = stripe.0.to_be_bytes();
            let [bucket, key] = place(at);
            self.add_number("outlived", &[bucket, key, &stripe], is_so.then_some(0));
        }
        for (copy, since) in &rows.leftovers {
            let (stripe, node) = (copy.stripe.0.to_be_bytes(), copy.node.0.to_be_bytes());
            self.add_number("leftover", &[&stripe, &[copy.index], &node], *since);
        }
        for (name, number) in &rows.nodes {
            self.add_number("node", &[name.as_bytes()], Some(number.0.into()));
        }
        for (session, until) in &rows.sessions {
            self.add_number("session", &[&session.0.to_be_bytes()], *until);
        }
        self.add_number("vouched before", &[], rows.vouched_before);
    }

    fn add_record<R: Record>(&mut self, table: &str, key: &[&[u8]], record: Option<&R>) {
        if let Some(record) = record {
            self.add_row(&encode(record, begin(table, key)));
        }
    }

    fn add_number(&mut self, table: &str, key: &[&[u8]], number: Option<u64>) {
        if let Some(number) = number {
            self.add_row(&[begin(table, key).as_slice(), &number.to_be_bytes()].concat());
        }
    }

    fn add_row(&mut self, row: &[u8]) {
        self.rows += 1;
        self.sum = self.sum.wrapping_add(XxHash3_128::oneshot(row));
    }
}

fn place<'a>(at: &'a Place<'_>) -> [&'a [u8]; 2] {
    [at.bucket.as_bytes(), at.key.as_bytes()]
}

/// The table and the key, so that no two rows have the same bytes.
fn begin(table: &str, key: &[&[u8]]) -> Vec<u8> {
    let mut bytes = [table.as_bytes(), &[0]].concat();
    for part in key {
        bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
        bytes.extend_from_slice(part);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Lease, Session, Watermark};
    use ripstop_model::{NodeId, StripeId};

    fn rows() -> Writes<'static> {
        let lease = Lease { holder: Session(3), until_ms: 50, epoch: 7 };
        let watermark =
            Watermark { least: StripeId(9), alive_until_ms: 60, ..Watermark::default() };
        Writes {
            nodes: [("a".into(), NodeId(1)), ("b".into(), NodeId(2))].into(),
            leases: [("upkeep".into(), lease)].into(),
            watermarks: [(Session(3), Some(watermark))].into(),
            vouched_before: Some(4),
            ..Writes::default()
        }
    }

    fn counted(rows: &Writes<'_>) -> RowCount {
        let mut count = RowCount::default();
        count.add(rows);
        count
    }

    #[test]
    fn a_count_tells_every_row_apart_and_knows_no_order() {
        let all = counted(&rows());
        assert_eq!((all.rows, all.objects), (5, 0));
        let swapped = [("a".into(), NodeId(2)), ("b".into(), NodeId(1))].into();
        assert_ne!(counted(&Writes { nodes: swapped, ..rows() }), all);
        assert_ne!(counted(&Writes { vouched_before: None, ..rows() }), all);
        let mut halves = counted(&Writes { nodes: [].into(), ..rows() });
        halves.add(&Writes { nodes: rows().nodes, ..Writes::default() });
        assert_eq!(halves, all);
    }

    #[test]
    fn leases_are_released_with_their_epochs_kept() {
        let mut rows = rows();
        release(&mut rows);
        let lease = rows.leases["upkeep"];
        assert_eq!((lease.holder, lease.until_ms, lease.epoch), (Session(3), 0, 7));
        assert_eq!(rows.watermarks, self::rows().watermarks);
    }
}
