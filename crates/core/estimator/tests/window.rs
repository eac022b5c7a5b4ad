//! The window is the fit of its last samples, whatever came before.

mod drawn;

use drawn::first_of;
use proptest::prelude::*;
use ripstop_delay::{Correlation, DelayModel as _, Preset};
use ripstop_estimator::{Empirical, Fit, REFIT_MIN, Sample, Window, WindowSettings};
use ripstop_model::{NodeId, Operation, Timestamp};
use std::time::Duration;

fn second(at: usize) -> Timestamp {
    Timestamp::from_nanos(at as u64 * 1_000_000_000)
}

fn samples(count: usize) -> Vec<Sample> {
    first_of(Preset::S3In2013A, (3, 2), count, Correlation::NONE, 6)
}

#[test]
fn a_full_window_is_the_fit_of_its_last_samples() {
    let settings = WindowSettings { samples_max: 600, ..WindowSettings::default() };
    let mut window = Window::new(settings);
    let samples = samples(3000);
    for (at, sample) in samples.iter().enumerate() {
        window.add(second(at), *sample);
        assert!(window.samples().len() <= 600);
    }
    let last = samples[2400..].to_vec();
    assert!(window.samples().map(|(_, sample)| sample).eq(&last));
    let now = second(3000);
    assert_eq!(window.fit(now, Operation::Read), Fit::of(last.clone(), None));
    let of_node = last.into_iter().filter(|sample| sample.node == NodeId(1));
    assert_eq!(window.fit_node(now, Operation::Read, NodeId(1)), Fit::of(of_node, None));
    assert_eq!(window.fit_node(now, Operation::Read, NodeId(9)), None);
}

#[test]
fn old_samples_go() {
    let age_max = Some(Duration::from_secs(100));
    let mut window = Window::new(WindowSettings { age_max, ..WindowSettings::default() });
    for (at, sample) in samples(300).into_iter().enumerate() {
        window.add(second(at), sample);
    }
    assert_eq!(window.samples().len(), 101);
    assert!(window.fit(second(300), Operation::Read).is_some());
    assert_eq!(window.samples().len(), 100);
    assert_eq!(window.fit(second(1000), Operation::Read), None);
    assert_eq!(window.samples().len(), 0);
}

#[test]
fn a_fit_is_kept_until_half_the_samples_are_others() {
    let mut window = Window::new(WindowSettings::default());
    let samples = samples(6000);
    let mut fits = Vec::new();
    for (at, sample) in samples.iter().enumerate() {
        window.add(second(at), *sample);
        fits.push(window.fit(second(at), Operation::Read));
    }
    fits.dedup();
    assert!((8..20).contains(&fits.len()), "{}", fits.len());
    let mut few = Window::new(WindowSettings::default());
    for (at, sample) in samples.iter().take(REFIT_MIN).enumerate() {
        assert_eq!(few.fit(second(at), Operation::Read), None);
        few.add(second(at), *sample);
    }
}

proptest! {
    #[test]
    fn a_window_is_bounded_and_ordered(
        samples_max in 0usize..20,
        steps in proptest::collection::vec((0u64..50, any::<bool>()), 0..200),
    ) {
        let age_max = Some(Duration::from_mins(1));
        let mut window = Window::new(WindowSettings { samples_max, age_max, prior: None });
        for (at, write) in steps {
            let operation = if write { Operation::Write } else { Operation::Read };
            let served = Duration::from_secs(at);
            let sample = Sample { operation, node: NodeId(0), bytes: 1, served, finished: true };
            window.add(second(at as usize), sample);
            prop_assert!((1..=samples_max.max(1)).contains(&window.samples().len()));
            prop_assert!(window.samples().is_sorted_by_key(|(at, _)| *at));
            window.fit(second(at as usize), operation);
        }
    }
}

#[test]
fn what_was_seen_is_replayed() {
    let mut samples = first_of(Preset::S3In2013A, (1, 1), 12_000, Correlation::NONE, 6);
    let empirical = Empirical::of(&samples);
    let sizes = empirical.sizes(Operation::Read);
    assert_eq!(sizes.len(), 6);
    assert!(empirical.sizes(Operation::Write).is_empty());
    for (bytes, distribution) in sizes {
        assert_eq!((distribution.finished(), distribution.cancelled()), (2000, 0));
        let of_size = samples.iter().filter(|sample| sample.bytes == *bytes);
        let mut ms: Vec<f64> = of_size.map(|sample| sample.served.as_secs_f64() * 1e3).collect();
        ms.sort_by(f64::total_cmp);
        let mean = ms.iter().sum::<f64>() / 2000.0;
        let variance = ms.iter().map(|ms| (ms - mean).powi(2)).sum::<f64>() / 2000.0;
        assert!((distribution.mean_ms() - mean).abs() < 1e-6);
        assert!((distribution.deviation_ms() - variance.sqrt()).abs() < 1e-6);
        for (p, place) in [(0.0, 0), (0.0005, 0), (0.5, 999), (0.95, 1899), (1.0, 1999)] {
            let quantile = distribution.quantile(p).unwrap().as_secs_f64() * 1e3;
            assert!((quantile - ms[place]).abs() < 1e-9, "{p}");
        }
        assert!(distribution.known() >= 1.0);
        let replayed = empirical.replay().unwrap().mean_ms(Operation::Read.into(), *bytes);
        assert!((replayed - mean).abs() < 1e-6, "{replayed} is not {mean}");
    }
    for sample in samples.iter_mut().step_by(3) {
        sample.finished = false;
    }
    let replay = Empirical::of(&samples).replay().unwrap();
    let empirical = Empirical::of(&samples);
    let (bytes, distribution) = &empirical.sizes(Operation::Read)[0];
    let replayed = replay.mean_ms(Operation::Read.into(), *bytes);
    assert!((replayed / distribution.mean_ms() - 1.0).abs() < 1e-3, "{replayed}");
}

#[test]
fn a_plot_has_as_many_points_as_were_asked_for_and_reaches_into_the_tail() {
    let samples = first_of(Preset::S3In2013A, (1, 1), 60_000, Correlation::NONE, 6);
    let empirical = Empirical::of(&samples);
    let distribution = &empirical.sizes(Operation::Read)[0].1;
    let points = distribution.ccdf_points(50);
    assert!((40..=50).contains(&points.len()), "{}", points.len());
    assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 > pair[1].1));
    assert!(points.iter().any(|point| point.1 < 2e-4) && points[0].1 > 0.8);
    for &(ms, share) in &points {
        // Of a size the samples' share is known well until few are left.
        let expected = f64::exp(-(ms - 47.5) / 55.8);
        assert!((share - expected).abs() < 0.02, "{share} is not {expected}");
    }
    assert_eq!(distribution.ccdf_points(20_000).len(), 10_000);
}
