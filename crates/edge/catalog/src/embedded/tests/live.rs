//! Files of format 2, of whose stripes nobody counted the live bytes.

use super::super::kinds::{self, FORMAT_NAME, LIVE, META, STRIPES};
use super::super::live::{BEGIN_AGAIN, count_by};
use super::super::prepare::prepare;
use super::flips::{changes_of_a_script, run};
use super::older::{all_of, untold};
use crate::{
    AuditFinding, Audited, Catalog, CatalogError, CatalogSettings, Embedded, Held, Reading, copy,
    verify,
};
use redb::{Database, ReadableDatabase};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A file of format 2 that holds what comes of a script, and all that it says.
fn file_of_format_2() -> (TempDir, PathBuf, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("catalog");
    let catalog = opened(&path);
    for (now_ms, change) in changes_of_a_script() {
        drop(run(catalog.commit_one(now_ms, untold(change))));
    }
    let said = all_of(&catalog);
    drop(catalog);
    let database = Database::open(&path).unwrap();
    let txn = database.begin_write().unwrap();
    txn.open_table(META).unwrap().insert(FORMAT_NAME, 2).unwrap();
    {
        let mut stripes = STRIPES.write(&txn, false);
        let entries = stripes.all().unwrap();
        let entries = entries.map(|entry| entry.unwrap());
        let all: Vec<(u128, Held)> =
            entries.map(|entry| (entry.key(), entry.read().unwrap())).collect();
        assert!(all.iter().filter(|(_, held)| held.live > 0).count() > 5);
        for (id, held) in all {
            stripes.insert(&id, &Held { live: 0, ..held }).unwrap();
        }
    }
    for name in
        [kinds::TOMBSTONES.name, kinds::OUTLIVED.name, kinds::OUTLIVED_AT.name, kinds::CURSORS.name]
    {
        let table = txn.list_tables().unwrap().find(|table| redb::TableHandle::name(table) == name);
        assert!(txn.delete_table(table.unwrap()).unwrap(), "{name}");
    }
    txn.commit().unwrap();
    (folder, path, said)
}

fn opened(path: &Path) -> Embedded {
    Embedded::open(path, CatalogSettings::default()).unwrap()
}

/// Adds to what is recorded of a stripe's live bytes.
fn spoil(path: &Path, more: u64) {
    let database = Database::open(path).unwrap();
    let txn = database.begin_write().unwrap();
    {
        let mut stripes = STRIPES.write(&txn, false);
        let (id, held) = {
            let first = stripes.all().unwrap().next().unwrap().unwrap();
            (first.key(), first.read().unwrap())
        };
        stripes.insert(&id, &Held { live: held.live + more, ..held }).unwrap();
    }
    txn.commit().unwrap();
}

#[test]
fn a_file_of_format_2_has_its_live_bytes_counted_once() {
    let (_folder, path, said) = file_of_format_2();
    let catalog = opened(&path);
    assert!(all_of(&catalog) == said);
    assert!(run(catalog.audit()).unwrap().is_clean());
    drop(catalog);
    spoil(&path, 7);
    let findings = run(opened(&path).audit()).unwrap().findings;
    assert!(matches!(&findings[..], [AuditFinding::LiveDiffers { .. }]), "{findings:?}");
}

#[test]
fn a_count_that_was_cut_short_goes_on_and_counts_nothing_twice() {
    for (records, again) in [(1, false), (3, false), (3, true), (1000, false)] {
        for transactions in [0, 1, 2, 5, 11] {
            let (_folder, path, said) = file_of_format_2();
            let database = Database::open(&path).unwrap();
            prepare(database.begin_write().unwrap()).unwrap();
            for _ in 0..3 {
                if count_by(&database, records, transactions).unwrap() {
                    break;
                }
                assert!(database.begin_read().is_ok());
            }
            if again {
                let txn = database.begin_write().unwrap();
                let mut cursors = kinds::CURSORS.write(&txn, false);
                cursors.insert(&LIVE, &BEGIN_AGAIN).unwrap();
                drop(cursors);
                txn.commit().unwrap();
            }
            drop(database);
            let catalog = opened(&path);
            assert!(all_of(&catalog) == said, "{records} records, {transactions} transactions");
            assert!(run(catalog.audit()).unwrap().is_clean());
        }
    }
}

#[test]
fn a_file_of_format_2_is_inspected_and_copied_as_it_is() {
    let (folder, path, said) = file_of_format_2();
    let before = std::fs::read(&path).unwrap();
    let inspection = verify(&path, &Reading::default()).unwrap();
    assert!(inspection.is_clean(), "{:?}", inspection.findings());
    let to = folder.path().join("copy");
    copy(&path, None, &to, &Reading::default()).unwrap().keep().unwrap();
    assert!(std::fs::read(&path).unwrap() == before);
    // A copy vouches for nothing, which is the last that is said.
    let but_vouched = |said: &str| said.rsplit_once('\n').unwrap().0.to_owned();
    assert!(but_vouched(&all_of(&opened(&to))) == but_vouched(&said));
}

#[test]
fn a_copy_of_what_was_counted_wrong_is_counted_again() {
    let (folder, path, _) = file_of_format_2();
    drop(opened(&path));
    spoil(&path, 7);
    let to = folder.path().join("copy");
    copy(&path, None, &to, &Reading::default()).unwrap().keep().unwrap();
    assert!(run(opened(&to).audit()).unwrap().is_clean());
}

#[test]
fn a_damaged_stripe_does_not_stop_the_count() {
    let (_folder, path, _) = file_of_format_2();
    {
        let database = Database::open(&path).unwrap();
        let txn = database.begin_write().unwrap();
        let mut stripes = STRIPES.write(&txn, false);
        let first = stripes.all().unwrap().next().unwrap().unwrap().key();
        stripes.insert_raw(&first, &[7]).unwrap();
        drop(stripes);
        txn.commit().unwrap();
    }
    let catalog = opened(&path);
    let first = run(catalog.audit()).unwrap().findings.remove(0);
    assert!(matches!(first, AuditFinding::Unreadable { .. }), "{first}");
    assert!(matches!(
        run(catalog.stripes_after(ripstop_model::StripeId(0), 1)),
        Err(CatalogError::Corrupt { .. })
    ));
}
