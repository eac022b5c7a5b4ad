//! What is computed over bodies: MD5 for entity tags, S3's checksums, the SHA-256 of signatures.

mod algorithm;
mod combination;
mod expectation;
mod pipeline;
mod received;

pub(crate) use algorithm::{
    ALL, Hasher, combine, composite, full_object_is_possible, header, len, named, word,
};
pub(crate) use expectation::{Expectation, check_form, header_checksum, mismatch, no_value};
pub(crate) use pipeline::{Digests, Pipeline, Verdict};
pub(crate) use received::Received;

use base64::{
    Engine as _, alphabet,
    engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD},
};
use ripstop_catalog::{Checksum, ChecksumAlgorithm};

/// What S3 computes where the client asks for nothing.
pub(crate) const DEFAULT_ALGORITHM: ChecksumAlgorithm = ChecksumAlgorithm::Crc64Nvme;

/// A digest as headers and documents write it.
pub(crate) fn base64(value: &[u8]) -> String {
    STANDARD.encode(value)
}

/// Takes what a last character says beyond the last byte, as S3 does.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// A digest from a header or document, if it is one of `len` bytes.
pub(crate) fn unbase64(text: &str, len: usize) -> Option<Vec<u8>> {
    LENIENT.decode(text).ok().filter(|value| value.len() == len)
}

/// A stored checksum as it is handed back: a composite ends in the number of its parts.
pub(crate) fn shown(checksum: &Checksum, parts: usize) -> String {
    let value = base64(&checksum.value);
    if checksum.composite { format!("{value}-{parts}") } else { value }
}

/// The word for what a checksum is over.
pub(crate) const fn kind(composite: bool) -> &'static str {
    if composite { "COMPOSITE" } else { "FULL_OBJECT" }
}
