//! Several gateways' catalogs over one database, and what pages cost.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests, which say what they skip")]

mod support;

use futures::future::join_all;
use ripstop_catalog::conformance::{bucket, object, stripe};
use ripstop_catalog::{
    Audited as _, Catalog, CatalogError, Change, Condition, Grouped, ListingRequest, Quota, Refusal,
};
use ripstop_model::StripeId;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use support::proxy::{Faults, Proxy};
use support::{fresh, opened, run, server};

fn create(name: &str, told_by: u128) -> Change {
    let stripes = vec![(StripeId(told_by), stripe())];
    Change::CreateBucket { bucket: bucket(name, told_by), stripes }
}

fn put(key: &str, id: u128, condition: Condition) -> Change {
    Change::PutObject {
        bucket: "b".into(),
        key: key.into(),
        object: object("e", &[id], id),
        stripes: vec![(StripeId(id), stripe())],
        condition,
        quota: Quota::NONE,
    }
}

#[test]
fn commits_of_several_gateways_follow_one_another() {
    let Some(server) = server() else { return };
    run(async {
        let url = server.fresh_url().await;
        let mut gateways: Vec<Arc<dyn Catalog>> = Vec::new();
        for _ in 0..4 {
            gateways.push(Arc::new(Grouped::over(Arc::new(opened(&url).await))));
        }
        gateways[0].commit_one(1, create("b", 1)).await.unwrap();
        let writing = (0..40u128).flat_map(|round| {
            gateways.iter().zip(0u128..).map(move |(gateway, of)| {
                let id = 100 + round * 10 + of;
                async move {
                    // All want the same key to be absent, and each writes one of its own.
                    let one =
                        gateway.commit_one(1, put(&format!("one{round}"), id, Condition::Absent));
                    let own =
                        gateway.commit_one(1, put(&format!("own{id}"), id + 1000, Condition::None));
                    let (one, own) = futures::join!(one, own);
                    own.unwrap();
                    match one {
                        Ok(_) => 1,
                        Err(CatalogError::Refused(Refusal::ConditionFailed)) => 0,
                        Err(error) => panic!("{error:?}"),
                    }
                }
            })
        });
        let won: i32 = join_all(writing).await.into_iter().sum();
        assert_eq!(won, 40, "one of four wins each time");
        let catalog = opened(&url).await;
        assert_eq!(catalog.usage("b").await.unwrap().objects, 40 + 160);
        let audit = catalog.audit().await.unwrap();
        assert!(audit.is_clean(), "{:?}", audit.findings);
    });
}

#[test]
fn gateways_that_make_the_tables_at_the_same_time_make_them_once() {
    let Some(server) = server() else { return };
    run(async {
        let url = server.fresh_url().await;
        let catalogs = join_all((0..6).map(|_| opened(&url))).await;
        catalogs[0].commit_one(1, create("b", 1)).await.unwrap();
        for catalog in &catalogs {
            assert!(catalog.bucket("b").await.unwrap().is_some());
        }
    });
}

#[test]
fn a_program_that_is_older_than_the_tables_says_so() {
    let Some(server) = server() else { return };
    run(async {
        let url = server.fresh_url().await;
        drop(opened(&url).await);
        let schema = url.rsplit_once("%3D").unwrap().1.to_owned();
        server.simple(&format!("UPDATE {schema}.ripstop_schema SET version = 99")).await;
        let url = url.parse().unwrap();
        let refused =
            ripstop_postgres::Postgres::open(&url, ripstop_postgres::PostgresSettings::default());
        let error = refused.await.unwrap_err().to_string();
        assert!(error.contains("version 99") && error.contains("a newer one"), "{error}");
    });
}

#[test]
fn what_was_changed_in_the_database_by_others_is_an_error_and_a_finding() {
    let Some(server) = server() else { return };
    run(async {
        let url = server.fresh_url().await;
        let catalog = opened(&url).await;
        catalog.commit_one(1, create("b", 1)).await.unwrap();
        for (id, key) in [(2, "k"), (3, "l")] {
            catalog.commit_one(1, put(key, id, Condition::None)).await.unwrap();
        }
        let schema = url.rsplit_once("%3D").unwrap().1.to_owned();
        // What stands at one key is put where another's was.
        let objects = format!("{schema}.ripstop_objects");
        let swapped = format!(
            "UPDATE {objects} SET record = (SELECT record FROM {objects} ORDER BY key LIMIT 1)"
        );
        server.simple(&swapped).await;
        assert!(catalog.object("b", "k").await.unwrap().is_some());
        let error = catalog.object("b", "l").await.unwrap_err();
        assert!(matches!(error, CatalogError::Corrupt { .. }), "{error:?}");
        assert!(catalog.verify().await.is_err());
        assert!(!catalog.audit().await.unwrap().is_clean());
    });
}

#[test]
fn a_page_takes_two_round_trips_however_much_is_rolled_up() {
    let Some(server) = server() else { return };
    run(async {
        let plain = fresh(&server).await;
        let proxy = Proxy::start(server.port, Faults::default(), 1).await;
        let url = server.fresh_url().await;
        let port = server.port.to_string();
        let catalog = opened(&url.replace(&port, &proxy.port.to_string())).await;
        drop(plain);
        catalog.commit_one(1, create("b", 1)).await.unwrap();
        let keys = (0..8u128).flat_map(|group| (0..1200u128).map(move |at| (group, at)));
        let changes: Vec<Change> = keys
            .map(|(group, at)| {
                put(&format!("g{group}/{at:05}"), 10 + group * 5000 + at, Condition::None)
            })
            .collect();
        for changes in changes.chunks(2400) {
            catalog.commit(1, changes.to_vec()).await.unwrap();
        }
        let request = ListingRequest {
            bucket: "b".into(),
            delimiter: "/".into(),
            max: 1000,
            ..ListingRequest::default()
        };
        let asked = || proxy.counts().statements.load(Relaxed);
        let before = asked();
        let page = catalog.list(&request).await.unwrap();
        assert_eq!(page.prefixes, (0..8).map(|it| format!("g{it}/")).collect::<Vec<_>>());
        assert!(page.next.is_none() && page.objects.is_empty());
        // Both spaces and the bucket in the first round, and what is stepped over in the second.
        assert!(asked() - before <= 5, "{} statements", asked() - before);
        let flat = ListingRequest { delimiter: String::new(), ..request };
        let before = asked();
        assert_eq!(catalog.list(&flat).await.unwrap().objects.len(), 1000);
        assert_eq!(asked() - before, 3, "one round");
        let before = asked();
        catalog.object("b", "g1/00001").await.unwrap().unwrap();
        assert_eq!(asked() - before, 1, "an object comes with its stripes");
    });
}
