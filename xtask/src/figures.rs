use crate::{
    command::{command, say, watch},
    root::{root, target},
    test::lab,
};
use anyhow::{Context, Result, bail};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

const FIGURES_MAX: Duration = Duration::from_mins(20);
/// The figures that are committed, each paper's in a folder of its own, and the table that those
/// are drawn from again whose playing takes minutes.
const PAPERS: [(&str, Option<&str>); 5] = [
    ("tofec", None),
    ("backfill", Some("duels.csv")),
    ("promises", None),
    ("jlcm", None),
    ("stout", None),
];
/// What is made and not committed.
const UNCOMMITTED: [&str; 1] = ["report.html"];

/// What to do with the figures.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Write them into docs/figures instead of comparing.
    #[arg(long)]
    bless: bool,
    /// Also replay those otherwise drawn from a committed table; takes about ten minutes.
    #[arg(long)]
    play: bool,
}

/// Makes all figures again in a release build, and compares them byte for byte with those
/// committed. The checks' outcomes are among them, so one that no longer holds is a difference too.
pub(crate) fn figures(arguments: &Arguments) -> Result<()> {
    let program = lab()?;
    let mut wrong = Vec::new();
    for (paper, table) in PAPERS {
        let committed = root()?.join("docs/figures").join(paper);
        let made = target()?.join("figures").join(paper);
        match fs::remove_dir_all(&made) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let mut words = ["figures", paper, "--out"].map(PathBuf::from).to_vec();
        words.push(made.clone());
        if let Some(table) = table.filter(|_| !arguments.play) {
            words.extend(["--from".into(), committed.join(table)]);
        }
        let ended = watch(command(&program, &words)?, FIGURES_MAX)?;
        // 1: a check does not hold, which the committed checks.csv may say as well.
        if !matches!(ended.status.code(), Some(0 | 1)) || !made.is_dir() {
            bail!("`ripstop-lab figures {paper}` ended with {}", ended.status);
        }
        if arguments.bless {
            bless(&made, &committed)?;
        } else {
            wrong.extend(differences(&files(&made)?, &files(&committed)?, paper));
        }
    }
    for complaint in &wrong {
        say(complaint);
    }
    if !wrong.is_empty() {
        bail!("{} complaints; if figures should differ: cargo xtask figures --bless", wrong.len());
    }
    Ok(())
}

/// What is in a folder, by name; nothing if it is not there.
fn files(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    if !folder.is_dir() {
        return Ok(files);
    }
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !UNCOMMITTED.contains(&name.as_str()) && !name.starts_with('.') {
            let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
            files.insert(name, bytes);
        }
    }
    Ok(files)
}

/// What is there on one side only, or differs.
fn differences(
    made: &BTreeMap<String, Vec<u8>>,
    committed: &BTreeMap<String, Vec<u8>>,
    paper: &str,
) -> Vec<String> {
    let names: std::collections::BTreeSet<_> = made.keys().chain(committed.keys()).collect();
    let told = names.into_iter().filter_map(|name| {
        let said = match (made.get(name), committed.get(name)) {
            (Some(new), Some(old)) if new == old => return None,
            (Some(_), Some(_)) => "is made differently now",
            (Some(_), None) => "is not committed",
            (None, _) => "is no longer made",
        };
        Some(format!("docs/figures/{paper}/{name} {said}"))
    });
    told.collect()
}

/// Puts what was made in the place of what is committed.
fn bless(made: &Path, committed: &Path) -> Result<()> {
    fs::create_dir_all(committed)?;
    let (made, old) = (files(made)?, files(committed)?);
    for name in old.keys().filter(|name| !made.contains_key(*name)) {
        fs::remove_file(committed.join(name))?;
    }
    for (name, bytes) in made {
        fs::write(committed.join(name), bytes)?;
    }
    say(&format!("wrote {}", committed.display()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_difference_is_named() {
        let side = |files: &[(&str, &str)]| {
            files.iter().map(|(name, text)| ((*name).into(), text.as_bytes().to_vec())).collect()
        };
        let made = side(&[("a.csv", "1"), ("b.csv", "2"), ("c.csv", "3")]);
        let committed = side(&[("a.csv", "1"), ("b.csv", "4"), ("d.csv", "5")]);
        assert_eq!(
            differences(&made, &committed, "p"),
            [
                "docs/figures/p/b.csv is made differently now",
                "docs/figures/p/c.csv is not committed",
                "docs/figures/p/d.csv is no longer made",
            ]
        );
        assert_eq!(differences(&made, &made, "p"), [""; 0]);
    }
}
