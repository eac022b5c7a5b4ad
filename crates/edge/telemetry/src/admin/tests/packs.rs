//! How small writes fare is shown.

use super::{buckets::Text, stored};
use crate::metrics::Metrics;
use ripstop_catalog::Condition;
use ripstop_model::PoolId;
use ripstop_store::{PackSettings, StoreSettings, Target};
use std::{collections::BTreeMap, time::Duration};

/// Settings by which the pool of the tests gathers.
pub(super) fn gathering() -> StoreSettings {
    let interval = Duration::from_millis(20);
    let batching = "fixed".to_owned();
    let packs = PackSettings { below: 64, batching, interval, ..PackSettings::default() };
    let packs = BTreeMap::from([(PoolId(0), packs)]);
    StoreSettings { packs, ..StoreSettings::default() }
}

#[tokio::test]
async fn how_small_writes_fare_is_on_the_page_of_pools_that_gather_them() {
    let metrics = Metrics::new("1", &[]);
    let (store, _keeper, _nodes) = stored(&metrics).await;
    let pools = [("main", 0), ("other", 9)].map(|(name, id)| (name.to_owned(), PoolId(id)));
    metrics.watch_store(store.clone(), pools.into());
    for key in ["a", "b"] {
        let (bucket, key) = ("photos".into(), key.into());
        let target = Target { bucket, key, condition: Condition::None };
        store.put(target, 5, Text(Some("hello"))).await.unwrap();
    }
    let rows = crate::metrics::tests::parse(&metrics.page());
    for (row, value) in [
        (r#"pool_gathered_total{pool="main",outcome="alone"}"#, 2.0),
        (r#"pool_gathered_total{pool="main",outcome="together"}"#, 0.0),
        (r#"pool_gathered_total{pool="main",outcome="collapsed"}"#, 0.0),
        (r#"pool_gathered_total{pool="main",outcome="refused"}"#, 0.0),
        (r#"pool_batch_members_count{pool="main"}"#, 2.0),
        (r#"pool_batch_members_sum{pool="main"}"#, 2.0),
        (r#"pool_batch_members_bucket{le="1.0",pool="main"}"#, 2.0),
        (r#"pool_batch_bytes_total{pool="main"}"#, 10.0),
        (r#"pool_batch_wait_seconds_count{pool="main"}"#, 2.0),
        (r#"pool_batch_interval_seconds{pool="main"}"#, 0.02),
    ] {
        assert_eq!(rows.get(&format!("ripstop_{row}")), Some(&value), "{row}");
    }
    // The second came before the interval after the first was over.
    assert!(rows[r#"ripstop_pool_batch_wait_seconds_sum{pool="main"}"#] > 0.0);
    assert!(!rows.keys().any(|row| row.contains(r#"pool="other""#)));
}
