mod first;
mod second;
#[cfg(test)]
mod tests;

use super::Guard;
use crate::{Cut, Sealing, Seals};
use bytes::Bytes;
use ripstop_form::{Unknown, Unreadable};
use ripstop_model::{FragmentId, PoolId, StripeId, StripeShape};
use ripstop_seal::{CIPHER_TAG_LEN, KeyId};
use thiserror::Error;

/// What every header begins with; its version follows.
const MAGIC: [u8; 7] = *b"RIPSTOP";
/// The version of headers that are made.
const CURRENT: u8 = second::VERSION;
/// Headers are padded to this, so that strips begin aligned.
const ALIGN: usize = 64;
/// Longest header: bounds what a rebuild reads of a fragment that may not be one.
const HEADER_LEN_MAX: usize = 16 << 20;
/// Bytes of a header beside its record, at most: those of the fields that this program writes.
const REST_LEN_MAX: usize = 256;
/// Records this long are not copied into each header that tells them.
const SHARED_RECORD_MIN: usize = 16 << 10;

/// Longest record that a header can tell.
pub const RECORD_LEN_MAX: usize = HEADER_LEN_MAX - REST_LEN_MAX;

/// Bytes to read first when a header's length is not known: enough for most.
pub const HEADER_PROBE_LEN: u64 = 4096;

/// The tag of an encrypted record.
pub type RecordTag = [u8; CIPHER_TAG_LEN];

/// The start of every fragment (and, where all of a stripe are at one node, its end too): which it is, how its stripe is coded and sealed, what the stripe holds.
///
/// Version 2, little-endian: magic 8 | header length 4 | length of the fields 4 | numbered fields |
/// record | zeros to a multiple of 64 less the seal | seal: 16 bytes that take the key to make, or
/// CRC-64/NVME 8. The fields take as many bytes in all headers of a stripe. What is known of version 1
/// is beside its reader; a header is written again in the version that it had.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    /// Which fragment.
    pub name: FragmentId,
    /// How the stripe is coded.
    pub shape: StripeShape,
    /// How its strips lie in fragments.
    pub cut: Cut,
    /// Who wrote it.
    pub origin: Origin,
    /// What the stripe holds, in the store's words, as it stands in the header: [`Header::told`] decrypts
    /// it. Empty where another stripe says it.
    pub record: Bytes,
    /// How the fragment is sealed.
    pub sealing: Sealing,
    /// The key of its seals.
    pub key: Option<KeyId>,
    /// The version in which it is written.
    pub version: u8,
    /// The tag of an encrypted record.
    pub tag: Option<RecordTag>,
    /// What a newer program says of it.
    pub unknown: Unknown,
}

/// Who wrote a stripe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origin {
    /// The number of the store: random, so that no store takes another's fragments for its own.
    pub store: u64,
    /// The pool it was written to.
    pub pool: PoolId,
}

/// The bytes are not a whole header, or not one that is believed.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum HeaderError {
    /// More bytes are needed.
    #[error("header of {len} bytes, {got} at hand")]
    Short {
        /// Bytes that the header has.
        len: u64,
        /// Bytes that were given.
        got: u64,
    },
    /// Not a header, or a damaged or forged one.
    #[error("not a fragment's header: {0}")]
    Damaged(&'static str),
    /// Not a header that this program can read.
    #[error("not a fragment's header: {0}")]
    Unreadable(#[from] Unreadable),
    /// Its seal cannot be verified.
    #[error("a header that is sealed with key {0}, which is not here")]
    Key(KeyId),
}

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
        let rest = match self.version {
            first::VERSION => first::FIXED_LEN + first::SEAL_LEN,
            _ => second::LENS_LEN + second::fields(self).len() + second::seal_len(self.sealing),
        };
        (rest + self.record.len()).next_multiple_of(ALIGN)
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
        let segments = match self.version {
            first::VERSION => first::segments(self),
            _ => second::segments(self, seals)?,
        };
        Some(if is_shared { segments } else { vec![segments.concat().into()] })
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

    /// What it tells of its stripe, in plain text; `None` if it is encrypted with a key that is not here,
    /// or is not what was encrypted.
    pub fn told(&self, seals: &Seals) -> Option<Bytes> {
        let (store, stripe) = (self.origin.store, self.name.stripe);
        Guard::new(seals, self.sealing, store, stripe).open_record(&self.record, self.tag.as_ref())
    }

    /// What it says besides stripe, index, code, cut, origin and record, as bytes: equal where that is
    /// equal.
    pub fn rest(&self) -> Vec<u8> {
        let mut rest = vec![self.version, self.sealing.number()];
        rest.extend(self.key.iter().flat_map(|key| key.to_bytes()));
        rest.extend(self.tag.iter().flatten());
        ripstop_form::compose(rest, |to| to.unknown(&self.unknown))
    }
}

/// The numbers of which version 1 and records make a stripe's cut.
fn cut_numbers(header: &Header) -> [u8; 2] {
    let code = header.shape.code();
    let fragments = if header.cut.is_together() { header.cut.fragments(code) } else { 0 };
    [header.cut.number(code), u8::try_from(fragments).expect("at most N")]
}

/// The cut of those numbers.
fn cut_of(shape: StripeShape, [run, fragments]: [u8; 2]) -> Result<Cut, HeaderError> {
    let fragments = if run == 0 { shape.code().n() } else { fragments.into() };
    Cut::new(shape.code(), run, fragments).ok_or(HeaderError::Damaged("cut"))
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

fn stripe_id(bytes: [u8; 16]) -> StripeId {
    StripeId(u128::from_le_bytes(bytes))
}
