extern crate std;
use super::*;
use ripstop_delay::{DelayModel, Dice, Mixture, ShiftedExponential};
use ripstop_model::{Code, NodeId};

const LIMITS: Limits = Limits { k_max: 6, r_max: 2.0 };

fn class(bytes: u32) -> Class {
    let (operation, chunking) = (Operation::Read, Chunking::Run);
    Class { operation, strip_bytes: bytes / 60, code: Code::new(120, 60).unwrap(), chunking }
}

fn taught() -> Backfill {
    taught_by(ShiftedExponential::S3_2013_A)
}

fn taught_by(mut model: impl DelayModel) -> Backfill {
    let mut policy = Backfill::new(&Settings { limits: LIMITS, ..Settings::default() });
    let mut dice = Dice::new(1);
    for count in 0..20_000_u64 {
        let (operation, node) = (Operation::Read, NodeId(0));
        let bytes = 3_000_000 / (1 + count % 6);
        let served = model.sample(operation.into(), bytes, &mut dice);
        policy.learn(Timestamp::ZERO, &Sample { operation, node, bytes, served, finished: true });
    }
    policy
}

/// The code and the tasks at once, after many arrivals at this rate with this many lanes free.
fn settled(policy: &mut Backfill, rate_per_s: f64, free: usize) -> (usize, usize, usize) {
    let load = Load { lanes: 16, lanes_idle: free, ..Load::default() };
    let mut last = None;
    for arrival in 0..3001_u64 {
        let now = Timestamp::from_nanos((arrival as f64 / rate_per_s * 1e9) as u64);
        last = Some(policy.choose(now, &class(3_000_000), load));
    }
    let Choice { code, redundancy } = last.unwrap();
    let Redundancy::Spare { at_once, preemptible: true, .. } = redundancy else {
        panic!("redundancy is on spare lanes")
    };
    (code.n(), code.k(), usize::from(at_once))
}

#[test]
fn the_more_arrives_the_smaller_the_code() {
    let (n, k, e) = settled(&mut taught(), 2.0, 16);
    assert!((n, k) == (12, 6) && e > 8, "({n},{k}), {e} at once");
    let (n, k, e) = settled(&mut taught(), 30.0, 9);
    assert!(k == 2 && n == 4 && (2..=4).contains(&e), "({n},{k}), {e} at once");
    assert_eq!(settled(&mut taught(), 70.0, 2), (2, 1, 1));
}

#[test]
fn a_quiet_pool_is_spent_on_the_own_tail() {
    let model = || taught_by(Mixture::S3_2025);
    assert_eq!(settled(&mut model(), 20.0, 16), (10, 5, 8), "7 % load");
    assert_eq!(settled(&mut model(), 15.0, 8), (10, 5, 8), "6 % load, a request is being served");
    assert_eq!(settled(&mut model(), 30.0, 16), (6, 3, 5), "11 % load");
}

#[test]
fn with_nothing_learned_it_serves_modestly() {
    let mut policy = Backfill::new(&Settings { limits: LIMITS, ..Settings::default() });
    let load = Load { lanes: 16, lanes_idle: 16, ..Load::default() };
    let choice = policy.choose(Timestamp::ZERO, &class(3_000_000), load);
    assert_eq!(choice.code, Code::new(4, 2).unwrap());
}

#[test]
fn dear_cancellations_keep_lanes_idle() {
    let mut policy = taught();
    for _ in 0..1000 {
        policy.learn_stopping(Duration::from_millis(60));
    }
    let load = Load { lanes: 16, lanes_idle: 1, ..Load::default() };
    for arrival in 0..1000_u64 {
        let now = Timestamp::from_nanos(arrival * 14_000_000);
        let choice = policy.choose(now, &class(3_000_000), load);
        if arrival == 999 {
            let Redundancy::Spare { keep_idle, .. } = choice.redundancy else { panic!() };
            assert!(keep_idle > 0);
        }
    }
}

/// What is chosen at 60 % load once it is known that a cancellation takes this long.
fn spare_after(stopping_ms: u64, mut policy: Backfill) -> Duration {
    for _ in 0..1000 {
        policy.learn_stopping(Duration::from_millis(stopping_ms));
    }
    let load = Load { lanes: 16, lanes_idle: 6, ..Load::default() };
    let mut last = Duration::MAX;
    for arrival in 0..2001_u64 {
        let now = Timestamp::from_nanos(arrival * 21_000_000);
        let choice = policy.choose(now, &class(3_000_000), load);
        let Redundancy::Spare { spare_after, .. } = choice.redundancy else { panic!() };
        last = spare_after;
    }
    last
}

#[test]
fn spare_tasks_wait_for_those_that_are_late_where_cancelling_is_dear() {
    assert_eq!(spare_after(0, taught()), Duration::ZERO);
    assert!(spare_after(100, taught()) > Duration::from_millis(50));
}

/// n, k and the tasks at once, where a cancellation takes 20 ms, with a third of the lanes free.
fn settled_where_dear(model: impl DelayModel, rate_per_s: f64) -> (usize, usize, usize) {
    let mut policy = taught_by(model);
    for _ in 0..1000 {
        policy.learn_stopping(Duration::from_millis(20));
    }
    settled(&mut policy, rate_per_s, 6)
}

#[test]
fn late_spare_tasks_allow_two_chunks_up_to_half_load_where_delays_hardly_vary() {
    // Full capacity is 225/s.
    assert_eq!(settled_where_dear(Mixture::S3_2025, 112.0).1, 2);
    assert_eq!(settled_where_dear(Mixture::S3_2025, 160.0).1, 1);
    // And 207/s. Without spare tasks (2,2) would wait for the slower of two.
    let (_, k, at_once) = settled_where_dear(Mixture::S3_2025_BUSY, 104.0);
    assert!(k == 1 || at_once > k, "k = {k}, {at_once} at once");
}
