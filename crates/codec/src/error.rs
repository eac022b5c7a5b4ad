/// Strips were handed over that do not fit the code or each other. Nothing was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CodecError {
    /// Too few or too many strips to read.
    #[error("{given} strips to read were given, {expected} are needed")]
    SourceCount {
        /// How many the operation reads.
        expected: usize,
        /// How many were given.
        given: usize,
    },
    /// Too few or too many strips to write.
    #[error("{given} strips to write were given, {expected} are needed")]
    OutputCount {
        /// How many the operation writes.
        expected: usize,
        /// How many were given.
        given: usize,
    },
    /// Strips of one stripe have one length.
    #[error("strips of {expected} and of {given} bytes cannot be coded together")]
    LengthsDiffer {
        /// Bytes in the first strip.
        expected: usize,
        /// Bytes in the first strip that differs from it.
        given: usize,
    },
    /// Fewer strips are present than the code needs.
    #[error("{present} strips are present, {needed} are needed")]
    TooFewPresent {
        /// The code's k.
        needed: usize,
        /// How many were said to be present.
        present: usize,
    },
    /// A strip was named that the code (or, for an update, its data) does not have.
    #[error("there is no strip {strip}: they are numbered from 0 and there are {count}")]
    NoSuchStrip {
        /// The index that was given.
        strip: usize,
        /// Indices below this one exist.
        count: usize,
    },
}
