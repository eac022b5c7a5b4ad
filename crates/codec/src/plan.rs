use crate::{
    error::{CodecError, check},
    kernel::{Prepared, Write},
};
use std::fmt;

/// How to compute certain strips from certain others: made by [`Codec::plan`](crate::Codec::plan),
/// run for as many blocks as there are.
pub struct RebuildPlan {
    sources: Vec<usize>,
    wanted: Vec<usize>,
    matrix: Prepared,
    write: Write,
}

impl RebuildPlan {
    pub(crate) fn new(
        sources: Vec<usize>,
        wanted: Vec<usize>,
        matrix: Prepared,
        write: Write,
    ) -> Self {
        Self { sources, wanted, matrix, write }
    }

    /// The K strips to read, in the order in which [`run`](Self::run) takes them.
    pub fn sources(&self) -> &[usize] {
        &self.sources
    }

    /// The strips to compute, in the order in which [`run`](Self::run) writes them.
    pub fn wanted(&self) -> &[usize] {
        &self.wanted
    }

    /// Computes the wanted strips, or the same byte range of each, from the strips
    /// [`sources`](Self::sources).
    pub fn run(&self, sources: &[&[u8]], out: &mut [&mut [u8]]) -> Result<(), CodecError> {
        check(sources, self.sources.len(), out, self.wanted.len())?;
        self.matrix.multiply(0..self.sources.len(), sources, out, self.write);
        Ok(())
    }
}

impl fmt::Debug for RebuildPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RebuildPlan")
            .field("sources", &self.sources)
            .field("wanted", &self.wanted)
            .finish_non_exhaustive()
    }
}
