//! Bytes through the public face: whatever is lost comes back, and misuse is an error.

use proptest::prelude::*;
use ripstop_codec::{Codec, CodecError, Engine, Stores};
use ripstop_model::{Code, StripSet};

fn code(n: usize, k: usize) -> Code {
    Code::new(n, k).expect("within 1..=255")
}

fn noise(len: usize, seed: usize) -> Vec<u8> {
    let mut state = seed as u64 ^ 0x9e37_79b9_7f4a_7c15;
    let next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(len).collect()
}

fn views(strips: &[Vec<u8>]) -> Vec<&[u8]> {
    strips.iter().map(Vec::as_slice).collect()
}

fn views_mut(strips: &mut [Vec<u8>]) -> Vec<&mut [u8]> {
    strips.iter_mut().map(Vec::as_mut_slice).collect()
}

/// All N strips of a stripe of noise.
fn stripe(codec: &Codec, len: usize) -> Vec<Vec<u8>> {
    let code = codec.code();
    let mut strips: Vec<_> = (0..code.k()).map(|strip| noise(len, strip)).collect();
    let mut parity = vec![vec![0xaa; len]; code.parity()];
    codec.encode(&views(&strips), &mut views_mut(&mut parity)).expect("shapes fit");
    strips.append(&mut parity);
    strips
}

/// Asserts that the strips `present` give all strips.
fn assert_recovers(codec: &Codec, strips: &[Vec<u8>], present: StripSet) {
    let wanted: Vec<_> = (0..strips.len()).collect();
    let plan = codec.plan(present, &wanted).expect("K strips are present");
    assert_eq!(plan.wanted(), wanted);
    assert_eq!(plan.sources().len(), codec.code().k());
    let sources: Vec<_> = plan.sources().iter().map(|&strip| strips[strip].as_slice()).collect();
    let mut rebuilt = vec![vec![0x55; strips[0].len()]; strips.len()];
    plan.run(&sources, &mut views_mut(&mut rebuilt)).expect("shapes fit");
    assert!(rebuilt == strips, "{} from {present:?}", codec.code());
}

#[test]
fn any_k_strips_give_back_all_bytes_up_to_twelve_strips() {
    for n in 1..=12 {
        for k in 1..=n {
            let codec = Codec::new(code(n, k));
            let strips = stripe(&codec, 21);
            for bits in 0usize..1 << n {
                if bits.count_ones() as usize == k {
                    let present = (0..n).filter(|strip| bits >> strip & 1 != 0).collect();
                    assert_recovers(&codec, &strips, present);
                }
            }
        }
    }
}

#[test]
fn large_codes_come_back_from_parity_alone_and_from_the_last_strips() {
    for (n, k) in [(255, 127), (255, 128), (255, 200), (255, 255), (255, 1), (200, 100)] {
        let codec = Codec::new(code(n, k));
        let strips = stripe(&codec, 131);
        assert_recovers(&codec, &strips, (n - k..n).collect());
        assert_recovers(
            &codec,
            &strips,
            (0..n).step_by(2).chain((1..n).step_by(2)).take(k).collect(),
        );
    }
}

#[test]
fn parity_is_that_of_the_oracle_with_every_engine() {
    for (n, k) in [(3, 2), (4, 2), (6, 4), (12, 6), (14, 10), (24, 12), (40, 7), (255, 128)] {
        for len in [1, 64, 1000] {
            let data: Vec<_> = (0..k).map(|strip| noise(len, strip)).collect();
            let mut expected = vec![vec![0; len]; n - k];
            let matrix = rusty_erasure::Matrix::cauchy(k, n - k).unwrap();
            let oracle = rusty_erasure::Coder::new(matrix).unwrap();
            oracle.encode(&views(&data), &mut views_mut(&mut expected)).unwrap();
            for engine in Engine::available() {
                let codec = Codec::with_engine(code(n, k), engine);
                assert!(stripe(&codec, len)[k..] == expected, "({n},{k}), {len} bytes, {engine}");
            }
        }
    }
}

#[test]
fn present_data_strips_are_read_before_parity() {
    let codec = Codec::new(code(7, 4));
    let plan = codec.plan(StripSet::from_iter([6, 5, 3, 0, 4]), &[1, 6]).unwrap();
    assert_eq!(plan.sources(), [0, 3, 4, 5]);
    assert_eq!(plan.wanted(), [1, 6]);
}

#[test]
fn a_code_without_parity_has_nothing_to_write() {
    let codec = Codec::new(code(3, 3));
    assert_eq!(codec.encode(&[b"a", b"b", b"c"], &mut []), Ok(()));
    assert_eq!(codec.update(1, b"x", &mut []), Ok(()));
}

#[test]
fn empty_strips_are_strips() {
    let codec = Codec::new(code(4, 2));
    assert_recovers(&codec, &stripe(&codec, 0), StripSet::from_iter([2, 3]));
}

#[test]
fn what_does_not_fit_is_an_error_and_writes_nothing() {
    let codec = Codec::new(code(5, 3));
    let data: [&[u8]; 3] = [b"abc", b"def", b"ghi"];
    let (mut p, mut q, mut short) = ([7; 3], [7; 3], [7; 2]);
    assert_eq!(
        codec.encode(&data[..2], &mut [&mut p, &mut q]),
        Err(CodecError::SourceCount { expected: 3, given: 2 })
    );
    assert_eq!(
        codec.encode(&data, &mut [&mut p]),
        Err(CodecError::OutputCount { expected: 2, given: 1 })
    );
    assert_eq!(
        codec.encode(&data, &mut [&mut p, &mut short]),
        Err(CodecError::LengthsDiffer { expected: 3, given: 2 })
    );
    assert_eq!(
        codec.encode(&[b"abc", b"de", b"ghi"], &mut [&mut p, &mut q]),
        Err(CodecError::LengthsDiffer { expected: 3, given: 2 })
    );
    assert_eq!(
        codec.update(3, b"abc", &mut [&mut p, &mut q]),
        Err(CodecError::NoSuchStrip { strip: 3, count: 3 })
    );
    assert_eq!(
        codec.update(0, b"ab", &mut [&mut p, &mut q]),
        Err(CodecError::LengthsDiffer { expected: 2, given: 3 })
    );
    assert_eq!(
        codec.update(0, b"abc", &mut [&mut p]),
        Err(CodecError::OutputCount { expected: 2, given: 1 })
    );
    let plan = codec.plan(StripSet::first(3), &[4]).unwrap();
    assert_eq!(
        plan.run(&data[..1], &mut [&mut p]),
        Err(CodecError::SourceCount { expected: 3, given: 1 })
    );
    assert_eq!(
        plan.run(&data, &mut [&mut p, &mut q]),
        Err(CodecError::OutputCount { expected: 1, given: 2 })
    );
    assert_eq!(
        plan.run(&data, &mut [&mut short]),
        Err(CodecError::LengthsDiffer { expected: 3, given: 2 })
    );
    assert_eq!((p, q, short), ([7; 3], [7; 3], [7; 2]));
}

#[test]
fn impossible_plans_are_errors() {
    let codec = Codec::new(code(5, 3));
    let refused = |present: &[usize], wanted: &[usize]| {
        codec.plan(present.iter().copied().collect(), wanted).unwrap_err()
    };
    assert_eq!(refused(&[0, 4], &[1]), CodecError::TooFewPresent { needed: 3, present: 2 });
    assert_eq!(refused(&[0, 1, 5], &[2]), CodecError::NoSuchStrip { strip: 5, count: 5 });
    assert_eq!(refused(&[0, 1, 2, 3, 255], &[2]), CodecError::NoSuchStrip { strip: 255, count: 5 });
    assert!(refused(&[0, 1, 2], &[usize::MAX]).to_string().contains("no strip"));
}

/// A code, a length, an engine, how to store, and an order of the code's strips.
fn cases() -> impl Strategy<Value = (Codec, usize, Vec<usize>)> {
    let engines: Vec<_> = Engine::available().collect();
    let stores = prop_oneof![Just(Stores::Cached), Just(Stores::Streaming)];
    (1..=60usize, 0..=700usize, prop::sample::select(engines), stores)
        .prop_flat_map(|(n, len, engine, stores)| (1..=n, Just((n, len, engine, stores))))
        .prop_flat_map(|(k, (n, len, engine, stores))| {
            let codec = Codec::with_engine(code(n, k), engine).with_stores(stores);
            let order = Just((0..n).collect::<Vec<_>>()).prop_shuffle();
            (Just(codec), Just(len), order)
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_k_strips_give_back_all_bytes((codec, len, order) in cases()) {
        let strips = stripe(&codec, len);
        assert_recovers(&codec, &strips, order[..codec.code().k()].iter().copied().collect());
    }

    #[test]
    fn an_update_equals_encoding_again((codec, len, order) in cases(), seed: u16) {
        let k = codec.code().k();
        let mut strips = stripe(&codec, len);
        let changed = order[0] % k;
        let delta = noise(len, usize::from(seed));
        codec.update(changed, &delta, &mut views_mut(&mut strips[k..])).unwrap();
        strips[changed].iter_mut().zip(&delta).for_each(|(byte, d)| *byte ^= d);
        let mut parity = vec![vec![0; len]; codec.code().parity()];
        codec.encode(&views(&strips[..k]), &mut views_mut(&mut parity)).unwrap();
        prop_assert!(strips[k..] == parity);
    }

    #[test]
    fn ranges_can_be_coded_alone((codec, len, _) in cases(), cut: prop::sample::Index) {
        let k = codec.code().k();
        let whole = stripe(&codec, len);
        let cut = cut.index(len + 1);
        let mut parity = vec![vec![0; len]; codec.code().parity()];
        for range in [0..cut, cut..len] {
            let data: Vec<_> = whole[..k].iter().map(|strip| &strip[range.clone()]).collect();
            let mut out: Vec<_> = parity.iter_mut().map(|strip| &mut strip[range.clone()]).collect();
            codec.encode(&data, &mut out).unwrap();
        }
        prop_assert!(whole[k..] == parity);
    }
}
