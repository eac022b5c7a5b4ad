//! The loops that all vector kernels share: the outputs' partial sums stay in registers while the
//! sources pass by once. An instruction set fills in a dozen operations on its registers.
#![expect(unsafe_code, reason = "vectors are loaded and stored through pointers")]
#![expect(clippy::inline_always, reason = "instructions must meet the function that enables them")]

use super::product::{Product, Write};

/// Bytes of one cache line, and of the widest vector.
const LINE: usize = 64;

/// As many sums leave registers for two sources at a time.
const PAIRED_MAX: usize = 12;

/// The operations of one instruction set.
///
/// # Safety
/// Every method requires a processor with the instructions. `load`, `store` and `stream` touch
/// `BYTES` bytes at the pointer, `load_part` and `store_part` touch `len < BYTES`; `stream`
/// requires alignment to `BYTES`.
pub(super) unsafe trait Vectors {
    /// A field element prepared for multiplication, in memory.
    type Coefficient;
    /// The same in registers.
    type Multiplier: Copy;
    /// `BYTES` bytes in a register.
    type Vector: Copy;
    /// A vector prepared for multiplication.
    type Factor: Copy;
    /// At most 64.
    const BYTES: usize;

    unsafe fn zero() -> Self::Vector;
    unsafe fn add(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    unsafe fn multiplier(coefficient: *const Self::Coefficient) -> Self::Multiplier;
    unsafe fn factor(vector: Self::Vector) -> Self::Factor;
    unsafe fn multiply(multiplier: Self::Multiplier, factor: Self::Factor) -> Self::Vector;
    unsafe fn load(from: *const u8) -> Self::Vector;
    unsafe fn store(to: *mut u8, vector: Self::Vector);

    /// Stores past the cache.
    unsafe fn stream(to: *mut u8, vector: Self::Vector);

    /// Makes streamed bytes visible to other threads before whatever is stored next.
    unsafe fn fence();

    /// Asks for the cache line of an address that need not be valid.
    unsafe fn prefetch(from: *const u8);

    #[inline(always)]
    unsafe fn load_part(from: *const u8, len: usize) -> Self::Vector {
        let mut whole = [0; LINE];
        // SAFETY: `len` bytes are readable by contract, and `BYTES` fit into the array.
        unsafe {
            std::ptr::copy_nonoverlapping(from, whole.as_mut_ptr(), len);
            Self::load(whole.as_ptr())
        }
    }

    #[inline(always)]
    unsafe fn store_part(to: *mut u8, vector: Self::Vector, len: usize) {
        let mut whole = [0; LINE];
        // SAFETY: `len` bytes are writable by contract, and `BYTES` fit into the array.
        unsafe {
            Self::store(whole.as_mut_ptr(), vector);
            std::ptr::copy_nonoverlapping(whole.as_ptr(), to, len);
        }
    }
}

/// Some rows of a product, few enough that their sums fit into registers.
pub(super) struct Group<'a, 'b, C> {
    /// Of the group's first row.
    coefficients: *const C,
    /// From one source's coefficients to the next one's.
    stride: usize,
    sources: &'a [&'a [u8]],
    outputs: &'a mut [&'b mut [u8]],
    write: Write,
}

/// Cuts a product into groups of at most `rows_max` rows, as equal as possible, and column blocks
/// of `block` bytes, so that every group but the first finds the sources in a near cache.
///
/// # Safety
/// `run` must touch nothing but the given range of the group's strips.
#[inline(always)]
pub(super) fn groups<C>(
    product: Product<'_, '_, C>,
    rows_max: usize,
    block: usize,
    mut run: impl FnMut(Group<'_, '_, C>, usize, usize),
) {
    let Product { coefficients, sources, outputs, len, write } = product;
    let rows = outputs.len();
    let write = if write == Write::Stream && !streamable(outputs) { Write::Replace } else { write };
    let group_count = rows.div_ceil(rows_max);
    let block = if group_count > 1 { block } else { len.max(1) };
    // Vectors that are streamed must be aligned.
    let head =
        if write == Write::Stream { outputs[0].as_ptr().align_offset(LINE).min(len) } else { 0 };
    let mut from = 0;
    while from < len {
        let to = if from < head { head } else { len.min(from + block) };
        let mut first_row = 0;
        for index in 0..group_count {
            let end_row = rows * (index + 1) / group_count;
            let group = Group {
                coefficients: coefficients[first_row..].as_ptr(),
                stride: rows,
                sources,
                outputs: &mut outputs[first_row..end_row],
                write: if to == head { Write::Replace } else { write },
            };
            run(group, from, to);
            first_row = end_row;
        }
        from = to;
    }
}

/// Whether aligning one output aligns all.
fn streamable(outputs: &[&mut [u8]]) -> bool {
    let offset = |output: &&mut [u8]| output.as_ptr().addr() % LINE;
    outputs.windows(2).all(|pair| offset(&pair[0]) == offset(&pair[1]))
}

impl<C> Group<'_, '_, C> {
    pub(super) fn rows(&self) -> usize {
        self.outputs.len()
    }

    /// # Safety
    /// There are `ROWS` outputs.
    #[inline(always)]
    unsafe fn output_pointers<const ROWS: usize>(&mut self) -> [*mut u8; ROWS] {
        // SAFETY: the row stays below `ROWS`.
        std::array::from_fn(|row| unsafe { self.outputs.get_unchecked_mut(row).as_mut_ptr() })
    }

    /// Computes bytes `from..to` of `ROWS` outputs, `WIDTH` vectors of each at a time, asking for
    /// sources `AHEAD` bytes in advance, and, if `PAIRED`, two sources at a time: half as many
    /// additions where an instruction adds three operands.
    ///
    /// # Safety
    /// The processor has the instructions of `V`; the group has `ROWS` rows and a coefficient for
    /// each row and source; all strips have at least `to` bytes; if the group is streamed, byte
    /// `from` of each output is aligned to `BYTES`.
    #[inline(always)]
    pub(super) unsafe fn walk<
        V,
        const ROWS: usize,
        const WIDTH: usize,
        const AHEAD: usize,
        const PAIRED: bool,
    >(
        &mut self,
        from: usize,
        to: usize,
    ) where
        V: Vectors<Coefficient = C>,
    {
        let mut at = from;
        // SAFETY: passed on; each step stays below `to`.
        unsafe {
            while to - at >= WIDTH * V::BYTES {
                self.step::<V, ROWS, WIDTH, AHEAD, PAIRED>(at);
                at += WIDTH * V::BYTES;
            }
            while to - at >= V::BYTES {
                self.step::<V, ROWS, 1, 0, false>(at);
                at += V::BYTES;
            }
            if at < to {
                self.last_step::<V, ROWS>(at, to - at);
            }
            if self.write == Write::Stream {
                V::fence();
            }
        }
    }

    /// Like `walk`, for exactly `SOURCES` sources, each of which gets load instructions of its own.
    /// Hardware prefetchers that recognise a stream by the address of the instruction then see
    /// plain strides, where a loop over sources shows them a jumble of all.
    ///
    /// # Safety
    /// As for `walk`; and the group has `SOURCES` sources.
    #[inline(always)]
    pub(super) unsafe fn walk_few<V, const SOURCES: usize, const ROWS: usize, const WIDTH: usize>(
        &mut self,
        from: usize,
        to: usize,
    ) where
        V: Vectors<Coefficient = C>,
    {
        let mut at = from;
        // SAFETY: passed on; there are `SOURCES` sources, and each step stays below `to`.
        unsafe {
            let sources: [*const u8; SOURCES] =
                std::array::from_fn(|index| self.sources.get_unchecked(index).as_ptr());
            let outputs = self.output_pointers();
            while to - at >= WIDTH * V::BYTES {
                let mut sums = [[V::zero(); WIDTH]; ROWS];
                // Unrolled by the compiler, as are the loops within.
                for (index, source) in sources.iter().enumerate() {
                    let coefficients = self.coefficients.add(index * self.stride);
                    grow::<V, ROWS, WIDTH, 0>(&mut sums, coefficients, source.add(at));
                }
                put::<V, ROWS, WIDTH>(self.write, outputs, at, &sums);
                at += WIDTH * V::BYTES;
            }
            self.walk::<V, ROWS, 1, 0, false>(at, to);
        }
    }

    /// `WIDTH` vectors of each output, beginning at byte `at`.
    #[inline(always)]
    unsafe fn step<
        V,
        const ROWS: usize,
        const WIDTH: usize,
        const AHEAD: usize,
        const PAIRED: bool,
    >(
        &mut self,
        at: usize,
    ) where
        V: Vectors<Coefficient = C>,
    {
        // SAFETY: strips reach to `at + WIDTH·BYTES`, there are `ROWS` outputs and as many
        // coefficients per source; both by the contract of `walk`.
        unsafe {
            let mut sums = [[V::zero(); WIDTH]; ROWS];
            let mut coefficients = self.coefficients;
            let mut rest = self.sources;
            while PAIRED
                && ROWS * WIDTH <= PAIRED_MAX
                && let [first, second, tail @ ..] = rest
            {
                let first = factors::<V, WIDTH, AHEAD>(first.as_ptr().add(at));
                let second = factors::<V, WIDTH, AHEAD>(second.as_ptr().add(at));
                for (row, sums) in sums.iter_mut().enumerate() {
                    let by_first = V::multiplier(coefficients.add(row));
                    let by_second = V::multiplier(coefficients.add(self.stride + row));
                    for ((sum, first), second) in sums.iter_mut().zip(first).zip(second) {
                        let second = V::multiply(by_second, second);
                        *sum = V::add(*sum, V::add(V::multiply(by_first, first), second));
                    }
                }
                coefficients = coefficients.add(2 * self.stride);
                rest = tail;
            }
            for source in rest {
                grow::<V, ROWS, WIDTH, AHEAD>(&mut sums, coefficients, source.as_ptr().add(at));
                coefficients = coefficients.add(self.stride);
            }
            put::<V, ROWS, WIDTH>(self.write, self.output_pointers(), at, &sums);
        }
    }

    /// Less than a vector of each output, the rest from byte `at`.
    #[inline(always)]
    unsafe fn last_step<V, const ROWS: usize>(&mut self, at: usize, len: usize)
    where
        V: Vectors<Coefficient = C>,
    {
        // SAFETY: as in `step`, with `len` bytes instead of vectors.
        unsafe {
            let mut sums = [V::zero(); ROWS];
            let mut coefficients = self.coefficients;
            for source in self.sources {
                let factor = V::factor(V::load_part(source.as_ptr().add(at), len));
                for (row, sum) in sums.iter_mut().enumerate() {
                    let multiplier = V::multiplier(coefficients.add(row));
                    *sum = V::add(*sum, V::multiply(multiplier, factor));
                }
                coefficients = coefficients.add(self.stride);
            }
            for (row, &sum) in sums.iter().enumerate() {
                let output = self.outputs.get_unchecked_mut(row).as_mut_ptr().add(at);
                let sum = match self.write {
                    Write::Replace | Write::Stream => sum,
                    Write::Add => V::add(V::load_part(output, len), sum),
                };
                V::store_part(output, sum, len);
            }
        }
    }
}

/// `WIDTH` vectors of a source, and a request for those `AHEAD` bytes further on.
///
/// # Safety
/// The processor has the instructions of `V`; `WIDTH·BYTES` bytes are readable.
#[inline(always)]
unsafe fn factors<V, const WIDTH: usize, const AHEAD: usize>(
    source: *const u8,
) -> [V::Factor; WIDTH]
where
    V: Vectors,
{
    // SAFETY: passed on; the index stays below `WIDTH`.
    unsafe {
        let mut factors = [V::factor(V::zero()); WIDTH];
        for (index, factor) in factors.iter_mut().enumerate() {
            let source = source.add(index * V::BYTES);
            *factor = V::factor(V::load(source));
            if AHEAD > 0 && index * V::BYTES % LINE == 0 {
                V::prefetch(source.wrapping_add(AHEAD));
            }
        }
        factors
    }
}

/// Adds the products of `WIDTH` vectors of a source to the sums of `ROWS` outputs.
///
/// # Safety
/// As for `factors`; `ROWS` coefficients are readable.
#[inline(always)]
unsafe fn grow<V, const ROWS: usize, const WIDTH: usize, const AHEAD: usize>(
    sums: &mut [[V::Vector; WIDTH]; ROWS],
    coefficients: *const V::Coefficient,
    source: *const u8,
) where
    V: Vectors,
{
    // SAFETY: passed on; the row stays below `ROWS`.
    unsafe {
        let factors = factors::<V, WIDTH, AHEAD>(source);
        for (row, sums) in sums.iter_mut().enumerate() {
            let multiplier = V::multiplier(coefficients.add(row));
            for (sum, factor) in sums.iter_mut().zip(factors) {
                *sum = V::add(*sum, V::multiply(multiplier, factor));
            }
        }
    }
}

/// Writes `WIDTH` vectors to each of `ROWS` outputs, beginning at byte `at`.
///
/// # Safety
/// The processor has the instructions of `V`; outputs have `WIDTH·BYTES` bytes from there on, which
/// are aligned to `BYTES` if they are streamed.
#[inline(always)]
unsafe fn put<V, const ROWS: usize, const WIDTH: usize>(
    write: Write,
    outputs: [*mut u8; ROWS],
    at: usize,
    sums: &[[V::Vector; WIDTH]; ROWS],
) where
    V: Vectors,
{
    // SAFETY: passed on; the index stays below `WIDTH`.
    unsafe {
        for (output, sums) in outputs.iter().zip(sums) {
            for (index, &sum) in sums.iter().enumerate() {
                let output = output.add(at + index * V::BYTES);
                match write {
                    Write::Replace => V::store(output, sum),
                    Write::Stream => V::stream(output, sum),
                    Write::Add => V::store(output, V::add(V::load(output), sum)),
                }
            }
        }
    }
}
