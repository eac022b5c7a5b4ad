use super::form::{BUILD_MAX, DRILLS_MAX, PLAYED};
use crate::{
    command::{cargo, command, run, say, watch},
    root::{root, target},
};
use anyhow::{Context, Result, bail, ensure};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Where the planted bugs are.
const PLANTED: &str = "crates/drill/planted";
/// The patch that the others rest on: it adds what turns them on.
const SWITCH: &str = "switch";
/// How names of bugs begin that only several gateways over one catalog have.
const OF_FLEETS: &str = "fleet-";
/// Within how many drills each bug must be found.
const SEEDS: &str = "500";
/// Those that are planted every time: of each part, and found by one of the first drills.
const FEW: [&str; 3] =
    ["answer-before-commit", "delete-marker-lost-in-rebuild", "catalog-answers-before-sync"];
/// Within how many.
const FEW_SEEDS: &str = "10";

/// Plants the bugs whose names have this word, and plays until each is found.
pub(super) fn all(word: &str) -> Result<()> {
    let names: Vec<String> = names()?.into_iter().filter(|name| name.contains(word)).collect();
    ensure!(!names.is_empty(), "no planted bug has {word:?} in its name");
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    find(&program(&PLAYED)?, &names, SEEDS)
}

/// Plants a few, in a build that is no quicker than that of the tests, and made sooner.
pub(crate) fn few() -> Result<()> {
    find(&program(&["-p", "ripstop-drill"])?, &FEW, FEW_SEEDS)
}

/// The names of all planted bugs.
fn names() -> Result<Vec<String>> {
    let folder = root()?.join(PLANTED);
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if path.extension().is_some_and(|it| it == "patch") && name != SWITCH {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// Makes a copy of the tree that has all planted bugs, each behind a switch; answers its files.
fn plant(tree: &Path) -> Result<Vec<String>> {
    if tree.exists() {
        fs::remove_dir_all(tree).with_context(|| tree.display().to_string())?;
    }
    let mut files = copy_to(tree)?;
    let names = names()?;
    for name in [SWITCH].into_iter().chain(names.iter().map(String::as_str)) {
        let patch = root()?.join(PLANTED).join(name).with_extension("patch");
        files.extend(apply(tree, &patch).with_context(|| format!("planted bug {name}"))?);
    }
    Ok(files)
}

/// Builds the program in a copy of the tree that has all planted bugs.
fn program(words: &[&str]) -> Result<PathBuf> {
    let above = target()?.join("planted");
    let (new, tree) = (above.join("new"), above.join("tree"));
    let files = plant(&new)?;
    // What is as it was before is as old as it was, so that it is not built again.
    for file in files {
        let (now, before) = (new.join(&file), tree.join(&file));
        let bytes = fs::read(&now).with_context(|| now.display().to_string())?;
        if fs::read(&before).is_ok_and(|before| before == bytes) {
            let since = fs::metadata(&before)?.modified()?;
            fs::File::options().write(true).open(&now)?.set_modified(since)?;
        }
    }
    if tree.exists() {
        fs::remove_dir_all(&tree).with_context(|| tree.display().to_string())?;
    }
    fs::rename(&new, &tree).context("the copy of the tree")?;
    let planted = ["--config", "crates/drill/planted.toml"];
    let mut build = cargo(&[&["build", "--quiet"], words, &planted].concat())?;
    // What the tree is built of besides is built already.
    build.current_dir(&tree).env("CARGO_TARGET_DIR", target()?);
    run(build, BUILD_MAX)?;
    Ok(target()?.join("debug").join("ripstop-planted").canonicalize()?)
}

/// Makes a copy of all that git knows of; answers what that is.
fn copy_to(tree: &Path) -> Result<Vec<String>> {
    let (from, mut listing) = (root()?, command("git", ["ls-files", "-z"])?);
    let listed = listing.output().context("git ls-files")?;
    ensure!(listed.status.success(), "git ls-files ended with {}", listed.status);
    let listed = String::from_utf8(listed.stdout)?;
    let mut names = Vec::new();
    for name in listed.split_terminator('\0') {
        let (from, to) = (from.join(name), tree.join(name));
        // What git knows of and is not there is about to be removed.
        let Ok(bytes) = fs::read(&from) else { continue };
        fs::create_dir_all(to.parent().context("a file is in a folder")?)?;
        fs::write(&to, bytes).with_context(|| to.display().to_string())?;
        names.push(name.to_owned());
    }
    Ok(names)
}

/// Applies a patch to a copy of the tree; answers which files it is about.
fn apply(tree: &Path, patch: &Path) -> Result<Vec<String>> {
    let above = tree.parent().context("the copy is below the target folder")?;
    let git = |words: &[&str]| {
        let mut apply = command("git", ["apply"].iter().chain(words))?;
        // The copy is below the repository, and no part of it.
        apply.arg(patch).current_dir(tree).env("GIT_CEILING_DIRECTORIES", above);
        let ended = apply.output().context("git apply")?;
        let error = String::from_utf8_lossy(&ended.stderr).into_owned();
        ensure!(ended.status.success(), "git apply: {error}");
        Ok(ended.stdout)
    };
    git(&[])?;
    let counts = String::from_utf8(git(&["--numstat"])?)?;
    let name = |line: &str| line.split('\t').nth(2).map(str::to_owned);
    Ok(counts.lines().filter_map(name).collect())
}

/// Plays each bug until it is found; fails if one is not, or if something is without one.
fn find(program: &Path, names: &[&str], seeds: &str) -> Result<()> {
    let mut missed = Vec::new();
    for name in names {
        let mut words = vec!["--plant", name, "--seeds", seeds, "--as-it-is"];
        if name.starts_with(OF_FLEETS) {
            words.extend(["--world", "fleet"]);
        }
        let ended = watch(command(program, words)?, DRILLS_MAX)?;
        if ended.status.success() {
            missed.push(*name);
            continue;
        }
        let found = ended.lines.iter().find(|line| line.contains(" fails: "));
        let found = found.with_context(|| format!("{name}: it ended before it found anything"))?;
        say(&format!("{name}: {found}"));
    }
    if !missed.is_empty() {
        bail!("not found within {seeds} drills: {}", missed.join(", "));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_planted_bugs_are_of_this_tree_and_the_few_are_among_them() {
        let names = names().expect("they are there");
        assert!(FEW.iter().all(|few| names.iter().any(|name| name == few)), "{names:?}");
        let tree = target().expect("a folder").join("planted").join("tried");
        let files = plant(&tree).expect("each is applied, after those before");
        let switch = "crates/core/model/src/planted.rs";
        assert!(files.iter().any(|file| file == switch) && tree.join(switch).exists());
        for name in names {
            let word = format!("planted(\"{name}\")");
            let asks = |file: &String| {
                fs::read_to_string(tree.join(file)).is_ok_and(|text| text.contains(&word))
            };
            assert!(files.iter().any(asks), "{name} is behind no switch");
        }
        fs::remove_dir_all(&tree).expect("it is ours");
    }
}
