use super::*;
use proptest::prelude::*;

fn sorted_ms(preset: Preset, operation: Operation, bytes: u64, count: usize) -> Vec<f64> {
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
    let delays = sorted_ms(Preset::S3In2025Busy, Operation::Get, 0, 400_000);
    near(quantile(&delays, 0.5), 16.8, 0.01);
    near(quantile(&delays, 0.9), 107.0, 0.02);
    near(quantile(&delays, 0.99), 365.0, 0.03);
    near(quantile(&delays, 0.999), 1343.0, 0.1);
}

#[test]
fn the_presets_of_2025_have_their_medians_and_stragglers() {
    let gets = sorted_ms(Preset::S3In2025, Operation::Get, 0, 400_000);
    near(quantile(&gets, 0.5), 28.0, 0.01);
    // One deviation above the median; stragglers move it a little.
    near(quantile(&gets, 0.8413), 28.0 * f64::exp(0.4), 0.03);
    let share = |from: f64| gets.iter().filter(|&&ms| ms > from).count() as f64 / 400_000.0;
    // All but a few delays above 150 ms have a straggler's wait of at least 100.
    near(share(1000.0), 0.001, 0.15);
    near(share(130.0), 0.011, 0.15);
    let puts = sorted_ms(Preset::S3In2025, Operation::Put, 8_000_000, 100_000);
    near(quantile(&puts, 0.5) - 100.0, 45.0, 0.02);
}

#[test]
fn the_presets_of_2013_have_their_means_and_least_delays() {
    for (preset, shift, mean) in [
        (Preset::S3In2013A, 40.0 + 45.0, 43.0 + 76.8),
        (Preset::S3In2013B, 5.0 + 90.0, 95.5 + 15.0),
    ] {
        let delays = sorted_ms(preset, Operation::Get, 3_000_000, 200_000);
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
    let gets = [0, 150, 120, 151, 1_000_000].map(|bytes| ms(Operation::Get, bytes));
    assert_eq!(gets.map(|ms| (ms * 10.0) as u32), [15, 20, 15, 90, 90]);
    assert_eq!((ms(Operation::Put, 1 << 30) as u32, ms(Operation::Delete, 0) as u32), (40, 2));
    let mut sampled = Recorded::parse(csv, Replay::Sampled).unwrap();
    let mut seen: Vec<_> =
        (0..50).map(|_| sampled.sample(Operation::Get, 90, &mut dice).as_micros()).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [1500, 2000]);
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
            for operation in Operation::ALL {
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
