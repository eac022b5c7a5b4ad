//! The definition, spelled out: what every other kernel is measured against.

use super::product::{Product, Write};
use crate::field;

pub(super) fn multiply(product: Product<'_, '_, u8>) {
    let Product { coefficients, sources, outputs, len, write } = product;
    let rows = outputs.len();
    for (row, output) in outputs.iter_mut().enumerate() {
        for at in 0..len {
            let mut sum = if write == Write::Add { output[at] } else { 0 };
            for (column, source) in sources.iter().enumerate() {
                sum ^= field::multiply(coefficients[column * rows + row], source[at]);
            }
            output[at] = sum;
        }
    }
}
