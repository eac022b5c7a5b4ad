use crate::{
    Encryption, ObjectLock, Stamp, Unknown, VersionId, Versioning, decrypted_len, encrypted_len,
    stripe_id,
};
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use ripstop_model::StripeId;
use serde::{Deserialize, Serialize};

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
    /// When it was first told as it is; `None` in what was written before there were stamps.
    #[serde(skip)]
    pub stamp: Option<Stamp>,
    /// Whether it keeps what its keys have stood for.
    #[serde(skip)]
    pub versioning: Versioning,
    /// What is configured of it.
    #[serde(skip)]
    pub documents: BucketDocuments,
    /// The account that owns it; empty for that of the store itself, which owns all buckets that
    /// were made before there were others.
    #[serde(skip)]
    pub owner: String,
    /// What is configured of who may do what to it: apart from other documents, for a program that
    /// does not know these must not open the bucket to everybody.
    #[serde(skip)]
    pub guards: BucketDocuments,
    /// What a newer program wrote of it.
    #[serde(skip)]
    pub unknown: Unknown,
}

/// Most bytes of a bucket's documents: names and contents together. The bucket's record, which has
/// them, is read with each write to it.
pub const BUCKET_DOCUMENTS_LEN_MAX: usize = 256 << 10;

/// What is configured of a bucket (which other origins it lets in, say): documents by their names,
/// each as whoever put it there writes it. A catalog does not look into them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BucketDocuments(Vec<(String, String)>);

impl BucketDocuments {
    /// The document of that name.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(given, _)| given == name);
        found.map(|(_, document)| document.as_str())
    }

    /// With this document of that name in the place of any other; with `None`, without any.
    #[must_use]
    pub fn with(mut self, name: &str, document: Option<String>) -> Self {
        self.0.retain(|(given, _)| given != name);
        self.0.extend(document.map(|document| (name.to_owned(), document)));
        self.0.sort_unstable();
        self
    }

    /// Names and documents, by name.
    pub fn pairs(&self) -> &[(String, String)] {
        &self.0
    }

    /// Their bytes, names included.
    pub fn byte_len(&self) -> usize {
        self.0.iter().map(|(name, document)| name.len() + document.len()).sum()
    }
}

impl From<Vec<(String, String)>> for BucketDocuments {
    fn from(pairs: Vec<(String, String)>) -> Self {
        Self(pairs)
    }
}

impl Bucket {
    /// When it was first told: what its record says, or else when the stripe that tells it was
    /// named.
    pub fn stamp(&self) -> Stamp {
        self.stamp.unwrap_or_else(|| Stamp::of(self.told_by))
    }

    /// Bytes of all that is configured of it.
    pub fn documents_len(&self) -> usize {
        self.documents.byte_len() + self.guards.byte_len()
    }
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
    /// SHA-512.
    Sha512,
    /// MD5.
    Md5,
    /// XXH64.
    XxHash64,
    /// XXH3 of 64 bits.
    XxHash3,
    /// XXH3 of 128 bits.
    XxHash128,
}

/// What the S3 face knows of an object besides its bytes.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Attributes {
    /// Without quotation marks.
    pub etag: String,
    /// Standard headers to hand back: lower-case name and value (`content-type`, `cache-control`,
    /// …).
    pub headers: Vec<(String, String)>,
    /// User metadata, without the `x-amz-meta-` prefix, names in lower case.
    pub user: Vec<(String, String)>,
    /// Tags, in the order they were set.
    pub tags: Vec<(String, String)>,
    /// The checksum asked for, if any.
    pub checksum: Option<Checksum>,
    /// Parts of a multipart object, in order; empty for a single put.
    pub parts: Vec<Part>,
    /// What keeps it from being removed.
    #[serde(skip)]
    pub lock: ObjectLock,
    /// How its bytes are encrypted, if whoever put it there did so.
    #[serde(skip)]
    pub encryption: Option<Box<Encryption>>,
    /// The account that owns it; empty for the owner of its bucket.
    #[serde(skip)]
    pub owner: String,
    /// What its owner grants to others, as whoever put it there writes it; empty if nothing is
    /// granted.
    #[serde(skip)]
    pub grants: String,
    /// The class of storage that it is in: another pool than its bucket's. Empty for S3's
    /// `STANDARD`, the bucket's own.
    #[serde(skip)]
    pub storage_class: String,
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
    /// Its length in bytes, as its client counts them. The sum of its extents' lengths is
    /// [`Object::stored_len`].
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
    /// When it was first told; `None` in what was written before there were stamps.
    #[serde(skip)]
    pub stamp: Option<Stamp>,
    /// Whether it only says, in a bucket that keeps versions, that the key was deleted: a *delete
    /// marker*, without bytes or attributes.
    #[serde(skip)]
    pub is_marker: bool,
    /// Of a null version that was told again with other attributes since: the reading of its first
    /// stamp, which orders it among the versions of its key.
    #[serde(skip)]
    pub born: Option<u64>,
    /// What a newer program wrote of it.
    #[serde(skip)]
    pub unknown: Unknown,
}

impl Attributes {
    /// How long an object is, as its client counts, that has these attributes and this many bytes
    /// stored.
    pub fn len_of(&self, stored: u64) -> u64 {
        match &self.encryption {
            None => stored,
            Some(encryption) if encryption.salts.len() <= 1 => decrypted_len(stored),
            Some(_) => self.parts.iter().map(|part| part.len).sum(),
        }
    }
}

impl Object {
    /// How many bytes of it are stored: the sum of its extents' lengths.
    pub fn stored_len(&self) -> u64 {
        match &self.attributes.encryption {
            None => self.len,
            Some(encryption) if encryption.salts.len() <= 1 => encrypted_len(self.len),
            Some(_) => self.attributes.parts.iter().map(|part| encrypted_len(part.len)).sum(),
        }
    }

    /// When this version was first told: what its record says, or else when the stripe that tells
    /// it was named.
    pub fn stamp(&self) -> Stamp {
        self.stamp.unwrap_or_else(|| Stamp::of(self.told_by))
    }

    /// Has the null version stay where it is among the versions, whenever it is told again.
    pub fn stay_in_order(&mut self) {
        self.born.get_or_insert(self.stamp().when);
    }

    /// What orders it among the versions of its key, as the null version.
    pub fn null_order(&self) -> VersionId {
        let Stamp { when, stripe } = self.stamp();
        VersionId::of(Stamp { when: self.born.unwrap_or(when), stripe })
    }
}
