//! What is rolled up is stepped over.

use super::super::source::{Objects, Uploads};
use crate::conformance::{bucket, object, stripe, upload};
use crate::rollup::{Page, Source, page};
use crate::{
    Catalog, CatalogError, CatalogSettings, Change, Condition, Durability, Embedded,
    ListingRequest, Quota,
};
use futures::future::join_all;
use ripstop_model::StripeId;

/// Counts seeks and items.
struct Counting<S> {
    source: S,
    steps: usize,
}

impl<S: Source> Source for Counting<S> {
    type Item = S::Item;

    fn seek(&mut self, from: &[u8]) -> Result<(), CatalogError> {
        self.steps += 1;
        self.source.seek(from)
    }

    fn seek_within(&mut self, key: &str, id: &str) -> Result<(), CatalogError> {
        self.steps += 1;
        self.source.seek_within(key, id)
    }

    fn next(&mut self, prefix: &str) -> Result<Option<(String, S::Item)>, CatalogError> {
        self.steps += 1;
        self.source.next(prefix)
    }
}

async fn with_bucket() -> Embedded {
    let settings =
        CatalogSettings { durability: Durability::Relaxed, ..CatalogSettings::default() };
    let catalog = Embedded::in_memory(settings).unwrap();
    let stripes = vec![(StripeId(1), stripe())];
    let change = Change::CreateBucket { bucket: bucket("b", 1), stripes };
    catalog.commit_one(1, change).await.unwrap();
    catalog
}

async fn with_100_000_keys_below(prefix: &str) -> Embedded {
    let catalog = with_bucket().await;
    let keys = (0..100_000).map(|at| format!("{prefix}{at}")).chain(["a".into(), "z".into()]);
    let put = |key| Change::PutObject {
        bucket: "b".into(),
        key,
        object: object("e", &[1], 1),
        stripes: vec![],
        condition: Condition::None,
        quota: Quota::NONE,
    };
    let changes: Vec<_> = keys.map(put).collect();
    for group in changes.chunks(4096) {
        let outcomes = catalog.commit(1, group.to_vec()).await.unwrap();
        assert!(outcomes.iter().all(Result::is_ok));
    }
    catalog
}

fn counted<S: Source>(request: &ListingRequest, source: S) -> (Page<S::Item>, usize) {
    let mut source = Counting { source, steps: 0 };
    let page = page(request, &mut source).unwrap();
    (page, source.steps)
}

#[tokio::test]
async fn a_prefix_with_100_000_keys_below_costs_a_few_steps() {
    let catalog = with_100_000_keys_below("p/").await;
    let view = catalog.view();
    let list = |prefix: &str, delimiter: &str, after: &str, max| {
        let request = ListingRequest {
            bucket: "b".into(),
            prefix: prefix.into(),
            delimiter: delimiter.into(),
            after: after.into(),
            max,
            ..ListingRequest::default()
        };
        let (page, steps) = counted(&request, Objects::new(&view, "b"));
        (page.items.len(), page.prefixes.len(), steps)
    };
    // Seek, "a", "p/…", seek, "z", end.
    assert_eq!(list("", "/", "", 1000), (2, 1, 6));
    assert_eq!(list("", "/", "p/", 1000), (1, 0, 3));
    assert_eq!(list("", "/", "p/500", 1000), (1, 1, 5));
    assert_eq!(list("", "/", "", 1), (1, 0, 3));
    assert_eq!(list("p", "/", "", 1000), (0, 1, 4));
    assert_eq!(list("p/", "", "", 10), (10, 0, 12));
}

#[tokio::test]
async fn uploads_of_a_rolled_up_prefix_are_stepped_over() {
    let catalog = with_bucket().await;
    let begin =
        |at: usize| Change::CreateUpload(upload(&format!("u{at}"), "b", &format!("q/{at}")));
    let answers = join_all((0..500).map(|at| catalog.commit_one(1, begin(at)))).await;
    assert!(answers.iter().all(Result::is_ok));
    let request = ListingRequest { delimiter: "/".into(), ..crate::conformance::listing_of("b") };
    let view = catalog.view();
    let (page, steps) = counted(&request, Uploads::new(&view, "b"));
    assert_eq!((page.items, page.prefixes, steps), (vec![], vec!["q/".to_owned()], 4));
}
