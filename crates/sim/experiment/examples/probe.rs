//! Throwaway.
#![allow(clippy::all, clippy::pedantic, clippy::print_stdout, clippy::unwrap_used, reason="throwaway")]
use ripstop_delay::Preset;
use ripstop_experiment::{Delay, Load, Process, Run, Setting, NodeSetting, Layout, ClassSetting};
use ripstop_policy::Limits;
use ripstop_model::{Code, Operation, Timestamp};
use ripstop_world::{Change, Trouble};
fn main() {
    for preset in [Preset::S3In2025, Preset::S3In2013A] {
    for policy in ["backfill", "fixed(4,4)", "fixed(5,4)", "fixed(6,4)"] {
    for load in [0.1, 0.3, 0.5, 0.7] {
        let mut p99 = vec![];
        for slow in [1.0, 100.0] {
        let mut setting = Setting::of_tofec(Delay::Preset(preset), 16);
        setting.layout = Layout::Spread;
        setting.code = Code::new(6,4).unwrap();
        setting.classes = vec![ClassSetting { operation: Operation::Read, bytes: 4_000_000, share: 1.0 }];
        setting.machine = ripstop_gateway::Settings { answer_extra: 0, ..Default::default() };
        let node = NodeSetting { lanes: 16, delay: Delay::Preset(preset), scale: 1.0, changes: vec![] };
        setting.nodes = vec![node; 6];
        let rate = load * setting.capacity_per_s();
        if slow > 1.0 { setting.nodes[2].changes = vec![Change { from: Timestamp::ZERO, until: Timestamp::from_nanos(u64::MAX), trouble: Trouble::Slow(slow) }]; }
        let policy = policy.parse().unwrap();
        let load = Load::Requests { process: Process::Poisson(rate), count: 40000 };
        let run = Run { setting: &setting, load: &load, policy: &policy, limits: Limits::default(), memory: 0.99, seed: 1, warmup: 8000, keep_courses: false };
        let o = run.play(); let d = o.delay();
        p99.push((d.mean_ms, d.p99_ms, d.p999_ms, o.failed));
        }
        println!("{preset:?} {policy} load {load}: healthy {:?} slow {:?} ratio p99 {:.2} mean {:.2}", p99[0], p99[1], p99[1].1/p99[0].1, p99[1].0/p99[0].0);
    }}}
}
