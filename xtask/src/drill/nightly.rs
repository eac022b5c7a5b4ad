use super::{
    form::{BUILD_MAX, DRILLS_MAX},
    planted,
};
use crate::{
    command::{cargo, command, run, say},
    root::target,
};
use anyhow::{Context, Result, ensure};
use std::{path::Path, process::Stdio};

/// Drills of a night.
const DRILLS: &str = "10000";
/// Drills that are played in two processes.
const PAIRS: &str = "1000";

/// Plays what takes longer than anybody waits.
pub(super) fn play() -> Result<()> {
    let words =
        ["build", "--release", "--config", "crates/drill/nightly.toml", "-p", "ripstop-drill"];
    run(cargo(&words)?, BUILD_MAX)?;
    let program = target()?.join("release").join("ripstop-drill").canonicalize()?;
    pairs(&program)?;
    run(command(&program, ["--seeds", DRILLS])?, DRILLS_MAX)?;
    planted::all("")
}

/// Plays drills in two processes at once: both must say the same of each.
fn pairs(program: &Path) -> Result<()> {
    let begin = || {
        let mut hashes = command(program, ["--seeds", PAIRS, "--hashes", "--as-it-is"])?;
        hashes.stdout(Stdio::piped()).spawn().context("a process that plays")
    };
    let both = [begin()?, begin()?];
    let mut told = Vec::new();
    for one in both {
        let ended = one.wait_with_output().context("a process that plays")?;
        let text = String::from_utf8(ended.stdout)?;
        ensure!(ended.status.success(), "{}", text.lines().last().unwrap_or_default());
        let traces = text.lines().filter(|line| line.contains(" trace "));
        told.push(traces.map(str::to_owned).collect::<Vec<_>>());
    }
    let differing = told[0].iter().zip(&told[1]).find(|(one, other)| one != other);
    ensure!(differing.is_none(), "two processes differ: {differing:?}");
    ensure!(told[0].len() == told[1].len(), "two processes played differently many");
    say(&format!("{} drills in two processes each: no trace differs", told[0].len()));
    Ok(())
}
