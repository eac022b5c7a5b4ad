//! Copies of a file that is being written to.

use super::super::kinds::{GARBAGE, META};
use super::super::older;
use crate::conformance::{bucket, object, stripe};
use crate::{
    Audited, Catalog, CatalogError, CatalogSettings, Change, Condition, Embedded, Garbage, Quota,
    Reading, Session, copy, verify,
};
use ripstop_model::StripeId;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

fn put(at: usize) -> Change {
    Change::PutObject {
        bucket: "b".into(),
        key: format!("k{at:06}"),
        object: object(&format!("etag-{at}-{}", "x".repeat(at % 300)), &[1], 1),
        stripes: vec![],
        condition: Condition::None,
        quota: Quota::NONE,
    }
}

/// A catalog in a file, with a bucket and `objects` objects.
async fn filled(path: &Path, objects: usize) -> Embedded {
    let catalog = Embedded::open(path, CatalogSettings::default()).unwrap();
    let stripes = vec![(StripeId(1), stripe())];
    let change = Change::CreateBucket { bucket: bucket("b", 1), stripes };
    catalog.commit_one(1, change).await.unwrap();
    for at in 0..objects {
        catalog.commit_one(1, put(at)).await.unwrap();
    }
    catalog
}

fn told(error: &CatalogError) -> String {
    let source = std::error::Error::source(error).map(ToString::to_string);
    format!("{error}: {}", source.unwrap_or_default())
}

fn names(folder: &Path) -> Vec<PathBuf> {
    let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_taken_under_changes_hold_all_that_was_answered_before_and_nothing_torn() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("catalog");
    let catalog = Arc::new(filled(&path, 200).await);
    let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(200)));
    let writing = {
        let (catalog, stop, done) = (catalog.clone(), stop.clone(), done.clone());
        tokio::spawn(async move {
            while !stop.load(Ordering::SeqCst) {
                let at = done.load(Ordering::SeqCst);
                catalog.commit_one(1, put(at)).await.unwrap();
                // Overwriting is what frees pages.
                catalog.commit_one(1, put(at % 200)).await.unwrap();
                done.store(at + 1, Ordering::SeqCst);
            }
        })
    };
    for round in 0..5 {
        let least = done.load(Ordering::SeqCst);
        let snapshot = catalog.snapshot().await.unwrap();
        let to = folder.path().join(format!("copy{round}"));
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        let copied = copy(&path, Some(snapshot.extracted()), &to, &Reading::default()).unwrap();
        assert!(snapshot.is_kept());
        assert!(copied.inspection.is_clean(), "{:?}", copied.inspection.findings());
        let objects = copied.inspection.audit.objects as usize;
        assert!((least..=done.load(Ordering::SeqCst) + 1).contains(&objects), "{least}, {objects}");
        copied.keep().unwrap();
        let copy = Embedded::open(
            &to,
            CatalogSettings { check_pages: true, ..CatalogSettings::default() },
        )
        .unwrap();
        for at in 0..least {
            assert!(copy.object("b", &format!("k{at:06}")).await.unwrap().is_some(), "{at}");
        }
        assert!(copy.audit().await.unwrap().is_clean());
        copy.commit_one(1, put(0)).await.unwrap();
    }
    stop.store(true, Ordering::SeqCst);
    writing.await.unwrap();
}

#[tokio::test]
async fn a_copy_is_for_its_owner_alone_and_takes_the_place_of_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (path, to) = (folder.path().join("catalog"), folder.path().join("copy"));
    drop(filled(&path, 3).await);
    copy(&path, None, &to, &Reading::default()).unwrap().keep().unwrap();
    assert_eq!(fs::metadata(&to).unwrap().permissions().mode() & 0o777, 0o600);
    let before = fs::read(&to).unwrap();
    let error = copy(&path, None, &to, &Reading::default()).unwrap_err();
    assert!(told(&error).contains("there is a file of that name"), "{}", told(&error));
    assert_eq!(fs::read(&to).unwrap(), before);
    assert_eq!(names(folder.path()), [path, to]);
}

#[tokio::test]
async fn a_copy_knows_no_names_of_stripes() {
    let folder = tempfile::tempdir().unwrap();
    let (path, to) = (folder.path().join("catalog"), folder.path().join("copy"));
    let catalog = filled(&path, 3).await;
    let (session, at) = (Session(5), u64::MAX >> 20);
    catalog.commit_one(1, Change::Reserve { session, until_ms: at }).await.unwrap();
    assert!(catalog.vouched().await.unwrap().covers(session.name(at, 0)));
    drop(catalog);
    copy(&path, None, &to, &Reading::default()).unwrap().keep().unwrap();
    let copy = Embedded::open(&to, CatalogSettings::default()).unwrap();
    let vouched = copy.vouched().await.unwrap();
    assert!(!vouched.covers(session.name(at, 0)) && !vouched.covers(StripeId(1)));
}

#[tokio::test]
async fn what_is_damaged_is_not_copied_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let (path, to) = (folder.path().join("catalog"), folder.path().join("copy"));
    drop(filled(&path, 50).await);
    assert!(verify(&path, &Reading::default()).unwrap().is_clean());
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.windows(7).rposition(|found| found == b"etag-17").unwrap();
    bytes[at] ^= 1;
    fs::write(&path, &bytes).unwrap();
    assert!(!verify(&path, &Reading::default()).unwrap().is_clean());
    let error = copy(&path, None, &to, &Reading::default()).unwrap_err();
    assert!(matches!(error, CatalogError::Corrupt { .. }), "{error:?}");
    assert_eq!(names(folder.path()), std::slice::from_ref(&path));
    for short in [0, 100, 5000] {
        fs::write(&path, &bytes[..short]).unwrap();
        assert!(copy(&path, None, &to, &Reading::default()).is_err());
    }
}

#[tokio::test]
async fn a_file_from_before_sessions_knows_every_name_until_it_was_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("catalog");
    drop(filled(&path, 3).await);
    {
        let database = redb::Database::open(&path).unwrap();
        let txn = database.begin_write().unwrap();
        let newest = Session(9).name(1 << 47, 0);
        let record = Garbage { since_ms: 1, stripe: stripe() };
        GARBAGE.write(&txn, false).insert(&newest.0, &record).unwrap();
        txn.commit().unwrap();
        super::older::age_file(&database, None);
        let txn = database.begin_write().unwrap();
        txn.delete_table(older::SESSIONS).unwrap();
        txn.delete_table(older::LEFTOVERS).unwrap();
        txn.open_table(META).unwrap().remove(older::VOUCHED).unwrap();
        txn.commit().unwrap();
    }
    let catalog = Embedded::open(&path, CatalogSettings::default()).unwrap();
    let vouched = catalog.vouched().await.unwrap();
    // One that the catalog holds is later than the clock says it is now.
    assert_eq!((vouched.before_ms, vouched.sessions.len()), ((1 << 47) + 1, 0));
}
