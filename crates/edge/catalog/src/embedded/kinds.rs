//! What there is in the file: each table, and the records that only it knows.

use super::rows::{Bytes, Kind, Stored};
use crate::{
    Account, Bucket, Garbage, GatewayRecord, Held, Lease, Leftover, Object, Tombstone, Upload,
    UploadedPart, Watermark,
};
use redb::TableDefinition;
use ripstop_form::{Fields, Found, Record, Unreadable};

/// Bucket, key, upload id: redb compares tuples part by part.
pub(super) type UploadKey = (Bytes, Bytes, Bytes);
/// Stripe, index, node.
pub(super) type LeftoverKey = (u128, u8, u16);
/// Stripe, bucket, key.
pub(super) type OutlivedKey = (u128, Bytes, Bytes);
/// Bucket, key, stripe.
pub(super) type OutlivedAtKey = (Bytes, Bytes, u128);

/// Name → number: of the file's format (`format`), where every program that ever was looks for it.
pub(super) const META: TableDefinition<'_, Bytes, u64> = TableDefinition::new("meta");
/// In [`META`].
pub(super) const FORMAT_NAME: Bytes = b"format";
/// The format that this code writes.
pub(super) const FORMAT: u64 = 3;

/// What the catalog says of itself: [`VOUCHED`], [`COUNTED`], [`CONVERTING`].
pub(super) const FACTS: Kind<Bytes, Number> = Kind::new("facts");
/// Name → bucket.
pub(super) const BUCKETS: Kind<Bytes, Bucket> = Kind::new("buckets");
/// [`object_key`](crate::key::object_key) → object.
pub(super) const OBJECTS: Kind<Bytes, Object> = Kind::new("objects");
/// Stripe → who holds it, and the stripe.
pub(super) const STRIPES: Kind<u128, Held> = Kind::new("stripes");
/// Stripe → since when nobody holds it, and the stripe.
pub(super) const GARBAGE: Kind<u128, Garbage> = Kind::new("garbage");
/// Copy of a fragment → since when it is one, in milliseconds.
pub(super) const LEFTOVERS: Kind<LeftoverKey, Number> = Kind::new("leftover copies");
/// Upload id → upload.
pub(super) const UPLOADS: Kind<Bytes, Upload> = Kind::new("uploads");
/// Every upload by where it will write.
pub(super) const UPLOADS_BY_KEY: Kind<UploadKey, Nothing> = Kind::new("places of uploads");
/// Upload id and number → part.
pub(super) const PARTS: Kind<(Bytes, u16), UploadedPart> = Kind::new("parts");
/// Configured name → number.
pub(super) const NODES: Kind<Bytes, Number> = Kind::new("numbers of nodes");
/// Session → until when it may name stripes, in milliseconds.
pub(super) const SESSIONS: Kind<u32, Number> = Kind::new("reservations");
/// Bucket → what it holds.
pub(super) const USAGE: Kind<Bytes, Account> = Kind::new("accounts");

/// [`object_key`](crate::key::object_key), of a bucket with an empty key → that it was deleted.
pub(super) const TOMBSTONES: Kind<Bytes, Tombstone> = Kind::new("tombstones");
/// Every stripe that tells of a key what is no longer so.
pub(super) const OUTLIVED: Kind<OutlivedKey, Nothing> = Kind::new("outlived");
/// The same, by key.
pub(super) const OUTLIVED_AT: Kind<OutlivedAtKey, Nothing> = Kind::new("outlived at");
/// Session → what it may still be writing.
pub(super) const WATERMARKS: Kind<u32, Watermark> = Kind::new("watermarks");
/// What only one does at a time → who.
pub(super) const LEASES: Kind<Bytes, Lease> = Kind::new("leases");
/// Number of a gateway → what it told of itself.
pub(super) const GATEWAYS: Kind<u64, GatewayRecord> = Kind::new("gateways");
/// What is being counted → how far it is: [`LIVE`].
pub(super) const CURSORS: Kind<Bytes, Cursor> = Kind::new("cursors");

/// In [`CURSORS`] while live bytes of stripes are not all counted.
pub(super) const LIVE: Bytes = b"live bytes";
/// Before when all names of stripes are known, in milliseconds.
pub(super) const VOUCHED: Bytes = b"vouched before";
/// There if [`USAGE`] may be believed; else everything is counted as the catalog is opened.
pub(super) const COUNTED: Bytes = b"counted";
/// There while records of format 1 may be left.
pub(super) const CONVERTING: Bytes = b"converting";

/// A number. It is never written again with less than everything known, so there are no unknown
/// fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Number(pub(super) u64);

impl Record for Number {
    fn write(&self, to: &mut Fields) {
        to.number(1, self.0);
    }

    fn read(&mut self, field: u64, from: &mut Found<'_>) -> Result<bool, Unreadable> {
        match field {
            1 => self.0 = from.number()?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// That a key is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Nothing;

impl Record for Nothing {
    fn write(&self, _to: &mut Fields) {}

    fn read(&mut self, _field: u64, _from: &mut Found<'_>) -> Result<bool, Unreadable> {
        Ok(false)
    }
}

/// How far a count has come that goes on when the file is opened again.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Cursor {
    /// Which table it goes through, by a number of its own.
    pub(super) stage: u64,
    /// The last key of that which was counted; none at its beginning.
    pub(super) last: Vec<u8>,
}

impl Record for Cursor {
    fn write(&self, to: &mut Fields) {
        to.number(1, self.stage);
        to.bytes(2, &self.last);
    }

    fn read(&mut self, field: u64, from: &mut Found<'_>) -> Result<bool, Unreadable> {
        match field {
            1 => self.stage = from.number()?,
            2 => self.last = from.bytes()?.to_vec(),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl Stored for Number {}
impl Stored for Nothing {}
impl Stored for Account {}
impl Stored for Tombstone {}
impl Stored for Cursor {}
impl Stored for Watermark {}
impl Stored for Lease {}
impl Stored for GatewayRecord {}

pub(super) const fn leftover_key(copy: &Leftover) -> (u128, u8, u16) {
    (copy.stripe.0, copy.index, copy.node.0)
}
