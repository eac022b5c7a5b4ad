//! A data folder of a format that this program does not know.
#![expect(clippy::unwrap_used, reason = "functions of tests are tests too")]

mod gateway;
mod session;

use session::{complaint, printed};
use std::{collections::BTreeMap, fs, path::Path, time::SystemTime};

type Contents = BTreeMap<String, (Vec<u8>, SystemTime)>;

/// Every file below a folder, with what is in it and when it was written.
fn contents(folder: &Path) -> Contents {
    let mut found = Contents::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            let written = path.metadata().unwrap().modified().unwrap();
            found.insert(path.display().to_string(), (fs::read(&path).unwrap(), written));
        }
    }
    found
}

#[test]
fn every_command_refuses_a_folder_of_a_newer_format_by_its_number_and_touches_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    gateway::serve(folder, "", || {});
    printed(folder, "backup --data data copy");
    let format = folder.join("data/format");
    let told = fs::read_to_string(&format).unwrap();
    fs::write(&format, told.replace("format 1", "format 7")).unwrap();
    let before = contents(folder);
    for command in [
        "serve --listen 127.0.0.1:0 --admin 127.0.0.1:0 --data data",
        "check --data data",
        "check --repair --data data",
        "rebuild --data data",
        "rebuild --onto --data data",
        "backup --data data other",
        "restore --data data copy",
    ] {
        let complaint = complaint(folder, command);
        let why = "data folder data has format 7, and this program knows none above 1";
        assert!(complaint.contains(why), "{command}: {complaint}");
        assert!(contents(folder) == before, "{command}");
    }
}

#[test]
fn a_folder_from_before_there_were_formats_says_its_own_once_it_is_served_from() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    gateway::serve(folder, "", || {});
    let format = folder.join("data/format");
    fs::remove_file(&format).unwrap();
    assert!(printed(folder, "check --data data").ends_with("put right: 0\n"));
    assert!(!format.exists(), "a check leaves that to serving");
    gateway::serve(folder, "", || {});
    assert!(fs::read_to_string(&format).unwrap().ends_with("\nformat 1\n"));
}
