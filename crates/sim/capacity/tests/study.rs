//! Traces that say something, and those that do not; what a study finds, and what it draws.

use expect_test::expect;
use ripstop_capacity::{CapacityError, Comparison, Study, Trace, TraceOptions};
use ripstop_delay::Dice;
use ripstop_shaping::AdmissionRule;
use ripstop_trace::{OnBadLine, Spread};
use std::{fmt::Write as _, num::NonZero, time::Duration};

const BOUND: Duration = Duration::from_millis(10);

fn read(log: impl Into<String>, options: &TraceOptions) -> Result<Trace, CapacityError> {
    Trace::from_reader(std::io::Cursor::new(log.into()), options, BOUND)
}

fn complaint(log: &str) -> String {
    read(log, &TraceOptions::default()).expect_err("it says nothing").to_string()
}

/// Requests in bursts, as a block trace has them.
fn bursts(requests: u64) -> String {
    let (mut dice, mut now, mut mean, mut log) = (Dice::new(11), 5e6, 0.0, String::new());
    for at in 0..requests {
        if at % 40 == 0 {
            mean = 2e5 * 60f64.powf(dice.uniform());
        }
        now += mean * dice.exponential();
        writeln!(log, "{} 0 {at} 16 1", now as u64).expect("a string takes all");
    }
    log
}

#[test]
fn times_that_go_back_are_refused_or_sorted() {
    let log = "time_ms,operation,bytes\n5.5,get,1\n9.25,get,1\n7,get,1\n";
    let said = complaint(log);
    assert!(said.starts_with("line 4 goes back in time by 2.25ms"), "{said}");
    let trace = read(log, &TraceOptions { sort: true, ..Default::default() }).unwrap();
    let nanos: Vec<_> = trace.arrivals().times().iter().map(|time| time.as_nanos()).collect();
    assert_eq!(nanos, [0, 1_500_000, 3_750_000]);
    assert_eq!(trace.summary.out_of_order, 1);
}

#[test]
fn times_coarser_than_the_bound_are_refused_or_made_up_or_trusted() {
    let log = "time_s,operation,bytes\n1,get,1\n1,get,1\n2,get,1\n3,put,1\n";
    let said = complaint(log);
    assert!(said.starts_with("times are known to 1s only, and the bound is 10ms"), "{said}");
    let spread = Spread::Random { seed: 1 };
    let trace = read(log, &TraceOptions { spread, ..Default::default() }).unwrap();
    assert!(trace.doubt(BOUND).unwrap().contains("made up"));
    let trusting = TraceOptions { trust_times: true, ..Default::default() };
    let trace = read(log, &trusting).unwrap();
    assert_eq!(trace.arrivals().count(), 4);
    assert!(trace.doubt(BOUND).unwrap().contains("known to 1s only"));
    let seconds = Duration::from_secs(1);
    let long = std::io::Cursor::new(log.to_owned());
    assert!(Trace::from_reader(long, &TraceOptions::default(), seconds).is_ok());
}

#[test]
fn milliseconds_are_fine_enough_for_ten_and_hundredths_of_a_second_are_doubtful() {
    let log = |step: f64| {
        let mut log = String::from("time_ms,operation,bytes\n");
        (0..20).for_each(|at| writeln!(log, "{},get,1", f64::from(at) * step).unwrap());
        read(log, &TraceOptions::default()).unwrap().doubt(BOUND)
    };
    assert_eq!(log(3.0), None);
    assert!(log(10.0).unwrap().contains("known to 10ms only: at a bound of 10ms that matters"));
}

#[test]
fn bad_lines_are_refused_or_skipped_with_their_numbers() {
    let log = "time_ms,operation,bytes\n1.5,get,1\nyesterday,get,1\n2,get,1\n";
    let said = complaint(log);
    assert!(said.starts_with("line 3: ") && said.contains("yesterday"), "{said}");
    let skipping = TraceOptions { on_bad_line: OnBadLine::Skip, ..Default::default() };
    let trace = read(log, &skipping).unwrap();
    assert_eq!((trace.arrivals().count(), trace.summary.skipped), (2, 1));
    assert_eq!(trace.summary.skipped_first[0].line, 3);
    // Skipping is not for times that go back.
    let log = "time_ms,operation,bytes\n1.5,get,1\n0.5,get,1\n";
    assert!(matches!(read(log, &skipping), Err(CapacityError::Backwards { line: 3, .. })));
}

#[test]
fn a_trace_without_requests_is_refused() {
    assert_eq!(complaint("time_ms,operation,bytes\n"), "the trace has no requests");
    assert!(complaint("").contains("empty"));
    let only = TraceOptions { requests_max: NonZero::new(7), ..Default::default() };
    assert_eq!(read(bursts(20), &only).unwrap().arrivals().count(), 7);
}

#[test]
fn what_a_study_says() {
    let trace = read(bursts(4000), &TraceOptions::default()).unwrap();
    let study = Study::of_promise(trace.arrivals(), "0.95:10ms,0.99:50ms,1:500ms".parse().unwrap());
    let plans = study.plans();
    let comparison = Comparison::new(&study, &plans[0]).unwrap();
    let text = [
        study.plans_text(&plans),
        study.comparison_text(&plans[0], &comparison),
        study.sweep_text(&study.sweep(|_| ())),
    ];
    expect![[r"
        rule        tier  requests/s  takes  of all  late
        exact  0.95:10ms        1587   3800  95.00%     0
        exact  0.99:50ms         306    160   4.00%     0
        exact    1:500ms          36     40   1.00%     0
        exact      total        1929
        count  0.95:10ms        1585   3800  95.00%    33
        count  0.99:50ms         300    164   4.10%    11
        count    1:500ms          32     36   0.90%     1
        count      total        1917
        floor  0.95:10ms        1600   3804  95.10%     0
        floor  0.99:50ms         300    156   3.90%     0
        floor    1:500ms          36     40   1.00%     0
        floor      total        1936

        with 1929 requests/s in all, by rule exact
        tier       decomposed     fcfs  fcfs gets there in
        0.95:10ms      96.05%   94.85%             10.21ms
        0.99:50ms      99.12%  100.00%             15.62ms
        1:500ms       100.00%  100.00%             23.62ms

        to keep the promise              requests/s
        tiers that share one server            1587
        tiers with a server each               1929
        fcfs                                   1946
        MML (100ms) for 0.95:10ms alone        2856
        MML (100ms) for 0.99:50ms alone        1185
        MML (100ms) for 1:500ms alone           457

        requests/s for a fraction within a bound, by rule exact
        bound   90%   95%   99%  99.5%  99.9%  100%
        10ms   1260  1587  2186   2362   2715  2856
        50ms    715   883  1090   1146   1204  1234
        500ms   329   371   428    437    452   457
    "]]
    .assert_eq(&text.join("\n"));
}

#[test]
fn a_plan_says_the_same_as_the_sweep_and_the_distribution() {
    let trace = read(bursts(3000), &TraceOptions::default()).unwrap();
    let promise = "0.9:10ms,1:100ms".parse().unwrap();
    let mut study = Study::of_promise(trace.arrivals(), promise);
    for rule in AdmissionRule::ALL {
        study.rules = vec![rule];
        let plan = study.plans().remove(0);
        let mut left = Vec::new();
        let cells = study.sweep(|bits| left.push(bits));
        assert!(left.len() > 2 && left.is_sorted_by(|a, b| a > b) && left.last() == Some(&0));
        let nine_tenths = cells.iter().find(|cell| cell.fraction == plan.tiers[0].tier.fraction());
        assert_eq!(nine_tenths.unwrap().capacity, plan.tiers[0].capacity);
        let comparison = Comparison::new(&study, &plan).unwrap();
        let on_time = plan.tiers[0].admitted - plan.tiers[0].late;
        assert!(comparison.decomposed.within(BOUND) >= on_time);
        if rule != AdmissionRule::Count {
            for one in &plan.tiers {
                let share = comparison.decomposed.share_within(one.tier.bound());
                assert!(share >= one.tier.fraction().as_f64(), "{rule}: {share}");
            }
        }
        // What keeps the promise first come, first served keeps it, and one less does not.
        let whole = comparison.undecomposed_capacity;
        let keeps = |capacity| {
            let fcfs = ripstop_capacity::Distribution::undecomposed(trace.arrivals(), capacity);
            plan.tiers.iter().all(|one| {
                fcfs.within(one.tier.bound()) >= one.tier.fraction().of(trace.arrivals().count())
            })
        };
        assert!(keeps(whole) && !keeps(whole - 1), "{whole}");
    }
}

#[test]
fn a_report_has_every_figure_and_is_the_same_each_time() {
    let trace = read(bursts(2000), &TraceOptions::default()).unwrap();
    let study = Study::of_promise(trace.arrivals(), "0.9:10ms,1:200ms".parse().unwrap());
    let plans = study.plans();
    let comparison = Comparison::new(&study, &plans[0]);
    let cells = study.sweep(|_| ());
    let report = || study.report("Why.", &plans, comparison.as_ref(), &cells, |_| ()).unwrap();
    let html = report().html();
    for title in [
        "Arrivals per window of 100ms",
        "Around the worst moment, at",
        "Capacity for 90 % of requests within a bound",
        "Capacity against the fraction within a bound",
        "First come, first served, at",
        "First come, first served against tiers",
    ] {
        assert!(html.contains(title), "{title:?} is not in the report");
    }
    assert!(!html.contains("NaN") && !html.contains("inf"));
    assert_eq!(html, report().html());
    let alone = Study { promise: None, ..study.clone() };
    let report = alone.report("", &[], None, &cells, |_| ()).unwrap().html();
    assert!(report.contains("First come, first served, at") && !report.contains("against tiers"));
}

#[test]
fn one_request_is_enough() {
    let trusting = TraceOptions { trust_times: true, ..Default::default() };
    let trace = read("time_ms,operation,bytes\n1,get,1\n", &trusting).unwrap();
    let study = Study::of_promise(trace.arrivals(), "0.9:10ms,1:200ms".parse().unwrap());
    let plans = study.plans();
    assert_eq!(plans[0].tiers.iter().map(|tier| tier.capacity).collect::<Vec<_>>(), [100, 0]);
    let comparison = Comparison::new(&study, &plans[0]);
    assert_eq!(comparison.as_ref().unwrap().undecomposed_capacity, 100);
    let cells = study.sweep(|_| ());
    assert!(study.report("", &plans, comparison.as_ref(), &cells, |_| ()).is_ok());
}
