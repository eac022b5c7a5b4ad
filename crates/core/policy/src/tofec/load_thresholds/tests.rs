extern crate std;
use super::*;
use crate::{Chunking, Operation};
use ripstop_delay::ShiftedExponential;
use std::vec::Vec;

const LIMITS: Limits = Limits { k_max: 6, r_max: 2.0 };

fn class() -> RequestClass {
    let (operation, chunking) = (Operation::Read, Chunking::Run);
    RequestClass { operation, strip_bytes: 50_000, code: Code::new(120, 60).unwrap(), chunking }
}

/// Mean plus deviation of the delay of (n,k) at a load, from the model's definitions alone.
fn cost(demand: &Demand, lanes: f64, load: f64, (n, k): (usize, usize)) -> f64 {
    let (m, j) = (demand.model, demand.megabytes);
    let lane = |n: f64, k: f64| {
        n * (m.shift_ms + m.shift_ms_per_mb * j / k) + k * (m.mean_ms + m.mean_ms_per_mb * j / k)
    };
    let chunk = j / k as f64;
    let excess = m.mean_ms + m.mean_ms_per_mb * chunk;
    let sum = |power: i32| (n - k + 1..=n).map(|i| (i as f64).powi(-power)).sum::<f64>();
    let service = m.shift_ms + m.shift_ms_per_mb * chunk + excess * sum(1);
    let service_variance = excess.powi(2) * sum(2);
    let rate_per_ms = load * lanes / lane(1.0, 1.0);
    let busy = rate_per_ms * lane(n as f64, k as f64) / lanes;
    if busy >= 1.0 {
        return f64::INFINITY;
    }
    if load <= 0.0 {
        return service + service_variance.sqrt();
    }
    let servers = (lanes / n as f64).max(1.0);
    let waiting_share = busy.powf((2.0 * (servers + 1.0)).sqrt() - 1.0);
    let variation = f64::midpoint(1.0, service_variance / service.powi(2));
    let queueing = variation * waiting_share * busy / (1.0 - busy) / rate_per_ms;
    let second_moment = 2.0 * queueing.powi(2) / waiting_share;
    service + queueing + (service_variance + second_moment - queueing.powi(2)).sqrt()
}

fn brute_force(demand: &Demand, lanes: usize, load: f64) -> (Code, f64) {
    let codes = (1..=6).flat_map(|k| (k..=lanes.min(2 * k)).map(move |n| (n, k)));
    let all = codes.map(|code| (code, cost(demand, lanes as f64, load, code)));
    let ((n, k), cost) = all.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    (Code::new(n, k).unwrap(), cost)
}

const MODELS: [ShiftedExponential; 2] =
    [ShiftedExponential::S3_2013_A, ShiftedExponential::S3_2013_B];

#[test]
fn the_code_at_every_load_is_that_of_a_brute_force_minimisation() {
    for (model, lanes) in MODELS.into_iter().flat_map(|model| [3, 8, 16, 100].map(|l| (model, l))) {
        for megabytes in [0.1, 3.0, 30.0] {
            let demand = Demand { model, megabytes };
            let table = LoadThresholds::new(&demand, lanes, &class(), LIMITS);
            for load in (0..1000).map(|at| f64::from(at) / 1000.0) {
                let (code, least) = brute_force(&demand, lanes, load);
                let own = table.cost_ms(table.step(load), load);
                let found = table.code(load);
                assert!((own / least - 1.0).abs() < 1e-9, "{found} for {code} at {load}");
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
            assert_eq!(brute_force(&demand, 16, high).0, next);
            while high - low > 1e-9 {
                let middle = f64::midpoint(low, high);
                if brute_force(&demand, 16, middle).0 == next {
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
fn the_cost_at_a_single_server_is_that_of_its_delay() {
    // M/M/1: the whole delay is exponential, its deviation is its mean.
    let model = ShiftedExponential { shift_ms: 0.0, shift_ms_per_mb: 0.0, ..MODELS[1] };
    let limits = Limits { k_max: 1, r_max: 1.0 };
    let table = LoadThresholds::new(&Demand { model, megabytes: 3.0 }, 1, &class(), limits);
    for load in [0.0, 0.1, 0.5, 0.9] {
        let expected = 2.0 * table.least_lane_ms() / (1.0 - load);
        assert!((table.cost_ms(table.step(load), load) / expected - 1.0).abs() < 1e-12, "{load}");
    }
}

#[test]
fn no_code_has_more_tasks_than_there_are_lanes_if_one_has_not() {
    for lanes in 1..=12 {
        let demand = Demand { model: MODELS[0], megabytes: 3.0 };
        let table = LoadThresholds::new(&demand, lanes, &class(), LIMITS);
        assert!(table.steps().all(|(_, code)| code.n() <= lanes), "{lanes}");
        // Strips apart: there is no other k.
        let (code, chunking) = (Code::new(9, 6).unwrap(), Chunking::Strip);
        let apart = RequestClass { code, chunking, ..class() };
        let table = LoadThresholds::new(&demand, lanes, &apart, LIMITS);
        let most = table.steps().map(|(_, code)| code.n()).max();
        assert_eq!(most, Some(lanes.clamp(6, 9)), "{lanes}");
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
