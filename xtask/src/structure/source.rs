use crate::root::root;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Folders that hold nothing of ours.
const FOREIGN: [&str; 6] =
    ["target", ".git", "node_modules", "ripstop-data", "__pycache__", ".venv"];

/// A file of the repository.
pub(super) struct Source {
    /// Relative to the root, with `/`.
    pub(super) path: String,
    pub(super) text: String,
}

impl Source {
    /// Whether it holds nothing but tests.
    pub(super) fn is_test(&self) -> bool {
        let mut parts = self.path.split('/');
        parts.any(|part| matches!(part, "tests" | "tests.rs" | "benches" | "structure"))
    }

    /// Its lines up to its own `mod tests { … }`, which stands last.
    pub(super) fn lines_without_tests(&self) -> Vec<&str> {
        let lines: Vec<&str> = self.text.lines().collect();
        let tests = lines
            .windows(2)
            .position(|pair| pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod tests {"));
        lines[..tests.unwrap_or(lines.len())].to_vec()
    }
}

/// Every text file of the repository whose name ends in one of these.
pub(super) fn sources(endings: &[&str]) -> Vec<Source> {
    let root = root().unwrap();
    let mut paths = Vec::new();
    walk(&root, &mut paths);
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
        if endings.iter().any(|ending| name.ends_with(ending)) {
            found.push(Source { path: name, text: fs::read_to_string(&path).unwrap() });
        }
    }
    assert!(!found.is_empty(), "no files end in {endings:?}");
    found
}

fn walk(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_symlink() || FOREIGN.contains(&name) {
            continue;
        }
        if path.is_dir() {
            walk(&path, paths);
        } else {
            paths.push(path);
        }
    }
}
