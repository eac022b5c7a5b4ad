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

/// Refuses strips that are not as many as they should be or not of one length.
pub(crate) fn check(
    sources: &[&[u8]],
    source_count: usize,
    outputs: &[&mut [u8]],
    output_count: usize,
) -> Result<(), CodecError> {
    if sources.len() != source_count {
        return Err(CodecError::SourceCount { expected: source_count, given: sources.len() });
    }
    if outputs.len() != output_count {
        return Err(CodecError::OutputCount { expected: output_count, given: outputs.len() });
    }
    let mut lengths = sources.iter().map(|s| s.len()).chain(outputs.iter().map(|o| o.len()));
    let expected = lengths.next().unwrap_or(0);
    match lengths.find(|&given| given != expected) {
        Some(given) => Err(CodecError::LengthsDiffer { expected, given }),
        None => Ok(()),
    }
}
