//! Records that are not as this code would have written them.

use super::super::kinds::{COUNTED, LIVE, Number};
use super::super::live::BEGIN_AGAIN;
use super::super::prepare::prepare;
use super::super::table::Tables;
use super::disk::PowerCutDisk;
use crate::conformance::{bucket, object, part, stripe, upload};
use crate::key::object_key;
use crate::{
    AuditFinding, Audited, Catalog, CatalogError, CatalogSettings, Change, Condition, Embedded,
    Garbage, Gather, Gathered, Grouped, Held, Object, Quota, Trouble, Verdict,
};
use futures::future::join_all;
use redb::Database;
use ripstop_model::StripeId;
use std::sync::Arc;
use std::time::Duration;

/// A catalog of bucket "b" (told by stripe 1) and whatever `plant` adds.
fn planted(plant: impl FnOnce(&mut Tables<'_>)) -> Embedded {
    let disk = PowerCutDisk::new(vec![], usize::MAX);
    let database = Database::builder().create_with_backend(disk.clone()).unwrap();
    prepare(database.begin_write().unwrap()).unwrap();
    let txn = database.begin_write().unwrap();
    let mut tables = Tables::open(&txn).unwrap();
    tables.buckets.insert(&b"b".as_slice(), &bucket("b", 1)).unwrap();
    hold(&mut tables, 1, 1);
    plant(&mut tables);
    // What was planted is to be counted.
    tables.facts.remove(&COUNTED).unwrap();
    tables.cursors.insert(&LIVE, &BEGIN_AGAIN).unwrap();
    drop(tables);
    txn.commit().unwrap();
    drop(database);
    Embedded::open_on(
        PowerCutDisk::new(disk.after_the_cut(|| true), usize::MAX),
        CatalogSettings::default(),
    )
    .unwrap()
}

fn hold(tables: &mut Tables<'_>, id: u128, holders: u64) {
    tables.stripes.insert(&id, &Held { holders, stripe: stripe(), ..Held::default() }).unwrap();
}

fn plant_object(tables: &mut Tables<'_>, bucket: &str, key: &str, object: &Object) {
    let key = object_key(bucket, key.as_bytes());
    tables.objects.insert(&key.as_slice(), object).unwrap();
}

async fn findings(plant: impl FnOnce(&mut Tables<'_>)) -> Vec<AuditFinding> {
    planted(plant).audit().await.unwrap().findings
}

#[tokio::test]
async fn an_audit_of_what_agrees_finds_nothing() {
    let audit = planted(|tables| {
        hold(tables, 2, 1);
        plant_object(tables, "b", "k", &object("e", &[2, 2, 1], 2));
        hold(tables, 1, 2);
    });
    let audit = audit.audit().await.unwrap();
    assert!(audit.is_clean(), "{:?}", audit.findings);
    assert_eq!((audit.buckets, audit.objects, audit.stripes), (1, 1, 2));
}

#[tokio::test]
async fn an_audit_finds_a_leftover_that_is_in_force() {
    let found = findings(|tables| {
        // Fragment 1 of stripe 1 is at node 2; that it has left node 7, and that stripe 9 is gone,
        // are as they should be.
        for key in [(1, 1, 2), (1, 1, 7), (9, 1, 2)] {
            tables.leftovers.insert(&key, &Number(5)).unwrap();
        }
    })
    .await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        matches!(&found[0], AuditFinding::Unreadable { reason } if reason.contains("leftover"))
    );
}

#[tokio::test]
async fn an_audit_finds_wrong_counts_and_stripes_of_nobody() {
    let found = findings(|tables| {
        hold(tables, 1, 2);
        hold(tables, 2, 0);
    });
    let miscounted = |stripe, recorded, counted| AuditFinding::Miscounted {
        stripe: StripeId(stripe),
        recorded,
        counted,
    };
    assert_eq!(found.await, [miscounted(1, 2, 1), miscounted(2, 0, 0)]);
}

#[tokio::test]
async fn an_audit_finds_missing_stripes_and_those_in_two_tables() {
    let found = findings(|tables| {
        plant_object(tables, "b", "k", &object("e", &[], 5));
        tables.garbage.insert(&1, &Garbage { since_ms: 3, stripe: stripe() }).unwrap();
    });
    let holder = "object b/k".to_owned();
    assert_eq!(
        found.await,
        [
            AuditFinding::InForceAndGarbage { stripe: StripeId(1) },
            AuditFinding::StripeMissing { stripe: StripeId(5), holder },
        ]
    );
}

#[tokio::test]
async fn an_audit_finds_lengths_and_extents_that_do_not_fit() {
    let found = findings(|tables| {
        let mut long = object("e", &[1], 1);
        long.len = 11;
        plant_object(tables, "b", "long", &long);
        let mut outside = object("e", &[1], 1);
        outside.extents[0].offset = 91;
        plant_object(tables, "b", "outside", &outside);
        hold(tables, 1, 3);
    });
    let holder = "object b/long".to_owned();
    let outside = "object b/outside".to_owned();
    assert_eq!(
        found.await,
        [
            AuditFinding::LengthDiffers { holder, len: 11, extents: 10 },
            AuditFinding::ExtentOutside { holder: outside, stripe: StripeId(1) },
        ]
    );
}

#[tokio::test]
async fn an_audit_finds_what_belongs_to_nothing_or_cannot_be_read() {
    let found = findings(|tables| {
        plant_object(tables, "absent", "k", &object("e", &[], 1));
        hold(tables, 1, 2);
        tables.uploads.insert(&b"u".as_slice(), &upload("u", "b", "k")).unwrap();
        let orphan = part(1, "p", &[]);
        tables.parts.insert(&(b"absent".as_slice(), 1), &orphan).unwrap();
        let key = object_key("b", b"odd");
        tables.objects.insert_raw(&key.as_slice(), &[7]).unwrap();
    });
    let shown: Vec<String> = found.await.iter().map(ToString::to_string).collect();
    assert_eq!(shown.len(), 5, "{shown:?}");
    assert!(shown[0].contains("unknown version 7"), "{shown:?}");
    assert_eq!(
        shown[1..],
        [
            "object absent/k belongs to nothing",
            "upload u has no place",
            "places of uploads and uploads differ in number",
            "part 1 of upload absent belongs to nothing",
        ]
    );
}

/// Object "k50" cannot be read.
fn damaged() -> Embedded {
    planted(|tables| {
        let key = object_key("b", b"k50");
        tables.objects.insert_raw(&key.as_slice(), &[7]).unwrap();
    })
}

fn put(at: usize) -> Change {
    Change::PutObject {
        bucket: "b".into(),
        key: format!("k{at}"),
        object: object("e", &[1], 1),
        stripes: vec![],
        condition: Condition::None,
        quota: Quota::NONE,
    }
}

/// Commits once this many changes wait.
#[derive(Debug)]
struct Together(usize);

impl Gather for Together {
    fn gather(&mut self, gathered: &Gathered) -> Verdict {
        if gathered.changes >= self.0 {
            Verdict::Commit { changes_max: usize::MAX }
        } else {
            Verdict::Wait(Duration::from_secs(1))
        }
    }
}

#[tokio::test]
async fn a_group_that_meets_damage_changes_nothing_and_all_of_it_are_told() {
    let catalog = Arc::new(damaged());
    let grouped = Grouped::by(Together(100), 4096, Arc::clone(&catalog));
    for answer in join_all((0..100).map(|at| grouped.commit_one(1, put(at)))).await {
        assert!(matches!(answer, Err(CatalogError::Corrupt { .. })), "{answer:?}");
    }
    assert!(matches!(catalog.health().trouble(), Some(Trouble::Damaged { .. })));
    let audit = catalog.audit().await.unwrap();
    assert_eq!((audit.objects, audit.findings.len()), (0, 1));
}

#[tokio::test]
async fn nothing_is_committed_on_top_of_damage() {
    let catalog = damaged();
    let answers = join_all((0..100).map(|at| catalog.commit_one(1, put(at)))).await;
    for (at, answer) in answers.iter().enumerate() {
        match answer {
            Ok(_) => assert!(at < 50, "{at}"),
            Err(CatalogError::Corrupt { .. }) => assert_eq!(at, 50),
            Err(CatalogError::Unavailable(why)) => {
                assert!(
                    at > 50 && why.to_string().contains("the catalog is damaged"),
                    "{at}: {why}"
                );
            }
            Err(other) => panic!("{at}: {other:?}"),
        }
    }
    assert!(matches!(catalog.health().trouble(), Some(Trouble::Damaged { .. })));
    let audit = catalog.audit().await.unwrap();
    assert_eq!((audit.objects, audit.findings.len()), (50, 1));
}

#[tokio::test]
async fn a_record_that_a_reader_cannot_make_out_is_an_error_and_stops_changes() {
    let catalog = planted(|tables| {
        let key = object_key("b", b"odd");
        tables.objects.insert_raw(&key.as_slice(), &[7]).unwrap();
    });
    assert_eq!(catalog.health().trouble(), None);
    assert!(matches!(catalog.object("b", "odd").await, Err(CatalogError::Corrupt { .. })));
    assert!(catalog.health().trouble().is_some());
    assert!(catalog.commit_one(1, Change::NameNode { name: "n".into() }).await.is_err());
    // Nor is it said that there is none beside it: its key may be damaged as well.
    assert!(matches!(catalog.object("b", "other").await, Err(CatalogError::Corrupt { .. })));
}
