//! One lookup per byte in the 256 products of the coefficient.

use super::product::{Product, Write};
use crate::field::PRODUCTS;

/// Bytes coded at a time, so that the outputs stay in the first-level cache while sources pass.
const BLOCK: usize = 4096;

pub(super) fn multiply(product: Product<'_, '_, u8>) {
    let Product { coefficients, sources, outputs, len, write } = product;
    let rows = outputs.len();
    for start in (0..len).step_by(BLOCK) {
        let block = start..len.min(start + BLOCK);
        for (row, output) in outputs.iter_mut().enumerate() {
            let output = &mut output[block.clone()];
            if write != Write::Add {
                output.fill(0);
            }
            for (column, source) in sources.iter().enumerate() {
                let products = &PRODUCTS[usize::from(coefficients[column * rows + row])];
                for (sum, &byte) in output.iter_mut().zip(&source[block.clone()]) {
                    *sum ^= products[usize::from(byte)];
                }
            }
        }
    }
}
