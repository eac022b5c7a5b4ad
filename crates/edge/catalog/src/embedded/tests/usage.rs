//! What buckets hold is counted with every change, and again only where an older program wrote.

use super::super::encoding::{META, USAGE, USAGE_AS_OF};
use super::super::usage::AccountRow;
use crate::conformance::{bucket, object, part, stripe, upload};
use crate::{
    Audited, Catalog, Change, Condition, Embedded, Finding, Quota, Reading, Session, Settings,
    Usage, copy, verify,
};
use redb::{Database, ReadableDatabase, ReadableTable, WriteTransaction};
use ripstop_model::StripeId;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn opened(path: &Path) -> Embedded {
    Embedded::open(path, Settings::default()).unwrap()
}

fn put(key: &str, named: &[u128]) -> Change {
    Change::PutObject {
        bucket: "b".into(),
        key: key.into(),
        object: object("e", named, named[0]),
        stripes: named.iter().map(|id| (StripeId(*id), stripe())).collect(),
        condition: Condition::None,
        quota: Quota::NONE,
    }
}

fn put_part(number: u16, named: &[u128]) -> Change {
    let part = part(number, "p", named);
    Change::PutPart { upload: "u".into(), part, stripes: vec![], quota: Quota::NONE }
}

fn delete(key: &str) -> Change {
    Change::DeleteObject { bucket: "b".into(), key: key.into(), condition: Condition::None }
}

fn reserve(session: u32) -> Change {
    Change::Reserve { session: Session(session), until_ms: 1 << 40 }
}

/// A bucket with 40 bytes in two objects, and 20 in a part of an upload.
async fn filled() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("catalog");
    let catalog = opened(&path);
    let begin =
        Change::CreateBucket { bucket: bucket("b", 1), stripes: vec![(StripeId(1), stripe())] };
    let upload = Change::CreateUpload(upload("u", "b", "k"));
    let changes = [reserve(1), begin, put("one", &[2, 3]), put("two", &[4, 5]), upload];
    for change in changes.into_iter().chain([put_part(1, &[2, 3])]) {
        catalog.commit(1, change).await.unwrap();
    }
    assert_eq!(usage(&catalog).await, (60, 2));
    (folder, path)
}

async fn usage(catalog: &Embedded) -> (u64, u64) {
    let Usage { bytes, objects } = catalog.usage("b").await.unwrap();
    (bytes, objects)
}

fn write(path: &Path, work: impl FnOnce(&WriteTransaction)) {
    let database = Database::open(path).unwrap();
    let txn = database.begin_write().unwrap();
    work(&txn);
    txn.commit().unwrap();
}

/// What a program that does not know what buckets hold leaves as it is.
type Unknown = (Vec<(Vec<u8>, AccountRow)>, Option<u64>);

fn unknown(path: &Path) -> Unknown {
    let database = Database::open(path).unwrap();
    let txn = database.begin_read().unwrap();
    let rows = txn.open_table(USAGE).unwrap();
    let row = |entry: Result<(redb::AccessGuard<'_, _>, redb::AccessGuard<'_, AccountRow>), _>| {
        let (name, row) = entry.unwrap();
        let name: &[u8] = redb::AccessGuard::<'_, &'static [u8]>::value(&name);
        (name.to_vec(), row.value())
    };
    let rows = rows.iter().unwrap().map(row).collect();
    let meta = txn.open_table(META).unwrap();
    (rows, meta.get(USAGE_AS_OF).unwrap().map(|found| found.value()))
}

/// Makes changes as a program would that does not know what buckets hold.
async fn change_as_before(path: &Path, changes: Vec<Change>) {
    let (rows, as_of) = unknown(path);
    let catalog = opened(path);
    for change in changes {
        catalog.commit(9, change).await.unwrap();
    }
    drop(catalog);
    write(path, |txn| {
        let mut usage = txn.open_table(USAGE).unwrap();
        usage.retain(|_, _| false).unwrap();
        for (name, row) in &rows {
            usage.insert(name.as_slice(), row).unwrap();
        }
        let mut meta = txn.open_table(META).unwrap();
        meta.insert(USAGE_AS_OF, as_of.unwrap()).unwrap();
    });
}

fn add_to_row(path: &Path, bytes: u64) {
    write(path, |txn| {
        let mut usage = txn.open_table(USAGE).unwrap();
        let (objects, object_bytes, part_bytes) = usage.get(&b"b"[..]).unwrap().unwrap().value();
        usage.insert(&b"b"[..], (objects, object_bytes + bytes, part_bytes)).unwrap();
    });
}

#[tokio::test]
async fn an_ordinary_reopening_counts_nothing_again_and_an_audit_does() {
    let (_folder, path) = filled().await;
    // What only counting again could put right.
    add_to_row(&path, 7);
    let catalog = opened(&path);
    assert_eq!(usage(&catalog).await, (67, 2));
    catalog.commit(9, reserve(1)).await.unwrap();
    catalog.commit(9, delete("one")).await.unwrap();
    drop(catalog);
    let catalog = opened(&path);
    assert_eq!(usage(&catalog).await, (47, 1), "nor after changes of this program");
    let differs = Finding::UsageDiffers {
        bucket: "b".into(),
        recorded: Usage { bytes: 47, objects: 1 },
        counted: Usage { bytes: 40, objects: 1 },
    };
    assert_eq!(catalog.audit().await.unwrap().findings, std::slice::from_ref(&differs));
    drop(catalog);
    let inspection = verify(&path, &Reading::default()).unwrap();
    assert_eq!(inspection.audit.findings, [differs]);
}

#[tokio::test]
async fn what_an_older_program_changed_is_counted_again() {
    let same_part = put_part(1, &[2]);
    let other_upload = Change::CreateUpload(upload("v", "b", "k"));
    let abort = Change::AbortUpload { upload: "u".into() };
    let part = |upload: &str| Change::PutPart {
        upload: upload.into(),
        part: part(1, "p", &[2]),
        stripes: vec![],
        quota: Quota::NONE,
    };
    let vouch = Change::Vouch { before_ms: 1 << 41 };
    for (changes, expected) in [
        (vec![delete("one")], (40, 1)),
        (vec![reserve(2), put("one", &[6, 7, 8])], (70, 2)),
        (vec![reserve(2), put("three", &[6]), delete("one")], (50, 2)),
        (vec![same_part], (50, 2)),
        (vec![abort.clone(), other_upload, part("v")], (50, 2)),
        (vec![abort], (40, 2)),
        (vec![put("one", &[6]), vouch], (50, 2)),
        (vec![reserve(2)], (60, 2)),
        (vec![], (60, 2)),
    ] {
        let (_folder, path) = filled().await;
        change_as_before(&path, changes.clone()).await;
        let catalog = opened(&path);
        assert_eq!(usage(&catalog).await, expected, "{changes:?}");
        assert!(catalog.audit().await.unwrap().is_clean(), "{changes:?}");
        catalog.commit(9, put("four", &[9])).await.unwrap();
        drop(catalog);
        let (bytes, objects) = expected;
        assert_eq!(usage(&opened(&path)).await, (bytes + 10, objects + 1), "{changes:?}");
    }
}

#[tokio::test]
async fn a_file_from_before_usage_is_counted_once() {
    let (_folder, path) = filled().await;
    write(&path, |txn| {
        txn.delete_table(USAGE).unwrap();
        txn.open_table(META).unwrap().remove(USAGE_AS_OF).unwrap();
    });
    assert!(verify(&path, &Reading::default()).unwrap().is_clean(), "and looked at as it is");
    assert_eq!(usage(&opened(&path)).await, (60, 2));
    add_to_row(&path, 7);
    assert_eq!(usage(&opened(&path)).await, (67, 2));
}

#[tokio::test]
async fn a_copy_knows_what_buckets_hold_and_counts_again_what_was_wrong() {
    let (folder, path) = filled().await;
    let copied = async |name: &str| {
        let to = folder.path().join(name);
        copy(&path, None, &to, &Reading::default()).unwrap().keep().unwrap();
        to
    };
    let good = copied("good").await;
    add_to_row(&good, 7);
    assert_eq!(usage(&opened(&good)).await, (67, 2), "it is not counted again");
    add_to_row(&path, 7);
    assert_eq!(usage(&opened(&copied("wrong").await)).await, (60, 2));
}
