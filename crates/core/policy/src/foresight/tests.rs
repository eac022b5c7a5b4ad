extern crate std;
use super::*;
use ripstop_delay::{DelayModel, Dice, ShiftedExponential};
use ripstop_model::{Code, NodeId};

const LIMITS: Limits = Limits { k_max: 6, r_max: 2.0 };

fn class(bytes: u32) -> RequestClass {
    let (operation, chunking) = (Operation::Read, Chunking::Run);
    RequestClass { operation, strip_bytes: bytes / 60, code: Code::new(120, 60).unwrap(), chunking }
}

fn taught_by(mut model: impl DelayModel) -> Foresight {
    let settings = PolicySettings { limits: LIMITS, ..PolicySettings::default() };
    let mut policy = Foresight::new(&settings);
    let mut dice = Dice::new(1);
    for count in 0..20_000_u64 {
        let (operation, node) = (Operation::Read, NodeId(0));
        let bytes = 3_000_000 / (1 + count % 6);
        let served = model.sample(operation.into(), bytes, &mut dice);
        policy.learn(Timestamp::ZERO, &Sample { operation, node, bytes, served, finished: true });
    }
    policy
}

/// n, k and the tasks at once, after many arrivals at this rate, by how many lanes are free.
fn settled(
    policy: &mut Foresight,
    rate_per_s: f64,
    free: [usize; 4],
) -> [(usize, usize, usize); 4] {
    let mut arrival = 0_u64;
    let mut choose = |lanes_idle: usize, backlog: usize| {
        arrival += 1;
        let now = Timestamp::from_nanos((arrival as f64 / rate_per_s * 1e9) as u64);
        let load = Load { lanes: 16, lanes_idle, backlog, ..Load::default() };
        let Choice { code, redundancy } = policy.choose(now, &class(3_000_000), load);
        let Redundancy::Spare { at_once, preemptible: true, .. } = redundancy else {
            panic!("redundancy is on spare lanes")
        };
        (code.n(), code.k(), usize::from(at_once))
    };
    for arrival in 0..3000 {
        choose(free[arrival % 4], 0);
    }
    free.map(|free| {
        // Explorations are one in many: two of three are what is best.
        let three = [0; 3].map(|_| choose(free, 0));
        if three[0] == three[1] { three[0] } else { three[2] }
    })
}

#[test]
fn the_more_arrives_and_the_fewer_lanes_are_free_the_smaller_the_code() {
    let mut policy = taught_by(ShiftedExponential::S3_2013_A);
    let quiet = settled(&mut policy, 2.0, [16, 14, 12, 10]);
    assert!(quiet.iter().all(|&(n, k, _)| k >= 4 && n == 2 * k), "{quiet:?}");
    let mut policy = taught_by(ShiftedExponential::S3_2013_A);
    let busy = settled(&mut policy, 70.0, [4, 2, 1, 0]);
    assert!(busy.iter().all(|&(_, k, _)| k <= 2), "{busy:?}");
    assert!(busy[0].2 >= busy[3].2 && busy[3] == (2, 1, 1), "{busy:?}");
}

#[test]
fn a_long_queue_is_served_with_the_least_work_whatever_was_learned() {
    let settings = PolicySettings { limits: LIMITS, ..PolicySettings::default() };
    let mut policy = Foresight::new(&settings);
    // As if six chunks took less lane time than the whole.
    for count in 0..600_u64 {
        for (k, ms) in [(6, 10 + count % 5), (1, 120 + count % 7)] {
            let (operation, node, bytes) = (Operation::Read, NodeId(0), 3_000_000 / k);
            let served = Duration::from_millis(ms);
            let sample = Sample { operation, node, bytes, served, finished: true };
            policy.learn(Timestamp::ZERO, &sample);
        }
    }
    let load = Load { lanes: 8, lanes_idle: 0, backlog: 50, ..Load::default() };
    for arrival in 0..4000_u64 {
        let now = Timestamp::from_nanos(arrival * 25_000_000);
        let choice = policy.choose(now, &class(3_000_000), load);
        let Redundancy::Spare { at_once, .. } = choice.redundancy else { panic!() };
        // Before anything is learned it is modest.
        assert!(arrival < 100 || choice.code.k() == 1 && at_once <= 2, "{arrival}: {choice:?}");
    }
}

#[test]
fn whatever_is_learned_of_it_every_choice_can_be_carried_out() {
    let mut dice = Dice::new(3);
    for _ in 0..8 {
        let mut policy = Foresight::new(&PolicySettings::default());
        let lanes = [1, 2, 4, 16, 64][dice.below(5) as usize];
        let (longest, stops) = (dice.exponential() * 2000.0, dice.below(2) == 0);
        let mut now = 0.0;
        for _ in 0..600 {
            now += dice.exponential() * 20e6;
            let magnitude = dice.below(18);
            let bytes = 60 * (1 + dice.below(16 << magnitude)) as u32;
            let lanes_idle = dice.below(lanes as u64 + 1) as usize;
            let load =
                Load { lanes, lanes_idle, backlog: dice.below(9) as usize, ..Load::default() };
            let class = class(bytes);
            let choice = policy.choose(Timestamp::from_nanos(now as u64), &class, load);
            assert!(class.chunking.serves(class.code, choice.code), "{choice:?}");
            let (operation, node) = (Operation::Read, NodeId(0));
            let bytes = class.chunk_bytes(choice.code.k());
            let served = Duration::from_secs_f64(longest * dice.uniform() / 1000.0);
            let finished = dice.below(3) > 0;
            policy.learn(Timestamp::ZERO, &Sample { operation, node, bytes, served, finished });
            if stops {
                policy.learn_stopping(Duration::from_millis(dice.below(50)));
            }
        }
    }
}
