extern crate std;
use super::*;
use crate::Chunking;
use ripstop_delay::{DelayModel as _, Dice};
use ripstop_model::{Code, NodeId};

const LIMITS: Limits = Limits { k_max: 6, r_max: 2.0 };
const MODEL: ShiftedExponential = ShiftedExponential::S3_2013_B;

fn class() -> RequestClass {
    let (operation, chunking) = (Operation::Read, Chunking::Run);
    RequestClass { operation, strip_bytes: 50_000, code: Code::new(120, 60).unwrap(), chunking }
}

fn policy(memory: f64) -> MultiServerTofec {
    let model = Some(MODEL);
    MultiServerTofec::new(&PolicySettings {
        limits: LIMITS,
        model,
        memory,
        ..PolicySettings::default()
    })
}

fn code(policy: &mut MultiServerTofec, lanes: usize, busy: usize, backlog: usize) -> Code {
    let load = Load { backlog, lanes, lanes_idle: lanes - busy, ..Load::default() };
    policy.choose(Timestamp::ZERO, &class(), load).code
}

/// Lets requests arrive at a load, first 500 that see this many busy lanes; the last code. Lanes
/// and backlog follow from what was chosen, as a fluid would.
fn settled(load: f64, first_busy: usize, table: &LoadThresholds, demand: &Demand) -> Code {
    let mut policy = policy(0.99);
    for _ in 0..500 {
        code(&mut policy, LANES, first_busy, 0);
    }
    let mut last = code(&mut policy, LANES, first_busy, 0);
    let mut backlog = 0.0_f64;
    for _ in 0..20_000 {
        let lane_ms = demand.lane_time_ms(last.n() as f64, last.k() as f64);
        let wanted = load * lane_ms / table.least_lane_ms();
        backlog = (backlog + 1.0 - 1.0 / wanted).max(0.0);
        let busy = if backlog > 0.0 { 1.0 } else { wanted.min(1.0) };
        last = code(&mut policy, LANES, (busy * LANES as f64) as usize, backlog as usize);
    }
    last
}

/// Enough that a share of them is nearly a whole number.
const LANES: usize = 1000;

#[test]
fn it_settles_on_one_deviation_below_the_load_that_arrives_whatever_it_chose_before() {
    let demand = Demand { model: MODEL, megabytes: 3.0 };
    let table = LoadThresholds::new(&demand, LANES, &class(), LIMITS);
    let steps: std::vec::Vec<_> = table.steps().map(|(from, _)| from).chain([1.0]).collect();
    let mut tried = 0;
    for pair in steps.windows(2).filter(|pair| pair[1] - pair[0] > 0.02) {
        let seen = f64::midpoint(pair[0], pair[1]);
        let load = seen * (1.0 + error(0.99));
        for first_busy in [0, LANES] {
            let code = settled(load, first_busy, &table, &demand);
            assert_eq!(code, table.code(seen), "at {load}, from {first_busy} busy lanes");
            tried += 1;
        }
    }
    assert!(tried >= 10, "{tried}");
}

#[test]
fn the_error_is_that_of_the_work_of_as_many_poisson_arrivals() {
    let memory: f64 = 0.99;
    // Work of each request and time since the one before, both exponential of mean 1: smoothed
    // alike, their ratio is the load.
    let mut dice = Dice::new(1);
    let mut exponential = || dice.exponential();
    let (mut work, mut time) = (1.0, 1.0);
    let (mut sum, mut squares, count) = (0.0, 0.0, 400_000);
    for _ in 0..count {
        work = memory * work + (1.0 - memory) * exponential();
        time = memory * time + (1.0 - memory) * exponential();
        let load: f64 = work / time;
        sum += load;
        squares += load * load;
    }
    let mean = sum / f64::from(count);
    let deviation = (squares / f64::from(count) - mean * mean).sqrt();
    assert!((deviation / error(memory) - 1.0).abs() < 0.05, "{deviation}, not {}", error(memory));
}

#[test]
fn a_surge_is_met_at_once_and_not_remembered_for_long() {
    let mut policy = policy(0.99);
    for _ in 0..1000 {
        assert_eq!(code(&mut policy, 16, 0, 0), Code::new(12, 6).unwrap());
    }
    assert_eq!(code(&mut policy, 16, 16, 32), Code::new(1, 1).unwrap());
    for _ in 0..1000 {
        assert_eq!(code(&mut policy, 16, 16, 500), Code::new(1, 1).unwrap());
    }
    let calm = (1..5000).find(|_| code(&mut policy, 16, 0, 0) == Code::new(12, 6).unwrap());
    // At 1 % an arrival, 500 would be remembered as more than one for over 600.
    assert!(calm.unwrap() < 400, "{calm:?}");
}

#[test]
fn a_cold_start_under_full_load_is_seen_in_a_few_arrivals() {
    let mut policy = policy(0.99);
    code(&mut policy, 16, 0, 0);
    let seen = (1..5000).find(|_| code(&mut policy, 16, 16, 4).k() == 1);
    assert!(seen.unwrap() < 40, "{seen:?}");
}

#[test]
fn any_memory_and_any_load_has_a_code() {
    for memory in [0.0, 0.5, 1.0] {
        let mut policy = policy(memory);
        for (lanes, busy, backlog) in [(0, 0, 0), (1, 1, 9), (16, 16, usize::MAX), (16, 0, 0)] {
            let code = code(&mut policy, lanes, busy, backlog);
            assert!(code.k() <= 6 && code.n() <= 2 * code.k());
        }
    }
}

#[test]
fn without_a_model_it_is_greedy_until_it_has_learned_one() {
    let settings = PolicySettings { limits: LIMITS, ..PolicySettings::default() };
    let mut policy = MultiServerTofec::new(&settings);
    assert_eq!(code(&mut policy, 16, 11, 0), Code::new(5, 5).unwrap());
    let (mut model, mut dice) = (MODEL, Dice::new(1));
    for count in 0..20_000_u64 {
        let (operation, node) = (Operation::Read, NodeId(0));
        let bytes = 3_000_000 / (1 + count % 6);
        let served = model.sample(operation.into(), bytes, &mut dice);
        policy.learn(Timestamp::ZERO, &Sample { operation, node, bytes, served, finished: true });
    }
    for _ in 0..1000 {
        code(&mut policy, 16, 0, 0);
    }
    assert_eq!(code(&mut policy, 16, 0, 0), Code::new(12, 6).unwrap());
}
