use bytes::Bytes;
use ripstop_catalog::{Bucket, Object};
use serde::{Deserialize, Serialize};

/// What a stripe's headers tell, so that a lost catalog can be made anew.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[expect(clippy::large_enum_variant, reason = "made one at a time, and mostly the large one")]
pub(crate) enum Telling {
    /// That there is a bucket.
    Bucket(Bucket),
    /// That a key stands for an object.
    Object {
        /// The bucket's name.
        bucket: String,
        /// The key.
        key: String,
        /// The object.
        object: Object,
    },
}

/// First byte of every record: the format's version.
const VERSION: u8 = 1;

impl Telling {
    /// As bytes of a header's record.
    pub(crate) fn encode(&self) -> Bytes {
        let out = postcard::to_extend(self, vec![VERSION]);
        out.expect("plain records always have a form").into()
    }

    /// From a header's record; `None` where it tells nothing that this version understands.
    pub(crate) fn decode(record: &[u8]) -> Option<Self> {
        let (&version, rest) = record.split_first()?;
        if version != VERSION {
            return None;
        }
        postcard::from_bytes(rest).ok()
    }
}
