//! One node of a spread pool a hundred times slower than its peers.

use ripstop_delay::Preset;
use ripstop_experiment::{
    ClassSetting, Delay, Delays, Layout, Load, NodeSetting, Process, Run, Setting,
};
use ripstop_gateway::Settings;
use ripstop_model::{Code, Operation, Timestamp};
use ripstop_policy::Limits;
use ripstop_world::{Change, Trouble};

/// Six nodes of which any four suffice; one of them so many times slower.
fn delays(preset: Preset, load: f64, slow: f64) -> Delays {
    let mut setting = Setting::of_tofec(Delay::Preset(preset), 16);
    (setting.layout, setting.code) = (Layout::Spread, Code::new(6, 4).expect("a code"));
    let (operation, bytes, share) = (Operation::Read, 4_000_000, 1.0);
    setting.classes = vec![ClassSetting::new(operation, bytes, share)];
    setting.machine = Settings::default();
    let node = NodeSetting { lanes: 16, delay: Delay::Preset(preset), scale: 1.0, changes: vec![] };
    setting.nodes = vec![node; 6];
    let rate = load * setting.capacity_per_s();
    let until = Timestamp::from_nanos(u64::MAX);
    let trouble = Trouble::Slow(slow);
    setting.nodes[2].changes = vec![Change { from: Timestamp::ZERO, until, trouble }];
    let load = Load::Requests { process: Process::Poisson(rate), count: 25_000 };
    let policy = "backfill".parse().expect("a policy");
    let (limits, memory, seed, warmup) = (Limits::default(), 0.99, 1, 5_000);
    let (setting, load, policy, keep_courses) = (&setting, &load, &policy, false);
    let run = Run { setting, load, policy, limits, memory, seed, warmup, keep_courses };
    let outcome = run.play();
    assert_eq!(outcome.failed, 0);
    outcome.delay()
}

#[test]
fn a_node_a_hundred_times_slower_leaves_p99_within_1_3_of_the_healthy() {
    for preset in [Preset::S3In2025, Preset::S3In2013A] {
        for load in [0.1, 0.3, 0.5] {
            let (healthy, slow) = (delays(preset, load, 1.0), delays(preset, load, 100.0));
            let ratio = slow.p99_ms / healthy.p99_ms;
            assert!(ratio < 1.3, "{preset:?} at {load}: {ratio}, {healthy:?} {slow:?}");
        }
    }
}
