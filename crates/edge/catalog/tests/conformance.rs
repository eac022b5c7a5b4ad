//! The embedded catalog, and the model itself, against what every implementation must pass.

#![expect(clippy::unwrap_used, reason = "functions of tests are tests too")]

use proptest::prelude::*;
use ripstop_catalog::conformance::{Step, cases, cases_of_long_keys, compare, follow, script};
use ripstop_catalog::{AtOnce, CatalogSettings, Durability, Embedded, Grouped, Model};
use std::future::Future;
use std::path::Path;
use std::sync::Arc;

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
}

fn relaxed() -> CatalogSettings {
    CatalogSettings { durability: Durability::Relaxed, ..CatalogSettings::default() }
}

fn opened(path: &Path, settings: CatalogSettings) -> Embedded {
    Embedded::open(path, settings).unwrap()
}

#[test]
fn the_embedded_catalog_passes_every_case() {
    for (name, case) in cases().into_iter().chain(cases_of_long_keys()) {
        println!("{name}");
        let folder = tempfile::tempdir().unwrap();
        let catalog = opened(&folder.path().join("catalog"), CatalogSettings::default());
        run(case(&catalog));
    }
}

#[test]
fn grouped_it_passes_every_case_whatever_the_size_of_the_groups() {
    for (changes_max, waiting_max) in [(1, 1), (3, 10), (1024, 4096)] {
        for (name, case) in cases().into_iter().chain(cases_of_long_keys()) {
            println!("{name}");
            let embedded = Arc::new(Embedded::in_memory(relaxed()).unwrap());
            run(case(&Grouped::by(AtOnce { changes_max }, waiting_max, embedded)));
        }
    }
}

fn follow_in_memory(steps: &[Step], together: usize) {
    run(follow(&Embedded::in_memory(relaxed()).unwrap(), steps, together));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn any_script_gives_what_the_model_gives(steps in script(80), together in 1..30usize) {
        follow_in_memory(&steps, together);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, ..ProptestConfig::default() })]

    #[test]
    #[ignore = "minutes: the same over many more scripts"]
    fn any_of_many_scripts_gives_what_the_model_gives(
        steps in script(200), together in 1..60usize,
    ) {
        follow_in_memory(&steps, together);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn a_catalog_reopened_is_as_it_was(
        steps in script(60), quick_open: bool, check_pages: bool, is_relaxed: bool,
    ) {
        let durability = if is_relaxed { Durability::Relaxed } else { Durability::Durable };
        let settings = CatalogSettings { quick_open, check_pages, durability, ..CatalogSettings::default() };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("catalog");
        let model = run(follow(&opened(&path, settings.clone()), &steps, 10));
        run(compare(&opened(&path, settings), &model));
    }
}

#[test]
fn changes_of_callers_that_have_gone_are_applied_before_the_catalog_is_closed() {
    use futures::FutureExt;
    use ripstop_catalog::{Catalog, Change};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("catalog");
    let catalog = opened(&path, CatalogSettings::default());
    for node in 0..100 {
        let change = Change::NameNode { name: format!("node{node:03}") };
        // Polled once, so queued; then nobody waits for it.
        assert!(catalog.commit_one(1, change).now_or_never().is_none());
    }
    drop(catalog);
    let catalog = opened(&path, CatalogSettings::default());
    let names: Vec<String> = run(catalog.nodes()).unwrap().into_iter().map(|node| node.0).collect();
    assert_eq!(names, (0..100).map(|node| format!("node{node:03}")).collect::<Vec<_>>());
}

#[test]
fn a_second_opening_of_the_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("catalog");
    let _first = opened(&path, CatalogSettings::default());
    let error = Embedded::open(&path, CatalogSettings::default()).unwrap_err();
    assert_eq!(error.to_string(), "catalog unavailable");
}

#[test]
fn a_catalog_whose_creation_was_interrupted_is_created_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("catalog");
    std::fs::write(folder.path().join("catalog.unfinished"), [0; 5000]).unwrap();
    drop(opened(&path, CatalogSettings::default()));
    assert!(!folder.path().join("catalog.unfinished").exists());
    drop(opened(&path, CatalogSettings { check_pages: true, ..CatalogSettings::default() }));
}

#[test]
fn an_empty_file_is_what_is_left_of_a_catalog_and_not_a_new_one() {
    let emptied = tempfile::NamedTempFile::new().unwrap();
    let error = Embedded::open(emptied.path(), CatalogSettings::default()).unwrap_err();
    assert_eq!(error.to_string(), "catalog corrupt: the file is empty");
    assert_eq!(emptied.path().metadata().unwrap().len(), 0);
}

#[test]
fn a_file_that_is_no_catalog_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("catalog");
    let bytes = b"not a catalog, but somebody's letters\n".repeat(1000);
    std::fs::write(&path, &bytes).unwrap();
    assert!(Embedded::open(&path, CatalogSettings::default()).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    assert!(
        Embedded::open(&folder.path().join("no/such/folder"), CatalogSettings::default()).is_err()
    );
}

#[test]
fn the_model_passes_every_case_that_it_can_be_asked() {
    // The model is its own auditor: it has no counts that could be wrong.
    for (name, case) in cases().into_iter().chain(cases_of_long_keys()) {
        println!("{name}");
        run(case(&Model::default()));
    }
}
