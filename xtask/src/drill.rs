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
    let mut words = vec!["run", "--quiet", "-p", "ripstop-drill", "--"];
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
    let prefix = format!("--prefix={}/", tree.display());
    run(command("git", ["checkout-index", "--all", "--force", &prefix])?, BUILD_MAX)?;
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
    let target = root()?.join("target/planted/target");
    let within = |words: &[&str]| -> Result<_> {
        let mut cargo = cargo(words)?;
        cargo.current_dir(tree).env("CARGO_TARGET_DIR", &target);
        Ok(cargo)
    };
    run(within(&["build", "--quiet", "-p", "ripstop-drill"])?, BUILD_MAX)?;
    let words = ["run", "--quiet", "-p", "ripstop-drill", "--", "--seeds", SEEDS];
    let ended = watch(within(&words)?, DRILLS_MAX)?;
    if ended.status.success() {
        return Ok(None);
    }
    let found = ended.lines.iter().find(|line| line.contains(" fails: "));
    Ok(Some(found.context("it ended before it found anything")?.clone()))
}
