extern crate std;
use super::*;
use ripstop_delay::{DelayModel, Dice, Mixture, ShiftedExponential};
use ripstop_model::{Code, NodeId};

const LIMITS: Limits = Limits { k_max: 6, r_max: 2.0 };

fn class(bytes: u32) -> RequestClass {
    let (operation, chunking) = (Operation::Read, Chunking::Run);
    RequestClass { operation, strip_bytes: bytes / 60, code: Code::new(120, 60).unwrap(), chunking }
}

fn taught() -> Backfill {
    taught_by(ShiftedExponential::S3_2013_A)
}

fn taught_by(mut model: impl DelayModel) -> Backfill {
    let mut policy = Backfill::new(&PolicySettings { limits: LIMITS, ..PolicySettings::default() });
    let mut dice = Dice::new(1);
    for count in 0..20_000_u64 {
        let (operation, node) = (Operation::Read, NodeId(0));
        let bytes = 3_000_000 / (1 + count % 6);
        let served = model.sample(operation.into(), bytes, &mut dice);
        policy.learn(Timestamp::ZERO, &Sample { operation, node, bytes, served, finished: true });
    }
    policy
}

/// n, k and the tasks at once, after many arrivals at this rate with this many lanes free.
fn settled(policy: &mut Backfill, rate_per_s: f64, free: usize) -> (usize, usize, usize) {
    at_the_moment(policy, rate_per_s, free, free)
}

/// The same where usually other lanes are free than at the last arrival.
fn at_the_moment(
    policy: &mut Backfill,
    rate_per_s: f64,
    usual: usize,
    free: usize,
) -> (usize, usize, usize) {
    let mut last = None;
    for arrival in 0..3001_u64 {
        let now = Timestamp::from_nanos((arrival as f64 / rate_per_s * 1e9) as u64);
        let lanes_idle = if arrival < 3000 { usual } else { free };
        let load = Load { lanes: 16, lanes_idle, ..Load::default() };
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
fn a_quiet_pool_is_spent_on_the_own_delay_and_its_tail() {
    // At 6 % load. Were lane time as dear as its share of the load, three chunks would do.
    assert_eq!(settled(&mut taught_by(Mixture::S3_2025), 15.0, 12), (10, 5, 8));
    assert_eq!(settled(&mut taught(), 5.0, 12), (10, 5, 9));
    // With lanes taken, a smaller code has the better tail.
    assert_eq!(settled(&mut taught_by(Mixture::S3_2025), 15.0, 8), (6, 3, 5));
}

#[test]
fn lane_time_is_cheaper_while_more_lanes_are_free_than_usual() {
    assert_eq!(settled(&mut taught(), 30.0, 14), (4, 2, 4));
    assert_eq!(at_the_moment(&mut taught(), 30.0, 4, 14), (6, 3, 6));
    assert_eq!(settled(&mut taught(), 40.0, 9), (4, 2, 4));
    assert_eq!(at_the_moment(&mut taught(), 40.0, 14, 9), (2, 1, 2));
    // From 65 % of full load on only those that are free count, and the load.
    assert_eq!(settled(&mut taught(), 60.0, 14), at_the_moment(&mut taught(), 60.0, 4, 14));
}

#[test]
fn a_crowd_that_comes_of_a_wrong_estimate_does_not_stay() {
    let mut policy = Backfill::new(&PolicySettings { limits: LIMITS, ..PolicySettings::default() });
    let learn = |policy: &mut Backfill, k: u64, ms: u64| {
        let (operation, node, bytes) = (Operation::Read, NodeId(0), 3_000_000 / k);
        let served = Duration::from_millis(ms);
        policy.learn(Timestamp::ZERO, &Sample { operation, node, bytes, served, finished: true });
    };
    // As if six chunks took less lane time than the whole: each of three took 120 ms for some time.
    for count in 0..600 {
        learn(&mut policy, 6, 30 + count % 5);
        learn(&mut policy, 3, 120 + count % 7);
    }
    // Now all lanes are taken, and in truth the whole takes 60 ms.
    let load = Load { lanes: 8, lanes_idle: 0, backlog: 50, ..Load::default() };
    let mut ks = std::vec::Vec::new();
    for arrival in 0..4000_u64 {
        let choice =
            policy.choose(Timestamp::from_nanos(arrival * 25_000_000), &class(3_000_000), load);
        let k = choice.code.k() as u64;
        for _ in 0..k {
            learn(&mut policy, k, 60 / k.min(2) + arrival % 5);
        }
        ks.push(k);
    }
    assert!(ks[90..250].iter().filter(|&&k| k > 3).count() > 100, "the estimate is wrong at first");
    assert!(ks[3500..].iter().all(|&k| k == 1), "{:?}", &ks[3900..]);
}

#[test]
fn one_request_that_is_late_as_a_whole_does_not_make_its_size_slow() {
    let mut size = delays::SizeDelays::new(1.5e6);
    // Milliseconds, tasks that ended and that were cancelled: half are, most of those that take
    // long.
    let seen =
        [(26.0, 122, 79), (31.0, 148, 110), (35.0, 101, 116), (41.0, 32, 53), (47.0, 12, 29)];
    let late = [(60.0, 14, 21), (80.0, 8, 17), (110.0, 6, 6), (140.0, 1, 3), (210.0, 0, 1)];
    for (ms, ended, cancelled) in seen.into_iter().chain(late) {
        (0..ended).for_each(|_| size.add(ms, true));
        (0..cancelled).for_each(|_| size.add(ms, false));
    }
    size.renew();
    let before = size.mean_ms;
    size.add(1100.0, true);
    size.add(1100.0, false);
    size.add(1100.0, false);
    size.renew();
    assert!(before < 60.0 && size.mean_ms < 1.1 * before, "{before}, then {}", size.mean_ms);
}

#[test]
fn with_nothing_learned_it_serves_modestly() {
    let mut policy = Backfill::new(&PolicySettings { limits: LIMITS, ..PolicySettings::default() });
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
