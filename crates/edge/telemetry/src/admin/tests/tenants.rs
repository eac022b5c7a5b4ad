//! What tenants were promised, and what they got.

use super::*;

#[tokio::test]
async fn the_status_tells_what_tenants_were_promised_and_what_they_got() {
    let metrics = Metrics::new("1.2.3", &[]);
    let counts = metrics.count_pool(&roster(&["a"]));
    let (tenant, request) = (TenantId(4), RequestId(1));
    let gauge = |tier, waiting| TierGauge {
        tenant,
        tier,
        waiting,
        queued: Duration::ZERO,
        allowance: Duration::ZERO,
    };
    let tiers = vec![gauge(0, 3), gauge(1, 2)];
    counts.roster().watch(move || PoolGauges { tiers: tiers.clone(), ..Default::default() });
    let served = Served::new(metrics, no_check(), AdminSettings::default()).await;
    let status = async || -> Status {
        let (_, answer) = served.get("/status").await;
        serde_json::from_value(lines(&answer).remove(0)).unwrap()
    };
    assert_eq!(status().await.pools[0].tenants, []);

    let (most, all) = (Fraction::from_billionths(750_000_000).unwrap(), Fraction::ALL);
    let promise = vec![(most, Duration::from_millis(20)), (all, Duration::from_millis(500))];
    counts.set_tenants(vec![TenantNames { id: tenant, name: "gold".to_owned(), promise }]);
    for (tier, ms) in [(0, 10), (0, 20), (1, 300)] {
        let (tier, took) = (Some(tier), Duration::from_millis(ms));
        let report = Report::Answered { request, tenant, tier, write: false, took, done: true };
        counts.report(Timestamp::ZERO, &report);
    }
    let told = status().await;
    let [rest, gold] = &*told.pools[0].tenants else { panic!("{told:?}") };
    assert_eq!((&*rest.name, rest.requests, rest.p50_seconds, rest.tiers.len()), ("-", 0, None, 0));
    assert_eq!((&*gold.name, gold.requests, gold.refused, gold.waiting), ("gold", 3, 0, 5));
    assert!((gold.p50_seconds.unwrap() / 0.02 - 1.0).abs() < 0.05, "{gold:?}");
    assert!((gold.p99_seconds.unwrap() / 0.3 - 1.0).abs() < 0.05, "{gold:?}");
    let [first, last] = &*gold.tiers else { panic!("{gold:?}") };
    assert_eq!((first.kept, first.waiting, last.kept, last.waiting), (false, 3, true, 2));
    let near = |found: f64, right: f64| assert!((found - right).abs() < 1e-12, "{found}, {right}");
    near(first.fraction, 0.75);
    near(first.bound_seconds, 0.02);
    near(first.within, 2.0 / 3.0);
    near(last.within, 1.0);
    assert!((last.p50_seconds.unwrap() / 0.3 - 1.0).abs() < 0.05, "{last:?}");
    counts.report(Timestamp::ZERO, &Report::Refused { request, tenant });
    let gold = status().await.pools[0].tenants.remove(1);
    assert_eq!((gold.requests, gold.refused, gold.tiers[1].kept), (4, 1, false));
}
