mod coded;

pub(crate) use coded::algorithm;

use ripstop_form::Unknown;
use ripstop_model::{Code, NodeId, PoolId, StripeId, StripeShape};
use serde::{Deserialize, Deserializer, Serialize};

/// A bucket.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Bucket {
    /// Its name, unique in the catalog.
    pub name: String,
    /// When it was made, milliseconds since 1970.
    pub created_ms: u64,
    /// The stripe whose fragments' headers tell of it, for the rebuilding of a lost catalog.
    #[serde(with = "stripe_id")]
    pub told_by: StripeId,
    /// What a newer program wrote of it.
    #[serde(skip)]
    pub unknown: Unknown,
}

/// A slice of a stripe's payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Extent {
    /// Which stripe.
    #[serde(with = "stripe_id")]
    pub stripe: StripeId,
    /// First byte of payload.
    pub offset: u32,
    /// How many bytes; never 0.
    pub len: u32,
}

/// What was computed over an object's bytes at the client's wish.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Checksum {
    /// Which function.
    pub algorithm: ChecksumAlgorithm,
    /// Its value, raw; for a composite, the checksum of the parts' checksums.
    pub value: Vec<u8>,
    /// Over the whole object, or over the parts' checksums.
    pub composite: bool,
}

/// S3's checksum functions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum ChecksumAlgorithm {
    /// CRC-32 (ISO-HDLC).
    Crc32,
    /// CRC-32C (Castagnoli).
    Crc32c,
    /// CRC-64/NVME.
    Crc64Nvme,
    /// SHA-1.
    Sha1,
    /// SHA-256.
    Sha256,
}

/// What the S3 face knows of an object besides its bytes.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Attributes {
    /// Without quotation marks.
    pub etag: String,
    /// Standard headers to hand back: lower-case name and value (`content-type`, `cache-control`, …).
    pub headers: Vec<(String, String)>,
    /// User metadata, without the `x-amz-meta-` prefix, names in lower case.
    pub user: Vec<(String, String)>,
    /// Tags, in the order they were set.
    pub tags: Vec<(String, String)>,
    /// The checksum asked for, if any.
    pub checksum: Option<Checksum>,
    /// Parts of a multipart object, in order; empty for a single put.
    pub parts: Vec<Part>,
    /// What a newer program wrote of it.
    #[serde(skip)]
    pub unknown: Unknown,
}

/// One part of a finished multipart object.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Part {
    /// Its number, 1..=10000.
    pub number: u16,
    /// Its length in bytes.
    pub len: u64,
    /// Its checksum value, if the upload had an algorithm.
    pub checksum: Option<Vec<u8>>,
}

/// One object.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Object {
    /// Its length in bytes: the sum of its extents' lengths.
    pub len: u64,
    /// When it was last written, milliseconds since 1970.
    pub modified_ms: u64,
    /// Everything the client said or is told.
    pub attributes: Attributes,
    /// Where its bytes are, in order.
    pub extents: Vec<Extent>,
    /// The stripe whose fragments' headers tell of this object, for the rebuilding of a lost
    /// catalog. It may hold payload of the object too, or none.
    #[serde(with = "stripe_id")]
    pub told_by: StripeId,
    /// What a newer program wrote of it.
    #[serde(skip)]
    pub unknown: Unknown,
}

/// One stripe: how it is coded and where its fragments are.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Stripe {
    /// The pool it was written to.
    pub pool: u16,
    /// N of its storage code.
    pub n: u8,
    /// K of its storage code.
    pub k: u8,
    /// Bytes of payload.
    pub payload_len: u32,
    /// Bytes of header at the start of each fragment.
    pub header_len: u32,
    /// Where each fragment is, by its index; `None` where it was never stored or was lost.
    pub nodes: Vec<Option<u16>>,
    /// Strips in each fragment, where all fragments are at one node; 0 where each strip is a fragment
    /// at a node of its own, as in records that end before this.
    #[serde(deserialize_with = "zero_at_the_end")]
    pub run: u8,
    /// How its fragments are sealed: 0 by checksums, others as the headers' numbers say.
    #[serde(skip)]
    pub sealing: u8,
    /// What a newer program wrote of it.
    #[serde(skip)]
    pub unknown: Unknown,
}

/// The last number of a record, or 0 where the record was written without it.
#[expect(clippy::unnecessary_wraps, reason = "the form that serde asks for")]
fn zero_at_the_end<'de, D: Deserializer<'de>>(from: D) -> Result<u8, D::Error> {
    Ok(u8::deserialize(from).unwrap_or(0))
}

impl Stripe {
    /// The pool it was written to.
    pub const fn pool(&self) -> PoolId {
        PoolId(self.pool)
    }

    /// The node that holds fragment `index`, if any does.
    pub fn node(&self, index: usize) -> Option<NodeId> {
        self.nodes.get(index).copied().flatten().map(NodeId)
    }

    /// Its shape; `None` if the record is corrupt.
    pub fn shape(&self) -> Option<StripeShape> {
        let code = Code::new(self.n.into(), self.k.into()).ok()?;
        StripeShape::new(code, self.payload_len)
    }
}

/// A copy of a fragment at a node that it moved away from: kept for readers that were told of it
/// before, then deleted there. The fragment itself, of the same name, is elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Leftover {
    /// The fragment's stripe, in force or not.
    pub stripe: StripeId,
    /// Which of its fragments.
    pub index: u8,
    /// The node that has the copy.
    pub node: NodeId,
}

/// A multipart upload under way.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Upload {
    /// Its name, unique in the catalog.
    pub id: String,
    /// The bucket it will write to.
    pub bucket: String,
    /// The key it will write.
    pub key: String,
    /// When it began, milliseconds since 1970.
    pub created_ms: u64,
    /// What was said at its start; the finished object takes it over.
    pub attributes: Attributes,
    /// The checksum function of its parts, and whether the object's is composite.
    pub checksum: Option<(ChecksumAlgorithm, bool)>,
    /// What a newer program wrote of it.
    #[serde(skip)]
    pub unknown: Unknown,
}

/// One part of an upload under way.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct UploadedPart {
    /// Its number, 1..=10000.
    pub number: u16,
    /// Its length in bytes.
    pub len: u64,
    /// When it was stored, milliseconds since 1970.
    pub modified_ms: u64,
    /// Without quotation marks: the hexadecimal MD5 of the part.
    pub etag: String,
    /// Its checksum, if one was asked for.
    pub checksum: Option<Checksum>,
    /// Where its bytes are.
    pub extents: Vec<Extent>,
    /// What a newer program wrote of it.
    #[serde(skip)]
    pub unknown: Unknown,
}

mod stripe_id {
    use ripstop_model::StripeId;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(id: &StripeId, to: S) -> Result<S::Ok, S::Error> {
        id.0.to_be_bytes().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<StripeId, D::Error> {
        <[u8; 16]>::deserialize(from).map(|bytes| StripeId(u128::from_be_bytes(bytes)))
    }
}
