#![expect(clippy::float_cmp, reason = "equal luck gives equal numbers, not near ones")]

extern crate std;
use super::*;
use core::time::Duration;
use proptest::prelude::*;
use ripstop_model::RequestId;
use std::{format, string::ToString as _, vec::Vec};

fn sorted_ms(preset: Preset, operation: StorageOperation, bytes: u64, count: usize) -> Vec<f64> {
    let (mut model, mut dice) = (preset.model(), Dice::new(2025));
    let sample = |_| model.sample(operation, bytes, &mut dice).as_secs_f64() * 1000.0;
    let mut delays: Vec<f64> = (0..count).map(sample).collect();
    delays.sort_by(f64::total_cmp);
    delays
}

fn near(got: f64, expected: f64, tolerance: f64) {
    assert!((got / expected - 1.0).abs() < tolerance, "{got} is not {expected} ± {tolerance}");
}

fn quantile(sorted: &[f64], q: f64) -> f64 {
    sorted[(sorted.len() as f64 * q) as usize]
}

#[test]
fn seed_zero_gives_the_published_numbers() {
    let mut dice = Dice::new(0);
    assert_eq!(dice.next_u64(), 0xe220_a839_7b1d_cdaf);
    assert_eq!(dice.next_u64(), 0x6e78_9e6a_a1b9_65f4);
}

#[test]
fn the_busy_preset_has_the_busy_hosts_quantiles() {
    let delays = sorted_ms(Preset::S3In2025Busy, StorageOperation::Get, 0, 400_000);
    near(quantile(&delays, 0.5), 16.8, 0.01);
    near(quantile(&delays, 0.9), 107.0, 0.02);
    near(quantile(&delays, 0.99), 365.0, 0.03);
    near(quantile(&delays, 0.999), 1343.0, 0.1);
}

#[test]
fn the_presets_of_2025_have_their_medians_and_stragglers() {
    let gets = sorted_ms(Preset::S3In2025, StorageOperation::Get, 0, 400_000);
    near(quantile(&gets, 0.5), 28.0, 0.01);
    // One deviation above the median; stragglers move it a little.
    near(quantile(&gets, 0.8413), 28.0 * f64::exp(0.4), 0.03);
    let share = |from: f64| gets.iter().filter(|&&ms| ms > from).count() as f64 / 400_000.0;
    // All but a few delays above 150 ms have a straggler's wait of at least 100.
    near(share(1000.0), 0.001, 0.15);
    near(share(130.0), 0.011, 0.15);
    let puts = sorted_ms(Preset::S3In2025, StorageOperation::Put, 8_000_000, 100_000);
    near(quantile(&puts, 0.5) - 100.0, 45.0, 0.02);
}

#[test]
fn the_presets_of_2013_have_their_means_and_least_delays() {
    for (preset, shift, mean) in [
        (Preset::S3In2013A, 40.0 + 45.0, 43.0 + 76.8),
        (Preset::S3In2013B, 5.0 + 90.0, 95.5 + 15.0),
    ] {
        let delays = sorted_ms(preset, StorageOperation::Get, 3_000_000, 200_000);
        near(delays.iter().sum::<f64>() / 200_000.0, shift + mean, 0.01);
        near(delays[0], shift, 0.001);
        near(quantile(&delays, 0.99), shift + mean * f64::ln(100.0), 0.02);
    }
}

#[test]
fn presets_are_found_by_their_names() {
    for preset in Preset::ALL {
        assert_eq!(preset.name().parse(), Ok(preset));
    }
    assert_eq!("s3".parse::<Preset>(), Err(ParsePresetError));
}

#[test]
fn a_log_is_replayed_by_nearest_size() {
    let csv = "operation,bytes,delay_ms\nget,100,1.5\nget,100,2\n\nget,200,9\r\nput,0,40\n";
    let mut model = Recorded::parse(csv, Replay::InOrder).unwrap();
    let mut dice = Dice::new(0);
    let mut ms =
        |operation, bytes| model.sample(operation, bytes, &mut dice).as_micros() as f64 / 1000.0;
    let gets = [0, 150, 120, 151, 1_000_000].map(|bytes| ms(StorageOperation::Get, bytes));
    assert_eq!(gets.map(|ms| (ms * 10.0) as u32), [15, 20, 15, 90, 90]);
    assert_eq!(
        (ms(StorageOperation::Put, 1 << 30) as u32, ms(StorageOperation::Delete, 0) as u32),
        (40, 2)
    );
    let mut sampled = Recorded::parse(csv, Replay::Sampled).unwrap();
    let mut seen: Vec<_> =
        (0..50).map(|_| sampled.sample(StorageOperation::Get, 90, &mut dice).as_micros()).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [1500, 2000]);
}

#[test]
fn between_recorded_sizes_the_quantiles_are_interpolated() {
    let csv = "operation,bytes,delay_ms\nget,100,30\nget,100,10\nget,300,20\nget,300,80\n";
    let mut model = Recorded::parse(csv, Replay::Sampled).unwrap();
    let mut dice = Dice::new(3);
    for (bytes, unlucky, lucky) in [(50, 30, 10), (100, 30, 10), (150, 42, 12), (301, 80, 20)] {
        let mut high = 0;
        for _ in 0..10_000 {
            let is_high = dice.clone().uniform() > 0.5;
            let ms = model.sample(StorageOperation::Get, bytes, &mut dice).as_millis();
            high += u32::from(is_high);
            assert_eq!(ms, if is_high { unlucky } else { lucky }, "{bytes}");
        }
        near(f64::from(high), 5000.0, 0.05);
        near(model.mean_ms(StorageOperation::Get, bytes), (lucky + unlucky) as f64 / 2.0, 0.03);
    }
}

#[test]
fn a_replay_in_order_has_the_mean_of_its_nearest_size() {
    let csv = "operation,bytes,delay_ms\nget,100,1.5\nget,100,2\nget,200,9\nput,0,40\n";
    let model = Recorded::parse(csv, Replay::InOrder).unwrap();
    let mean = |operation, bytes| model.mean_ms(operation, bytes);
    near(mean(StorageOperation::Get, 150), 1.75, 1e-12);
    near(mean(StorageOperation::Get, 151), 9.0, 1e-12);
    near(mean(StorageOperation::Put, 7), 40.0, 1e-12);
    near(mean(StorageOperation::List, 0), 1.75, 1e-12);
    assert_eq!(Recorded::new([], Replay::InOrder).unwrap_err(), RecordedError::Empty);
}

#[test]
fn presets_have_the_means_of_their_samples() {
    for preset in Preset::ALL {
        for operation in [StorageOperation::Get, StorageOperation::Put] {
            for bytes in [0, 500_000, 3_000_000] {
                let (mut model, mut dice) = (preset.model(), Dice::new(bytes));
                let ms = |_| model.sample(operation, bytes, &mut dice).as_secs_f64() * 1000.0;
                let sampled = (0..100_000).map(ms).sum::<f64>() / 100_000.0;
                near(sampled, model.mean_ms(operation, bytes), 0.02);
                if let Some(parameters) = preset.shifted_exponential() {
                    let mean = parameters.shift_at(bytes) + parameters.excess_at(bytes);
                    assert_eq!(model.mean_ms(operation, bytes), mean);
                }
            }
        }
    }
}

/// Linear correlation of the delays of two tasks, and mean and deviation of the first.
fn pairs(model: &mut dyn DelayModel, correlation: Correlation, bytes: [u64; 2]) -> [f64; 3] {
    const COUNT: u64 = 200_000;
    let mut dice = Dice::new(99);
    let mut sums = [0.0; 5];
    for request in 0..COUNT {
        let mut task = |bytes| {
            let mut luck = Correlated::new(correlation, 5, RequestId(request), &mut dice);
            model.sample(StorageOperation::Get, bytes, &mut luck).as_secs_f64() * 1000.0
        };
        let (x, y) = (task(bytes[0]), task(bytes[1]));
        for (sum, term) in sums.iter_mut().zip([x, y, x * x, y * y, x * y]) {
            *sum += term / COUNT as f64;
        }
    }
    let [x, y, xx, yy, xy] = sums;
    [(xy - x * y) / f64::sqrt((xx - x * x) * (yy - y * y)), x, f64::sqrt(xx - x * x)]
}

#[test]
fn tasks_are_correlated_as_was_asked_and_keep_their_law() {
    for (asked, normals) in [(0.0, 0.0), (0.25, 0.288), (0.5, 0.547), (0.75, 0.782), (1.0, 1.0)] {
        let correlation = Correlation::new(asked);
        assert!((correlation.of_normals() - normals).abs() < 5e-4, "{correlation:?}");
        assert!((correlation.of_exponentials() - asked).abs() < 1e-9, "{correlation:?}");
        let mut model = ShiftedExponential::S3_2013_A;
        let [got, mean, deviation] = pairs(&mut model, correlation, [1_000_000, 2_000_000]);
        assert!((got - asked).abs() < 0.012, "{got} is not {asked}");
        near(mean, 55.0 + 68.6, 0.01);
        near(deviation, 68.6, 0.015);
    }
}

#[test]
fn heavier_tails_are_less_correlated() {
    let correlation = Correlation::new(0.5);
    let [got, mean, _] = pairs(&mut { Mixture::S3_2025_BUSY }, correlation, [0, 0]);
    assert!((0.2..0.35).contains(&got), "{got}");
    near(mean, Mixture::S3_2025_BUSY.mean_ms(StorageOperation::Get, 0), 0.02);
}

#[test]
fn without_correlation_a_tasks_luck_is_that_of_its_dice() {
    for asked in [0.0, -3.0, f64::NAN] {
        let correlation = Correlation::new(asked);
        assert_eq!(correlation.of_normals(), 0.0);
        let (mut dice, mut own) = (Dice::new(8), Dice::new(8));
        let mut luck = Correlated::new(correlation, 1, RequestId(1), &mut own);
        assert_eq!(luck.uniform(), dice.uniform());
        assert_eq!(luck.normal(), dice.normal());
        assert_eq!(luck.exponential(), dice.exponential());
    }
}

#[test]
fn throws_have_their_moments() {
    const COUNT: u64 = 400_000;
    let mut dice = Dice::new(77);
    let mut sums = [0.0; 6];
    for _ in 0..COUNT {
        let (normal, exponential) = (dice.normal(), dice.exponential());
        let powers = [normal, normal.powi(2), normal.powi(4)];
        let tails = [exponential, exponential.powi(2), f64::from(u8::from(exponential > 5.0))];
        for (sum, term) in sums.iter_mut().zip(powers.into_iter().chain(tails)) {
            *sum += term / COUNT as f64;
        }
    }
    let expected = [0.0, 1.0, 3.0, 1.0, 2.0, (-5.0f64).exp()];
    for (got, (expected, tolerance)) in
        sums.into_iter().zip(expected.into_iter().zip([0.006, 0.009, 0.06, 0.006, 0.03, 5e-4]))
    {
        assert!((got - expected).abs() < tolerance, "{got} is not {expected}");
    }
}

#[test]
fn numbered_streams_differ() {
    let mut firsts: Vec<u64> =
        (0..1000).map(|of| Dice::numbered(of / 100, of % 100).next_u64()).collect();
    firsts.sort_unstable();
    firsts.dedup();
    assert_eq!(firsts.len(), 1000);
}

#[test]
fn unreasonable_parameters_give_delays_all_the_same() {
    let mut dice = Dice::new(0);
    let mut ms = |shift_ms| {
        let mut model = ShiftedExponential { shift_ms, ..ShiftedExponential::default() };
        model.sample(StorageOperation::Get, u64::MAX, &mut dice)
    };
    assert_eq!(ms(-5.0), Duration::ZERO);
    assert_eq!(ms(f64::NAN), Duration::ZERO);
    assert_eq!(ms(f64::INFINITY), Duration::from_nanos(u64::MAX));
}

#[test]
fn what_is_no_log_is_refused() {
    for (csv, error) in [
        ("", "line 1 is not \"operation,bytes,delay_ms\""),
        ("operation,bytes,delay_ms\n", "no delay is recorded"),
        (
            "operation,bytes,delay_ms\nget,1,2\nget,-1,2",
            "line 3 is not an operation, whole bytes and milliseconds: \"get,-1,2\"",
        ),
    ] {
        assert_eq!(Recorded::parse(csv, Replay::InOrder).unwrap_err().to_string(), error);
    }
    for line in ["head,1,2", "get,1,NaN", "get,1,inf", "get,1,-2", "get,1", "get,1,2,3", "get,x,2"]
    {
        let csv = format!("operation,bytes,delay_ms\n{line}");
        assert!(Recorded::parse(&csv, Replay::InOrder).is_err(), "{line}");
    }
}

proptest! {
    #[test]
    fn equal_dice_give_equal_delays(seed: u64, bytes in 0..1u64 << 40) {
        for preset in Preset::ALL {
            for operation in StorageOperation::ALL {
                let one = preset.model().sample(operation, bytes, &mut Dice::new(seed));
                let other = preset.model().sample(operation, bytes, &mut Dice::new(seed));
                prop_assert_eq!(one, other);
                let smaller = preset.model().sample(operation, bytes / 2, &mut Dice::new(seed));
                prop_assert!(smaller <= one, "more bytes take longer, with the same luck");
            }
        }
    }

    #[test]
    fn uniform_is_strictly_within_its_bounds(seed: u64, end in 1..=u64::MAX) {
        let mut dice = Dice::new(seed);
        let uniform = dice.uniform();
        prop_assert!(0.0 < uniform && uniform < 1.0);
        prop_assert!(dice.exponential() > 0.0 && dice.normal().abs() < 10.0);
        prop_assert!(dice.below(end) < end);
    }
}
