use super::*;
use crate::metrics::{
    Metrics, PoolCounts,
    tests::{parse, roster},
};
use ripstop_gateway::TierGauge;
use ripstop_model::RequestId;
use ripstop_roster::PoolGauges;
use ripstop_runtime::Observer;
use std::collections::BTreeMap;

const REQUEST: RequestId = RequestId(1);

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn at(seconds: u64) -> Timestamp {
    Timestamp::ZERO + Duration::from_secs(seconds)
}

/// A promise; fractions in percent, bounds in ms.
fn promise(tiers: &[(u32, u64)]) -> Vec<(Fraction, Duration)> {
    let fraction = |percent| Fraction::from_billionths(percent * 10_000_000).unwrap();
    tiers.iter().map(|(percent, bound)| (fraction(*percent), ms(*bound))).collect()
}

fn tenant(id: u16, name: &str, tiers: &[(u32, u64)]) -> TenantNames {
    TenantNames { id: TenantId(id), name: name.to_owned(), promise: promise(tiers) }
}

fn admitted(tenant: u16, tier: Option<u8>) -> Report {
    Report::Admitted { request: REQUEST, tenant: TenantId(tenant), tier }
}

fn refused(tenant: u16) -> Report {
    Report::Refused { request: REQUEST, tenant: TenantId(tenant) }
}

fn answered(tenant: u16, tier: Option<u8>, took_ms: u64, done: bool) -> Report {
    let (tenant, took) = (TenantId(tenant), ms(took_ms));
    Report::Answered { request: REQUEST, tenant, tier, write: false, took, done }
}

/// Tenants gold, of two tiers, and free, of none.
fn counted() -> (Metrics, Arc<PoolCounts>) {
    let metrics = Metrics::new("1.2.3", &[]);
    let counts = metrics.count_pool(&roster());
    counts.set_tenants(vec![tenant(1, "gold", &[(75, 20), (90, 100)]), tenant(2, "free", &[])]);
    (metrics, counts)
}

/// Rows about tenants whose labels begin with this tenant's, shortened.
fn rows_of(metrics: &Metrics, tenant: &str) -> BTreeMap<String, f64> {
    let labels = format!(r#"{{pool="main",tenant="{tenant}""#);
    let rows = parse(&metrics.page()).into_iter();
    rows.filter_map(|(row, value)| {
        let (name, rest) = row.strip_prefix("ripstop_tenant_")?.split_once(&labels)?;
        Some((format!("{name}{}", rest.replace(['"', '}'], "").replace(',', " ")), value))
    })
    .collect()
}

#[track_caller]
fn check(rows: &BTreeMap<String, f64>, expected: &[(&str, f64)]) {
    for (row, value) in expected {
        assert_eq!(rows.get(*row), Some(value), "{row}: {rows:#?}");
    }
}

#[test]
fn requests_are_counted_by_tenant_and_by_the_tier_that_took_them_in() {
    let (metrics, counts) = counted();
    for report in [
        admitted(1, Some(0)),
        admitted(1, Some(0)),
        admitted(1, Some(0)),
        admitted(1, Some(1)),
        refused(1),
        answered(1, Some(0), 20, true),
        answered(1, Some(0), 21, true),
        answered(1, Some(0), 900, false),
        // Moved down, and yet within the first tier's bound.
        answered(1, Some(1), 3, true),
        admitted(2, None),
        answered(2, None, 5000, true),
        admitted(77, None),
        answered(0, None, 1, false),
    ] {
        counts.report(at(1), &report);
    }
    let gold = rows_of(&metrics, "gold");
    check(
        &gold,
        &[
            ("admitted_total tier=1", 3.0),
            ("admitted_total tier=2", 1.0),
            ("moved_down_total", 1.0),
            ("refused_total", 1.0),
            ("late_total tier=1", 1.0),
            ("late_total tier=2", 0.0),
            ("failed_total tier=1", 1.0),
            ("request_seconds_count", 3.0),
            ("request_seconds_sum", 0.044),
            ("tier_request_seconds_count tier=1", 2.0),
            ("tier_request_seconds_count tier=2", 1.0),
            ("promise_fraction tier=1", 0.75),
            ("promise_bound_seconds tier=2", 0.1),
            ("within_fraction tier=1", 0.4),
            ("within_fraction tier=2", 0.6),
            ("promise_kept tier=1", 0.0),
        ],
    );
    assert!(!gold.contains_key("admitted_total tier=none"), "{gold:#?}");
    let free = rows_of(&metrics, "free");
    check(&free, &[("admitted_total tier=none", 1.0), ("late_total tier=none", 0.0)]);
    check(&free, &[("request_seconds_sum", 5.0), ("refused_total", 0.0)]);
    assert!(!free.keys().any(|row| row.starts_with("promise")), "{free:#?}");
    let rest = rows_of(&metrics, "-");
    check(&rest, &[("admitted_total tier=none", 1.0), ("failed_total tier=none", 1.0)]);
    assert!(!rest.contains_key("quantile_seconds tier=all quantile=0.5"), "nothing was done");
}

#[test]
fn a_promise_is_kept_when_just_enough_of_all_requests_are_within_the_bound() {
    let (metrics, counts) = counted();
    let kept = |tier: u8| rows_of(&metrics, "gold")[&format!("promise_kept tier={tier}")];
    assert_eq!((kept(1), kept(2)), (1.0, 1.0), "there are no requests");
    check(&rows_of(&metrics, "gold"), &[("within_fraction tier=1", 1.0)]);
    for _ in 0..30 {
        counts.report(at(1), &answered(1, Some(0), 20, true));
    }
    for _ in 0..10 {
        counts.report(at(1), &answered(1, Some(1), 21, true));
    }
    assert_eq!((kept(1), kept(2)), (1.0, 1.0));
    check(&rows_of(&metrics, "gold"), &[("within_fraction tier=1", 0.75)]);
    counts.report(at(1), &refused(1));
    assert_eq!((kept(1), kept(2)), (0.0, 1.0));
    counts.report(at(1), &answered(1, Some(0), 1, true));
    counts.report(at(1), &answered(1, Some(0), 1, true));
    counts.report(at(1), &answered(1, Some(0), 1, true));
    assert_eq!((kept(1), kept(2)), (1.0, 1.0));
    for _ in 0..4 {
        counts.report(at(1), &answered(1, Some(0), 1, false));
    }
    assert_eq!((kept(1), kept(2)), (0.0, 0.0));
}

#[test]
fn what_is_older_than_the_window_no_longer_counts_even_if_its_tenant_is_silent() {
    let (metrics, counts) = counted();
    counts.report(at(9), &answered(1, Some(0), 500, true));
    counts.report(at(10), &refused(1));
    let within = |tier: u8| rows_of(&metrics, "gold")[&format!("within_fraction tier={tier}")];
    counts.report(at(299), &answered(1, Some(0), 1, true));
    counts.report(at(299), &answered(1, Some(0), 1, true));
    assert!((within(1) - 0.5).abs() < 1e-9);
    counts.report(at(300), &admitted(77, None));
    assert!((within(1) - 2.0 / 3.0).abs() < 1e-9, "the first slot is gone");
    counts.report(at(310), &admitted(77, None));
    assert!((within(1) - 1.0).abs() < 1e-9, "the second slot is gone");
    let median = "quantile_seconds tier=all quantile=0.5";
    assert!((rows_of(&metrics, "gold")[median] / 0.001 - 1.0).abs() < 0.05);
    counts.report(at(100_000), &admitted(77, None));
    let gold = rows_of(&metrics, "gold");
    assert!(!gold.contains_key(median), "{gold:#?}");
    check(&gold, &[("request_seconds_count", 3.0), ("refused_total", 1.0)]);
}

#[test]
fn the_window_agrees_with_a_list_of_all_requests() {
    let tenants = Tenants::new();
    let bounds = promise(&[(50, 40), (90, 150)]);
    tenants.set(vec![tenant(1, "gold", &[(50, 40), (90, 150)])]);
    let mut all: Vec<(u64, Option<(u8, Duration)>)> = Vec::new();
    let (mut now, mut dice) = (0u64, 7u64);
    for step in 0..20_000 {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let roll = dice >> 33;
        now += if roll % 1000 == 0 { 400_000 } else { roll % 1000 / 10 };
        let tier = (roll / 7 % 2) as u8;
        let took = 1 + roll / 11 % 200;
        let (report, end) = match roll / 13 % 10 {
            0 => (refused(1), None),
            1 => (answered(1, Some(tier), took, false), None),
            _ => (answered(1, Some(tier), took, true), Some((tier, ms(took)))),
        };
        tenants.report(Timestamp::ZERO + ms(now), &report);
        all.push((now / 10_000, end));
        if step % 97 > 0 {
            continue;
        }
        let standing = tenants.look().pop().unwrap();
        let recent = || all.iter().filter(|(slot, _)| slot + 30 > now / 10_000).map(|(_, end)| end);
        assert_eq!(standing.window.requests, recent().count() as u64);
        for (tier, (at, (fraction, bound))) in standing.promised().zip(&bounds).enumerate() {
            let within = recent().flatten().filter(|(_, took)| took <= bound).count();
            let share = within as f64 / recent().count() as f64;
            assert!((at.within - share).abs() < 1e-12, "step {step}");
            assert_eq!(at.kept, within as u64 >= fraction.of(recent().count() as u64));
            let its = recent().flatten().filter(|(by, _)| usize::from(*by) == tier);
            let mut sorted: Vec<Duration> = its.map(|(_, took)| *took).collect();
            sorted.sort_unstable();
            let rank = (sorted.len() as f64 * 0.99).ceil() as usize;
            let exact = rank.checked_sub(1).map(|at| sorted[at].as_secs_f64());
            let sketched = at.took.quantile(0.99).map(|took| took.as_secs_f64());
            assert_eq!(exact.is_some(), sketched.is_some());
            let off = exact.zip(sketched).map_or(0.0, |(exact, sketched)| sketched / exact - 1.0);
            assert!(off.abs() < 0.05, "step {step}: {sketched:?} for {exact:?}");
        }
    }
}

#[test]
fn after_a_reload_counts_go_on_by_name_and_those_of_bounds_that_are_new_begin_at_zero() {
    let (metrics, counts) = counted();
    for (tier, took) in [(0, 10), (0, 30), (1, 200)] {
        counts.report(at(1), &admitted(1, Some(tier)));
        counts.report(at(1), &answered(1, Some(tier), took, true));
    }
    counts.report(at(1), &admitted(2, None));
    // Gold has another number and another first bound; its second is the first now.
    counts.set_tenants(vec![
        tenant(1, "iron", &[(50, 70)]),
        tenant(2, "gold", &[(60, 100), (95, 300), (99, 900)]),
    ]);
    check(
        &rows_of(&metrics, "gold"),
        &[
            ("admitted_total tier=1", 2.0),
            ("admitted_total tier=2", 1.0),
            ("admitted_total tier=3", 0.0),
            ("within_fraction tier=1", 2.0 / 3.0),
            ("promise_kept tier=1", 1.0),
            ("within_fraction tier=2", 1.0),
        ],
    );
    assert!(rows_of(&metrics, "free").is_empty());
    // It was taken in by the first tier; of who is gone, everybody else's now.
    counts.report(at(2), &answered(2, Some(0), 150, true));
    counts.report(at(2), &answered(3, Some(2), 150, true));
    check(
        &rows_of(&metrics, "gold"),
        &[
            ("within_fraction tier=1", 0.5),
            ("within_fraction tier=2", 1.0),
            ("late_total tier=1", 2.0),
            ("request_seconds_count", 4.0),
        ],
    );
    check(&rows_of(&metrics, "-"), &[("request_seconds_count", 1.0)]);
    check(&rows_of(&metrics, "iron"), &[("request_seconds_count", 0.0)]);
    counts.report(at(50), &answered(2, Some(2), 2000, true));
    // A tier less: what it took in is not lost to the tenant.
    counts.set_tenants(vec![tenant(2, "gold", &[(60, 100)])]);
    counts.report(at(51), &answered(2, Some(2), 2000, true));
    let gold = rows_of(&metrics, "gold");
    check(&gold, &[("request_seconds_count", 6.0), ("within_fraction tier=1", 2.0 / 6.0)]);
    assert!(!gold.contains_key("admitted_total tier=2"), "{gold:#?}");
    counts.report(at(400), &admitted(2, Some(0)));
    check(&rows_of(&metrics, "gold"), &[("within_fraction tier=1", 1.0)]);
}

#[test]
fn without_tenants_nobody_is_shown_and_a_name_is_never_there_twice() {
    let metrics = Metrics::new("1.2.3", &[]);
    let counts = metrics.count_pool(&roster());
    counts.report(at(1), &answered(0, None, 7, true));
    assert!(!metrics.page().contains("ripstop_tenant_request_seconds_count{"));
    let twice = vec![tenant(1, "a\"b", &[(50, 70)]), tenant(9, "a\"b", &[]), tenant(3, "-", &[])];
    counts.set_tenants(twice);
    for id in [1, 9, 3, 0] {
        counts.report(at(2), &answered(id, None, 7, true));
    }
    check(&rows_of(&metrics, "a\\\"b"), &[("request_seconds_count", 2.0)]);
    check(&rows_of(&metrics, "-"), &[("request_seconds_count", 2.0)]);
    counts.set_tenants(Vec::new());
    assert!(!metrics.page().contains("ripstop_tenant_request_seconds_count{"));
}

#[test]
fn gauges_of_tiers_are_read_when_the_page_is_made() {
    let (metrics, counts) = counted();
    let gauge = |tenant, tier, waiting| TierGauge {
        tenant: TenantId(tenant),
        tier,
        waiting,
        queued: ms(2500),
        allowance: ms(15),
    };
    let tiers = vec![gauge(1, 0, 4), gauge(1, 1, 5), gauge(8, 0, 6)];
    let gauges = PoolGauges { tiers, ..PoolGauges::default() };
    counts.roster().watch(move || gauges.clone());
    check(
        &rows_of(&metrics, "gold"),
        &[
            ("waiting tier=1", 4.0),
            ("waiting tier=2", 5.0),
            ("queued_lane_seconds tier=1", 2.5),
            ("allowance_seconds tier=2", 0.015),
        ],
    );
    assert!(!metrics.page().contains("ripstop_tenant_waiting{pool=\"main\",tenant=\"-\""));
}

#[test]
#[ignore = "a measurement, to be run alone in release"]
fn a_report_of_a_tenant_takes_less_than_150_ns() {
    let (_metrics, counts) = counted();
    let reports =
        [admitted(1, Some(0)), answered(1, Some(0), 15, true), answered(2, None, 90, true)];
    let observer: &dyn Observer = &*counts;
    let mut now = 0;
    let best = (0..20)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..100_000 {
                now += 20_000;
                for report in &reports {
                    observer.report(Timestamp::from_nanos(now), std::hint::black_box(report));
                }
            }
            start.elapsed() / 300_000
        })
        .min()
        .unwrap();
    println!("{best:?} a report");
    assert!(best < Duration::from_nanos(150), "{best:?}");
}

#[test]
#[ignore = "a measurement, to be run alone in release"]
fn a_page_of_a_hundred_tenants_takes_less_than_20_ms() {
    let (metrics, counts) = counted();
    let tenants = (1..=100).map(|id| tenant(id, &format!("t{id}"), &[(75, 20), (90, 100)]));
    counts.set_tenants(tenants.collect());
    for step in 0..300_000 {
        let tier = (step % 2) as u8;
        let report = answered(1 + (step % 100) as u16, Some(tier), step % 251, true);
        counts.report(at(step / 1000), &report);
    }
    let start = Instant::now();
    let standings = counts.standings();
    let looked = start.elapsed();
    let start = Instant::now();
    let bytes = metrics.page().len();
    println!("{looked:?} to copy {}, {:?} for {bytes} bytes", standings.len(), start.elapsed());
    assert!(start.elapsed() < ms(20));
}
