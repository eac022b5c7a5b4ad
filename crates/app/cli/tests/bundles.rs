//! The bundles under `examples`: whatever they tell the program, it takes.

#![expect(clippy::unwrap_used, reason = "functions of tests are tests too")]

mod session;

use session::{complaint, printed};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../examples")
}

/// All files of the bundles.
fn files() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> =
        ["compose", "container", "helm", "systemd"].map(|name| examples().join(name)).into();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let into = if path.is_dir() { &mut folders } else { &mut files };
            into.push(path);
        }
    }
    files.sort();
    files
}

#[test]
fn every_configuration_is_valid() {
    let folder = tempfile::tempdir().unwrap();
    let configurations: Vec<PathBuf> =
        files().into_iter().filter(|path| path.ends_with("ripstop.toml")).collect();
    assert_eq!(configurations.len(), 3, "{configurations:?}");
    for path in configurations {
        let said = printed(folder.path(), &format!("check-config --config {}", path.display()));
        assert!(said.contains("code (6,4) over 6 nodes"), "{}: {said}", path.display());
    }
}

/// The words of a line, without what quotes and lists put around them.
fn words(line: &str) -> Vec<String> {
    let clean = |word: &str| word.trim_matches(['"', '[', ']', ',', '`', ';']).to_owned();
    line.split_whitespace().map(clean).filter(|word| !word.is_empty()).collect()
}

/// What the program is told in a line, if it is a command's: what follows its name, or the list.
fn told(line: &str) -> Option<Vec<String>> {
    let words = words(line);
    let begin = match words.first()?.as_str() {
        "ExecStart=" => 2,
        "command:" | "args:" | "CMD" => 1,
        _ => return None,
    };
    let command = words.get(begin)?;
    let is_ours = ["serve", "check"].contains(&command.as_str());
    is_ours.then(|| words[begin..].to_vec())
}

#[test]
fn every_command_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut commands = BTreeSet::new();
    for path in files() {
        let text = fs::read_to_string(path).unwrap().replace("ExecStart=", "ExecStart= ");
        commands.extend(text.lines().filter_map(told).map(|words| words.join(" ")));
    }
    let expected = [
        "check --config /etc/ripstop/ripstop.toml --repair",
        "serve --config /etc/ripstop/ripstop.toml",
        "serve --data /data --listen 0.0.0.0:9000",
    ];
    assert_eq!(commands.iter().map(String::as_str).collect::<Vec<_>>(), expected);
    let unknown = complaint(folder.path(), "serve --configuration x --help");
    assert!(unknown.contains("unexpected argument"), "{unknown}");
    for command in commands {
        // What comes before `--help` is read before it, so what is unknown is refused.
        let said = printed(folder.path(), &format!("{command} --help"));
        assert!(said.contains("Usage: ripstop"), "{command}: {said}");
    }
}

#[test]
fn every_variable_is_known() {
    let mut variables = BTreeSet::new();
    for path in files() {
        let text = fs::read_to_string(path).unwrap();
        let rest = text.split("RIPSTOP_").skip(1);
        let name = |rest: &str| {
            let end = rest.find(|it: char| !it.is_ascii_uppercase() && it != '_');
            rest[..end.unwrap_or(rest.len())].to_owned()
        };
        variables.extend(rest.map(name));
    }
    assert_eq!(variables, BTreeSet::from(["STORE_CATALOG".to_owned()]));
}
