//! Files of format 1.

use super::super::kinds;
use super::super::live::BEGIN_AGAIN;
use super::super::older::{self, LEFTOVERS, NODES, SESSIONS, UPLOADS_BY_KEY, USAGE};
use super::super::rows::{Bytes, Kind, OLDER, Stored};
use super::disk::PowerCutDisk;
use super::flips::{changes_of_a_script, run};
use crate::conformance::{bucket, stripe, whole};
use crate::{
    Audited, Bucket, Catalog, CatalogError, CatalogSettings, Change, Embedded, Garbage, Held,
    Object, Reading, Session, Stripe, Upload, UploadedPart, Versioning, bucket_of, copy,
    split_version_name, verify,
};
use redb::{Database, Key, ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction};
use ripstop_model::{NodeId, StripeId};
use serde::Serialize;
use std::path::Path;

/// As format 1 wrote it, without its version byte.
trait Older: Stored {
    fn body(&self) -> Vec<u8>;
}

fn postcard(record: &impl Serialize) -> Vec<u8> {
    postcard::to_extend(record, vec![]).unwrap()
}

impl Older for Bucket {
    fn body(&self) -> Vec<u8> {
        postcard(self)
    }
}

impl Older for Object {
    fn body(&self) -> Vec<u8> {
        postcard(self)
    }
}

impl Older for Upload {
    fn body(&self) -> Vec<u8> {
        postcard(self)
    }
}

impl Older for UploadedPart {
    fn body(&self) -> Vec<u8> {
        postcard(self)
    }
}

impl Older for Held {
    fn body(&self) -> Vec<u8> {
        postcard(&(self.holders, &self.stripe))
    }
}

impl Older for Garbage {
    fn body(&self) -> Vec<u8> {
        [self.since_ms.to_be_bytes().to_vec(), postcard(&self.stripe)].concat()
    }
}

/// Writes each record for which `which` holds, counted from 0, as format 1 did.
fn age<K: Key + 'static, R: Older>(
    txn: &WriteTransaction,
    kind: Kind<K, R>,
    which: impl Fn(usize) -> bool,
) {
    let mut rows = kind.write(txn, true);
    let entries = rows.all().unwrap().enumerate().filter(|(at, _)| which(*at));
    let aged: Vec<(Vec<u8>, Vec<u8>)> = entries
        .map(|(_, entry)| {
            let entry = entry.unwrap();
            let record = [vec![OLDER], entry.read().unwrap().body()].concat();
            (K::as_bytes(&entry.key()).as_ref().to_vec(), record)
        })
        .collect();
    for (key, record) in aged {
        rows.insert_raw(&K::from_bytes(&key), &record).unwrap();
    }
}

/// What format 1 says of a bucket: its objects, their bytes and those of parts.
type Usage = (u64, u64, u64);

/// Makes of a file one of format 1, as the last program of that format left it; `usage` of a bucket
/// is what it says of that.
pub(super) fn age_file(database: &Database, usage: Option<(&[u8], Usage)>) {
    let txn = database.begin_write().unwrap();
    age(&txn, kinds::BUCKETS, |_| true);
    age(&txn, kinds::OBJECTS, |_| true);
    age(&txn, kinds::STRIPES, |_| true);
    age(&txn, kinds::GARBAGE, |_| true);
    age(&txn, kinds::UPLOADS, |_| true);
    age(&txn, kinds::PARTS, |_| true);
    {
        let number = |facts: &Kind<Bytes, kinds::Number>, name: &[u8]| {
            facts.write(&txn, false).number(&name).unwrap()
        };
        let mut meta = txn.open_table(kinds::META).unwrap();
        meta.insert(kinds::FORMAT_NAME, older::FORMAT).unwrap();
        let vouched = number(&kinds::FACTS, kinds::VOUCHED).unwrap();
        meta.insert(older::VOUCHED, vouched).unwrap();
        meta.insert(older::USAGE_AS_OF, 7).unwrap();
        let mut leftovers = txn.open_table(LEFTOVERS).unwrap();
        for entry in kinds::LEFTOVERS.write(&txn, false).all().unwrap() {
            let entry = entry.unwrap();
            leftovers.insert(entry.key(), entry.read().unwrap().0).unwrap();
        }
        let mut places = txn.open_table(UPLOADS_BY_KEY).unwrap();
        for entry in kinds::UPLOADS_BY_KEY.write(&txn, false).all().unwrap() {
            places.insert(entry.unwrap().key(), ()).unwrap();
        }
        let mut nodes = txn.open_table(NODES).unwrap();
        for entry in kinds::NODES.write(&txn, false).all().unwrap() {
            let entry = entry.unwrap();
            nodes.insert(entry.key(), entry.read().unwrap().0 as u16).unwrap();
        }
        let mut sessions = txn.open_table(SESSIONS).unwrap();
        for entry in kinds::SESSIONS.write(&txn, false).all().unwrap() {
            let entry = entry.unwrap();
            sessions.insert(entry.key(), entry.read().unwrap().0).unwrap();
        }
        if let Some((bucket, row)) = usage {
            txn.open_table(USAGE).unwrap().insert(bucket, row).unwrap();
        }
    }
    for name in [
        kinds::FACTS.name,
        kinds::LEFTOVERS.name,
        kinds::UPLOADS_BY_KEY.name,
        kinds::NODES.name,
        kinds::SESSIONS.name,
        kinds::USAGE.name,
        kinds::TOMBSTONES.name,
        kinds::OUTLIVED.name,
        kinds::OUTLIVED_AT.name,
        kinds::CURSORS.name,
    ] {
        let table = txn.list_tables().unwrap().find(|table| redb::TableHandle::name(table) == name);
        assert!(txn.delete_table(table.unwrap()).unwrap(), "{name}");
    }
    txn.commit().unwrap();
}

/// Makes a file of format 1 that holds what comes of a script, with a leftover and a session; all
/// that it says.
fn older_file(path: &Path) -> String {
    let catalog = Embedded::open(path, CatalogSettings::default()).unwrap();
    for (now_ms, change) in changes_of_a_script() {
        drop(run(catalog.commit_one(now_ms, untold(change))));
    }
    let stripes = vec![(StripeId(77_777), stripe())];
    let moved = Change::MoveFragment {
        stripe: StripeId(77_777),
        nodes: stripe().nodes,
        index: 0,
        to: NodeId(9),
    };
    for change in [
        Change::CreateBucket { bucket: bucket("moved", 77_777), stripes },
        moved,
        Change::NameNode { name: "a node".into() },
        Change::Reserve { session: Session(5), until_ms: 1 << 45 },
    ] {
        run(catalog.commit_one(3, change)).unwrap();
    }
    let said = all_of(&catalog);
    drop(catalog);
    age_file(&Database::open(path).unwrap(), Some((b"moved", (3, 4, 5))));
    said
}

/// As it could be told of when there was this format: without stamps, tombstones, documents,
/// versions and classes of storage.
#[expect(clippy::wildcard_enum_match_arm, reason = "others are as they were")]
pub(super) fn untold(mut change: Change) -> Change {
    match &mut change {
        Change::CreateBucket { bucket, .. } => {
            (bucket.stamp, bucket.versioning) = (None, Versioning::Never);
        }
        Change::PutObject { bucket, key, object, .. } => {
            (object.stamp, object.is_marker) = (None, false);
            object.attributes.storage_class.clear();
            at_key(bucket, key);
        }
        Change::CompleteUpload { object, version, .. } => {
            (object.stamp, *version) = (None, None);
            object.attributes.storage_class.clear();
        }
        Change::DeleteBucket { tombstone, stripes, .. } => {
            *tombstone = None;
            stripes.clear();
        }
        Change::DeleteObject { bucket, key, tombstone, stripes, .. } => {
            *tombstone = None;
            stripes.clear();
            at_key(bucket, key);
        }
        Change::Bury { stripes, .. } | Change::SetBucket { stripes, .. } => {
            return Change::Discard { stripes: stripes.clone() };
        }
        Change::Outlive { stripe, .. } => return Change::Discard { stripes: vec![stripe.clone()] },
        _ => {}
    }
    change
}

/// Where the version is, if it has an id, its key is meant.
fn at_key(bucket: &mut String, key: &mut String) {
    if let Some((of, _)) = split_version_name(key) {
        (*bucket, *key) = (bucket_of(bucket).to_owned(), of);
    }
}

/// All that a file of an older format says too: what is outlived is not known there.
pub(super) fn all_of(catalog: &Embedded) -> String {
    let vouched = run(catalog.vouched()).unwrap();
    let whole = run(whole(catalog));
    let lines: Vec<&str> =
        whole.lines().filter(|line| !line.contains(" is outlived at ")).collect();
    format!("{}\n{vouched:?}", lines.join("\n"))
}

/// Fails with the first line that a catalog does not say as it was said.
fn must_say(catalog: &Embedded, said: &str) {
    let says = all_of(catalog);
    let differing = says.lines().zip(said.lines()).find(|(is, was)| is != was);
    assert_eq!(differing, None);
    assert_eq!(says.len(), said.len());
}

/// How many records of format 1 there are.
fn older_records(path: &Path) -> usize {
    fn count<K: Key + 'static, R>(txn: &redb::ReadTransaction, kind: Kind<K, R>) -> usize {
        let table: TableDefinition<'_, K, Bytes> = TableDefinition::new(kind.name);
        let table = txn.open_table(table).unwrap();
        table.iter().unwrap().filter(|it| it.as_ref().unwrap().1.value()[0] == 1).count()
    }
    let database = Database::open(path).unwrap();
    let txn = database.begin_read().unwrap();
    count(&txn, kinds::BUCKETS)
        + count(&txn, kinds::OBJECTS)
        + count(&txn, kinds::STRIPES)
        + count(&txn, kinds::GARBAGE)
        + count(&txn, kinds::UPLOADS)
        + count(&txn, kinds::PARTS)
}

#[test]
fn a_file_of_format_1_says_what_it_said_and_is_converted_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("catalog");
    let said = older_file(&path);
    assert!(older_records(&path) > 30);
    for _ in 0..2 {
        let catalog = Embedded::open(&path, CatalogSettings::default()).unwrap();
        must_say(&catalog, &said);
        assert!(run(catalog.audit()).unwrap().is_clean());
        drop(catalog);
        assert_eq!(older_records(&path), 0);
    }
}

#[test]
fn a_conversion_that_was_cut_short_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("catalog");
    let said = older_file(&path);
    drop(Embedded::open(&path, CatalogSettings::default()).unwrap());
    {
        let database = Database::open(&path).unwrap();
        let txn = database.begin_write().unwrap();
        age(&txn, kinds::OBJECTS, |at| at > 3);
        age(&txn, kinds::STRIPES, |at| at % 3 == 0);
        let mut facts = kinds::FACTS.write(&txn, false);
        facts.insert(&kinds::CONVERTING, &kinds::Number(1)).unwrap();
        drop(facts);
        // Format 1 has no live bytes: they are counted when all is converted.
        let mut cursors = kinds::CURSORS.write(&txn, false);
        cursors.insert(&kinds::LIVE, &BEGIN_AGAIN).unwrap();
        drop(cursors);
        txn.commit().unwrap();
    }
    assert!(older_records(&path) > 3);
    let catalog = Embedded::open(&path, CatalogSettings::default()).unwrap();
    must_say(&catalog, &said);
    drop(catalog);
    assert_eq!(older_records(&path), 0);
}

#[test]
fn a_file_of_format_1_is_inspected_and_copied_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("catalog");
    older_file(&path);
    let before = std::fs::read(&path).unwrap();
    let inspection = verify(&path, &Reading::default()).unwrap();
    assert!(inspection.is_clean(), "{:?}", inspection.findings());
    let to = folder.path().join("copy");
    copy(&path, None, &to, &Reading::default()).unwrap().keep().unwrap();
    assert!(std::fs::read(&path).unwrap() == before);
    assert!(older_records(&to) > 30);
    let whole_of = |path: &Path| {
        let catalog = Embedded::open(path, CatalogSettings::default()).unwrap();
        run(whole(&catalog))
    };
    assert!(whole_of(&to) == whole_of(&path));
}

#[test]
fn once_converted_no_record_of_format_1_is_believed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("catalog");
    older_file(&path);
    drop(Embedded::open(&path, CatalogSettings::default()).unwrap());
    {
        let database = Database::open(&path).unwrap();
        let txn = database.begin_write().unwrap();
        age(&txn, kinds::BUCKETS, |_| true);
        txn.commit().unwrap();
    }
    let catalog = Embedded::open(&path, CatalogSettings::default()).unwrap();
    let error = run(catalog.bucket("moved")).unwrap_err();
    assert_eq!(error.to_string(), "catalog corrupt: a record has the unknown version 1");
}

#[test]
fn a_damaged_record_of_format_1_is_left_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("catalog");
    older_file(&path);
    {
        let database = Database::open(&path).unwrap();
        let txn = database.begin_write().unwrap();
        let mut buckets = kinds::BUCKETS.write(&txn, true);
        buckets.insert_raw(&&b"moved"[..], &[1, 200]).unwrap();
        drop(buckets);
        txn.commit().unwrap();
    }
    let catalog = Embedded::open(&path, CatalogSettings::default()).unwrap();
    assert!(matches!(run(catalog.bucket("moved")), Err(CatalogError::Corrupt { .. })));
    let audit = run(catalog.audit()).unwrap();
    assert!(audit.findings.iter().any(|it| it.to_string().contains("bucket moved")), "{audit:?}");
}

#[test]
fn a_file_of_a_newer_format_is_refused_by_its_number() {
    let disk = PowerCutDisk::new(vec![], usize::MAX);
    drop(Embedded::open_on(disk.clone(), CatalogSettings::default()).unwrap());
    let disk = PowerCutDisk::new(disk.after_the_cut(|| true), usize::MAX);
    let database = Database::builder().create_with_backend(disk.clone()).unwrap();
    let txn = database.begin_write().unwrap();
    txn.open_table(kinds::META).unwrap().insert(kinds::FORMAT_NAME, 4).unwrap();
    txn.commit().unwrap();
    drop(database);
    let disk = PowerCutDisk::new(disk.after_the_cut(|| true), usize::MAX);
    let error = Embedded::open_on(disk, CatalogSettings::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "catalog corrupt: the file has format 4, and this program knows none above 3: a newer one wrote it"
    );
}

#[test]
fn what_a_newer_program_wrote_of_a_stripe_outlives_changes() {
    let catalog = Embedded::in_memory(CatalogSettings::default()).unwrap();
    let newer = newer(&stripe());
    let id = StripeId(1);
    let change =
        Change::CreateBucket { bucket: bucket("b", 1), stripes: vec![(id, newer.clone())] };
    run(catalog.commit_one(1, change)).unwrap();
    let placed = Change::PlaceFragment { stripe: id, index: 2, node: Some(NodeId(8)) };
    run(catalog.commit_one(1, placed)).unwrap();
    let expected = Stripe { nodes: vec![Some(1), Some(2), Some(8)], ..newer.clone() };
    assert_eq!(run(catalog.stripes(&[id])).unwrap(), [Some(expected.clone())]);
    run(catalog.commit_one(
        2,
        Change::DeleteBucket { name: "b".into(), tombstone: None, stripes: vec![] },
    ))
    .unwrap();
    assert_eq!(run(catalog.garbage(9, StripeId(0), 9)).unwrap(), [(id, expected)]);
}

/// With a field that this program does not know.
fn newer(stripe: &Stripe) -> Stripe {
    let mut bytes = ripstop_form::encode(stripe, vec![]);
    assert_eq!(bytes.pop(), Some(0xff));
    bytes.extend([0x18, 200, 0x63, b'n', b'e', b'w', 0xff]);
    let newer: Stripe = ripstop_form::decode(&bytes).unwrap();
    assert_ne!(newer, *stripe);
    newer
}
