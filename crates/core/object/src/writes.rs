use crate::{
    Account, Bucket, Garbage, GatewayId, GatewayRecord, Held, Lease, Leftover, Object, Place,
    Session, Tombstone, Upload, UploadedPart, Watermark,
};
use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use ripstop_model::{NodeId, StripeId};

/// What of a row is to be written: the row, or `None` where there is to be none.
pub type Row<'a, R> = Option<Cow<'a, R>>;

/// What changes come to: of each table the rows that are to be written or removed, each once. What
/// is to be removed need not be there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Writes<'a> {
    /// Buckets, by name.
    pub buckets: BTreeMap<Cow<'a, str>, Row<'a, Bucket>>,
    /// What keys stand for.
    pub objects: BTreeMap<Place<'a>, Row<'a, Object>>,
    /// That keys' objects, and buckets, were deleted.
    pub tombstones: BTreeMap<Place<'a>, Row<'a, Tombstone>>,
    /// Stripes in force.
    pub stripes: BTreeMap<StripeId, Option<Held>>,
    /// Stripes that nothing holds.
    pub garbage: BTreeMap<StripeId, Option<Garbage>>,
    /// Whether a stripe tells of a key what is no longer so.
    pub outlived: BTreeMap<(Place<'a>, StripeId), bool>,
    /// Since when copies of fragments are leftovers, in milliseconds since 1970.
    pub leftovers: BTreeMap<Leftover, Option<u64>>,
    /// Uploads, by id.
    pub uploads: BTreeMap<Cow<'a, str>, Row<'a, Upload>>,
    /// Whether there is an upload that will write there, by its place and id.
    pub upload_places: BTreeMap<(Place<'a>, Cow<'a, str>), bool>,
    /// Parts, by their upload's id and their number.
    pub parts: BTreeMap<(Cow<'a, str>, u16), Row<'a, UploadedPart>>,
    /// What buckets hold, by their names.
    pub accounts: BTreeMap<Cow<'a, str>, Option<Account>>,
    /// Numbers of nodes, by their names.
    pub nodes: BTreeMap<Cow<'a, str>, NodeId>,
    /// Until when sessions may name stripes, in milliseconds since 1970.
    pub sessions: BTreeMap<Session, Option<u64>>,
    /// What sessions may still be writing.
    pub watermarks: BTreeMap<Session, Option<Watermark>>,
    /// Who has which lease, by its name.
    pub leases: BTreeMap<Cow<'a, str>, Lease>,
    /// What gateways told of themselves.
    pub gateways: BTreeMap<GatewayId, Row<'a, GatewayRecord>>,
    /// Before when all names of stripes are known, in milliseconds since 1970.
    pub vouched_before: Option<u64>,
}

impl Writes<'_> {
    /// Whether there is nothing to be written.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
