//! Reports of buckets that a keeper has made.

mod common;

use common::*;
use futures::{FutureExt as _, future::BoxFuture};
use ripstop_catalog::{Bucket, CatalogError, ListedVersion};
use ripstop_keeper::{ReportDraft, Reporter};
use ripstop_store::StoreError;
use std::sync::{Arc, Mutex};

/// Keys of reports that were finished, by bucket and prefix.
type Made = Arc<Mutex<Vec<(String, Vec<String>)>>>;

/// Has a report of each bucket for each prefix, at any time; those of a bucket called `bad` fail.
#[derive(Debug)]
struct Everything {
    prefixes: Vec<&'static str>,
    made: Made,
}

struct Draft {
    bucket: String,
    prefix: &'static str,
    keys: Vec<String>,
    made: Made,
}

fn failed() -> StoreError {
    CatalogError::Unavailable("no room for it".into()).into()
}

impl Reporter for Everything {
    fn due<'a>(
        &'a self,
        bucket: &'a Bucket,
        _: u64,
    ) -> BoxFuture<'a, Result<Vec<Box<dyn ReportDraft>>, StoreError>> {
        let draft = |prefix: &&'static str| {
            let (bucket, made) = (bucket.name.clone(), self.made.clone());
            Box::new(Draft { bucket, prefix, keys: Vec::new(), made }) as Box<dyn ReportDraft>
        };
        async move { Ok(self.prefixes.iter().map(draft).collect()) }.boxed()
    }
}

impl ReportDraft for Draft {
    fn prefix(&self) -> &str {
        self.prefix
    }

    fn add(&mut self, versions: Vec<ListedVersion>) -> BoxFuture<'_, Result<(), StoreError>> {
        async move {
            if self.bucket == "bad" {
                return Err(failed());
            }
            self.keys.extend(versions.into_iter().map(|version| version.key));
            Ok(())
        }
        .boxed()
    }

    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<(), StoreError>> {
        async move {
            let Self { bucket, prefix, keys, made } = *self;
            made.lock().expect("unharmed").push((format!("{bucket} {prefix}"), keys));
            Ok(())
        }
        .boxed()
    }
}

#[tokio::test]
async fn a_report_takes_all_pages_and_one_that_fails_does_not_end_the_others() {
    let bench = bench(3, 2);
    for bucket in ["b", "bad", "z"] {
        bench.store.create_bucket(bucket).await.expect("made");
    }
    // More than a page of the keeper's.
    let mut keys: Vec<String> = (0..502).map(|at| format!("k/{at:04}")).collect();
    for key in &keys {
        put(&bench.store, key, &bytes(3, 1)).await;
    }
    put(&bench.store, "other", &bytes(3, 1)).await;
    let made = Made::default();
    let reporter = Everything { prefixes: vec!["k/", ""], made: made.clone() };
    let count = bench.keeper.make_reports(&reporter, 0).await.expect("walked");
    assert_eq!(count, 4, "those of two buckets");
    let made = made.lock().expect("unharmed");
    let named = |name: &str| {
        let found = made.iter().find(|(given, _)| given == name);
        found.map(|(_, keys)| keys.clone()).expect("made")
    };
    assert_eq!(named("b k/"), keys);
    keys.push("other".into());
    assert_eq!(named("b "), keys);
    assert_eq!(named("z "), [""; 0]);
}
