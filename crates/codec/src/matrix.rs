//! The code's generator matrix, and what one strip is in terms of others.
//!
//! Strip `i` of the code (N,K) is a sum of data strips with the coefficients of row `i`: the
//! identity on top, and below it the Cauchy matrix 1/(i + j), `i` in K..N, `j` in 0..K. No `i`
//! equals a `j`, so every entry exists.
//!
//! **Any K rows are independent.** Laplace expansion along the identity rows reduces the
//! determinant of K rows to that of a square submatrix of the Cauchy matrix, which is Π(xᵢ +
//! xᵢ′)·Π(yⱼ + yⱼ′) / Π(xᵢ + yⱼ): all x and all y are different, so no factor vanishes. This holds
//! for every (N,K) up to N = 256.
//!
//! **Any strip from any K others without inverting a matrix.** The code is a generalised
//! Reed–Solomon code on the points 0..N (`MacWilliams` and Sloane, *The Theory of Error-Correcting
//! Codes*, chapters 10 and 12): there are multipliers v with strip `i` = v(i)·f(i) for one
//! polynomial f of degree below K, and demanding identity and 1/(i + j) fixes v(i) = 1 / Π(i + t),
//! t in 0..K without i. Lagrange interpolation through the set S then gives
//!
//! ```text
//! strip w = Σ a(w,s)·strip s over s in S,  a(w,s) = ρ(s) / (ρ(w)·(w + s))   for w not in S,
//! ρ(i) = Π (i + t) over data t not in S  /  Π (i + t) over parity t in S,  each without t = i.
//! ```

use crate::field::{EXP, LOG, ORDER, invert};
use ripstop_model::{Code, StripSet};

/// Coefficients with which `columns` strips make `rows` strips, column after column.
pub(crate) struct Matrix {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) entries: Vec<u8>,
}

impl Matrix {
    /// Parity strips in terms of the data strips.
    pub(crate) fn parity(code: Code) -> Self {
        let (rows, columns) = (code.parity(), code.k());
        let entries = (0..columns)
            .flat_map(|data| (columns..code.n()).map(move |parity| invert((data ^ parity) as u8)))
            .collect();
        Self { rows, columns, entries }
    }

    /// The strips `wanted` in terms of the K different strips `sources`.
    pub(crate) fn rebuild(code: Code, sources: &[usize], wanted: &[usize]) -> Self {
        let present: StripSet = sources.iter().copied().collect();
        let ratio = Ratio::new(code, present);
        let wanted_logs: Vec<_> = wanted.iter().map(|&strip| ratio.log(strip)).collect();
        let mut entries = Vec::with_capacity(sources.len() * wanted.len());
        for &source in sources {
            let source_log = ratio.log(source);
            for (&strip, wanted_log) in wanted.iter().zip(&wanted_logs) {
                entries.push(if strip == source {
                    1
                } else if present.contains(strip) {
                    0
                } else {
                    let below = wanted_log + log_of_sum(strip, source);
                    EXP[(source_log + 2 * ORDER - below) % ORDER]
                });
            }
        }
        Self { rows: wanted.len(), columns: sources.len(), entries }
    }

    #[cfg(test)]
    pub(crate) fn entry(&self, row: usize, column: usize) -> u8 {
        self.entries[column * self.rows + row]
    }
}

/// ρ of the formula, for one set of sources.
struct Ratio {
    data_missing: Vec<usize>,
    parity_used: Vec<usize>,
}

impl Ratio {
    fn new(code: Code, sources: StripSet) -> Self {
        Self {
            data_missing: (0..code.k()).filter(|&strip| !sources.contains(strip)).collect(),
            parity_used: sources.iter().filter(|&strip| strip >= code.k()).collect(),
        }
    }

    /// The logarithm of ρ(strip), below [`ORDER`].
    fn log(&self, strip: usize) -> usize {
        let log_of_product = |points: &[usize]| -> usize {
            points.iter().filter(|&&t| t != strip).map(|&t| log_of_sum(strip, t)).sum()
        };
        let (above, below) =
            (log_of_product(&self.data_missing), log_of_product(&self.parity_used));
        (above + ORDER - below % ORDER) % ORDER
    }
}

/// The logarithm of a + b for different points a and b.
fn log_of_sum(a: usize, b: usize) -> usize {
    usize::from(LOG[a ^ b])
}

#[cfg(test)]
mod tests;
