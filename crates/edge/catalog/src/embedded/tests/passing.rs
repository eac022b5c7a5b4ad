//! A page of a bucket of versions is bounded by what it passes over, too.

use super::super::source::Objects;
use crate::conformance::{bucket, object, stripe};
use crate::rollup::page;
use crate::versions::Latest;
use crate::{
    Catalog as _, CatalogSettings, Change, Condition, Embedded, ListingRequest, Object,
    ObjectVersion, Quota, Stamp, VersionId, Versioning,
};
use ripstop_model::StripeId;
use ripstop_object::{Place, versions_of};

fn put(key: &str, when: u64, is_marker: bool) -> Change {
    let stamp = Stamp { when, stripe: StripeId(u128::from(when)) };
    let version = ObjectVersion::Id(VersionId::of(stamp));
    let place = Place::of_version("b", key, version).into_owned();
    let told_by = u128::from(when) + 1;
    let object = object("e", &[], told_by);
    Change::PutObject {
        bucket: place.bucket.into_owned(),
        key: place.key.into_owned(),
        object: Object { stamp: Some(stamp), is_marker, ..object },
        stripes: vec![(StripeId(told_by), stripe())],
        condition: Condition::None,
        quota: Quota::NONE,
    }
}

#[tokio::test]
async fn a_page_that_passes_over_deleted_keys_ends_and_says_where_it_goes_on() {
    let catalog = Embedded::in_memory(CatalogSettings::default()).unwrap();
    let kept = crate::Bucket { versioning: Versioning::Enabled, ..bucket("b", 1) };
    let stripes = vec![(StripeId(1), stripe())];
    let mut changes = vec![Change::CreateBucket { bucket: kept, stripes }];
    let keys = ["a", "b", "c", "d", "e", "f"];
    changes.extend((10..).zip(keys).map(|(at, key)| put(key, at, key != "a" && key != "f")));
    for outcome in catalog.commit(1, changes).await.unwrap() {
        outcome.unwrap();
    }
    let pages = |passed_max| {
        let reading = catalog.here(move |view| {
            let mut request = ListingRequest { bucket: "b".into(), max: 10, ..Default::default() };
            let (mut pages, mut keys) = (0, Vec::new());
            loop {
                let named = Objects::new(view, &versions_of("b"));
                let latest = &mut Latest::passing(passed_max, Objects::new(view, "b"), named);
                let page = page(&request, latest)?;
                pages += 1;
                keys.extend(page.items.into_iter().map(|(key, _)| key));
                assert_eq!(page.is_truncated, page.stopped_at.is_some());
                let Some(at) = page.stopped_at else { return Ok((pages, keys)) };
                request.after = at;
            }
        });
        async { reading.await.unwrap() }
    };
    let both: Vec<String> = vec!["a".into(), "f".into()];
    assert_eq!(pages(5).await, (1, both.clone()));
    assert_eq!(pages(4).await, (2, both.clone()), "the page ends with the last that is deleted");
    assert_eq!(pages(1).await, (5, both));
}
