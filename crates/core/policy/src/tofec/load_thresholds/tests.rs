extern crate std;
use super::*;
use crate::{Chunking, Operation};
use ripstop_delay::ShiftedExponential;
use std::vec::Vec;

const LIMITS: Limits = Limits { k_max: 6, r_max: 2.0 };

fn class() -> Class {
    let (operation, chunking) = (Operation::Read, Chunking::Run);
    Class { operation, strip_bytes: 50_000, code: Code::new(120, 60).unwrap(), chunking }
}

/// Of every code, from the model's definitions alone: n, k, lane time and mean delay at a load.
fn every_code(demand: &Demand, lanes: f64, load: f64) -> Vec<(usize, usize, f64, f64)> {
    let (m, j) = (demand.model, demand.megabytes);
    let lane = |n: f64, k: f64| {
        n * (m.shift_ms + m.shift_ms_per_mb * j / k) + k * (m.mean_ms + m.mean_ms_per_mb * j / k)
    };
    let rate_per_ms = load * lanes / lane(1.0, 1.0);
    let delay = |n: usize, k: usize| {
        let chunk = j / k as f64;
        let excess = m.mean_ms + m.mean_ms_per_mb * chunk;
        let sum = |power: i32| (n - k + 1..=n).map(|i| (i as f64).powi(-power)).sum::<f64>();
        let service = m.shift_ms + m.shift_ms_per_mb * chunk + excess * sum(1);
        let variation = (excess / service).powi(2) * sum(2);
        let busy = rate_per_ms * lane(n as f64, k as f64) / lanes;
        let servers = (lanes / n as f64).max(1.0);
        let waiting = f64::midpoint(1.0, variation) * busy.powf((2.0 * (servers + 1.0)).sqrt());
        let queueing = if load > 0.0 { waiting / (1.0 - busy) / rate_per_ms } else { 0.0 };
        if busy < 1.0 { service + queueing } else { f64::INFINITY }
    };
    let codes = (1..=6).flat_map(|k| (k..=2 * k).map(move |n| (n, k)));
    codes.map(|(n, k)| (n, k, lane(n as f64, k as f64), delay(n, k))).collect()
}

fn brute_force(demand: &Demand, lanes: f64, load: f64) -> (Code, f64) {
    let all = every_code(demand, lanes, load);
    let (n, k, _, delay) = all.into_iter().min_by(|a, b| a.3.total_cmp(&b.3)).unwrap();
    (Code::new(n, k).unwrap(), delay)
}

const MODELS: [ShiftedExponential; 2] =
    [ShiftedExponential::S3_2013_A, ShiftedExponential::S3_2013_B];

#[test]
fn the_code_at_every_load_is_that_of_a_brute_force_minimisation() {
    for (model, lanes) in MODELS.into_iter().flat_map(|model| [4, 16, 100].map(|l| (model, l))) {
        for megabytes in [0.1, 3.0, 30.0] {
            let demand = Demand { model, megabytes };
            let table = LoadThresholds::new(&demand, lanes, &class(), LIMITS);
            for load in (0..1000).map(|at| f64::from(at) / 1000.0) {
                let (code, delay) = brute_force(&demand, lanes as f64, load);
                let own = table.delay_ms(table.step(load), load);
                let found = table.code(load);
                assert!((own / delay - 1.0).abs() < 1e-9, "{found} for {code} at {load}");
            }
        }
    }
}

#[test]
fn thresholds_are_the_loads_at_which_a_brute_force_minimisation_changes_its_mind() {
    for model in MODELS {
        let demand = Demand { model, megabytes: 3.0 };
        let table = LoadThresholds::new(&demand, 16, &class(), LIMITS);
        let steps: Vec<_> = table.steps().collect();
        assert_eq!(steps[0], (0.0, Code::new(12, 6).unwrap()));
        assert_eq!(steps.last().unwrap().1, Code::new(1, 1).unwrap());
        for pair in steps.windows(2) {
            let (from, next) = pair[1];
            assert!(table.lane_ms(from) < table.lane_ms(pair[0].0), "{next} takes no less");
            let (mut low, mut high) = (from - 1e-3, from + 1e-3);
            assert_eq!(brute_force(&demand, 16.0, high).0, next);
            while high - low > 1e-9 {
                let middle = f64::midpoint(low, high);
                if brute_force(&demand, 16.0, middle).0 == next {
                    high = middle;
                } else {
                    low = middle;
                }
            }
            assert!((high - from).abs() < 1e-6, "{next} from {from}, not {high}");
        }
    }
}

#[test]
fn a_single_lane_has_the_queue_of_a_single_server() {
    // (1,1) without a shift is exponential: M/M/1.
    let model = ShiftedExponential { shift_ms: 0.0, shift_ms_per_mb: 0.0, ..MODELS[1] };
    let limits = Limits { k_max: 1, r_max: 1.0 };
    let table = LoadThresholds::new(&Demand { model, megabytes: 3.0 }, 1, &class(), limits);
    for load in [0.1, 0.5, 0.9] {
        let expected = load * load / (1.0 - load);
        assert!((table.backlog(load) / expected - 1.0).abs() < 1e-12);
    }
}

#[test]
fn a_model_of_nothing_still_has_a_code() {
    let model = ShiftedExponential {
        shift_ms: 0.0,
        shift_ms_per_mb: 0.0,
        mean_ms: 0.0,
        mean_ms_per_mb: 0.0,
    };
    let table = LoadThresholds::new(&Demand { model, megabytes: 3.0 }, 16, &class(), LIMITS);
    for load in [0.0, 0.5, 1.0, f64::NAN] {
        assert!(table.code(load).k() <= 6);
    }
}
