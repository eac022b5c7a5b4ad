//! A fit that a log's reader sees goes by the bulk, and nodes are compared whatever they served.

mod drawn;

use drawn::{SIZES, first_of};
use ripstop_delay::{Correlation, DelayModel as _, Dice, Preset, ShiftedExponential};
use ripstop_estimator::{Fit, NodePace, OUTLIERS_MAX, Sample, paces};
use ripstop_model::{NodeId, Operation};
use std::{collections::BTreeMap, time::Duration};

const COUNT: usize = 20_000;
const LAW: ShiftedExponential = ShiftedExponential::S3_2013_A;

/// How far a parameter at 1 MB is off what the tasks were drawn with, as a share.
fn off(fit: &Fit) -> (f64, f64) {
    let bytes = 1_000_000;
    let (shift, excess) = (LAW.shift_at(bytes), LAW.excess_at(bytes));
    (fit.model.shift_at(bytes) / shift - 1.0, fit.model.excess_at(bytes) / excess - 1.0)
}

/// Tasks of the law, of which `share` are changed.
fn with(share: f64, seed: u64, change: impl Fn(Duration, &mut Dice) -> Duration) -> Vec<Sample> {
    let mut dice = Dice::new(seed ^ 0x5eed);
    let samples = first_of(Preset::S3In2013A, (1, 1), COUNT, Correlation::NONE, seed);
    let changed = |sample: Sample| {
        let outlier = dice.uniform() < share;
        let served = if outlier { change(sample.served, &mut dice) } else { sample.served };
        Sample { served, ..sample }
    };
    samples.into_iter().map(changed).collect()
}

#[test]
fn slow_outliers_are_told_apart_wherever_they_lie() {
    for seed in 1..=5 {
        let tenfold = with(0.05, seed, |served, _| served * 10);
        let held_up = with(0.05, seed, |served, _| served + Duration::from_millis(700));
        let timeouts =
            with(0.05, seed, |_, dice| Duration::from_secs_f64(2.0 + 8.0 * dice.uniform()));
        for samples in [tenfold, held_up, timeouts] {
            let plain = off(&Fit::of(samples.clone(), None).unwrap());
            let fit = Fit::sturdy(samples, None).unwrap();
            let (shift, excess) = off(&fit);
            assert!(plain.1 > 0.12, "the plain fit is moved: {plain:?}");
            assert!(shift.abs() < 0.04 && excess.abs() < 0.04, "{shift} {excess} {fit:?}");
            assert!((fit.outliers.slow - 0.05).abs() < 0.015, "{fit:?}");
            assert!(fit.outliers.quick <= 0.0, "{fit:?}");
        }
    }
}

#[test]
fn outliers_that_overlap_the_bulk_move_it_less_than_half_as_far() {
    for seed in 1..=5 {
        let samples = with(0.05, seed, |served, _| served * 3);
        let plain = off(&Fit::of(samples.clone(), None).unwrap());
        let sturdy = off(&Fit::sturdy(samples, None).unwrap());
        assert!(sturdy.1.abs() < 0.5 * plain.1.abs(), "{sturdy:?} {plain:?}");
    }
}

#[test]
fn quick_outliers_are_told_apart() {
    for seed in 1..=5 {
        let samples = with(0.05, seed, |_, dice| Duration::from_secs_f64(1e-3 * dice.uniform()));
        let plain = off(&Fit::of(samples.clone(), None).unwrap());
        let fit = Fit::sturdy(samples, None).unwrap();
        let (shift, excess) = off(&fit);
        assert!(plain.0 < -0.08, "the plain fit is moved: {plain:?}");
        assert!(shift.abs() < 0.04 && excess.abs() < 0.05, "{shift} {excess} {fit:?}");
        assert!((fit.outliers.quick - 0.05).abs() < 0.006, "{fit:?}");
    }
}

#[test]
fn where_nothing_is_off_nothing_is_left_out() {
    for code in [(1, 1), (6, 6), (12, 6), (3, 1)] {
        for seed in 1..=40 {
            let samples = first_of(Preset::S3In2013B, code, COUNT, Correlation::NONE, seed);
            let (fit, plain) = (Fit::sturdy(samples.clone(), None), Fit::of(samples, None));
            let (fit, plain) = (fit.unwrap(), plain.unwrap());
            assert!(
                fit.outliers.slow < 0.01 && fit.outliers.quick <= 0.0,
                "{code:?} {seed} {fit:?}"
            );
            let ratio = fit.model.excess_at(1_000_000) / plain.model.excess_at(1_000_000);
            assert!((ratio - 1.0).abs() < 0.06, "{code:?} {seed}: {ratio}");
            assert_eq!((fit.literal, fit.whole), (plain.literal, plain.model));
        }
    }
}

#[test]
fn a_size_that_is_off_does_not_bend_the_line() {
    let mut samples = with(0.0, 3, |served, _| served);
    for sample in samples.iter_mut().filter(|sample| sample.bytes == SIZES[5]) {
        sample.served *= 4;
    }
    let plain = off(&Fit::of(samples.clone(), None).unwrap());
    let fit = Fit::sturdy(samples, None).unwrap();
    let (shift, excess) = off(&fit);
    assert!(plain.0.abs().max(plain.1.abs()) > 0.2, "the plain fit is bent: {plain:?}");
    assert!(shift.abs() < 0.06 && excess.abs() < 0.06, "{shift} {excess} {fit:?}");
}

#[test]
fn of_more_outliers_than_a_bulk_has_no_more_are_told_apart() {
    let fit = Fit::sturdy(with(0.45, 1, |served, _| served * 40), None).unwrap();
    assert!(fit.outliers.slow <= OUTLIERS_MAX, "{fit:?}");
    assert!(fit.model.excess_at(1_000_000).is_finite());
}

/// Nodes of given slowness, each with chunks of its own sizes.
fn served(nodes: &[(f64, &[u64])], law: impl Fn(u64) -> u64) -> BTreeMap<NodeId, NodePace> {
    let (mut model, mut dice) = (LAW, Dice::new(9));
    let mut samples = BTreeMap::<NodeId, Vec<Sample>>::new();
    for (at, &(slowness, sizes)) in nodes.iter().enumerate() {
        let node = NodeId(at as u16);
        for number in 0..6000 {
            let (operation, bytes) = (Operation::Read, sizes[number % sizes.len()]);
            let served = model.sample(operation.into(), law(bytes), &mut dice).mul_f64(slowness);
            let sample = Sample { operation, node, bytes, served, finished: true };
            samples.entry(node).or_default().push(sample);
        }
    }
    paces(&samples)
}

fn ratio(paces: &BTreeMap<NodeId, NodePace>) -> f64 {
    paces[&NodeId(1)].factor / paces[&NodeId(0)].factor
}

#[test]
fn nodes_are_compared_whatever_sizes_they_served() {
    let (small, large) = (&[500_000, 1_000_000][..], &[2_000_000, 3_000_000][..]);
    let (low, high) = (&[500_000, 1_000_000, 2_000_000][..], &[2_000_000, 3_000_000][..]);
    for slowness in [1.0, 1.5] {
        let apart = served(&[(1.0, small), (slowness, large), (1.0, &SIZES)], |bytes| bytes);
        assert!((ratio(&apart) / slowness - 1.0).abs() < 0.03, "{apart:?}");
        let overlapping = served(&[(1.0, low), (slowness, high)], |bytes| bytes);
        assert!((ratio(&overlapping) / slowness - 1.0).abs() < 0.05, "{overlapping:?}");
        assert!(overlapping.values().all(|pace| pace.tied && pace.finished > 5000));
    }
    // Delays that are on no line do not matter where sizes tie the nodes.
    let bent =
        served(
            &[(1.0, low), (1.0, high)],
            |bytes| if bytes > 1_500_000 { 9_000_000 } else { bytes },
        );
    assert!((ratio(&bent) - 1.0).abs() < 0.05, "{bent:?}");
    // Without a size in common, the line through all is what is left.
    let untied = served(&[(1.0, small), (1.0, large)], |bytes| bytes);
    assert!((ratio(&untied) - 1.0).abs() < 0.08, "{untied:?}");
    assert!(untied.values().all(|pace| !pace.tied));
}

#[test]
fn paces_of_many_sizes_are_tied_by_their_classes() {
    let even: Vec<u64> = (0..100).map(|at| 500_000 + at * 25_000).collect();
    let odd: Vec<u64> = even.iter().map(|bytes| bytes + 1).collect();
    let paces = served(&[(1.0, &even), (2.0, &odd)], |bytes| bytes);
    assert!((ratio(&paces) / 2.0 - 1.0).abs() < 0.04, "{paces:?}");
    assert!(paces.values().all(|pace| pace.tied && pace.deviation < 0.02));
}
