//! The field GF(2^8) of bytes: polynomials over GF(2) modulo x⁸ + x⁴ + x³ + x² + 1 (0x11d), in
//! which 2 generates every nonzero element. Addition is exclusive or.

const POLYNOMIAL: u16 = 0x11d;

/// Nonzero elements; the order of the generator 2.
pub(crate) const ORDER: usize = 255;

/// `EXP[e]` = 2^e for `e < 510`, so that two logarithms add without a reduction.
pub(crate) static EXP: [u8; 2 * ORDER] = powers();

/// `LOG[a]` = e with 2^e = a, for nonzero `a`; `LOG[0]` has no meaning.
pub(crate) static LOG: [u8; 256] = logarithms();

/// `PRODUCTS[a][b]` = a·b.
pub(crate) static PRODUCTS: [[u8; 256]; 256] = products();

/// a·b.
pub(crate) fn multiply(a: u8, b: u8) -> u8 {
    if a == 0 || b == 0 {
        0
    } else {
        EXP[usize::from(LOG[usize::from(a)]) + usize::from(LOG[usize::from(b)])]
    }
}

/// 2^−e where 2^e = `a`, for nonzero `a`.
pub(crate) fn invert(a: u8) -> u8 {
    debug_assert_ne!(a, 0, "zero has no inverse");
    EXP[ORDER - usize::from(LOG[usize::from(a)])]
}

/// Multiplication by a constant as two tables of 16: `c·b` is the entry of b's low four bits, in
/// the first half, plus the entry of its high four bits, in the second.
#[cfg_attr(
    not(any(target_arch = "x86_64", target_arch = "aarch64", test)),
    expect(dead_code, reason = "only kernels that look up nibbles use it")
)]
pub(crate) fn nibbles(c: u8) -> [u8; 32] {
    let mut table = [0; 32];
    for index in 0..16u8 {
        table[usize::from(index)] = multiply(c, index);
        table[usize::from(index) + 16] = multiply(c, index << 4);
    }
    table
}

/// Multiplication by a constant as an 8×8 matrix over GF(2) in the layout of Intel's
/// `GF2P8AFFINEQB`: byte `7−i`, bit `j` says whether input bit `j` enters output bit `i`.
#[cfg_attr(
    not(any(target_arch = "x86_64", test)),
    expect(dead_code, reason = "only kernels with Galois-field instructions use it")
)]
pub(crate) fn affine(c: u8) -> u64 {
    let mut rows = [0u8; 8];
    for column in 0..8 {
        let image = multiply(c, 1 << column);
        for (bit, row) in rows.iter_mut().rev().enumerate() {
            *row |= (image >> bit & 1) << column;
        }
    }
    u64::from_le_bytes(rows)
}

const fn powers() -> [u8; 2 * ORDER] {
    let mut table = [0; 2 * ORDER];
    let mut power: u16 = 1;
    let mut exponent = 0;
    while exponent < table.len() {
        table[exponent] = power as u8;
        power <<= 1;
        if power & 0x100 != 0 {
            power ^= POLYNOMIAL;
        }
        exponent += 1;
    }
    table
}

const fn logarithms() -> [u8; 256] {
    let exp = powers();
    let mut table = [0; 256];
    let mut exponent = 0;
    while exponent < ORDER {
        table[exp[exponent] as usize] = exponent as u8;
        exponent += 1;
    }
    table
}

#[expect(clippy::large_stack_arrays, reason = "evaluated by the compiler")]
const fn products() -> [[u8; 256]; 256] {
    let (exp, log) = (powers(), logarithms());
    let mut table = [[0; 256]; 256];
    let mut a = 1;
    while a < 256 {
        let mut b = 1;
        while b < 256 {
            table[a][b] = exp[log[a] as usize + log[b] as usize];
            b += 1;
        }
        a += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Schoolbook multiplication: shift, add, reduce.
    fn by_the_book(a: u8, b: u8) -> u8 {
        let mut product: u16 = 0;
        for bit in (0..8).rev() {
            product <<= 1;
            if product & 0x100 != 0 {
                product ^= POLYNOMIAL;
            }
            if b >> bit & 1 != 0 {
                product ^= u16::from(a);
            }
        }
        product as u8
    }

    #[test]
    fn every_product_is_the_schoolbook_product() {
        for a in 0..=255 {
            for b in 0..=255 {
                assert_eq!(multiply(a, b), by_the_book(a, b), "{a}·{b}");
                assert_eq!(PRODUCTS[usize::from(a)][usize::from(b)], by_the_book(a, b), "{a}·{b}");
            }
        }
    }

    #[test]
    fn the_field_axioms_hold() {
        for a in 0..=255u8 {
            assert_eq!(multiply(a, 1), a);
            if a != 0 {
                assert_eq!(multiply(a, invert(a)), 1, "inverse of {a}");
            }
            for b in 0..=255u8 {
                assert_eq!(multiply(a, b), multiply(b, a));
                assert!(a == 0 || b == 0 || multiply(a, b) != 0, "{a} and {b} divide zero");
                for c in (0..=255u8).step_by(7) {
                    assert_eq!(multiply(a, multiply(b, c)), multiply(multiply(a, b), c));
                    assert_eq!(multiply(a, b ^ c), multiply(a, b) ^ multiply(a, c));
                }
            }
        }
    }

    #[test]
    fn both_forms_of_a_constant_multiply_like_it() {
        for c in 0..=255u8 {
            let (halves, matrix) = (nibbles(c), affine(c).to_le_bytes());
            for b in 0..=255u8 {
                let looked_up = halves[usize::from(b & 15)] ^ halves[16 + usize::from(b >> 4)];
                assert_eq!(looked_up, multiply(c, b), "{c}·{b} by nibbles");
                let transformed = (0..8)
                    .map(|bit| (((matrix[7 - bit] & b).count_ones() & 1) as u8) << bit)
                    .fold(0, |byte, bit| byte | bit);
                assert_eq!(transformed, multiply(c, b), "{c}·{b} by matrix");
            }
        }
    }
}
