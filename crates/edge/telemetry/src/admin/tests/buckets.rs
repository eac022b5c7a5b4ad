//! What buckets hold is shown, in JSON by pages and as metrics of a bounded number of them.

use super::{Served, admin, no_check, stored};
use crate::{
    Admin, AdminSettings, BUCKETS_PAGE_MAX, BUCKETS_SHOWN_MAX, BucketPage, BucketStatus, Metrics,
};
use bytes::Bytes;
use ripstop_catalog::{Attributes, Condition, Quota};
use ripstop_store::{Body, Quotas, Store, Target};
use std::collections::BTreeMap;

pub(super) struct Text(pub(super) Option<&'static str>);

impl Body for Text {
    type Seal = Attributes;
    type Error = std::io::Error;

    async fn next(&mut self) -> Option<Result<Bytes, Self::Error>> {
        self.0.take().map(|text| Ok(text.into()))
    }

    fn seal(&mut self) -> Result<Attributes, Self::Error> {
        Ok(Attributes::default())
    }
}

/// A store with an object in its bucket `photos` and quotas, and the port that shows it.
async fn shown() -> (Store, Served) {
    let metrics = Metrics::new("1", &[]);
    let (store, _keeper, _nodes) = stored(&metrics).await;
    metrics.watch_store(store.clone(), Vec::new());
    let (bucket, key) = ("photos".into(), "k".into());
    let target = Target { bucket, key, condition: Condition::None };
    store.put(target, 5, Text(Some("hello"))).await.unwrap();
    let named = |name: &str| (name.to_owned(), Quota { bytes: Some(7), objects: None });
    let named = BTreeMap::from([named("photos"), named("planned")]);
    store.set_quotas(Quotas { named, others: Quota { bytes: None, objects: Some(9) } });
    let shown = Admin { store: Some(store.clone()), ..admin(Some(metrics)) };
    (store, Served::by(shown, AdminSettings::default()).await)
}

fn page(answer: &(u16, String)) -> BucketPage {
    assert_eq!(answer.0, 200, "{}", answer.1);
    serde_json::from_str(answer.1.split("\r\n\r\n").nth(1).unwrap()).unwrap()
}

#[tokio::test]
async fn buckets_are_shown_by_pages_with_their_quotas() {
    let (store, served) = shown().await;
    for name in ["albums", "zoo"] {
        store.create_bucket(name).await.unwrap();
    }
    let status = |name: &str, bytes, objects, bytes_max, objects_max| BucketStatus {
        name: name.to_owned(),
        bytes,
        objects,
        bytes_max,
        objects_max,
    };
    let all = [
        status("albums", 0, 0, None, Some(9)),
        status("photos", 5, 1, Some(7), None),
        status("zoo", 0, 0, None, Some(9)),
    ];
    let whole = page(&served.get("/buckets").await);
    assert_eq!(whole, BucketPage { buckets: all.to_vec(), next: None });
    let first = page(&served.get("/buckets?max=2").await);
    assert_eq!((&first.buckets[..], first.next.as_deref()), (&all[..2], Some("photos")));
    let second = page(&served.get("/buckets?max=2&after=photos").await);
    assert_eq!(second, BucketPage { buckets: all[2..].to_vec(), next: None });
    for query in ["max=0", &format!("max={}", BUCKETS_PAGE_MAX + 1), "max=many", "from=a"] {
        let (status, told) = served.get(&format!("/buckets?{query}")).await;
        assert_eq!(status, 400, "{query}");
        assert!(told.contains("the query may only say after=NAME and max=1 to 1000"), "{told}");
    }
}

#[tokio::test]
async fn a_bounded_number_of_buckets_is_among_the_metrics_those_with_quotas_first() {
    let (store, served) = shown().await;
    for at in 0..BUCKETS_SHOWN_MAX {
        store.create_bucket(&format!("b{at:04}")).await.unwrap();
    }
    let (_, told) = served.get("/metrics").await;
    let rows = |stem: &str| told.lines().filter(|line| line.starts_with(stem)).count();
    assert_eq!(rows("ripstop_bucket_bytes{"), BUCKETS_SHOWN_MAX);
    assert_eq!(rows("ripstop_bucket_objects{"), BUCKETS_SHOWN_MAX);
    for row in [
        "ripstop_bucket_bytes{bucket=\"photos\"} 5",
        "ripstop_bucket_objects{bucket=\"photos\"} 1",
        "ripstop_bucket_quota_bytes{bucket=\"photos\"} 7",
        "ripstop_bucket_quota_bytes{bucket=\"planned\"} 7",
        "ripstop_bucket_bytes{bucket=\"planned\"} 0",
        "ripstop_bucket_quota_objects{bucket=\"b0000\"} 9",
    ] {
        assert!(told.contains(row), "{row}");
    }
    assert_eq!(rows("ripstop_bucket_quota_bytes{"), 2);
    assert!(!told.contains(&format!("bucket=\"b{:04}\"", BUCKETS_SHOWN_MAX - 1)));
}

#[tokio::test]
async fn without_a_store_there_are_no_buckets_to_show() {
    let metrics = Metrics::new("1", &[]);
    let served = Served::new(metrics, no_check(), AdminSettings::default()).await;
    assert_eq!(served.get("/buckets").await.0, 501);
    assert_eq!(served.get("/metrics").await.0, 200);
}
