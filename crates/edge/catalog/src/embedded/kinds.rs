//! What there is in the file: each table, and the records that only it knows.

use super::rows::{Bytes, Kind, Stored};
use crate::{Bucket, Leftover, Object, Stripe, Upload, UploadedPart};
use redb::TableDefinition;
use ripstop_form::{Fields, Found, Record, Unknown, Unreadable};

/// Bucket, key, upload id: redb compares tuples part by part.
pub(super) type UploadKey = (Bytes, Bytes, Bytes);
/// Stripe, index, node.
pub(super) type LeftoverKey = (u128, u8, u16);

/// Name → number: of the file's format (`format`), where every program that ever was looks for it.
pub(super) const META: TableDefinition<'_, Bytes, u64> = TableDefinition::new("meta");
/// In [`META`].
pub(super) const FORMAT_NAME: Bytes = b"format";
/// The format that this code writes.
pub(super) const FORMAT: u64 = 2;

/// What the catalog says of itself: [`VOUCHED`], [`COUNTED`], [`CONVERTING`].
pub(super) const FACTS: Kind<Bytes, Number> = Kind::new("facts");
/// Name → bucket.
pub(super) const BUCKETS: Kind<Bytes, Bucket> = Kind::new("buckets");
/// [`object_key`](super::key::object_key) → object.
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

/// Before when all names of stripes are known, in milliseconds.
pub(super) const VOUCHED: Bytes = b"vouched before";
/// There if [`USAGE`] may be believed; else everything is counted as the catalog is opened.
pub(super) const COUNTED: Bytes = b"counted";
/// There while records of format 1 may be left.
pub(super) const CONVERTING: Bytes = b"converting";

/// A number. It is never written again with less than everything known, so there are no unknown fields.
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

/// A stripe in force and how many holders (objects, parts, buckets) name it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Held {
    pub(super) holders: u64,
    pub(super) stripe: Stripe,
    pub(super) unknown: Unknown,
}

impl Held {
    pub(super) fn new(holders: u64, stripe: Stripe) -> Self {
        Self { holders, stripe, unknown: Unknown::default() }
    }
}

impl Record for Held {
    fn write(&self, to: &mut Fields) {
        to.number(1, self.holders);
        to.record(2, &self.stripe);
        to.unknown(&self.unknown);
    }

    fn read(&mut self, field: u64, from: &mut Found<'_>) -> Result<bool, Unreadable> {
        match field {
            1 => self.holders = from.number()?,
            2 => self.stripe = from.record()?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn unknown(&mut self) -> Option<&mut Unknown> {
        Some(&mut self.unknown)
    }
}

/// A stripe that nobody holds any more.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Garbage {
    /// Since when, in milliseconds since 1970. The first field: a sweep passes over what is not due
    /// without reading more.
    pub(super) since_ms: u64,
    pub(super) stripe: Stripe,
}

impl Record for Garbage {
    fn write(&self, to: &mut Fields) {
        to.number(1, self.since_ms);
        to.record(2, &self.stripe);
    }

    fn read(&mut self, field: u64, from: &mut Found<'_>) -> Result<bool, Unreadable> {
        match field {
            1 => self.since_ms = from.number()?,
            2 => self.stripe = from.record()?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// What a bucket holds; [`Usage`](crate::Usage) in its parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Account {
    pub(super) objects: u64,
    pub(super) object_bytes: u64,
    pub(super) part_bytes: u64,
}

impl Record for Account {
    fn write(&self, to: &mut Fields) {
        to.number(1, self.objects);
        to.number(2, self.object_bytes);
        to.number(3, self.part_bytes);
    }

    fn read(&mut self, field: u64, from: &mut Found<'_>) -> Result<bool, Unreadable> {
        match field {
            1 => self.objects = from.number()?,
            2 => self.object_bytes = from.number()?,
            3 => self.part_bytes = from.number()?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl Stored for Number {}
impl Stored for Nothing {}
impl Stored for Account {}

pub(super) const fn leftover_key(copy: &Leftover) -> (u128, u8, u16) {
    (copy.stripe.0, copy.index, copy.node.0)
}
