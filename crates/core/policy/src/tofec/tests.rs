extern crate std;
use super::*;
use crate::Chunking;
use ripstop_delay::ShiftedExponential;
use ripstop_model::Code;
use std::vec::Vec;

const PRESETS: [ShiftedExponential; 2] =
    [ShiftedExponential::S3_2013_A, ShiftedExponential::S3_2013_B];

fn class() -> RequestClass {
    let (operation, chunking) = (Operation::Read, Chunking::Run);
    RequestClass { operation, strip_bytes: 50_000, code: Code::new(120, 60).unwrap(), chunking }
}

const LIMITS: Limits = Limits { k_max: 6, r_max: 2.0 };

/// Equations (2)–(7): service delay plus queueing delay of a single server, milliseconds.
fn delay(demand: &Demand, n: f64, k: f64, rate_per_ms: f64, lanes: f64) -> f64 {
    let load = rate_per_ms * demand.lane_time_ms(n, k);
    if load >= lanes || n <= k {
        return f64::INFINITY;
    }
    demand.service_ms(n, k) + load * load / (rate_per_ms * lanes * (lanes - load))
}

/// The (n,k) with the least delay, by nothing but comparing delays: a pattern search.
fn brute_force(demand: &Demand, rate_per_ms: f64, lanes: f64) -> (f64, f64) {
    let (mut k, mut extra, mut step) = (0.05, 0.01, 0.5);
    let cost = |k: f64, extra: f64| delay(demand, k * (1.0 + extra), k, rate_per_ms, lanes);
    if cost(k, extra).is_infinite() {
        // The lanes cannot keep up: the least there is.
        return (0.0, 0.0);
    }
    while step > 1e-12 {
        let around = [-1.0, 0.0, 1.0].into_iter().flat_map(|a| [-1.0, 0.0, 1.0].map(|b| (a, b)));
        let tried = around.map(|(a, b)| (k * libm::exp(a * step), extra * libm::exp(b * step)));
        let best = tried.min_by(|a, b| cost(a.0, a.1).total_cmp(&cost(b.0, b.1))).unwrap();
        if cost(best.0, best.1) < cost(k, extra) {
            (k, extra) = best;
        } else {
            step /= 2.0;
        }
    }
    (k * (1.0 + extra), k)
}

#[test]
fn the_optimum_equals_a_brute_force_minimisation() {
    for model in PRESETS {
        let demand = Demand { model, megabytes: 3.0 };
        for rate_per_s in [2.0, 10.0, 20.0, 35.0, 50.0] {
            let (rate, lanes) = (rate_per_s / 1000.0, 16.0);
            let (n, k) = brute_force(&demand, rate, lanes);
            // Theorem 1: r at which the gain equals the price of lane time at this load.
            let price = |r: f64| {
                let k = demand.best_k(r);
                let load = rate * demand.lane_time_ms(r * k, k);
                let free = (lanes - load).max(1e-9);
                lanes / (free * free) - 1.0 / lanes - demand.gain(r, k)
            };
            let r = optimum::solve(0.0, price);
            let found = (r * demand.best_k(r), demand.best_k(r));
            let value = |(n, k): (f64, f64)| delay(&demand, n, k, rate, lanes);
            assert!((value(found) / value((n, k)) - 1.0).abs() < 1e-12, "{rate_per_s}");
            assert!((found.0 / n - 1.0).abs() < 1e-5 && (found.1 / k - 1.0).abs() < 1e-5);
        }
    }
}

#[test]
fn thresholds_lie_between_the_queues_at_which_whole_numbers_are_best() {
    for model in PRESETS {
        let demand = Demand { model, megabytes: 3.0 };
        let table = Thresholds::new(&demand, 16, &class(), LIMITS);
        // By brute force: the rate at which exactly this k (or n) is best, and the queue there.
        let queue_at = |wanted: f64, of: fn((f64, f64)) -> f64| {
            let (mut low, mut high) = (1e-9_f64, 1.0);
            for _ in 0..80 {
                let middle = (low * high).sqrt();
                if of(brute_force(&demand, middle, 16.0)) > wanted {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            let (n, k) = brute_force(&demand, low, 16.0);
            let rho = low * demand.lane_time_ms(n, k) / 16.0;
            rho * rho / (1.0 - rho)
        };
        let check = |thresholds: &[f64], of: fn((f64, f64)) -> f64| {
            for x in 1..thresholds.len() {
                let (here, next) = (queue_at(x as f64, of), queue_at(x as f64 + 1.0, of));
                let expected = f64::midpoint(here, next);
                let error = (thresholds[x - 1] - expected).abs();
                assert!(error < 1e-6 * expected.max(1.0), "{x}: {} {expected}", thresholds[x - 1]);
            }
            assert_eq!(thresholds.last(), Some(&0.0));
        };
        let ks: Vec<f64> = table.ks().iter().map(|&(_, from)| from).collect();
        check(&ks, |(_, k)| k);
        check(table.ns(), |(n, _)| n);
    }
}

#[test]
fn a_longer_queue_never_gets_a_larger_code() {
    let mut policy = Tofec::published(&PolicySettings {
        limits: LIMITS,
        model: Some(PRESETS[0]),
        memory: 0.0,
        ..PolicySettings::default()
    });
    let mut last = Code::new(255, 1).unwrap();
    let mut seen = Vec::new();
    for backlog in 0..60 {
        let load = Load { backlog, lanes: 16, ..Load::default() };
        let code = policy.choose(Timestamp::ZERO, &class(), load).code;
        assert!(code.n() <= last.n());
        last = code;
        seen.push((code.n(), code.k()));
    }
    seen.dedup();
    assert_eq!((seen[0], *seen.last().unwrap()), ((12, 6), (1, 1)), "{seen:?}");
}

#[test]
fn without_a_model_it_is_greedy_until_it_has_learned_one() {
    use ripstop_delay::{DelayModel as _, Dice};
    let mut policy =
        Tofec::published(&PolicySettings { limits: LIMITS, ..PolicySettings::default() });
    let load = Load { lanes: 16, lanes_idle: 5, ..Load::default() };
    let code = policy.choose(Timestamp::ZERO, &class(), load).code;
    assert_eq!(code, Code::new(5, 5).unwrap());
    let (mut model, mut dice) = (PRESETS[0], Dice::new(1));
    for count in 0..20_000_u64 {
        let (operation, node) = (Operation::Read, ripstop_model::NodeId(0));
        let bytes = 3_000_000 / (1 + count % 6);
        let served = model.sample(operation.into(), bytes, &mut dice);
        policy.learn(Timestamp::ZERO, &Sample { operation, node, bytes, served, finished: true });
    }
    let code = policy.choose(Timestamp::ZERO, &class(), load).code;
    assert_eq!(code, Code::new(12, 6).unwrap());
}
