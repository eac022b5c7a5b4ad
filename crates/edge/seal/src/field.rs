//! Arithmetic in POLYVAL's field (RFC 8452, section 3): polynomials over GF(2), bit i of a
//! little-endian number being the coefficient of x^i, modulo 1 + x^121 + x^126 + x^127 + x^128. No
//! branch and no address depends on a value.

/// x^57 + x^62 + x^63: the modulus without its first and last term, divided by x^64.
pub(crate) const FOLD: u64 = 0xc200_0000_0000_0000;

/// Every fourth bit.
const MASK: u64 = 0x1111_1111_1111_1111;

/// `a`·`b`, not reduced. Integer multiplication of numbers of which only every fourth bit is set
/// carries into the three between, which are cleared afterwards.
fn product(a: u64, b: u64) -> u128 {
    // Sixteen terms that meet would carry into the fourth bit; without the lowest of `a` there are
    // fifteen.
    let high: [u64; 4] = std::array::from_fn(|at| a & (MASK << at) & !0xf);
    let b_parts: [u64; 4] = std::array::from_fn(|at| b & (MASK << at));
    let mut sum = 0;
    for at in 0..4 {
        let mut class = 0;
        for (first, high) in high.iter().enumerate() {
            class ^= u128::from(*high) * u128::from(b_parts[(at + 4 - first) % 4]);
        }
        sum ^= class & (u128::from(MASK) << 64 | u128::from(MASK)) << at;
        let lowest = (a >> at & 1).wrapping_neg();
        sum ^= u128::from(b & lowest) << at;
    }
    sum
}

/// `a`·`b`·x^-128: POLYVAL's product.
pub(crate) fn dot(a: u128, b: u128) -> u128 {
    let halves = |a: u128| (a as u64, (a >> 64) as u64);
    let ((a_low, a_high), (b_low, b_high)) = (halves(a), halves(b));
    let (low, high) = (product(a_low, b_low), product(a_high, b_high));
    let middle = product(a_low ^ a_high, b_low ^ b_high) ^ low ^ high;
    // Multiples of the modulus cancel the lowest 64 bits, twice.
    let fold = |sum: u128| {
        let lowest = u128::from(sum as u64);
        sum.rotate_left(64) ^ lowest << 57 ^ lowest << 62 ^ lowest << 63
    };
    high ^ fold(middle ^ fold(low))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plain(a: u64, b: u64) -> u128 {
        (0..64).filter(|bit| b >> bit & 1 == 1).fold(0, |sum, bit| sum ^ u128::from(a) << bit)
    }

    #[test]
    fn the_product_is_right_where_most_terms_meet() {
        for (a, b) in
            [(u64::MAX, u64::MAX), (MASK, MASK), (MASK << 3, u64::MAX), (1 << 63, 1 << 63)]
        {
            assert_eq!(product(a, b), plain(a, b));
        }
    }

    /// RFC 8452, appendix A.
    #[test]
    fn the_dot_product_is_that_of_the_rfc() {
        let [a, b, expected] = [
            "66e94bd4ef8a2c3b884cfa59ca342b2e",
            "ff000000000000000000000000000000",
            "ebe563401e7e91ea3ad6426b8140c394",
        ]
        .map(|text| u128::from_le_bytes(hex::decode(text).unwrap().try_into().unwrap()));
        assert_eq!(dot(a, b), expected);
    }

    proptest! {
        #[test]
        fn the_product_is_the_sum_of_shifted_terms(a: u64, b: u64) {
            prop_assert_eq!(product(a, b), plain(a, b));
        }

        #[test]
        fn it_is_a_field(a: u128, b: u128, c: u128) {
            prop_assert_eq!(dot(a, b), dot(b, a));
            prop_assert_eq!(dot(a, dot(b, c)), dot(dot(a, b), c));
            prop_assert_eq!(dot(a, b ^ c), dot(a, b) ^ dot(a, c));
        }
    }
}
