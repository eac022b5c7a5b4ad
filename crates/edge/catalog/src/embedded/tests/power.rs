//! The power is cut anywhere, and anything of what was not synced is lost: what was answered stays.

use super::disk::PowerCutDisk;
use crate::conformance::{Step, changes, script, whole};
use crate::{Audited, Catalog, CatalogError, CatalogSettings, Change, Durability, Embedded, Model};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::future::Future;

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
}

/// Pseudo-random, so that a failure can be replayed.
fn next(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *seed >> 33
}

/// When a group of changes is committed.
fn time_of(group: &[(u64, Change)]) -> u64 {
    group.last().map_or(0, |(now_ms, _)| *now_ms)
}

fn own(group: &[(u64, Change)]) -> Vec<Change> {
    group.iter().map(|(_, change)| change.clone()).collect()
}

/// Commits group by group until the power fails; how many changes were answered, and how many more
/// may or may not have happened.
async fn commit_until_cut(
    catalog: &Embedded,
    changes: &[(u64, Change)],
    together: usize,
) -> (usize, usize) {
    let mut answered = 0;
    for group in changes.chunks(together) {
        match catalog.commit(time_of(group), own(group)).await {
            Err(CatalogError::Unavailable(_)) => return (answered, group.len()),
            Err(_) | Ok(_) => answered += group.len(),
        }
    }
    (answered, 0)
}

/// One life of the catalog: opened on `content`, cut, and what the disk holds then.
struct Life {
    content: Vec<u8>,
    answered: usize,
    doubtful: usize,
}

fn live(
    content: Vec<u8>,
    changes: &[(u64, Change)],
    (together, cut_at, settings): (usize, usize, &CatalogSettings),
    (seed, survive_of_8): (&mut u64, u64),
) -> Life {
    let disk = PowerCutDisk::new(content, cut_at);
    let mut life = Life { content: vec![], answered: 0, doubtful: 0 };
    // The cut may come while it opens, and repairs what the last cut left.
    if let Ok(catalog) = Embedded::open_on(disk.clone(), settings.clone()) {
        (life.answered, life.doubtful) = run(commit_until_cut(&catalog, changes, together));
    }
    life.content = disk.after_the_cut(|| next(seed) % 8 < survive_of_8);
    life
}

fn survive(
    steps: &[Step],
    together: usize,
    settings: &CatalogSettings,
    survive_of_8: u64,
    mut seed: u64,
) {
    let changes = changes(steps);
    // `Embedded::open` shows a new file only when it has been made completely.
    let new = PowerCutDisk::new(vec![], usize::MAX);
    drop(Embedded::open_on(new.clone(), settings.clone()).unwrap());
    let new = new.after_the_cut(|| false);
    let uncut = PowerCutDisk::new(new.clone(), usize::MAX);
    let catalog = Embedded::open_on(uncut.clone(), settings.clone()).unwrap();
    run(commit_until_cut(&catalog, &changes, together));
    drop(catalog);
    let operations = uncut.operations();

    let model = Model::default();
    let (mut content, mut done, mut applied) = (new, 0, 0);
    for _ in 0..3 {
        let cut_at = next(&mut seed) as usize % (operations + 1);
        let life = live(
            content,
            &changes[done..],
            (together, cut_at, settings),
            (&mut seed, survive_of_8),
        );
        let catalog = Embedded::open_on(
            PowerCutDisk::new(life.content.clone(), usize::MAX),
            settings.clone(),
        )
        .unwrap_or_else(|error| panic!("it does not open after a cut: {error:?}"));
        let found = run(whole(&catalog));
        let audit = run(catalog.audit()).unwrap();
        assert!(audit.is_clean(), "{:?}", audit.findings);
        let (least, most) = (done + life.answered, done + life.answered + life.doubtful);
        loop {
            if applied >= least && run(whole(&model)) == found {
                break;
            }
            assert!(applied < most, "answered changes up to {least} are not in force");
            let group = &changes[applied..changes.len().min(applied + together)];
            model.apply_all(time_of(group), &own(group)).unwrap();
            applied += group.len();
        }
        (content, done) = (life.content, applied);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn answered_changes_survive_a_cut_anywhere(
        steps in script(60), together in 1..8usize, quick_open: bool,
        survive_of_8 in 0..=8u64, seed: u64,
    ) {
        let settings = CatalogSettings { quick_open, cache_bytes: 1 << 20, ..CatalogSettings::default() };
        survive(&steps, together, &settings, survive_of_8, seed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5000, ..ProptestConfig::default() })]

    #[test]
    #[ignore = "minutes: the same at many more moments"]
    fn answered_changes_survive_a_cut_at_any_of_many_moments(
        steps in script(150), together in 1..12usize, quick_open: bool,
        survive_of_8 in 0..=8u64, seed: u64,
    ) {
        let settings = CatalogSettings { quick_open, cache_bytes: 1 << 20, ..CatalogSettings::default() };
        survive(&steps, together, &settings, survive_of_8, seed);
    }
}

/// That the test above can fail.
#[test]
#[should_panic(expected = "are not in force")]
fn a_cut_takes_back_what_a_relaxed_catalog_answered() {
    let settings =
        CatalogSettings { durability: Durability::Relaxed, ..CatalogSettings::default() };
    let mut runner = TestRunner::deterministic();
    for seed in 0..50 {
        let steps = script(60).new_tree(&mut runner).unwrap().current();
        survive(&steps, 1, &settings, 4, seed);
    }
}

#[test]
fn a_failed_sync_makes_every_later_change_unavailable() {
    let disk = PowerCutDisk::new(vec![], 200);
    let catalog = Embedded::open_on(disk, CatalogSettings::default()).unwrap();
    let name = |at: u32| (1, Change::NameNode { name: format!("node{at}") });
    let names: Vec<_> = (0..300).map(name).collect();
    let (answered, _) = run(commit_until_cut(&catalog, &names, 1));
    assert!((1..300).contains(&answered));
    for (now_ms, change) in &names[..5] {
        assert!(run(catalog.commit_one(*now_ms, change.clone())).is_err());
    }
}
