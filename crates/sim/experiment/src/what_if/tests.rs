use super::*;
use crate::{Delay, Gathering, Layout, Run, WorkloadOptions, gathering::SmallWrites};
use ripstop_batching::{BatchLimits, BatchSettings, Batcher, ControllerSettings, by_name};
use ripstop_delay::{Preset, ShiftedExponential};
use ripstop_model::Code;
use std::fmt::Write as _;

fn workload(name: &str, csv: &str) -> Workload {
    let path = std::env::temp_dir().join(format!("ripstop-{name}-{}.csv", std::process::id()));
    std::fs::write(&path, csv).unwrap();
    let read =
        Workload::read(&path, &WorkloadOptions { stripe_max: 1 << 20, ..Default::default() });
    std::fs::remove_file(&path).unwrap();
    read.unwrap().0
}

/// Reads of 1 MB with a write of 2.5 MB among every ten, this many a second.
fn mixed(name: &str, count: u64, per_s: u64) -> Workload {
    let mut csv = String::from("time_ms,operation,bytes,key\n");
    for at in 0..count {
        let (operation, bytes) = if at % 10 == 9 { ("put", 2_500_000) } else { ("get", 1_000_000) };
        writeln!(csv, "{},{operation},{bytes},k{}", (at * 1000 + 3) / per_s, at % 50).unwrap();
    }
    workload(name, &csv)
}

fn policies(names: &[&str]) -> Vec<PolicyChoice> {
    names.iter().map(|name| name.parse().unwrap()).collect()
}

fn what_if<'a>(
    setting: &'a Setting,
    workload: &'a Workload,
    policies: &'a [PolicyChoice],
    prices: &'a [Price],
) -> WhatIf<'a> {
    let (limits, memory, seeds) = (Limits::default(), 0.99, &[1, 2][..]);
    WhatIf { setting, workload, policies, limits, memory, seeds, prices }
}

fn pool(workload: &Workload, delay: Delay) -> Setting {
    let mut setting = Setting::of_tofec(delay, 16);
    setting.classes.clone_from(&workload.classes);
    setting.machine.requests_waiting_max = 1024;
    setting
}

#[test]
fn equal_questions_have_equal_answers_whatever_the_number_of_threads() {
    let workload = mixed("threads", 400, 20);
    let setting = pool(&workload, Delay::Preset(Preset::S3In2013A));
    let policies = policies(&["fixed(1,1)", "tofec"]);
    let what_if = what_if(&setting, &workload, &policies, &[]);
    let one = what_if.play(NonZero::new(1), || ());
    assert_eq!(one, what_if.play(NonZero::new(3), || ()));
    let text = what_if.text(&one).unwrap();
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(!text.contains('$'), "nothing has a price: {text}");
}

#[test]
fn money_is_counted_by_task_byte_and_month() {
    // Each task takes 10 ms exactly, so that numbers are exact: 900 reads and 100 writes of 3
    // stripes (the last of 402,848 bytes) in 100 s.
    let workload = mixed("money", 1000, 10);
    let model = ShiftedExponential { shift_ms: 10.0, ..Default::default() };
    let mut setting = pool(&workload, Delay::ShiftedExponential(model));
    setting.layout = Layout::Shared;
    let prices = [Price {
        per_1000_gets: Some(0.4),
        per_1000_puts: Some(5.0),
        per_gb_out: Some(90.0),
        per_gb_month: Some(23.0),
    }];
    let policies = policies(&["fixed(1,1)", "fixed(2,1)"]);
    let what_if = what_if(&setting, &workload, &policies, &prices);
    let answer = what_if.play(None, || ());
    let [tasks, transfer, storage] = what_if.dollars(&answer.verdicts[0].nodes);
    let months = MONTH_S / workload.span_s();
    assert!((tasks / months - (0.9 * 0.4 + 0.3 * 5.0)).abs() < 1e-9, "{tasks}");
    assert!((transfer / months / (0.9 * 90.0) - 1.0).abs() < 1e-4, "{transfer}");
    // 45 keys that are read and 5 that are written, stored twice over: the code is (120,60).
    let bytes = 45.0 * 1e6 + 5.0 * 2.5e6;
    assert!((storage - bytes * 2.0 / 1e9 * 23.0).abs() < 1e-9, "{storage}");
    // Twice the reads, the writes as before.
    let [twice, ..] = what_if.dollars(&answer.verdicts[2].nodes);
    assert!((twice / months - (1.8 * 0.4 + 0.3 * 5.0)).abs() < 1e-9, "{twice}");
    let text = what_if.text(&answer).unwrap();
    assert!(text.lines().next().unwrap().ends_with("$/month"), "{text}");
}

#[test]
fn a_pool_bears_as_much_more_as_it_has_lanes_for() {
    // One lane, 10 ms a task, 20 a second evenly spaced: full at five times that. From there on the
    // queue grows without end.
    let mut csv = String::from("time_ms,operation,bytes\n");
    (0..2000).for_each(|at| writeln!(csv, "{},get,1000000", at * 50).unwrap());
    let workload = workload("headroom", &csv);
    let model = ShiftedExponential { shift_ms: 10.0, ..Default::default() };
    let mut setting = pool(&workload, Delay::ShiftedExponential(model));
    setting.nodes[0].lanes = 1;
    let policies = policies(&["fixed(1,1)"]);
    let what_if = what_if(&setting, &workload, &policies, &[]);
    assert!((what_if.load() - 0.2).abs() < 1e-3, "{}", what_if.load());
    let answer = what_if.play(None, || ());
    let multiple = answer.headrooms[0].multiple.unwrap();
    assert!((4.75..=5.05).contains(&multiple), "{multiple}");
    assert_eq!(answer.headrooms[0].text(), format!("{multiple:.2}x"));
}

#[test]
fn an_overloaded_pool_says_so() {
    let workload = mixed("overload", 3000, 400);
    let mut setting = pool(&workload, Delay::Preset(Preset::S3In2013A));
    setting.machine.requests_waiting_max = 10;
    let policies = policies(&["fixed(1,1)"]);
    let what_if = what_if(&setting, &workload, &policies, &[]);
    let answer = what_if.play(None, || ());
    assert_eq!(answer.headrooms[0].text(), "overloaded");
    let report = what_if.report(&answer, "Words.").unwrap();
    assert!(report.html().contains("<svg"));
}

#[test]
fn a_queue_that_grows_is_an_overload_before_anything_fails() {
    // 16 lanes of 10 ms each bear 1600 a second; the queue has room for all that is late.
    for (per_s, overloaded) in [(1500_u64, false), (1650, true)] {
        let mut csv = String::from("time_us,operation,bytes\n");
        (0..12_000).for_each(|at| writeln!(csv, "{},get,1000000", at * 1_000_000 / per_s).unwrap());
        let workload = workload(&format!("growth-{per_s}"), &csv);
        let model = ShiftedExponential { shift_ms: 10.0, ..Default::default() };
        let setting = pool(&workload, Delay::ShiftedExponential(model));
        let policies = policies(&["fixed(1,1)", "backfill"]);
        let what_if = what_if(&setting, &workload, &policies, &[]);
        let answer = what_if.play(None, || ());
        assert!(answer.verdicts.iter().all(|verdict| verdict.failed == 0));
        for headroom in &answer.headrooms {
            let text = headroom.text();
            assert_eq!(text == "overloaded", overloaded, "{per_s}/s: {text}");
        }
    }
}

/// A batcher with this controller, two of whose batches may be under way.
fn batcher(controller: &str) -> Batcher {
    let controller = by_name(controller, &ControllerSettings::default()).unwrap();
    let limits = BatchLimits { outstanding_max: 2, ..BatchLimits::default() };
    Batcher::new(BatchSettings { limits, ..BatchSettings::default() }, controller)
}

/// The small writes of a workload each by itself and gathered.
fn small_writes(
    setting: &Setting,
    workload: &Workload,
    controller: &'static str,
) -> [SmallWrites; 2] {
    let policy = if setting.layout == Layout::Spread { "fixed(4,4)" } else { "fixed(1,1)" };
    let (load, policy) = (workload.load(1.0), policy.parse().unwrap());
    let (limits, memory, seed, warmup) = (Limits::default(), 0.99, 1, 0);
    let (load, policy, keep_courses) = (&load, &policy, true);
    let run = Run { setting, load, policy, limits, memory, seed, warmup, keep_courses };
    let batcher = || batcher(controller);
    let gathering = Gathering { below: 64 << 10, batcher: &batcher, batching: controller };
    let alone = SmallWrites::alone(workload, &run.play(), gathering.below);
    [alone, SmallWrites::gathered(&run, workload, gathering)]
}

/// Small writes, a read or a large write among every five, this many a second.
fn small(name: &str, count: u64, per_s: u64, keys: u64) -> Workload {
    let mut csv = String::from("time_us,operation,bytes,key\n");
    for at in 0..count {
        let (operation, bytes) = match at % 5 {
            1 => ("get", 400_000),
            3 => ("put", 2_500_000),
            _ => ("put", 300 + at % 7),
        };
        writeln!(csv, "{},{operation},{bytes},k{}", at * 1_000_000 / per_s, at % keys).unwrap();
    }
    workload(name, &csv)
}

#[test]
fn small_writes_that_leave_alone_and_at_once_are_as_the_log_has_them() {
    for layout in [Layout::Spread, Layout::Shared, Layout::Unique] {
        // So few that none waits for the commit of the one before it.
        let workload = small("none", 1500, 4, 10_000);
        let mut setting = pool(&workload, Delay::Preset(Preset::S3In2013A));
        (setting.layout, setting.code) = (layout, Code::new(6, 4).unwrap());
        setting.nodes = vec![setting.nodes[0].clone(); 6];
        let [alone, mut gathered] = small_writes(&setting, &workload, "none");
        assert_eq!(alone.took_ns.len(), 900);
        let mut alone = alone;
        alone.took_ns.sort_unstable();
        gathered.took_ns.sort_unstable();
        assert_eq!(alone, gathered);
    }
}

#[test]
fn gathered_small_writes_take_fewer_requests_and_not_much_longer() {
    // Each task takes 10 ms, whatever it moves: in that time five small writes come, and a batch of
    // them departs when the one before but one has ended.
    let workload = small("natural", 10_000, 1000, 20_000);
    let model = ShiftedExponential { shift_ms: 10.0, ..Default::default() };
    let mut setting = pool(&workload, Delay::ShiftedExponential(model));
    setting.nodes[0].lanes = 1000;
    let [alone, gathered] = small_writes(&setting, &workload, "natural");
    assert_eq!((alone.stripes, gathered.failed, gathered.collapsed), (6000, 0, 0));
    assert_eq!(gathered.took_ns.len(), 6000);
    assert!((1800..2100).contains(&gathered.stripes), "{}", gathered.stripes);
    let writes = |of: &SmallWrites| of.nodes.iter().map(|node| node.writes).sum::<u64>();
    assert_eq!(writes(&alone) - writes(&gathered), alone.stripes - gathered.stripes);
    let [alone, gathered] = [alone.delays(), gathered.delays()];
    assert!((alone.p50_ms - 10.0).abs() < 0.01 && (alone.p99_ms - 10.0).abs() < 0.01);
    assert!(gathered.p50_ms > 10.0 && gathered.p99_ms < 20.0, "{gathered:?}");
}

#[test]
fn of_small_writes_of_a_few_keys_those_that_are_overwritten_are_not_stored() {
    let model = ShiftedExponential { shift_ms: 100.0, ..Default::default() };
    let workload = small("collapse", 5000, 1000, 5);
    let mut setting = pool(&workload, Delay::ShiftedExponential(model));
    setting.nodes[0].lanes = 1000;
    let [_, gathered] = small_writes(&setting, &workload, "natural");
    assert_eq!((gathered.took_ns.len(), gathered.failed), (3000, 0));
    // Of three keys about thirty are written in the time of a batch.
    assert!((2500..2900).contains(&gathered.collapsed), "{}", gathered.collapsed);
}

#[test]
fn packs_are_shown_beside_what_is_where_there_are_small_writes() {
    let batcher = || batcher("natural");
    let gathering = Gathering { below: 64 << 10, batcher: &batcher, batching: "natural" };
    let prices = [Price { per_1000_puts: Some(5.0), ..Price::default() }];
    let policies = policies(&["fixed(1,1)"]);
    let workload = small("shown", 1000, 1000, 20_000);
    let setting = pool(&workload, Delay::Preset(Preset::S3In2025));
    let what_if_small = what_if(&setting, &workload, &policies, &prices);
    let packed = what_if_small.packed(gathering).unwrap();
    let text = what_if_small.packed_text(&packed);
    let begin =
        "Packs under fixed(1,1), batching natural: 600 writes are shorter than 65536 bytes; ";
    assert!(text.starts_with(begin) && text.contains("0 were collapsed"), "{text}");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[1].ends_with("$/month") && lines[2].starts_with("each by itself"), "{text}");
    let dollars = |line: &str| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap();
    assert!(dollars(lines[3]) < dollars(lines[2]), "{text}");
    let table = what_if_small.packed_table(&packed);
    let of = |name| table.only("small_writes", name).unwrap().numbers("dollars_per_month").unwrap();
    assert!(of("in packs")[0] < of("each by itself")[0]);

    let large = mixed("large", 100, 20);
    let setting = pool(&large, Delay::Preset(Preset::S3In2025));
    assert!(what_if(&setting, &large, &policies, &prices).packed(gathering).is_none());
}
