//! What signatures are held against, and what comes of it.

use super::{ChunkSigner, PayloadClaim, Signatory};
use ripstop_envelope::ObjectKeys;

/// What a verified signature vouches for.
#[derive(Debug)]
pub(crate) struct Verified {
    /// Who signed.
    pub(crate) who: Signatory,
    /// What was said of the body.
    pub(crate) payload: PayloadClaim,
    /// Verifies the body's chunks, if they are signed one by one.
    pub(crate) chunks: Option<ChunkSigner>,
}

/// What signatures are held against besides the keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms<'a> {
    /// The region that they must be for.
    pub(crate) region: &'a str,
    /// Whether URLs signed with Version 2 are taken.
    pub(crate) signature_v2: bool,
    /// Parameters of the query that Version 2 covers, sorted.
    pub(crate) covered: &'a [&'a str],
    /// What tokens of temporary keys are sealed with.
    pub(crate) keys: &'a ObjectKeys,
}
