//! A fit gives back the model that its samples were drawn from.

mod drawn;

use drawn::{SIZES, first_of};
use proptest::prelude::*;
use ripstop_delay::{Correlation, Preset, ShiftedExponential};
use ripstop_estimator::{Distribution, Fit, Sample, fit_log};
use ripstop_model::{NodeId, Operation};
use std::{fmt::Write as _, time::Duration};

const COUNT: usize = 20_000;

fn drawn(preset: Preset, code: (usize, usize), seed: u64) -> (ShiftedExponential, Vec<Sample>) {
    let samples = first_of(preset, code, COUNT, Correlation::NONE, seed);
    (preset.shifted_exponential().expect("a preset of 2013"), samples)
}

/// Δ̄, Δ̃, Ψ̄, Ψ̃
fn parameters(model: &ShiftedExponential) -> [f64; 4] {
    [model.shift_ms, model.shift_ms_per_mb, model.mean_ms, model.mean_ms_per_mb]
}

fn assert_near(got: &ShiftedExponential, model: &ShiftedExponential, ms: [f64; 4], share: f64) {
    let pairs = parameters(got).into_iter().zip(parameters(model)).zip(ms);
    for ((got_ms, expected), tolerance) in pairs {
        assert!((got_ms - expected).abs() < tolerance, "{got:?} is not {model:?}");
    }
    for bytes in SIZES {
        let shift = (got.shift_at(bytes) - model.shift_at(bytes)) / model.excess_at(bytes);
        let excess = got.excess_at(bytes) / model.excess_at(bytes) - 1.0;
        assert!(shift.abs() < share && excess.abs() < share, "{bytes}: {got:?} is not {model:?}");
    }
}

#[test]
fn the_model_comes_back_from_tasks_that_all_finish() {
    for preset in [Preset::S3In2013A, Preset::S3In2013B] {
        for seed in 1..=5 {
            let (model, samples) = drawn(preset, (6, 6), seed);
            let fit = Fit::of(samples, None).unwrap();
            assert_near(&fit.model, &model, [4.0, 3.0, 6.0, 5.0], 0.05);
            assert_eq!((fit.finished, fit.cancelled, fit.sizes), (19_998, 0, 6));
            assert_eq!((fit.bytes_min, fit.bytes_max), (500_000, 3_000_000));
            assert!((fit.kept_min - 0.9).abs() < 1e-3, "{fit:?}");
            assert!(fit.mean_residual_ms < 4.0 && fit.deviation_residual_ms < 4.0, "{fit:?}");
        }
    }
}

#[test]
fn the_model_comes_back_from_the_first_6_of_12() {
    for preset in [Preset::S3In2013A, Preset::S3In2013B] {
        for seed in 1..=5 {
            let (model, samples) = drawn(preset, (12, 6), seed);
            let fit = Fit::of(samples, None).unwrap();
            assert_near(&fit.model, &model, [6.0, 4.0, 12.0, 10.0], 0.1);
            assert_eq!(fit.finished.abs_diff(fit.cancelled), 0);
            assert!((0.65..0.91).contains(&fit.kept_min), "{fit:?}");
        }
    }
}

#[test]
fn the_fit_has_no_bias() {
    for (code, shift_ms, excess_ms) in [((6, 6), 0.3, 0.6), ((12, 6), 0.6, 1.5), ((3, 1), 1.0, 3.0)]
    {
        let (mut shift, mut excess) = (0.0, 0.0);
        for seed in 0..40 {
            let (_, samples) = drawn(Preset::S3In2013A, code, 100 + seed);
            let fit = Fit::of(samples, None).unwrap();
            shift += fit.model.shift_at(1_000_000) / 40.0;
            excess += fit.model.excess_at(1_000_000) / 40.0;
        }
        assert!((shift - 55.0).abs() < shift_ms, "{code:?}: {shift}");
        assert!((excess - 68.6).abs() < excess_ms, "{code:?}: {excess}");
    }
}

#[test]
fn without_the_cancelled_a_fit_would_be_far_too_fast() {
    let (model, samples) = drawn(Preset::S3In2013A, (12, 6), 1);
    let finished = samples.into_iter().filter(|sample| sample.finished);
    let fit = Fit::of(finished, None).unwrap();
    assert!(fit.model.excess_at(1_000_000) < 0.5 * model.excess_at(1_000_000), "{fit:?}");
}

#[test]
fn correlated_tasks_make_the_fit_too_slow() {
    let samples = first_of(Preset::S3In2013A, (12, 6), COUNT, Correlation::new(0.3), 1);
    let fit = Fit::of(samples, None).unwrap();
    assert!((1.2..1.6).contains(&(fit.model.excess_at(1_000_000) / 68.6)), "{fit:?}");
}

/// The paper's recipe, step by step, for tasks that all finished and sizes that count alike.
fn naive(samples: &[Sample]) -> [f64; 4] {
    let mut points = Vec::new();
    for bytes in SIZES {
        let of_size = samples.iter().filter(|sample| sample.bytes == bytes);
        let mut ms: Vec<f64> = of_size.map(|sample| sample.served.as_secs_f64() * 1e3).collect();
        ms.sort_by(f64::total_cmp);
        ms.truncate(ms.len() - ms.len() / 10);
        let mean = ms.iter().sum::<f64>() / ms.len() as f64;
        let variance = ms.iter().map(|ms| (ms - mean).powi(2)).sum::<f64>() / ms.len() as f64;
        points.push((bytes as f64 / 1e6, mean, variance.sqrt()));
    }
    let line = |y: &dyn Fn(&(f64, f64, f64)) -> f64| {
        let count = points.len() as f64;
        let sum = |term: &dyn Fn(&(f64, f64, f64)) -> f64| points.iter().map(term).sum::<f64>();
        let (x_sum, y_sum) = (sum(&|p| p.0), sum(y));
        let slope = (count * sum(&|p| p.0 * y(p)) - x_sum * y_sum)
            / (count * sum(&|p| p.0 * p.0) - x_sum * x_sum);
        ((y_sum - slope * x_sum) / count, slope)
    };
    let (shift, excess) = (line(&|p| p.1 - p.2), line(&|p| p.2));
    [shift.0, shift.1, excess.0, excess.1]
}

#[test]
fn the_literal_fit_is_the_papers() {
    for count in [600, 6 * 997, 6 * 3000] {
        let samples = first_of(Preset::S3In2013A, (1, 1), count, Correlation::NONE, 4);
        let expected = naive(&samples);
        let fit = Fit::of(samples, None).unwrap();
        for (got, expected) in parameters(&fit.literal).into_iter().zip(expected) {
            assert!((got - expected).abs() < 1e-6, "{fit:?} is not {expected:?}");
        }
    }
}

fn one_size(bytes: u64, ms: impl IntoIterator<Item = u64>) -> Vec<Sample> {
    let sample = |ms| Sample {
        operation: Operation::Write,
        node: NodeId(0),
        bytes,
        served: Duration::from_millis(ms),
        finished: true,
    };
    ms.into_iter().map(sample).collect()
}

#[test]
fn from_one_size_growth_is_the_priors() {
    let mut samples = one_size(2_000_000, (0..1000).map(|at| 100 + at % 100));
    let alone = Fit::of(samples.clone(), None).unwrap();
    assert_eq!(
        (alone.sizes, alone.model.shift_ms_per_mb, alone.model.mean_ms_per_mb),
        (1, 0.0, 0.0)
    );
    let prior = ShiftedExponential::S3_2013_A;
    let scaled = Fit::of(samples.clone(), Some(&prior)).unwrap();
    assert!((scaled.model.shift_at(2_000_000) - alone.model.shift_ms).abs() < 1e-9);
    assert!((scaled.model.excess_at(2_000_000) - alone.model.mean_ms).abs() < 1e-9);
    let growth = scaled.model.mean_ms_per_mb / scaled.model.mean_ms;
    assert!((growth - prior.mean_ms_per_mb / prior.mean_ms).abs() < 1e-12);
    // Nine of another size are too few to say more, and sizes that are nearly the same are no
    // others.
    samples.extend(one_size(9_000_000, 200..209));
    assert_eq!(Fit::of(samples.clone(), None), Some(alone));
    samples.extend(one_size(2_100_000, 500..600));
    assert!(Fit::of(samples, None).unwrap().model.shift_ms_per_mb <= 0.0);
}

#[test]
fn too_few_samples_are_no_fit() {
    assert_eq!(Fit::of([], None), None);
    assert_eq!(Fit::of(one_size(1, 0..9), None), None);
    let mut samples = one_size(1, 0..200);
    for sample in &mut samples {
        sample.finished = false;
    }
    assert_eq!(Fit::of(samples.clone(), None), None);
    // Ten finish at once, the others are cancelled before them.
    samples.extend(one_size(1, vec![300; 10]));
    assert_eq!(Fit::of(samples, None), None);
}

#[test]
fn delays_that_do_not_vary_are_all_shift() {
    let fit = Fit::of([one_size(0, vec![7; 50]), one_size(1_000_000, vec![9; 50])].concat(), None);
    let model = fit.unwrap().model;
    for (got, expected) in parameters(&model).into_iter().zip([7.0, 2.0, 0.0, 0.0]) {
        assert!((got - expected).abs() < 1e-6, "{model:?}");
    }
}

#[test]
fn kaplan_and_meier_know_the_distribution_as_far_as_it_shows() {
    let (model, samples) = drawn(Preset::S3In2013B, (12, 6), 3);
    let samples = samples.into_iter().filter(|sample| sample.bytes == 1_000_000);
    let distribution = Distribution::of(samples).unwrap();
    let [shift, excess] = [model.shift_at(1_000_000), model.excess_at(1_000_000)];
    for p in [0.1, 0.3, 0.5, 0.7, 0.75] {
        let ms = shift - excess * f64::ln(1.0 - p);
        let share = 1.0 - distribution.ccdf(Duration::from_secs_f64(ms / 1e3));
        assert!((share - p).abs() < 0.05, "{share} is not {p}");
        let quantile = distribution.quantile(p).unwrap().as_secs_f64() * 1e3;
        assert!((quantile / ms - 1.0).abs() < 0.1, "{quantile} is not {ms}");
    }
    assert!(distribution.known() < 1.0 && distribution.quantile(1.0).is_none());
}

#[test]
fn a_task_log_is_fitted_by_operation_and_node() {
    let (_, samples) = drawn(Preset::S3In2013A, (12, 6), 8);
    let mut text = String::from("time_s,operation,node,bytes,served_ms,outcome\n");
    for sample in &samples {
        let outcome = if sample.finished { "done" } else { "cancelled" };
        let ms = sample.served.as_nanos() as f64 / 1e6;
        writeln!(text, "0,read,{},{},{ms:.6},{outcome}", sample.node, sample.bytes).unwrap();
    }
    text += "0,write,0,5,1,failed\n";
    let fits = fit_log(&text).unwrap();
    let all = fits.operations[&Operation::Read];
    assert_eq!(all, Fit::sturdy(samples.clone(), None).unwrap());
    assert_eq!((fits.operations.len(), fits.nodes.len()), (1, 3));
    let of_node = samples.into_iter().filter(|sample| sample.node == NodeId(1));
    let fit = Fit::sturdy(of_node, Some(&all.model)).unwrap();
    assert_eq!(fits.nodes[&(Operation::Read, NodeId(1))], fit);
    assert_eq!(fits.paces.len(), 3);
    assert_eq!((fits.done, fits.cancelled, fits.other), (9996, 9996, 1));
    assert!(fit_log("what").is_err());
}

proptest! {
    #[test]
    fn coefficients_are_never_negative_nor_nonsense(
        tasks in proptest::collection::vec((0u64..6, 0u64..3_000_000_000, any::<bool>()), 0..400),
    ) {
        let sample = |(class, ns, finished): (u64, u64, bool)| Sample {
            operation: Operation::Read,
            node: NodeId(0),
            bytes: class * class * 100_000,
            served: Duration::from_nanos(ns),
            finished,
        };
        if let Some(fit) = Fit::of(tasks.into_iter().map(sample), None) {
            for model in [fit.model, fit.literal] {
                for parameter in parameters(&model) {
                    prop_assert!(parameter >= 0.0 && parameter.is_finite(), "{:?}", fit);
                }
            }
            prop_assert!(fit.mean_residual_ms.is_finite() && fit.deviation_residual_ms.is_finite());
        }
    }
}
