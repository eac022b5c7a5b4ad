//! One node of a spread pool a hundred times slower than its peers.

use ripstop_delay::Preset;
use ripstop_experiment::{
    ClassSetting, Delay, Delays, Layout, Load, NodeSetting, Process, Run, Setting,
};
use ripstop_gateway::MachineSettings;
use ripstop_model::{Code, Operation, Timestamp};
use ripstop_policy::Limits;
use ripstop_world::{Change, Trouble};

const LOADS: [f64; 3] = [0.1, 0.3, 0.5];

/// Six nodes of which any four suffice; one of them this many times slower, from this many requests
/// on.
fn delays(preset: Preset, policy: &str, load: f64, after: u32, slow: f64) -> Delays {
    let mut setting = Setting::of_tofec(Delay::Preset(preset), 16);
    (setting.layout, setting.code) = (Layout::Spread, Code::new(6, 4).expect("a code"));
    let (operation, bytes, share) = (Operation::Read, 4_000_000, 1.0);
    setting.classes = vec![ClassSetting::new(operation, bytes, share)];
    setting.machine = MachineSettings::default();
    let node = NodeSetting { lanes: 16, delay: Delay::Preset(preset), scale: 1.0, changes: vec![] };
    setting.nodes = vec![node; 6];
    let rate = load * setting.capacity_per_s();
    let from = Timestamp::from_nanos((f64::from(after) / rate * 1e9) as u64);
    let until = Timestamp::from_nanos(u64::MAX);
    let trouble = Trouble::Slow(slow);
    setting.nodes[2].changes = vec![Change { from, until, trouble }];
    let load = Load::Requests { process: Process::Poisson(rate), count: 25_000 };
    let policy = policy.parse().expect("a policy");
    let (limits, memory, seed, warmup) = (Limits::default(), 0.99, 1, 5_000);
    let (setting, load, policy, keep_courses) = (&setting, &load, &policy, false);
    let run = Run { setting, load, policy, limits, memory, seed, warmup, keep_courses };
    let outcome = run.play();
    assert_eq!(outcome.failed, 0);
    outcome.delay()
}

fn stays_within_1_3(policies: &[&str], after: u32) {
    for preset in [Preset::S3In2025, Preset::S3In2013A] {
        for (policy, load) in policies.iter().flat_map(|policy| LOADS.map(|load| (policy, load))) {
            let [healthy, slow] =
                [1.0, 100.0].map(|slow| delays(preset, policy, load, after, slow));
            let ratio = slow.p99_ms / healthy.p99_ms;
            assert!(ratio < 1.3, "{preset:?}, {policy} at {load}: {ratio}, {healthy:?} {slow:?}");
        }
    }
}

#[test]
fn a_node_a_hundred_times_slower_leaves_p99_within_1_3_of_the_healthy() {
    stays_within_1_3(&["backfill"], 0);
}

#[test]
fn a_node_that_becomes_a_hundred_times_slower_is_kept_off_with_the_first_tasks_it_keeps() {
    stays_within_1_3(&["backfill", "fixed(4,4)", "hedge-p95(5,4)"], 15_000);
}
