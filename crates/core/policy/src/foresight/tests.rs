extern crate std;
use super::*;
use ripstop_delay::{DelayModel, Dice, Mixture, ShiftedExponential};
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
    assert!(quiet.iter().all(|&(_, k, e)| k >= 4 && e > k), "{quiet:?}");
    let mut policy = taught_by(ShiftedExponential::S3_2013_A);
    let busy = settled(&mut policy, 70.0, [4, 2, 1, 0]);
    assert!(busy.iter().all(|&(_, k, _)| k <= 2), "{busy:?}");
    assert!(busy[0].2 >= busy[3].2 && busy[3] == (2, 1, 1), "{busy:?}");
}
