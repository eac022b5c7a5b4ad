//! What a gateway writes is its owner's alone, whatever it is started with; and its secret goes to
//! nobody's log.
#![expect(clippy::unwrap_used, reason = "functions of tests are tests too")]

mod gateway;

use gateway::serve;
use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
    thread::sleep,
    time::Duration,
};

/// A moment for the task log and for what is done beside serving.
fn a_moment() {
    sleep(Duration::from_millis(500));
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

/// Everything in a folder and below it, itself included.
fn all(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(all(&path)) } else { found.push(path) }
    }
    found
}

#[test]
fn everything_that_is_written_is_its_owners_alone() {
    let folder = tempfile::tempdir().unwrap();
    serve(folder.path(), "--record recording --task-log tasks.csv", a_moment);
    let mut found = all(&folder.path().join("data"));
    found.extend([folder.path().join("recording"), folder.path().join("tasks.csv")]);
    assert!(found.len() > 10, "{found:?}");
    for path in found {
        let wanted = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(format!("{:o}", mode(&path)), format!("{wanted:o}"), "{}", path.display());
    }
}

#[test]
fn what_stood_open_is_closed_and_told_and_an_operators_files_are_left() {
    let folder = tempfile::tempdir().unwrap();
    serve(folder.path(), "", a_moment);
    let data = folder.path().join("data");
    let open = |path: &str, mode: u32| {
        fs::set_permissions(data.join(path), Permissions::from_mode(mode)).unwrap();
    };
    fs::write(data.join("notes"), "an operator's").unwrap();
    fs::create_dir(data.join("nodes/d1/7f")).unwrap();
    for path in ["catalog.redb", "lock", "notes"] {
        open(path, 0o644);
    }
    for path in ["nodes", "nodes/d1", "nodes/d1/7f"] {
        open(path, 0o755);
    }
    let output = serve(folder.path(), "", a_moment);
    for path in ["catalog.redb", "lock", "admin"] {
        assert_eq!(mode(&data.join(path)), 0o600, "{path}");
    }
    assert_eq!(["nodes", "nodes/d1/7f"].map(|path| mode(&data.join(path))), [0o700, 0o700]);
    assert_eq!(mode(&data.join("notes")), 0o644);
    let log = String::from_utf8(output.stderr).unwrap();
    let told = log.lines().filter(|line| line.contains("closed to them now")).count();
    assert_eq!(told, 4, "{log}");
}

#[test]
fn where_no_terminal_is_the_secret_is_not_shown_but_where_it_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let output = serve(folder.path(), "", a_moment);
    let kept = fs::read_to_string(folder.path().join("data/credentials")).unwrap();
    let secret = kept.split('"').nth(3).unwrap();
    assert!(secret.len() >= 32);
    let (shown, log) = (output.stdout, output.stderr);
    let (shown, log) = (String::from_utf8(shown).unwrap(), String::from_utf8(log).unwrap());
    assert!(shown.contains("data/credentials"), "{shown}");
    assert!(!shown.contains(secret) && !log.contains(secret), "the secret is in the output");
}

#[test]
fn a_node_beyond_this_machine_without_tls_is_named_by_check_config() {
    let folder = tempfile::tempdir().unwrap();
    let node = |name: &str, endpoint: &str| {
        format!(
            "[[node]]\nname = \"{name}\"\nkind = \"bucket\"\nbucket = \"b\"\nendpoint = \"{endpoint}\"\n"
        )
    };
    let config = folder.path().join("ripstop.toml");
    let nodes = [
        node("far", "http://s3.example.com"),
        node("near", "http://127.0.0.1:9000"),
        node("safe", "https://s3.example.com"),
    ];
    fs::write(&config, format!("[[pool]]\nname = \"p\"\ncode = [3, 2]\n{}", nodes.concat()))
        .unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ripstop"));
    let output = command.args(["check-config", "--config"]).arg(&config).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let exposed: Vec<&str> = said.lines().filter(|line| line.contains("no TLS")).collect();
    assert!(exposed.len() == 1 && exposed[0].contains("node far"), "{said}");
}
