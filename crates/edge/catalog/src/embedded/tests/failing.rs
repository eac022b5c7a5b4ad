//! A disk that fails, and works again.

use super::disk::PowerCutDisk;
use crate::{Audited, Catalog, CatalogError, CatalogSettings, Change, Embedded, Trouble};
use std::time::Duration;

/// Tries at most, one every 50 ms, until the catalog has looked at its disk again.
const TRIES: usize = 200;

fn name(at: usize) -> Change {
    Change::NameNode { name: format!("node{at:05}{}", "x".repeat(200)) }
}

/// Names nodes until one is refused; how many were taken.
async fn fill(catalog: &Embedded) -> (usize, CatalogError) {
    for at in 0..100_000 {
        if let Err(error) = catalog.commit_one(1, name(at)).await {
            return (at, error);
        }
    }
    panic!("the disk takes everything");
}

async fn wait_until_well(catalog: &Embedded) {
    for _ in 0..TRIES {
        if catalog.health().trouble().is_none() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("it stays {:?}", catalog.health().trouble());
}

#[tokio::test]
async fn a_catalog_whose_disk_was_full_takes_changes_again_by_itself() {
    let disk = PowerCutDisk::new(vec![], usize::MAX);
    let small = CatalogSettings { cache_bytes: 64 << 10, ..CatalogSettings::default() };
    let catalog = Embedded::open_on(disk.clone(), small.clone()).unwrap();
    disk.set_room(1 << 20);
    let (taken, error) = fill(&catalog).await;
    assert!(taken > 100 && matches!(error, CatalogError::Unavailable(_)), "{taken}, {error:?}");
    let trouble = catalog.health().trouble();
    assert!(matches!(trouble, Some(Trouble::Unwritable { .. })), "{trouble:?}");
    // Refused at once, and everything that was answered can be read, though little of it is cached.
    let refused = catalog.commit_one(1, name(taken)).await.unwrap_err();
    let CatalogError::Unavailable(source) = refused else { panic!("{refused:?}") };
    assert!(source.to_string().contains("until its disk takes writes: write: "), "{source}");
    assert!(catalog.nodes().await.unwrap().len() >= taken);
    assert!(catalog.audit().await.unwrap().is_clean());

    disk.set_room(usize::MAX);
    wait_until_well(&catalog).await;
    for at in taken..taken + 50 {
        catalog.commit_one(1, name(at)).await.unwrap();
    }
    drop(catalog);
    let again =
        Embedded::open_on(PowerCutDisk::new(disk.after_the_cut(|| false), usize::MAX), small);
    assert_eq!(again.unwrap().nodes().await.unwrap().len(), taken + 50);
}

#[tokio::test]
async fn after_a_failed_sync_changes_wait_for_the_operator_and_reads_go_on() {
    let disk = PowerCutDisk::new(vec![], usize::MAX);
    let catalog = Embedded::open_on(disk.clone(), CatalogSettings::default()).unwrap();
    catalog.commit_one(1, name(0)).await.unwrap();
    disk.fail_syncs(true);
    assert!(catalog.commit_one(1, name(1)).await.is_err());
    disk.fail_syncs(false);
    assert!(catalog.nodes().await.is_ok());
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let trouble = catalog.health().trouble();
    assert!(matches!(trouble, Some(Trouble::InDoubt { .. })), "{trouble:?}");
    assert!(catalog.commit_one(1, name(2)).await.is_err());
}

#[tokio::test]
async fn a_read_that_failed_once_does_not_end_the_reading() {
    let disk = PowerCutDisk::new(vec![], usize::MAX);
    let small = CatalogSettings { cache_bytes: 0, ..CatalogSettings::default() };
    let catalog = Embedded::open_on(disk.clone(), small).unwrap();
    for at in 0..200 {
        catalog.commit_one(1, name(at)).await.unwrap();
    }
    disk.fail_reads(true);
    let read = tokio::join!(catalog.nodes(), async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        disk.fail_reads(false);
    });
    assert_eq!(read.0.unwrap().len(), 200);
    wait_until_well(&catalog).await;
    catalog.commit_one(1, name(200)).await.unwrap();
}
