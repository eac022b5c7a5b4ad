use super::*;
use crate::field::multiply;
use proptest::prelude::*;

/// Row `strip` of the generator.
fn generator_row(parity: &Matrix, strip: usize) -> Vec<u8> {
    let columns = parity.columns;
    (0..columns)
        .map(|column| match strip.checked_sub(columns) {
            Some(row) => parity.entry(row, column),
            None => u8::from(strip == column),
        })
        .collect()
}

/// How many rows are independent, by elimination: knows nothing of Cauchy.
fn rank(mut rows: Vec<Vec<u8>>) -> usize {
    let mut rank = 0;
    for column in 0..rows.first().map_or(0, Vec::len) {
        let Some(pivot) = (rank..rows.len()).find(|&row| rows[row][column] != 0) else { continue };
        rows.swap(rank, pivot);
        let (above, below) = rows.split_at_mut(rank + 1);
        let pivot = &above[rank];
        for row in below {
            let factor = multiply(row[column], invert(pivot[column]));
            row.iter_mut().zip(pivot).for_each(|(entry, &p)| *entry ^= multiply(factor, p));
        }
        rank += 1;
    }
    rank
}

/// Asserts that the coefficients for `wanted` turn the generator rows of `sources` into theirs.
fn assert_rebuilds(code: Code, sources: &[usize], wanted: &[usize]) {
    let parity = Matrix::parity(code);
    let rebuild = Matrix::rebuild(code, sources, wanted);
    let source_rows: Vec<_> = sources.iter().map(|&strip| generator_row(&parity, strip)).collect();
    for (row, &strip) in wanted.iter().enumerate() {
        let mut sum = vec![0; code.k()];
        for (column, source_row) in source_rows.iter().enumerate() {
            let factor = rebuild.entry(row, column);
            sum.iter_mut().zip(source_row).for_each(|(s, &g)| *s ^= multiply(factor, g));
        }
        assert_eq!(sum, generator_row(&parity, strip), "{code}: strip {strip} from {sources:?}");
    }
}

fn for_each_choice(code: Code, mut check: impl FnMut(&[usize])) {
    for bits in 0u32..1 << code.n() {
        if bits.count_ones() as usize == code.k() {
            let strips: Vec<_> = (0..code.n()).filter(|strip| bits >> strip & 1 != 0).collect();
            check(&strips);
        }
    }
}

fn codes_up_to(n_max: usize) -> impl Iterator<Item = Code> {
    (1..=n_max).flat_map(|n| (1..=n).map(move |k| Code::new(n, k).unwrap()))
}

#[test]
fn any_k_rows_are_independent_up_to_twelve_strips() {
    for code in codes_up_to(12) {
        let parity = Matrix::parity(code);
        for_each_choice(code, |strips| {
            let rows = strips.iter().map(|&strip| generator_row(&parity, strip)).collect();
            assert_eq!(rank(rows), code.k(), "{code}, rows {strips:?}");
        });
    }
}

#[test]
fn any_k_strips_give_every_strip_up_to_ten_strips() {
    for code in codes_up_to(10) {
        let all: Vec<_> = (0..code.n()).collect();
        for_each_choice(code, |sources| assert_rebuilds(code, sources, &all));
    }
}

#[test]
fn the_extreme_choices_of_large_codes_give_every_strip() {
    for (n, k) in [(255, 128), (255, 127), (255, 1), (255, 254), (255, 255), (254, 64)] {
        let code = Code::new(n, k).unwrap();
        let wanted: Vec<_> = (0..n).step_by(5).chain([n - 1]).collect();
        let last: Vec<_> = (n - k..n).collect();
        let alternating: Vec<_> = (0..n).step_by(2).chain((1..n).step_by(2)).take(k).collect();
        assert_rebuilds(code, &last, &wanted);
        assert_rebuilds(code, &alternating, &wanted);
    }
}

#[test]
fn the_matrix_is_that_of_the_oracle() {
    for (n, k) in [(2, 1), (6, 4), (12, 6), (14, 10), (24, 12), (129, 128), (255, 128), (255, 1)] {
        let ours = Matrix::parity(Code::new(n, k).unwrap());
        let theirs = rusty_erasure::Matrix::cauchy(k, n - k).unwrap();
        for row in 0..n - k {
            for column in 0..k {
                assert_eq!(Some(ours.entry(row, column)), theirs.get(row + k, column));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_k_strips_give_any_strip(
        (code, order) in (1..=255usize).prop_flat_map(|n| (1..=n, Just(n))).prop_flat_map(|(k, n)| {
            let order = Just((0..n).collect::<Vec<_>>()).prop_shuffle();
            (Just(Code::new(n, k).unwrap()), order)
        })
    ) {
        let wanted: Vec<_> = order.iter().rev().copied().take(6).chain([order[0]]).collect();
        assert_rebuilds(code, &order[..code.k()], &wanted);
    }
}
