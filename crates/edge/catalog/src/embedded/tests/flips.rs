//! A byte of the file that is not what was written.

use super::disk::PowerCutDisk;
use crate::conformance::{bucket, changes, object, script, stripe, whole};
use crate::{
    Audited, Catalog, CatalogError, CatalogSettings, Change, Condition, Embedded, Quota, Reading,
    Trouble,
};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use ripstop_model::StripeId;
use std::future::Future;
use std::time::{Duration, Instant};

pub(super) fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// Pseudo-random, so that a failure can be replayed.
fn next(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *seed >> 33
}

/// Changes, some of which are refused.
pub(super) fn changes_of_a_script() -> Vec<(u64, Change)> {
    let mut runner = TestRunner::deterministic();
    loop {
        let changes = changes(&script(400).new_tree(&mut runner).unwrap().current());
        // Of a short one little is left at its end.
        if changes.len() > 250 {
            return changes;
        }
    }
}

/// The file of a small catalog that was closed, and what is in it.
fn closed() -> (Vec<u8>, String) {
    let disk = PowerCutDisk::new(vec![], usize::MAX);
    let catalog = Embedded::open_on(disk.clone(), CatalogSettings::default()).unwrap();
    for (now_ms, change) in changes_of_a_script() {
        drop(run(catalog.commit_one(now_ms, change)));
    }
    for at in 0..300 {
        let change = Change::NameNode { name: format!("another node, number {at}") };
        run(catalog.commit_one(1, change)).unwrap();
    }
    let content = run(whole(&catalog));
    drop(catalog);
    (disk.after_the_cut(|| true), content)
}

/// What became of a flip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Harmless,
    Refused,
    Found,
}

/// Opens the file and reads all of it; a flip that shows in what is read, or ends the reading, must
/// be found by an inspection.
fn fate(file: Vec<u8>, content: &str, check_pages: bool) -> Result<Fate, String> {
    let settings =
        CatalogSettings { check_pages, cache_bytes: 1 << 20, ..CatalogSettings::default() };
    let catalog = match Embedded::open_on(PowerCutDisk::new(file, usize::MAX), settings) {
        Ok(catalog) => catalog,
        Err(CatalogError::Corrupt { .. }) => return Ok(Fate::Refused),
        Err(other) => return Err(format!("no honest refusal: {other:?}")),
    };
    let inspection =
        run(catalog.inspect(&Reading::default(), None)).map_err(|it| it.to_string())?;
    if !inspection.is_clean() {
        return match catalog.health().trouble() {
            Some(Trouble::Damaged { .. }) => Ok(Fate::Found),
            other if inspection.damaged.is_none() => {
                drop(other);
                Ok(Fate::Found)
            }
            other => Err(format!("found, and changes go on: {other:?}")),
        };
    }
    let read = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(whole(&catalog))));
    match read {
        Ok(found) if found == content => Ok(Fate::Harmless),
        Ok(_) => Err("other content, and nothing was found".into()),
        Err(_) => Err("it cannot be read, and nothing was found".into()),
    }
}

fn walk(flips: usize, seed: u64) {
    let (file, content) = closed();
    for check_pages in [true, false] {
        let mut seed = seed;
        let mut fates = [0; 3];
        for _ in 0..flips {
            // One flip in four in what says where everything is.
            let end = if next(&mut seed).is_multiple_of(4) { 320 } else { file.len() };
            let (at, bit) = (next(&mut seed) as usize % end, next(&mut seed) % 8);
            let mut flipped = file.clone();
            flipped[at] ^= 1 << bit;
            let fate = fate(flipped, &content, check_pages).unwrap_or_else(|why| {
                panic!("bit {bit} of byte {at}, checked {check_pages}: {why}")
            });
            fates[fate as usize] += 1;
        }
        let [harmless, refused, found] = fates;
        println!("checked {check_pages}: harmless {harmless}, refused {refused}, found {found}");
        assert!(harmless > 0 && refused > 0 && (check_pages || found > 0));
    }
}

#[test]
fn a_flipped_byte_is_harmless_or_refused_or_found() {
    walk(150, 7);
}

#[test]
#[ignore = "minutes: the same at many more places"]
fn a_flipped_byte_is_harmless_or_refused_or_found_wherever_it_is() {
    walk(5000, 8);
}

#[test]
fn an_inspection_while_changes_go_on_finds_nothing_and_holds_nobody_up() {
    let catalog =
        Embedded::open_on(PowerCutDisk::new(vec![], usize::MAX), CatalogSettings::default())
            .unwrap();
    let name = |at: usize| Change::NameNode { name: format!("node{at:06}{}", "x".repeat(100)) };
    run(async {
        for at in 0..500 {
            catalog.commit_one(1, name(at)).await.unwrap();
        }
        for round in 1..=5 {
            let reading = Reading::default();
            let inspecting = catalog.inspect(&reading, Some(2 << 20));
            let changing = async {
                let begun = Instant::now();
                let mut at = round * 1000;
                while begun.elapsed() < Duration::from_millis(100) {
                    catalog.commit_one(1, name(at)).await.unwrap();
                    at += 1;
                }
                at - round * 1000
            };
            let (inspection, changed) = tokio::join!(inspecting, changing);
            let inspection = inspection.unwrap();
            assert!(inspection.is_clean(), "{:?}", inspection.findings());
            assert!(changed > 10 && reading.bytes() > 50_000, "{changed}, {}", reading.bytes());
        }
        assert!(catalog.health().trouble().is_none());
        assert!(catalog.audit().await.unwrap().is_clean());
    });
}

/// Twenty objects of a bucket.
async fn fill(catalog: &Embedded) {
    let stripes = vec![(StripeId(1), stripe())];
    let change = Change::CreateBucket { bucket: bucket("photos", 1), stripes };
    catalog.commit_one(1, change).await.unwrap();
    for at in 0..20 {
        let change = Change::PutObject {
            bucket: "photos".into(),
            key: format!("k{at}"),
            object: object(&format!("etag-{at:03}"), &[1], 1),
            stripes: vec![],
            condition: Condition::None,
            quota: Quota::NONE,
        };
        catalog.commit_one(1, change).await.unwrap();
    }
}

#[test]
fn a_damaged_page_is_named_with_the_keys_on_it() {
    let disk = PowerCutDisk::new(vec![], usize::MAX);
    let catalog = Embedded::open_on(disk.clone(), CatalogSettings::default()).unwrap();
    let settings = CatalogSettings { check_pages: true, ..CatalogSettings::default() };
    run(fill(&catalog));
    drop(catalog);
    let mut file = disk.after_the_cut(|| true);
    let key = file.windows(8).rposition(|found| found == b"etag-007").unwrap();
    file[key] ^= 1;
    let catalog =
        Embedded::open_on(PowerCutDisk::new(file.clone(), usize::MAX), CatalogSettings::default())
            .unwrap();
    let inspection = run(catalog.inspect(&Reading::default(), None)).unwrap();
    let damaged = inspection.damaged.unwrap();
    assert!(damaged.contains("photos/k0"), "{damaged}");
    drop(catalog);
    let error = Embedded::open_on(PowerCutDisk::new(file, usize::MAX), settings).unwrap_err();
    assert!(matches!(error, CatalogError::Corrupt { .. }), "{error:?}");
}

#[test]
fn a_recount_in_many_shares_finds_what_one_finds() {
    let (file, _) = closed();
    let catalog =
        Embedded::open_on(PowerCutDisk::new(file, usize::MAX), CatalogSettings::default()).unwrap();
    let view = catalog.view();
    let whole = view.audit(&Reading::default()).unwrap();
    assert!(whole.is_clean() && whole.stripes > 2 * 3, "{whole:?}");
    assert_eq!(view.audit_by(3, &Reading::default()).unwrap(), whole);
}
