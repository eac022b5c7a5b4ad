//! What a program makes of bytes that it does not know.

use thiserror::Error;

/// Why bytes are no record.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Unreadable {
    /// They are not of this form.
    #[error("it does not have the form of a record: {0}")]
    Form(String),
    /// They are of a version that is not known.
    #[error("it is of version {0}, which a newer program must have written")]
    Version(u8),
    /// A field must be known, and is not.
    #[error("it has the field {0}, which a newer program must have written")]
    Newer(u64),
    /// It is of a kind that must be known, and is not.
    #[error("it is of kind {0}, which a newer program must have written")]
    Kind(u64),
    /// A field's value can be none of its.
    #[error("its field {field} {reason}")]
    Field {
        /// The number of the field.
        field: u64,
        /// What is wrong with it.
        reason: &'static str,
    },
}

impl From<minicbor::decode::Error> for Unreadable {
    fn from(error: minicbor::decode::Error) -> Self {
        Self::Form(error.to_string())
    }
}
