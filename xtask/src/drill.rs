use crate::{
    command::{cargo, command, run, say, watch},
    root::{root, target},
};
use anyhow::{Context, Result, bail, ensure};
use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

/// How long drills may take.
const DRILLS_MAX: Duration = Duration::from_hours(24);
/// How long a build may take.
const BUILD_MAX: Duration = Duration::from_mins(30);
/// Where the planted bugs are.
const PLANTED: &str = "crates/drill/planted";
/// Within how many drills each of them must be found.
const SEEDS: &str = "500";

/// Cargo's words for the program that plays, built to be quick.
const PLAYED: [&str; 6] =
    ["run", "--quiet", "--config", "crates/drill/played.toml", "-p", "ripstop-drill"];

/// Which drills.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Plant each of the bugs in crates/drill/planted in a copy of the tree, and see that the drill
    /// finds it; with a word, only those whose names have it.
    #[arg(long, num_args = 0..=1, default_missing_value = "", value_name = "WORD")]
    planted: Option<String>,
    /// What the drill is told: `--help` shows what there is.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

pub(crate) fn drill(arguments: &Arguments) -> Result<()> {
    if let Some(word) = &arguments.planted {
        return planted(word);
    }
    let mut words = [&PLAYED[..], &["--"]].concat();
    words.extend(arguments.words.iter().map(String::as_str));
    run(cargo(&words)?, DRILLS_MAX)
}

/// The patches whose names have this word.
fn patches(word: &str) -> Result<Vec<PathBuf>> {
    let folder = root()?.join(PLANTED);
    let mut patches = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if path.extension().is_some_and(|it| it == "patch") && name.contains(word) {
            patches.push(path);
        }
    }
    patches.sort();
    ensure!(!patches.is_empty(), "no planted bug has {word:?} in its name");
    Ok(patches)
}

fn planted(word: &str) -> Result<()> {
    let tree = target()?.join("planted").join("tree");
    copy_to(&tree)?;
    let mut missed = Vec::new();
    for patch in patches(word)? {
        let name = patch.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        apply(&tree, &patch, &[]).with_context(|| format!("planted bug {name}"))?;
        let found = find(&tree).with_context(|| format!("planted bug {name}"));
        // What is not touched by the next patch is not built again.
        apply(&tree, &patch, &["--reverse"])?;
        match found? {
            Some(line) => say(&format!("{name}: {line}")),
            None => missed.push(name),
        }
    }
    if !missed.is_empty() {
        bail!("not found within {SEEDS} drills: {}", missed.join(", "));
    }
    Ok(())
}

/// Makes a copy of all that git knows of. What is as it was before is not touched, so that it is
/// not built again.
fn copy_to(tree: &Path) -> Result<()> {
    let (from, mut listing) = (root()?, command("git", ["ls-files", "-z"])?);
    let listed = listing.output().context("git ls-files")?;
    ensure!(listed.status.success(), "git ls-files ended with {}", listed.status);
    for name in String::from_utf8(listed.stdout)?.split_terminator('\0') {
        let (from, to) = (from.join(name), tree.join(name));
        // What git knows of and is not there is about to be removed.
        let Ok(bytes) = fs::read(&from) else { continue };
        if fs::read(&to).is_ok_and(|before| before == bytes) {
            continue;
        }
        fs::create_dir_all(to.parent().context("a file is in a folder")?)?;
        fs::write(&to, bytes).with_context(|| to.display().to_string())?;
    }
    Ok(())
}

/// Applies a patch to a copy of the tree.
fn apply(tree: &Path, patch: &Path, how: &[&str]) -> Result<()> {
    let above = tree.parent().context("the copy is below the target folder")?;
    let mut apply = command("git", ["apply"].iter().chain(how))?;
    // The copy is below the repository, and no part of it.
    apply.arg(patch).current_dir(tree).env("GIT_CEILING_DIRECTORIES", above);
    run(apply, BUILD_MAX)
}

/// What the drill says of this tree; nothing if it finds nothing.
fn find(tree: &Path) -> Result<Option<String>> {
    let mut build = cargo(&PLAYED.map(|word| if word == "run" { "build" } else { word }))?;
    // What the tree is built of besides is built already.
    build.current_dir(tree).env("CARGO_TARGET_DIR", target()?);
    run(build, BUILD_MAX)?;
    let program = target()?.join("debug").join("ripstop-drill").canonicalize()?;
    let ended = watch(command(program, ["--seeds", SEEDS, "--as-it-is"])?, DRILLS_MAX)?;
    if ended.status.success() {
        return Ok(None);
    }
    let found = ended.lines.iter().find(|line| line.contains(" fails: "));
    Ok(Some(found.context("it ended before it found anything")?.clone()))
}
