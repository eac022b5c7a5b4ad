//! What a kernel is asked to do.

/// What becomes of the bytes of the outputs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Write {
    /// Replaced, through the cache.
    Replace,
    /// Replaced, past the cache where the outputs' alignment allows.
    Stream,
    /// Added to.
    Add,
}

/// One multiplication: `outputs[r]` becomes (or grows by) the sum over sources `j` of
/// `coefficients[j·rows + r]·sources[j]`, where `rows` is the number of outputs.
///
/// All sources and outputs have `len` bytes; there is a coefficient for each pair.
pub(super) struct Product<'a, 'b, C> {
    pub coefficients: &'a [C],
    pub sources: &'a [&'a [u8]],
    pub outputs: &'a mut [&'b mut [u8]],
    pub len: usize,
    pub write: Write,
}
