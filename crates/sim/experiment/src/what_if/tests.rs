use super::*;
use crate::{Delay, Layout, WorkloadOptions};
use ripstop_delay::{Preset, ShiftedExponential};
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
    let [tasks, transfer, storage] = what_if.dollars(&answer.verdicts[0]);
    let months = MONTH_S / workload.span_s();
    assert!((tasks / months - (0.9 * 0.4 + 0.3 * 5.0)).abs() < 1e-9, "{tasks}");
    assert!((transfer / months / (0.9 * 90.0) - 1.0).abs() < 1e-4, "{transfer}");
    // 45 keys that are read and 5 that are written, stored twice over: the code is (120,60).
    let bytes = 45.0 * 1e6 + 5.0 * 2.5e6;
    assert!((storage - bytes * 2.0 / 1e9 * 23.0).abs() < 1e-9, "{storage}");
    // Twice the reads, the writes as before.
    let [twice, ..] = what_if.dollars(&answer.verdicts[2]);
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
