//! A process that commits is killed at random moments: what it had answered is in force.

#![expect(clippy::unwrap_used, reason = "functions of tests are tests too")]

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use ripstop_catalog::conformance::{changes, script, whole};
use ripstop_catalog::{Audited, Catalog, CatalogError, CatalogSettings, Change, Embedded, Model};
use std::fs::{self, OpenOptions};
use std::future::Future;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};
use std::{env, thread};

/// Names the child's folder; its presence makes the child a child.
const FOLDER: &str = "RIPSTOP_CATALOG_KILL_FOLDER";
/// Which change the child begins with.
const FROM: &str = "RIPSTOP_CATALOG_KILL_FROM";
/// Changes of one commit.
const TOGETHER: usize = 5;

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
}

/// The same in parent and child.
fn all_changes() -> Vec<(u64, Change)> {
    let mut runner = TestRunner::deterministic();
    loop {
        let changes = changes(&script(1200).new_tree(&mut runner).unwrap().current());
        if changes.len() > 600 {
            return changes;
        }
    }
}

/// When a group of changes is committed.
fn time_of(group: &[(u64, Change)]) -> u64 {
    group.last().map_or(0, |(now_ms, _)| *now_ms)
}

fn own(group: &[(u64, Change)]) -> Vec<Change> {
    group.iter().map(|(_, change)| change.clone()).collect()
}

fn open(folder: &Path, round: usize) -> Embedded {
    let settings = CatalogSettings { quick_open: round % 2 == 1, ..CatalogSettings::default() };
    Embedded::open(&folder.join("catalog"), settings).unwrap()
}

fn answers(folder: &Path) -> PathBuf {
    folder.join("answers")
}

#[test]
#[ignore = "run by the tests below, in a process of its own"]
fn child_that_commits_until_it_is_killed() {
    let Some(folder) = env::var_os(FOLDER).map(PathBuf::from) else { return };
    let from: usize = env::var(FROM).unwrap().parse().unwrap();
    let catalog = open(&folder, from);
    let mut told = OpenOptions::new().create(true).append(true).open(answers(&folder)).unwrap();
    for group in all_changes()[from..].chunks(TOGETHER) {
        let answer = run(catalog.commit(time_of(group), own(group)));
        assert!(!matches!(answer, Err(CatalogError::Unavailable(_))));
        // A byte for each answer: the kernel keeps it when this process is killed.
        told.write_all(&vec![b'.'; group.len()]).unwrap();
    }
    thread::park();
}

fn kill_and_look(rounds: usize) {
    let folder = tempfile::tempdir().unwrap();
    let changes = all_changes();
    let model = Model::default();
    let mut applied = 0;
    for round in 0..rounds {
        drop(fs::remove_file(answers(folder.path())));
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "child_that_commits_until_it_is_killed", "--ignored"])
            .env(FOLDER, folder.path())
            .env(FROM, applied.to_string())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let random =
            SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().subsec_nanos();
        // Half of the kills wait for a first answer, the others may meet the opening too.
        let is_told = || fs::metadata(answers(folder.path())).is_ok_and(|told| told.len() > 0);
        while round % 2 == 0 && applied + TOGETHER < changes.len() && !is_told() {
            assert!(child.try_wait().unwrap().is_none(), "the child has failed");
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_micros(u64::from(random / 1000) % 120_000));
        assert!(child.try_wait().unwrap().is_none(), "the child has failed");
        child.kill().unwrap();
        child.wait().unwrap();

        let told = fs::metadata(answers(folder.path())).map_or(0, |told| told.len() as usize);
        let least = applied + told;
        let most = (least + TOGETHER).min(changes.len());
        let catalog = open(folder.path(), round);
        let audit = run(catalog.audit()).unwrap();
        assert!(audit.is_clean(), "round {round}: {:?}", audit.findings);
        let found = run(whole(&catalog));
        while applied < least || run(whole(&model)) != found {
            assert!(applied < most, "round {round}: answered changes are not in force");
            let group = &changes[applied..changes.len().min(applied + TOGETHER)];
            model.apply_all(time_of(group), &own(group)).unwrap();
            applied += group.len();
        }
    }
    assert!(applied > 0, "no child came to commit anything");
}

#[test]
fn answered_changes_survive_kills() {
    kill_and_look(20);
}

#[test]
#[ignore = "minutes: the same with many more kills"]
fn answered_changes_survive_many_kills() {
    for _ in 0..20 {
        kill_and_look(25);
    }
}
