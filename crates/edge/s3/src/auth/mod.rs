//! AWS Signature Version 4, in headers and in query strings; and what is left of Version 2.
//!
//! Verified here and not by a library: S3 has its own error for each thing that can be wrong, and
//! the work must not depend on whether the access key is known.

mod canonical;
mod claim;
mod form;
mod legacy;
mod payload;
mod presented;
mod signatory;
mod signature;
mod terms;
#[cfg(test)]
mod tests;
mod verify;

pub(crate) use form::{missing as missing_field, signer_of_form};
pub(crate) use payload::PayloadClaim;
pub(crate) use presented::Presented;
pub(crate) use signatory::Signatory;
pub(crate) use signature::ChunkSigner;
pub(crate) use terms::{Terms, Verified};
pub(crate) use verify::{is_unsigned, unsigned_payload, verify, verify_call};
