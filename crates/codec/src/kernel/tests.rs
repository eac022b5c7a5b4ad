use super::*;
use crate::field;
use proptest::prelude::*;

/// Bytes that look random and differ from strip to strip.
fn noise(len: usize, mut seed: u64) -> Vec<u8> {
    let next = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 56) as u8
    };
    std::iter::repeat_with(next).take(len).collect()
}

/// One multiplication: shapes, where strips lie, what is written.
#[derive(Clone, Debug)]
struct Case {
    rows: usize,
    columns: Range<usize>,
    len: usize,
    /// Strip `i` begins `skew·i + base` bytes into an allocation.
    base: usize,
    skew: usize,
    write: Write,
}

const MARGIN: usize = 64;

/// The outputs, each with a margin on both sides.
fn run(engine: Engine, case: &Case) -> Vec<Vec<u8>> {
    let entries = noise(case.rows * case.columns.end, 1);
    let matrix = Matrix { rows: case.rows, columns: case.columns.end, entries };
    let offset = |strip: usize| MARGIN + (case.base + case.skew * strip) % MARGIN;
    let sources: Vec<_> =
        case.columns.clone().map(|j| noise(offset(j) + case.len, 2 + j as u64)).collect();
    let mut outputs: Vec<_> =
        (0..case.rows).map(|r| noise(offset(r) + case.len + MARGIN, 900 + r as u64)).collect();
    let source_views: Vec<_> =
        case.columns.clone().zip(&sources).map(|(j, source)| &source[offset(j)..]).collect();
    let mut output_views: Vec<_> = outputs
        .iter_mut()
        .enumerate()
        .map(|(r, output)| &mut output[offset(r)..offset(r) + case.len])
        .collect();
    Prepared::new(engine, matrix).multiply(
        case.columns.clone(),
        &source_views,
        &mut output_views,
        case.write,
    );
    outputs
}

fn assert_all_equal_naive(case: &Case) {
    let expected = run(Engine::NAIVE, case);
    for engine in Engine::available() {
        assert!(run(engine, case) == expected, "{engine} differs from naive: {case:?}");
    }
}

#[test]
fn naive_is_the_definition() {
    let case = Case { rows: 3, columns: 1..5, len: 9, base: 0, skew: 0, write: Write::Add };
    let outputs = run(Engine::NAIVE, &case);
    for (row, output) in outputs.iter().enumerate() {
        let before = noise(output.len(), 900 + row as u64);
        for (at, (&after, &before)) in output.iter().zip(&before).enumerate() {
            let inside = (MARGIN..MARGIN + case.len).contains(&at);
            let sum = case.columns.clone().map(|j| {
                let coefficient = noise(15, 1)[j * 3 + row];
                field::multiply(coefficient, noise(MARGIN + case.len, 2 + j as u64)[at])
            });
            let expected = if inside { sum.fold(before, |a, b| a ^ b) } else { before };
            assert_eq!(after, expected, "row {row}, byte {at}");
        }
    }
}

#[test]
fn every_engine_equals_naive_for_every_length_to_300() {
    for len in 0..=300 {
        for write in [Write::Replace, Write::Stream, Write::Add] {
            assert_all_equal_naive(&Case { rows: 3, columns: 0..4, len, base: 5, skew: 1, write });
        }
    }
}

#[test]
fn every_engine_equals_naive_for_every_number_of_rows_to_30() {
    for rows in 1..=30 {
        for (write, len) in [(Write::Replace, 523), (Write::Stream, 777), (Write::Add, 611)] {
            assert_all_equal_naive(&Case { rows, columns: 0..5, len, base: 0, skew: 8, write });
        }
    }
}

#[test]
fn every_engine_equals_naive_for_every_number_of_sources_to_13() {
    for sources in 1..=13 {
        for rows in 1..=7 {
            for (write, len) in [(Write::Replace, 459), (Write::Stream, 640), (Write::Add, 331)] {
                let columns = 2..2 + sources;
                assert_all_equal_naive(&Case { rows, columns, len, base: 0, skew: 16, write });
            }
        }
    }
}

#[test]
fn streaming_equals_naive_at_every_common_alignment() {
    for base in 0..64 {
        for rows in [1, 13] {
            let (len, write) = (9000 + base, Write::Stream);
            assert_all_equal_naive(&Case { rows, columns: 0..2, len, base, skew: 0, write });
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_engine_equals_naive(
        (rows, first, count) in (1..=40usize, 0..8usize, 1..=40usize),
        len in prop_oneof![0..=200usize, 4000..=4200usize, 8000..=9000usize],
        (base, skew) in (0..64usize, 0..64usize),
        write in prop_oneof![Just(Write::Replace), Just(Write::Stream), Just(Write::Add)],
    ) {
        assert_all_equal_naive(&Case { rows, columns: first..first + count, len, base, skew, write });
    }
}
