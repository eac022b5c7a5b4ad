//! What signatures are held against, and what comes of it.

use super::{ChunkSigner, PayloadClaim};

/// What a verified signature vouches for.
#[derive(Debug)]
pub(crate) struct Verified {
    /// Who signed.
    pub(crate) access_key: String,
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
}
