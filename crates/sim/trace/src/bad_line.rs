use std::time::Duration;
use thiserror::Error;

/// What is wrong with a line.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum BadLine {
    /// It ends before this field.
    #[error("has no {field}")]
    Missing {
        /// The field.
        field: &'static str,
    },
    /// A field that does not say what it should.
    #[error("{field} is {found:?}, not {wanted}")]
    Field {
        /// The field.
        field: &'static str,
        /// The beginning of what it says.
        found: String,
        /// What it should be.
        wanted: &'static str,
    },
    /// A CSV line with more or fewer fields than the header.
    #[error("has {found} fields, the header {wanted}")]
    Width {
        /// How many it has.
        found: usize,
        /// How many the header has.
        wanted: usize,
    },
    /// A quotation mark without its partner.
    #[error("a quoted field does not end")]
    Quote,
    /// Not the JSON that was expected.
    #[error("is not an access log entry: {problem}")]
    Json {
        /// What the parser said.
        problem: String,
    },
    /// Longer than [`LINE_MAX`](crate::LINE_MAX).
    #[error("is longer than {max} bytes")]
    TooLong {
        /// How long a line may be.
        max: usize,
    },
    /// Earlier than a line before it, where that is refused.
    #[error("goes back in time by {by:?}")]
    Backwards {
        /// How much earlier than the latest line before it.
        by: Duration,
    },
    /// Too late to be sorted in.
    #[error(
        "is too late to be sorted in, by {by:?}: its place is more than {window} records before"
    )]
    Late {
        /// How much earlier than what was given out already.
        by: Duration,
        /// How many records are held back for sorting.
        window: usize,
    },
}

impl BadLine {
    /// The complaint that `field` says `found` and not `wanted`.
    pub(crate) fn field(field: &'static str, found: &str, wanted: &'static str) -> Self {
        Self::Field { field, found: begin(found), wanted }
    }
}

/// The beginning of a text, short enough for a message.
pub(crate) fn begin(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
