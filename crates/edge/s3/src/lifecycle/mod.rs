//! What becomes of a bucket's objects as they grow old: its document `lifecycle`.

mod action;
mod document;
mod expiry;
mod filter;
mod number;
#[cfg(test)]
mod tests;
mod transition;

pub(crate) use document::{Configured, DOCUMENT, LIMITS, Sizes, answer, stored};
pub(crate) use expiry::{Facts, UploadEnd, expiry};

use ripstop_lifecycle::Rules;

/// The rules that a bucket's document says, by the name under which the face keeps it.
pub const LIFECYCLE_DOCUMENT: &str = DOCUMENT;

/// Reads the rules of a bucket's document as the face keeps it; `None` if it cannot be read.
pub fn lifecycle_rules(document: &str) -> Option<Rules> {
    stored(document)
}
