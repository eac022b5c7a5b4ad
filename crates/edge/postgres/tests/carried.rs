//! Rows carried from a file into a real PostgreSQL and back.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests, which say what they skip")]

mod support;

use proptest::prelude::*;
use ripstop_catalog::conformance::{Step, bucket, compare, follow, object, script, stripe};
use ripstop_catalog::{
    Audited as _, Catalog, CatalogSettings, Change, Condition, Embedded, FilledFile, Quota,
    Reading, RowCount, RowSink as _, RowSource, Session, Versioning, Writes, carry, count_rows,
};
use ripstop_model::{NodeId, StripeId};
use ripstop_object::Lease;
use ripstop_postgres::{FillError, FilledDatabase, Postgres, PostgresSettings, PostgresUrl};
use std::collections::BTreeMap;
use std::path::Path;
use support::server::Server;
use support::{opened, run, server};

fn embedded(path: &Path) -> Embedded {
    Embedded::open(path, CatalogSettings::default()).unwrap()
}

async fn filling(url: &str) -> FilledDatabase {
    let url: PostgresUrl = url.parse().unwrap();
    FilledDatabase::begin(&url, PostgresSettings::default()).await.unwrap()
}

async fn counted(mut rows: impl RowSource) -> RowCount {
    count_rows(&mut rows, |_| {}).await.unwrap()
}

/// Everything, in one.
async fn whole(mut rows: impl RowSource) -> Writes<'static> {
    let mut all = Writes::default();
    while let Some(some) = rows.next().await.unwrap() {
        all.buckets.extend(some.buckets);
        all.objects.extend(some.objects);
        all.tombstones.extend(some.tombstones);
        all.stripes.extend(some.stripes);
        all.garbage.extend(some.garbage);
        all.outlived.extend(some.outlived);
        all.leftovers.extend(some.leftovers);
        all.uploads.extend(some.uploads);
        all.upload_places.extend(some.upload_places);
        all.parts.extend(some.parts);
        all.accounts.extend(some.accounts);
        all.nodes.extend(some.nodes);
        all.sessions.extend(some.sessions);
        all.watermarks.extend(some.watermarks);
        all.leases.extend(some.leases);
        all.vouched_before = some.vouched_before.or(all.vouched_before);
    }
    all
}

/// A catalog's rows with nobody at work.
fn at_rest(mut rows: Writes<'static>) -> Writes<'static> {
    rows.leases.values_mut().for_each(|lease: &mut Lease| lease.until_ms = 0);
    rows
}

/// Carries a file's rows into a database.
async fn into_database(from: &Embedded, url: &str) -> RowCount {
    let mut database = filling(url).await;
    let count = carry(&mut from.rows(), &mut database, |_| {}).await.unwrap();
    assert_eq!(counted(database.rows().await.unwrap()).await, count);
    database.finish().await.unwrap();
    count
}

/// Carries a database's rows into a new file.
async fn into_file(from: &Postgres, to: &Path) -> RowCount {
    let mut file = FilledFile::begin(to).unwrap();
    let mut rows = from.leave().await.unwrap();
    let count = carry(&mut rows, &mut file, |_| {}).await.unwrap();
    assert_eq!(counted(file.rows().unwrap()).await, count);
    let copied = file.finish(&Reading::default()).unwrap();
    assert!(copied.inspection.is_clean(), "{:?}", copied.inspection.findings());
    copied.keep().unwrap();
    rows.left().await.unwrap();
    count
}

async fn there_and_back(server: &Server, steps: &[Step], together: usize) {
    let folder = tempfile::tempdir().unwrap();
    let first = embedded(&folder.path().join("first"));
    let model = follow(&first, steps, together).await;
    let should = at_rest(whole(first.rows()).await);
    let url = server.fresh_url().await;
    let count = into_database(&first, &url).await;
    let database = opened(&url).await;
    assert_eq!(whole(database.rows().await.unwrap()).await, should);
    let mut state = model.state().clone();
    state.leases.values_mut().for_each(|it| it.until_ms = 0);
    state.gateways.clear();
    let model = ripstop_catalog::Model::of(state);
    compare(&database, &model).await;
    let back = folder.path().join("back");
    assert_eq!(into_file(&database, &back).await, count);
    let back = embedded(&back);
    assert_eq!(whole(back.rows()).await, should);
    compare(&back, &model).await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, ..ProptestConfig::default() })]

    #[test]
    fn what_goes_into_a_database_and_back_is_what_it_was(
        steps in script(120), together in 1..30usize,
    ) {
        let Some(server) = server() else { return Ok(()) };
        run(there_and_back(&server, &steps, together));
    }
}

fn create(name: &str, told_by: u128) -> Change {
    let stripes = vec![(StripeId(told_by), stripe())];
    Change::CreateBucket { bucket: bucket(name, told_by), stripes }
}

fn put(key: String, id: u128) -> Change {
    Change::PutObject {
        bucket: "b".into(),
        key,
        object: object("e", &[id], id),
        stripes: vec![(StripeId(id), stripe())],
        condition: Condition::None,
        quota: Quota::NONE,
    }
}

async fn fill(catalog: &dyn Catalog, objects: u128) {
    catalog.commit_one(1, create("b", 1)).await.unwrap();
    let changes: Vec<_> = (0..objects).map(|at| put(format!("k{at:06}"), 10 + at)).collect();
    for changes in changes.chunks(2000) {
        catalog.commit(1, changes.to_vec()).await.unwrap();
    }
}

#[test]
fn more_than_one_batch_goes_there_and_back() {
    let Some(server) = server() else { return };
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let first = embedded(&folder.path().join("first"));
        fill(&first, 9000).await;
        let url = server.fresh_url().await;
        let count = into_database(&first, &url).await;
        assert_eq!(count.objects, 9000);
        let back = folder.path().join("back");
        assert_eq!(into_file(&opened(&url).await, &back).await, count);
        assert_eq!(whole(embedded(&back).rows()).await, whole(first.rows()).await);
    });
}

fn told(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

async fn refused(url: &str) -> String {
    let url: PostgresUrl = url.parse().unwrap();
    told(&Postgres::open(&url, PostgresSettings::default()).await.unwrap_err())
}

#[test]
fn no_gateway_begins_on_a_database_that_is_not_filled_and_filling_it_again_is_enough() {
    let Some(server) = server() else { return };
    run(async {
        let url = server.fresh_url().await;
        let nodes = BTreeMap::from([("n".into(), NodeId(7))]);
        let mut first = filling(&url).await;
        first.put(Writes { nodes, ..Writes::default() }).await.unwrap();
        assert!(refused(&url).await.contains("did not come to its end"), "{}", refused(&url).await);
        let second = filling(&url).await;
        // What the first left is gone, and it can do nothing more.
        let error = first.put(Writes::default()).await.unwrap_err();
        assert!(told(&error).contains("another command has begun"), "{}", told(&error));
        assert!(told(&first.finish().await.unwrap_err()).contains("another command has begun"));
        assert_eq!(counted(second.rows().await.unwrap()).await.rows, 1);
        fill(&**second.catalog(), 3).await;
        assert!(refused(&url).await.contains("did not come to its end"));
        second.finish().await.unwrap();
        let catalog = opened(&url).await;
        assert_eq!(catalog.usage("b").await.unwrap().objects, 3);
        assert!(catalog.audit().await.unwrap().is_clean());
        let url = url.parse().unwrap();
        let full = FilledDatabase::begin(&url, PostgresSettings::default()).await.unwrap_err();
        assert!(matches!(full, FillError::NotEmpty), "{full:?}");
        // Whoever filled it is done.
        assert_eq!(catalog.usage("b").await.unwrap().objects, 3);
    });
}

#[test]
fn gateways_of_a_catalog_that_was_moved_elsewhere_commit_nothing_more() {
    let Some(server) = server() else { return };
    run(async {
        let url = server.fresh_url().await;
        let gateway = opened(&url).await;
        fill(&gateway, 3).await;
        // Dropped on its way it leaves everything as it was.
        let leaving = opened(&url).await.leave().await.unwrap();
        drop(leaving);
        gateway.commit_one(2, put("one more".into(), 500)).await.unwrap();
        let leaving = opened(&url).await.leave().await.unwrap();
        let committing = gateway.commit_one(2, put("late".into(), 501));
        let (error, left) = futures::join!(committing, leaving.left());
        left.unwrap();
        let error = error.unwrap_err();
        assert!(told(&error).contains("was moved out of this database"), "{}", told(&error));
        assert!(refused(&url).await.contains("was moved out of this database"));
        let parsed = url.parse().unwrap();
        let again = FilledDatabase::begin(&parsed, PostgresSettings::default()).await.unwrap_err();
        assert!(matches!(again, FillError::LeftBehind), "{again:?}");
        assert!(gateway.object("b", "late").await.unwrap().is_none());
    });
}

#[test]
fn a_moment_is_kept_while_gateways_go_on() {
    let Some(server) = server() else { return };
    run(async {
        let url = server.fresh_url().await;
        let catalog = opened(&url).await;
        fill(&catalog, 20).await;
        let (mut rows, before) =
            (catalog.rows().await.unwrap(), counted(catalog.rows().await.unwrap()).await);
        catalog.commit_one(2, put("late".into(), 500)).await.unwrap();
        assert_eq!(count_rows(&mut rows, |_| {}).await.unwrap(), before);
        rows.rewind();
        assert_eq!(count_rows(&mut rows, |_| {}).await.unwrap(), before);
        assert_ne!(counted(catalog.rows().await.unwrap()).await, before);
    });
}

#[test]
fn versions_of_keys_with_odd_bytes_sort_the_same_in_both() {
    let Some(server) = server() else { return };
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let first = embedded(&folder.path().join("first"));
        let kept = ripstop_catalog::Bucket { versioning: Versioning::Enabled, ..bucket("b", 1) };
        let stripes = vec![(StripeId(1), stripe())];
        first.commit_one(1, Change::CreateBucket { bucket: kept, stripes }).await.unwrap();
        for (key, id) in [("a\0b", 10), ("a", 11), ("a\0", 12), ("é", 13)] {
            first.commit_one(1, put(key.into(), id)).await.unwrap();
        }
        let reserve = Change::Reserve { session: Session(u32::MAX), until_ms: 5 };
        first.commit_one(1, reserve).await.unwrap();
        let url = server.fresh_url().await;
        into_database(&first, &url).await;
        let request = ripstop_catalog::conformance::listing_of("b");
        let database = opened(&url).await;
        let (one, other) = (first.versions(&request).await, database.versions(&request).await);
        assert_eq!(format!("{:?}", one.unwrap()), format!("{:?}", other.unwrap()));
        assert!(database.vouched().await.unwrap().covers(Session(u32::MAX).name(5, 1)));
    });
}
