use super::*;
use ripstop_catalog::{CatalogError, CatalogSettings, Embedded, Refusal};
use ripstop_gateway::{Load, NodeGauge, NodeState, Report, Task, TaskEnd, TaskOutcome};
use ripstop_keeper::{Cleaned, MoveProgress, PacksGauge};
use ripstop_model::{Code, NodeId, RequestId, TaskId, TenantId, Timestamp};
use ripstop_node::{MemoryNode, Node};
use ripstop_roster::{PlanStanding, PoolGauges, PoolNames};
use ripstop_runtime::Observer;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// The page by row (name and labels), after a look at its form: each family once, with help and
/// type before its rows, and rows that fit the type.
pub(crate) fn parse(page: &str) -> BTreeMap<String, f64> {
    let mut rows = BTreeMap::new();
    let mut families = BTreeSet::new();
    let (mut helped, mut family, mut kind) = ("", "", "");
    let mut bucket = 0.0;
    let body = page.strip_suffix("# EOF\n").expect("the page has an end");
    for line in body.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            helped = help.split_once(' ').expect("a help text").0;
        } else if let Some(typed) = line.strip_prefix("# TYPE ") {
            (family, kind) = typed.split_once(' ').expect("a type");
            assert_eq!(helped, family);
            assert!(families.insert(family), "{family} is there twice");
        } else if let Some(unit) = line.strip_prefix("# UNIT ") {
            let (name, unit) = unit.split_once(' ').expect("a unit");
            assert!(name == family && family.ends_with(&format!("_{unit}")), "{line}");
        } else {
            let (row, value) = line.rsplit_once(' ').expect("a value");
            let value: f64 = value.parse().expect("a number");
            let (name, labels) = row.split_once('{').unwrap_or((row, ""));
            assert!(labels.is_empty() || labels.ends_with('}') && labels.len() > 1, "{row}");
            let suffix = name.strip_prefix(family).unwrap_or_else(|| panic!("{row} in {family}"));
            let fits = match kind {
                "counter" => suffix == "_total",
                "gauge" => suffix.is_empty(),
                "info" => suffix == "_info",
                "histogram" => ["_sum", "_count", "_bucket"].contains(&suffix),
                _ => false,
            };
            assert!(fits && value >= 0.0, "{line} in a {kind}");
            bucket = if suffix == "_bucket" {
                assert!(value >= bucket, "buckets add up: {line}");
                if labels.contains("le=\"+Inf\"") { 0.0 } else { value }
            } else {
                0.0
            };
            assert!(rows.insert(row.to_owned(), value).is_none(), "{row} is there twice");
        }
    }
    rows
}

pub(super) fn roster() -> Arc<Roster> {
    let nodes = vec![(NodeId(3), "disk \"a\"".to_owned()), (NodeId(0), "b".to_owned())];
    let code = Code::new(3, 2).unwrap();
    Arc::new(Roster::new(PoolNames { name: "main".to_owned(), code, nodes_needed: 2, nodes }))
}

fn task(node: u16, write: bool, outcome: TaskOutcome, served_ms: u64, redundant: bool) -> Report {
    let task =
        Task { id: TaskId(1), request: RequestId(1), node: NodeId(node), fragment: 0, strips: 1 };
    let (waited, served) = (Duration::from_micros(70), Duration::from_millis(served_ms));
    let extra = redundant;
    Report::Task(TaskEnd { task, write, outcome, bytes: 1000, waited, served, extra, redundant })
}

/// A store beyond those that are needed.
fn extra(outcome: TaskOutcome, served_ms: u64, decided: bool) -> Report {
    let mut report = task(78, true, outcome, served_ms, decided);
    if let Report::Task(end) = &mut report {
        end.extra = true;
    }
    report
}

fn script() -> Vec<Report> {
    let request = RequestId(1);
    let started = |n, k| Report::Started {
        request,
        write: false,
        code: Code::new(n, k).unwrap(),
        waited: Duration::from_millis(1),
    };
    let answered = |write, done| Report::Answered {
        request,
        tenant: TenantId::ANYBODY,
        tier: None,
        write,
        took: Duration::from_millis(7),
        done,
    };
    let lost = |outcome| Report::FragmentLost { request, fragment: 1, outcome };
    vec![
        started(3, 2),
        started(3, 2),
        started(1, 1),
        started(9, 4),
        task(3, false, TaskOutcome::Done, 4, false),
        task(3, false, TaskOutcome::Done, 4, true),
        task(0, false, TaskOutcome::Cancelled, 9, true),
        task(0, false, TaskOutcome::Cancelled, 0, true),
        task(0, false, TaskOutcome::Missing, 2, false),
        task(0, true, TaskOutcome::Done, 3, true),
        task(0, true, TaskOutcome::Unavailable, 0, false),
        task(77, true, TaskOutcome::Done, 3, false),
        extra(TaskOutcome::Done, 3, false),
        extra(TaskOutcome::Cancelled, 3, false),
        extra(TaskOutcome::Damaged, 3, false),
        answered(false, true),
        answered(true, false),
        lost(TaskOutcome::Missing),
        lost(TaskOutcome::Damaged),
        lost(TaskOutcome::Damaged),
        Report::Node { node: NodeId(0), up: false },
        Report::Node { node: NodeId(0), up: true },
    ]
}

#[test]
fn a_scripted_run_of_reports_is_counted_right() {
    let metrics = Metrics::new("1.2.3", &[]);
    let counts = metrics.count_pool(&roster());
    for report in script() {
        counts.report(Timestamp::ZERO, &report);
    }
    counts.decoded(Duration::from_millis(2));
    let rows = parse(&metrics.page());
    let node_a = r#"pool="main",node="disk \"a\"""#;
    let node_b = r#"pool="main",node="b""#;
    let pool = r#"pool="main""#;
    for (row, value) in [
        (format!(r#"pool_requests_started_total{{{pool},operation="read",code="(3,2)"}}"#), 2.0),
        (format!(r#"pool_requests_started_total{{{pool},operation="read",code="(1,1)"}}"#), 1.0),
        (format!(r#"pool_requests_started_total{{{pool},operation="read",code="other"}}"#), 1.0),
        (format!("pool_queueing_seconds_count{{{pool}}}"), 4.0),
        (format!(r#"pool_queueing_seconds_bucket{{le="0.001",{pool}}}"#), 4.0),
        (format!(r#"pool_queueing_seconds_bucket{{le="0.0005",{pool}}}"#), 0.0),
        (format!(r#"pool_requests_total{{{pool},operation="read",outcome="done"}}"#), 1.0),
        (format!(r#"pool_requests_total{{{pool},operation="write",outcome="failed"}}"#), 1.0),
        (format!(r#"pool_requests_total{{{pool},operation="write",outcome="done"}}"#), 0.0),
        (format!(r#"pool_request_seconds_sum{{{pool},operation="read"}}"#), 0.007),
        (format!(r#"pool_task_queueing_seconds_count{{{pool},operation="read"}}"#), 5.0),
        (
            format!(r#"pool_redundant_tasks_total{{{pool},operation="read",outcome="cancelled"}}"#),
            2.0,
        ),
        (format!(r#"pool_redundant_tasks_total{{{pool},operation="write",outcome="done"}}"#), 1.0),
        (format!(r#"pool_extra_tasks_total{{{pool},operation="read",outcome="late"}}"#), 1.0),
        (format!(r#"pool_extra_tasks_total{{{pool},operation="read",outcome="cancelled"}}"#), 1.0),
        (format!(r#"pool_extra_tasks_total{{{pool},operation="read",outcome="unstarted"}}"#), 1.0),
        (format!(r#"pool_extra_tasks_total{{{pool},operation="write",outcome="late"}}"#), 1.0),
        (format!(r#"pool_extra_tasks_total{{{pool},operation="write",outcome="won"}}"#), 1.0),
        (format!(r#"pool_extra_tasks_total{{{pool},operation="write",outcome="preempted"}}"#), 1.0),
        (format!(r#"pool_extra_tasks_total{{{pool},operation="write",outcome="failed"}}"#), 1.0),
        (format!("pool_decode_seconds_sum{{{pool}}}"), 0.002),
        (format!("pool_task_log_missed_total{{{pool}}}"), 0.0),
        (format!(r#"pool_wasted_bytes_total{{{pool},outcome="arrived"}}"#), 1000.0),
        (format!(r#"pool_wasted_bytes_total{{{pool},outcome="cancelled"}}"#), 1000.0),
        (format!(r#"pool_fragments_lost_total{{{pool},outcome="missing"}}"#), 1.0),
        (format!(r#"pool_fragments_lost_total{{{pool},outcome="damaged"}}"#), 2.0),
        (format!(r#"node_tasks_total{{{node_a},operation="read",outcome="done"}}"#), 2.0),
        (format!(r#"node_tasks_total{{{node_b},operation="write",outcome="unavailable"}}"#), 1.0),
        (format!(r#"node_task_bytes_total{{{node_a},operation="read"}}"#), 2000.0),
        (format!(r#"node_task_bytes_total{{{node_b},operation="read"}}"#), 0.0),
        (format!(r#"node_service_seconds_count{{{node_b},operation="read"}}"#), 1.0),
        (format!(r#"node_service_seconds_sum{{{node_b},operation="write"}}"#), 0.003),
        (format!("node_outages_total{{{node_b}}}"), 1.0),
        (format!("node_outages_total{{{node_a}}}"), 0.0),
    ] {
        assert_eq!(rows.get(&format!("ripstop_{row}")), Some(&value), "{row}");
    }
}

#[test]
fn mends_are_counted_apart_from_writes() {
    let metrics = Metrics::new("1.2.3", &[]);
    let counts = metrics.count_pool(&roster());
    let (request, tenant, took) = (RequestId(1), TenantId::ANYBODY, Duration::from_millis(7));
    let (write, done, tier) = (true, false, None);
    let code = Code::new(1, 1).unwrap();
    let started = Report::Started { request, write, code, waited: took };
    counts.report_mend(Timestamp::ZERO, &started);
    let answered = Report::Answered { request, tenant, tier, write, took, done };
    counts.report_mend(Timestamp::ZERO, &answered);
    let rows = parse(&metrics.page());
    let failed = |operation| {
        let labels = format!(r#"pool="main",operation="{operation}",outcome="failed""#);
        rows.get(&format!("ripstop_pool_requests_total{{{labels}}}"))
    };
    assert_eq!((failed("write"), failed("mend")), (Some(&0.0), Some(&1.0)));
    let code = r#"{pool="main",operation="mend",code="(1,1)"}"#;
    assert_eq!(rows.get(&format!("ripstop_pool_requests_started_total{code}")), Some(&1.0));
}

fn packs() -> PacksGauge {
    let cleaned = Cleaned { stripes: 18, bytes: 19, ..Cleaned::default() };
    PacksGauge { bytes: 16, dead: 17, cleaned }
}

#[test]
fn gauges_of_a_watched_pool_are_read_when_the_page_is_made() {
    let metrics = Metrics::new("1.2.3", &[]);
    let counts = metrics.count_pool(&roster());
    assert!(!metrics.page().contains("ripstop_pool_backlog{"), "nothing is known yet");
    let node =
        |id, state| NodeGauge { id: NodeId(id), state, lanes: 4, lanes_busy: 1, tasks_waiting: 2 };
    let gauges = PoolGauges {
        load: Load {
            backlog: 5,
            lanes: 4,
            lanes_idle: 3,
            lanes_redundant: 1,
            tasks_waiting: 9,
            serving: 6,
        },
        encoding: 7,
        mends_waiting: 8,
        nodes: vec![node(3, NodeState::Up), node(0, NodeState::Down)],
        tiers: Vec::new(),
        delay_models: [Some(ripstop_delay::ShiftedExponential::S3_2013_A), None],
        moves: MoveProgress {
            stripes_seen: 10,
            fragments_moved: 11,
            bytes_moved: 12,
            fragments_left: 13,
            failed: 14,
            walks: 15,
        },
        packs: packs(),
    };
    counts.roster().watch(move || gauges.clone());
    assert!(!metrics.page().contains("ripstop_pool_plans_total{"), "it has no plan");
    let (groups, latency_bound_seconds) = (4, 0.25);
    let plan = PlanStanding { plans: 2, moves_planned: 0.5, groups, latency_bound_seconds };
    counts.roster().set_plan(Some(plan));
    let rows = parse(&metrics.page());
    for (row, value) in [
        ("pool_backlog{pool=\"main\"}", 5.0),
        ("pool_serving{pool=\"main\"}", 6.0),
        ("pool_encoding{pool=\"main\"}", 7.0),
        ("pool_mends_waiting{pool=\"main\"}", 8.0),
        ("pool_tasks_waiting{pool=\"main\"}", 9.0),
        (
            "pool_delay_model_seconds{pool=\"main\",operation=\"read\",parameter=\"shift_per_mb\"}",
            0.015,
        ),
        ("pool_lanes{pool=\"main\"}", 4.0),
        ("pool_lanes_busy{pool=\"main\"}", 1.0),
        ("pool_lanes_redundant{pool=\"main\"}", 1.0),
        ("pool_nodes_up{pool=\"main\"}", 1.0),
        ("pool_nodes_needed{pool=\"main\"}", 2.0),
        ("pool_plans_total{pool=\"main\"}", 2.0),
        ("pool_plan_groups{pool=\"main\"}", 4.0),
        ("pool_plan_latency_bound_seconds{pool=\"main\"}", 0.25),
        ("pool_fragments_moved_total{pool=\"main\"}", 11.0),
        ("pool_moved_bytes_total{pool=\"main\"}", 12.0),
        ("pool_moves_left{pool=\"main\"}", 13.0),
        ("pool_moves_failed_total{pool=\"main\"}", 14.0),
        ("pool_packs_bytes{pool=\"main\"}", 16.0),
        ("pool_packs_dead_bytes{pool=\"main\"}", 17.0),
        ("pool_cleaned_stripes_total{pool=\"main\"}", 18.0),
        ("pool_cleaned_bytes_total{pool=\"main\"}", 19.0),
        ("node_up{pool=\"main\",node=\"disk \\\"a\\\"\"}", 1.0),
        ("node_up{pool=\"main\",node=\"b\"}", 0.0),
        ("node_tasks_waiting{pool=\"main\",node=\"b\"}", 2.0),
    ] {
        assert_eq!(rows.get(&format!("ripstop_{row}")), Some(&value), "{row}");
    }
}

#[test]
fn what_webhooks_were_not_told_is_shown() {
    let metrics = Metrics::new("1.2.3", &[]);
    metrics.watch_webhooks(Arc::new(Vec::new));
    assert!(!metrics.page().contains("webhook"), "there are none");
    metrics.watch_webhooks(Arc::new(|| vec![("a".to_owned(), 0), ("b".to_owned(), 7)]));
    let rows = parse(&metrics.page());
    for (webhook, lost) in [("a", 0.0), ("b", 7.0)] {
        let row = format!("ripstop_webhook_events_lost_total{{webhook=\"{webhook}\"}}");
        assert_eq!(rows.get(&row), Some(&lost));
    }
}

fn answered(operation: &str, status: u16) -> AnsweredRequest<'_> {
    AnsweredRequest {
        operation,
        status,
        received: 10,
        sent: 20,
        broken: status == 206,
        first_byte: Duration::from_millis(1),
        duration: Duration::from_millis(2),
        hashing: Duration::from_millis(3),
    }
}

#[test]
fn requests_are_counted_under_the_names_of_the_closed_list_only() {
    let metrics = Metrics::new("1.2.3", &["PutObject", "GetObject", "ListParts"]);
    for (operation, status) in [
        ("GetObject", 200),
        ("GetObject", 206),
        ("GetObject", 404),
        ("../passwd", 400),
        ("PutObject", 999),
        ("PutObject", 0),
    ] {
        metrics.answered(&answered(operation, status));
    }
    let page = metrics.page();
    let rows = parse(&page);
    for (row, value) in [
        ("requests_total{operation=\"GetObject\",status=\"2xx\"}", 2.0),
        ("requests_total{operation=\"GetObject\",status=\"4xx\"}", 1.0),
        ("requests_total{operation=\"Unknown\",status=\"4xx\"}", 1.0),
        ("requests_total{operation=\"PutObject\",status=\"5xx\"}", 1.0),
        ("requests_broken_total{operation=\"GetObject\"}", 1.0),
        ("received_bytes_total{operation=\"GetObject\"}", 30.0),
        ("sent_bytes_total{operation=\"GetObject\"}", 60.0),
        ("hashing_seconds_total{operation=\"PutObject\"}", 0.006),
        ("request_seconds_count{operation=\"GetObject\"}", 3.0),
        ("request_first_byte_seconds_sum{operation=\"GetObject\"}", 0.003),
    ] {
        assert_eq!(rows.get(&format!("ripstop_{row}")), Some(&value), "{row}");
    }
    assert!(!page.contains("passwd") && !page.contains("ListParts"));
}

#[tokio::test]
async fn the_catalog_and_the_nodes_are_metered_and_answer_as_before() {
    let metrics = Metrics::new("1.2.3", &[]);
    let catalog =
        metrics.metered(Arc::new(Embedded::in_memory(CatalogSettings::default()).unwrap()));
    assert!(catalog.bucket("photos").await.unwrap().is_none());
    let gone = ripstop_catalog::Change::DeleteBucket {
        name: "photos".to_owned(),
        tombstone: None,
        stripes: vec![],
    };
    let error = catalog.commit_one(1, gone).await.unwrap_err();
    assert!(matches!(error, CatalogError::Refused(Refusal::NoSuchBucket)));
    let named = ripstop_catalog::Change::NameNode { name: "a".to_owned() };
    let applied = catalog.commit_one(1, named).await.unwrap();
    assert_eq!(catalog.nodes().await.unwrap(), [("a".to_owned(), applied.node.unwrap())]);
    let (stripe, node) = (ripstop_model::StripeId(1), applied.node.unwrap());
    let copy = ripstop_catalog::Leftover { stripe, index: 0, node };
    for _ in 0..2 {
        assert!(catalog.leftovers(u64::MAX, None, 10).await.unwrap().is_empty());
    }
    assert!(!catalog.is_leftover(copy).await.unwrap());
    assert!(catalog.garbage(u64::MAX, stripe, 10).await.unwrap().is_empty());

    let meter = Arc::new(Meter::new(Arc::new(MemoryNode::new(100))));
    metrics.watch_node("a", meter.clone());
    meter.health().await.unwrap();
    let name = ripstop_model::FragmentId { stripe: ripstop_model::StripeId(1), index: 0 };
    meter.put(name, vec![bytes::Bytes::from_static(b"12345")]).await.unwrap();
    assert!(meter.put(name, vec![vec![0; 101].into()]).await.is_err());

    let rows = parse(&metrics.page());
    for (row, value) in [
        ("catalog_operations_total{operation=\"bucket\",outcome=\"done\"}", 1.0),
        ("catalog_operations_total{operation=\"commit\",outcome=\"refused\"}", 1.0),
        ("catalog_operations_total{operation=\"commit\",outcome=\"done\"}", 1.0),
        ("catalog_operations_total{operation=\"commit\",outcome=\"failed\"}", 0.0),
        ("catalog_operations_total{operation=\"nodes\",outcome=\"done\"}", 1.0),
        ("catalog_operations_total{operation=\"leftovers\",outcome=\"done\"}", 2.0),
        ("catalog_operations_total{operation=\"is_leftover\",outcome=\"done\"}", 1.0),
        ("catalog_operations_total{operation=\"garbage\",outcome=\"done\"}", 1.0),
        ("catalog_operations_total{operation=\"is_garbage\",outcome=\"done\"}", 0.0),
        ("catalog_operation_seconds_count{operation=\"commit\"}", 2.0),
        ("node_operations_total{node=\"a\",operation=\"put\",outcome=\"done\"}", 1.0),
        ("node_operations_total{node=\"a\",operation=\"put\",outcome=\"refused\"}", 1.0),
        ("node_operation_bytes_total{node=\"a\",operation=\"put\"}", 5.0),
    ] {
        assert_eq!(rows.get(&format!("ripstop_{row}")), Some(&value), "{row}");
    }
}

#[tokio::test]
async fn the_process_its_memory_and_its_time_are_on_the_page() {
    let metrics = Metrics::new("1.2.3", &[]);
    let memory = Memory::new(1 << 20);
    let spent = Arc::new(Spent::default());
    metrics.watch_memory(memory.clone(), 1 << 20);
    metrics.watch_spent(spent.clone());
    let _share = memory.acquire(ripstop_runtime::Purpose::Background, 1 << 10).await;
    spent.decode.fetch_add(1_500_000_000, Relaxed);
    let rows = parse(&metrics.page());
    for (row, value) in [
        ("build_info{version=\"1.2.3\"}", 1.0),
        ("memory_max_bytes", 1_048_576.0),
        ("memory_free_bytes", 1_047_552.0),
        ("spent_seconds_total{work=\"decode\"}", 1.5),
    ] {
        assert_eq!(rows.get(&format!("ripstop_{row}")), Some(&value), "{row}");
    }
    assert!(rows["ripstop_uptime_seconds"] < 60.0);
    #[cfg(target_os = "linux")]
    assert!(rows["ripstop_process_resident_memory_bytes"] > 1e5);
}

#[test]
#[ignore = "a measurement, to be run alone in release"]
fn a_report_takes_less_than_150_ns() {
    let metrics = Metrics::new("1.2.3", &[]);
    let counts = metrics.count_pool(&roster());
    let reports = [
        task(3, false, TaskOutcome::Done, 4, false),
        task(0, false, TaskOutcome::Done, 40, true),
        task(0, true, TaskOutcome::Done, 400, true),
    ];
    let observer = &*counts.roster().observer(Some(counts.clone()));
    let best = (0..20)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..100_000 {
                for report in &reports {
                    observer.report(Timestamp::ZERO, std::hint::black_box(report));
                }
            }
            start.elapsed() / 300_000
        })
        .min()
        .unwrap();
    println!("{best:?} a report");
    assert!(best < Duration::from_nanos(150), "{best:?}");
}
