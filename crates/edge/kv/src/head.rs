use crate::request::{Request, Store};

/// What a line begins.
#[derive(Debug)]
pub(crate) enum Head {
    /// It is a whole command.
    Whole(Request),
    /// A value of this length follows, and a line's end.
    Body {
        /// The store, without its value.
        store: Store,
        /// Whether no answer is wanted.
        is_quiet: bool,
        /// Bytes of the value.
        value_len: usize,
    },
    /// Something of this length follows, and a line's end, and none of it matters.
    Swallow(Request, usize),
    /// The client does not speak this language.
    Close,
}

/// The length of a value, if it can be one.
pub(crate) fn value_len(said: i32) -> Option<usize> {
    usize::try_from(said).ok().filter(|&len| len <= i32::MAX as usize - 2)
}
