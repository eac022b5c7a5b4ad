mod description;
mod first;
mod second;
#[cfg(test)]
mod tests;

pub use description::{Header, HeaderError, Origin, RecordTag};

use super::Guard;
use crate::{Cut, Sealing, Seals};
use bytes::Bytes;
use description::{ALIGN, MAGIC, REST_LEN_MAX, word};
use ripstop_form::Unknown;
use ripstop_model::{FragmentId, StripeShape};

/// The version of headers that are made.
const CURRENT: u8 = second::VERSION;
/// Longest header: bounds what a rebuild reads of a fragment that may not be one.
const HEADER_LEN_MAX: usize = 16 << 20;
/// Records this long are not copied into each header that tells them.
const SHARED_RECORD_MIN: usize = 16 << 10;

/// Longest record that a header can tell.
pub const RECORD_LEN_MAX: usize = HEADER_LEN_MAX - REST_LEN_MAX;

/// Bytes to read first when a header's length is not known: enough for most.
pub const HEADER_PROBE_LEN: u64 = 4096;

impl Header {
    /// A header of a fragment that is sealed by checksums.
    pub fn new(
        name: FragmentId,
        shape: StripeShape,
        cut: Cut,
        origin: Origin,
        record: Bytes,
    ) -> Self {
        let (sealing, key, tag) = (Sealing::Checksum, None, None);
        let unknown = Unknown::default();
        Self { name, shape, cut, origin, record, sealing, key, version: CURRENT, tag, unknown }
    }

    /// Its length in bytes.
    #[expect(clippy::len_without_is_empty, reason = "no header is")]
    pub fn len(&self) -> usize {
        match self.version {
            first::VERSION => first::len(self),
            _ => second::len(self),
        }
    }

    /// The header as bytes; `None` if the key of its seal is not known.
    ///
    /// # Panics
    /// If the record is longer than [`RECORD_LEN_MAX`].
    pub fn encode(&self, seals: &Seals) -> Option<Bytes> {
        Some(self.segments(seals)?.concat().into())
    }

    /// The header as bytes in one or more pieces: headers that tell the same long record share its
    /// memory. `None` if the key of its seal is not known.
    ///
    /// # Panics
    /// If the record is longer than [`RECORD_LEN_MAX`].
    pub fn segments(&self, seals: &Seals) -> Option<Vec<Bytes>> {
        let record_len = self.record.len();
        assert!(
            record_len <= RECORD_LEN_MAX,
            "a record of {record_len} bytes: nobody could read its header"
        );
        let is_shared = record_len >= SHARED_RECORD_MIN;
        match self.version {
            first::VERSION if is_shared => Some(first::segments(self)),
            first::VERSION => Some(vec![first::segments(self).concat().into()]),
            _ => second::segments(self, seals, is_shared),
        }
    }

    /// The header at the start of `bytes`, and its length, if its seal holds.
    pub fn parse(bytes: &Bytes, seals: &Seals) -> Result<(Self, u32), HeaderError> {
        let got = bytes.len() as u64;
        let Some((magic, rest)) = bytes.split_first_chunk::<{ MAGIC.len() }>() else {
            return Err(HeaderError::Short { len: ALIGN as u64, got });
        };
        let Some(version) = rest.first().filter(|_| bytes.len() >= ALIGN) else {
            return Err(HeaderError::Short { len: ALIGN as u64, got });
        };
        let is_known = [first::VERSION, second::VERSION].contains(version);
        if *magic != MAGIC || !is_known {
            return Err(HeaderError::Damaged("magic"));
        }
        let len = word(bytes, 8) as usize;
        if !(ALIGN..=HEADER_LEN_MAX).contains(&len) || !len.is_multiple_of(ALIGN) {
            return Err(HeaderError::Damaged("length"));
        }
        if bytes.len() < len {
            return Err(HeaderError::Short { len: len as u64, got });
        }
        let bytes = bytes.slice(..len);
        let header = match *version {
            first::VERSION => first::parse(&bytes)?,
            _ => second::parse(&bytes, seals)?,
        };
        Ok((header, len as u32))
    }

    /// The header that ends `bytes`, the end of a fragment of a stripe at one node, and its length.
    pub fn parse_end(bytes: &Bytes, seals: &Seals) -> Option<(Self, u32)> {
        let starts = (1..=bytes.len() / ALIGN).map(|aligned| bytes.len() - aligned * ALIGN);
        let mut headers = starts.filter(|&start| bytes[start..].starts_with(&MAGIC));
        headers.find_map(|start| {
            let (header, len) = Self::parse(&bytes.slice(start..), seals).ok()?;
            let is_end = start + len as usize == bytes.len() && header.cut.is_together();
            is_end.then_some((header, len))
        })
    }

    /// What it tells of its stripe, in plain text; `None` if it is encrypted with a key that is not
    /// here, or is not what was encrypted.
    pub fn told(&self, seals: &Seals) -> Option<Bytes> {
        let (store, stripe) = (self.origin.store, self.name.stripe);
        Guard::new(seals, self.sealing, store, stripe).open_record(&self.record, self.tag.as_ref())
    }

    /// What it says besides stripe, index, code, cut, origin and record, as bytes: equal where that
    /// is equal.
    pub fn rest(&self) -> Vec<u8> {
        let mut rest = vec![self.version, self.sealing.number()];
        rest.extend(self.key.iter().flat_map(|key| key.to_bytes()));
        rest.extend(self.tag.iter().flatten());
        ripstop_form::compose(rest, |to| to.unknown(&self.unknown))
    }
}
