//! What buckets hold is counted with every change, and again only where nobody has.

use super::super::kinds::USAGE;
use super::older::age_file;
use crate::conformance::{bucket, object, part, stripe, upload};
use crate::{
    Account, AuditFinding, Audited, Catalog, CatalogSettings, Change, Condition, Embedded, Quota,
    Reading, Session, Usage, copy, verify,
};
use redb::Database;
use ripstop_model::StripeId;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn opened(path: &Path) -> Embedded {
    Embedded::open(path, CatalogSettings::default()).unwrap()
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
    Change::DeleteObject {
        release: crate::Release::default(),
        bucket: "b".into(),
        key: key.into(),
        condition: Condition::None,
        tombstone: None,
        stripes: vec![],
    }
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
        catalog.commit_one(1, change).await.unwrap();
    }
    assert_eq!(usage(&catalog).await, (60, 2));
    (folder, path)
}

async fn usage(catalog: &Embedded) -> (u64, u64) {
    let Usage { bytes, objects } = catalog.usage("b").await.unwrap();
    (bytes, objects)
}

fn add_to_row(path: &Path, bytes: u64) {
    let database = Database::open(path).unwrap();
    let txn = database.begin_write().unwrap();
    {
        let mut rows = USAGE.write(&txn, false);
        let account = rows.find(&&b"b"[..]).unwrap().unwrap();
        let wrong = Account { object_bytes: account.object_bytes + bytes, ..account };
        rows.insert(&&b"b"[..], &wrong).unwrap();
    }
    txn.commit().unwrap();
}

#[tokio::test]
async fn an_ordinary_reopening_counts_nothing_again_and_an_audit_does() {
    let (_folder, path) = filled().await;
    // What only counting again could put right.
    add_to_row(&path, 7);
    let catalog = opened(&path);
    assert_eq!(usage(&catalog).await, (67, 2));
    catalog.commit_one(9, reserve(1)).await.unwrap();
    catalog.commit_one(9, delete("one")).await.unwrap();
    drop(catalog);
    let catalog = opened(&path);
    assert_eq!(usage(&catalog).await, (47, 1), "nor after changes of this program");
    let differs = AuditFinding::UsageDiffers {
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
async fn a_file_of_format_1_is_counted_whatever_it_says() {
    for said in [None, Some((&b"b"[..], (2, 40, 20))), Some((&b"b"[..], (7, 1, 0)))] {
        let (_folder, path) = filled().await;
        age_file(&Database::open(&path).unwrap(), said);
        assert!(verify(&path, &Reading::default()).unwrap().is_clean(), "and looked at as it is");
        assert_eq!(usage(&opened(&path)).await, (60, 2));
        add_to_row(&path, 7);
        assert_eq!(usage(&opened(&path)).await, (67, 2), "once");
    }
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
