//! What a header says, whichever version it is written in.

use crate::{Cut, Sealing};
use bytes::Bytes;
use ripstop_form::{Unknown, Unreadable};
use ripstop_model::{FragmentId, PoolId, StripeId, StripeShape};
use ripstop_seal::{CIPHER_TAG_LEN, KeyId};
use thiserror::Error;

/// What every header begins with; its version follows.
pub(super) const MAGIC: [u8; 7] = *b"RIPSTOP";
/// Bytes of a header beside its record, at most: those of the fields that this program writes.
pub(super) const REST_LEN_MAX: usize = 256;
/// Headers are padded to this, so that strips begin aligned.
pub(super) const ALIGN: usize = 64;

/// The tag of an encrypted record.
pub type RecordTag = [u8; CIPHER_TAG_LEN];

/// The start of every fragment (and, where all of a stripe are at one node, its end too): which it
/// is, how its stripe is coded and sealed, what the stripe holds.
///
/// Version 2, little-endian: magic 8 | header length 4 | length of the fields 4 | numbered fields |
/// record | zeros to a multiple of 64 less the seal | seal: 16 bytes that take the key to make, or
/// CRC-64/NVME 8. The fields take as many bytes in all headers of a stripe. What is known of
/// version 1 is beside its reader; a header is written again in the version that it had.
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
    /// What the stripe holds, in the store's words, as it stands in the header: [`Header::told`]
    /// decrypts it. Empty where another stripe says it.
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
    #[error("a header that is sealed with key {0}, which is missing")]
    Key(KeyId),
}

/// The numbers of which version 1 and records make a stripe's cut.
pub(super) fn cut_numbers(header: &Header) -> [u8; 2] {
    let code = header.shape.code();
    let fragments = if header.cut.is_together() { header.cut.fragments(code) } else { 0 };
    [header.cut.number(code), u8::try_from(fragments).expect("at most N")]
}

/// The cut of those numbers.
pub(super) fn cut_of(shape: StripeShape, [run, fragments]: [u8; 2]) -> Result<Cut, HeaderError> {
    let fragments = if run == 0 { shape.code().n() } else { fragments.into() };
    Cut::new(shape.code(), run, fragments).ok_or(HeaderError::Damaged("cut"))
}

pub(super) fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

pub(super) fn stripe_id(bytes: [u8; 16]) -> StripeId {
    StripeId(u128::from_le_bytes(bytes))
}
