//! The arithmetic itself: sums of products of whole strips, one way per [`Engine`].

mod naive;
mod product;
mod scalar;

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod walk;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(target_arch = "x86_64")]
mod ssse3;

#[cfg(test)]
mod tests;

pub(crate) use product::Write;

use crate::{
    engine::{Engine, Instructions},
    matrix::Matrix,
};
use product::Product;
use std::ops::Range;

/// A matrix in the form in which one engine multiplies by it.
pub(crate) struct Prepared {
    rows: usize,
    coefficients: Coefficients,
}

/// Entries of the matrix, column after column, for the engine that is named.
///
/// Made from an [`Engine`] only, hence the processor has the instructions of the variant.
enum Coefficients {
    Naive(Vec<u8>),
    Scalar(Vec<u8>),
    #[cfg(target_arch = "x86_64")]
    Ssse3(Vec<[u8; 32]>),
    #[cfg(target_arch = "x86_64")]
    Avx2(Vec<[u8; 32]>),
    #[cfg(target_arch = "x86_64")]
    Avx2Gfni(Vec<u64>),
    #[cfg(target_arch = "x86_64")]
    Avx512(Vec<[u8; 32]>),
    #[cfg(target_arch = "x86_64")]
    Avx512Gfni(Vec<u64>),
    #[cfg(target_arch = "aarch64")]
    Neon(Vec<[u8; 32]>),
}

impl Prepared {
    pub(crate) fn new(engine: Engine, matrix: Matrix) -> Self {
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        let nibbles = |entries: Vec<u8>| entries.into_iter().map(crate::field::nibbles).collect();
        #[cfg(target_arch = "x86_64")]
        let affine = |entries: Vec<u8>| entries.into_iter().map(crate::field::affine).collect();

        let Matrix { rows, columns, entries } = matrix;
        debug_assert_eq!(entries.len(), rows * columns);
        let coefficients = match engine.instructions() {
            Instructions::Naive => Coefficients::Naive(entries),
            Instructions::Scalar => Coefficients::Scalar(entries),
            #[cfg(target_arch = "x86_64")]
            Instructions::Ssse3 => Coefficients::Ssse3(nibbles(entries)),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => Coefficients::Avx2(nibbles(entries)),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2Gfni => Coefficients::Avx2Gfni(affine(entries)),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => Coefficients::Avx512(nibbles(entries)),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512Gfni => Coefficients::Avx512Gfni(affine(entries)),
            #[cfg(target_arch = "aarch64")]
            Instructions::Neon => Coefficients::Neon(nibbles(entries)),
        };
        Self { rows, coefficients }
    }

    /// Multiplies the matrix's `columns` with one source each. There must be as many outputs as
    /// the matrix has rows, and sources and outputs of one length.
    pub(crate) fn multiply(
        &self,
        columns: Range<usize>,
        sources: &[&[u8]],
        outputs: &mut [&mut [u8]],
        write: Write,
    ) {
        let Some(len) = outputs.first().map(|output| output.len()) else { return };
        // Not for debugging only: the kernels go by these numbers instead of checking every access.
        assert!(outputs.len() == self.rows && sources.len() == columns.len());
        assert!(sources.iter().all(|source| source.len() == len));
        assert!(outputs.iter().all(|output| output.len() == len));
        let entries = columns.start * self.rows..columns.end * self.rows;
        macro_rules! product {
            ($coefficients:expr) => {
                Product { coefficients: &$coefficients[entries], sources, outputs, len, write }
            };
        }
        match &self.coefficients {
            Coefficients::Naive(c) => naive::multiply(product!(c)),
            Coefficients::Scalar(c) => scalar::multiply(product!(c)),
            #[cfg(target_arch = "x86_64")]
            Coefficients::Ssse3(c) => ssse3::multiply(product!(c)),
            #[cfg(target_arch = "x86_64")]
            Coefficients::Avx2(c) => avx2::multiply(product!(c)),
            #[cfg(target_arch = "x86_64")]
            Coefficients::Avx2Gfni(c) => avx2::multiply_gfni(product!(c)),
            #[cfg(target_arch = "x86_64")]
            Coefficients::Avx512(c) => avx512::multiply(product!(c)),
            #[cfg(target_arch = "x86_64")]
            Coefficients::Avx512Gfni(c) => avx512::multiply_gfni(product!(c)),
            #[cfg(target_arch = "aarch64")]
            Coefficients::Neon(c) => neon::multiply(product!(c)),
        }
    }
}
