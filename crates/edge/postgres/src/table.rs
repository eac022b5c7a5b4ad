//! The tables. Each has a column `key`, which is its primary key, and a column `record`; some have
//! columns besides, for what queries need.

/// A table of records.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Table {
    /// What the catalog says of itself: [`VOUCHED`].
    Facts,
    /// Name → bucket; `versioning`: how it keeps versions.
    Buckets,
    /// [`object_key`](ripstop_catalog::object_key) → object; `shown`: its record without what is
    /// long; `stripes`: the names of the stripes that come along with it.
    Objects,
    /// Name of a stripe, the highest byte first → who holds it, and the stripe.
    Stripes,
    /// The same → since when nobody holds it, and the stripe; `since_ms`.
    Garbage,
    /// Copy of a fragment: stripe, index, node → since when it is one; `since_ms`.
    Leftovers,
    /// Id → upload.
    Uploads,
    /// Bucket, key and id of every upload.
    UploadPlaces,
    /// Upload and number → part.
    Parts,
    /// Configured name → number.
    Nodes,
    /// Session → until when it may name stripes.
    Sessions,
    /// Bucket → what it holds.
    Accounts,
    /// [`object_key`](ripstop_catalog::object_key), of a bucket with an empty key → that it was
    /// deleted.
    Tombstones,
    /// Stripe, bucket and key: what it tells that is no longer so.
    Outlived,
    /// The same by bucket and key.
    OutlivedAt,
    /// Session → what it may still be writing.
    Watermarks,
    /// What only one does at a time → who.
    Leases,
    /// Number of a gateway → what it told of itself. Since version 2.
    Gateways,
}

/// In [`Table::Facts`]: before when all names of stripes are known, in milliseconds.
pub(crate) const VOUCHED: &[u8] = b"vouched before";

impl Table {
    /// All, in the order in which a commit writes them.
    pub(crate) const ALL: [Self; 18] = [
        Self::Facts,
        Self::Buckets,
        Self::Objects,
        Self::Stripes,
        Self::Garbage,
        Self::Leftovers,
        Self::Uploads,
        Self::UploadPlaces,
        Self::Parts,
        Self::Nodes,
        Self::Sessions,
        Self::Accounts,
        Self::Tombstones,
        Self::Outlived,
        Self::OutlivedAt,
        Self::Watermarks,
        Self::Leases,
        Self::Gateways,
    ];

    /// How it is called in the database, and in the checksums of its records.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Facts => "ripstop_facts",
            Self::Buckets => "ripstop_buckets",
            Self::Objects => "ripstop_objects",
            Self::Stripes => "ripstop_stripes",
            Self::Garbage => "ripstop_garbage",
            Self::Leftovers => "ripstop_leftovers",
            Self::Uploads => "ripstop_uploads",
            Self::UploadPlaces => "ripstop_upload_places",
            Self::Parts => "ripstop_parts",
            Self::Nodes => "ripstop_nodes",
            Self::Sessions => "ripstop_sessions",
            Self::Accounts => "ripstop_accounts",
            Self::Tombstones => "ripstop_tombstones",
            Self::Outlived => "ripstop_outlived",
            Self::OutlivedAt => "ripstop_outlived_at",
            Self::Watermarks => "ripstop_watermarks",
            Self::Leases => "ripstop_leases",
            Self::Gateways => "ripstop_gateways",
        }
    }

    /// Columns besides key and record, with their types.
    pub(crate) const fn columns(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Buckets => &[("versioning", "bigint")],
            Self::Objects => &[("shown", "bytea"), ("stripes", "bytea")],
            Self::Garbage | Self::Leftovers => &[("since_ms", "bigint")],
            Self::Facts
            | Self::Stripes
            | Self::Uploads
            | Self::UploadPlaces
            | Self::Parts
            | Self::Nodes
            | Self::Sessions
            | Self::Accounts
            | Self::Tombstones
            | Self::Outlived
            | Self::OutlivedAt
            | Self::Watermarks
            | Self::Leases
            | Self::Gateways => &[],
        }
    }
}
