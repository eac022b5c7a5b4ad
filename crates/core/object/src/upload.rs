use crate::{Attributes, Checksum, ChecksumAlgorithm, Extent, Salt, Unknown, encrypted_len};
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

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
    /// What tells its stream from others under the upload's data key, if it is encrypted.
    #[serde(skip)]
    pub salt: Option<Salt>,
    /// What a newer program wrote of it.
    #[serde(skip)]
    pub unknown: Unknown,
}

impl UploadedPart {
    /// How many bytes of it are stored: the sum of its extents' lengths.
    pub fn stored_len(&self) -> u64 {
        if self.salt.is_some() { encrypted_len(self.len) } else { self.len }
    }
}
