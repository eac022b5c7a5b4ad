//! No circle of files within a crate.
//!
//! A file needs another if a path in it leads there: one in a `use`, or one in the code that begins
//! with `crate`, `super`, `self`, or a module that the file declares. A path leads to the file of
//! the module in which what it names is declared: where it is only named for others (`pub use`),
//! the path is followed from there. Such a `pub use`, and the `mod` of a child, say where things
//! are and need nothing; nor does `pub(in path)`, which says who may see. Files of tests, and tests
//! at the end of a file, are passed over.
//!
//! What no path names is not seen: a method whose `impl` stands in another file than its type, and
//! what a glob names for others.

use super::{
    exception::{Offences, add, complaints},
    none,
    rust::{parts, paths, uses},
    source::{Source, sources},
};
use std::collections::{BTreeMap, BTreeSet};

/// Names for others that lead to names for others.
const TURNS_MAX: usize = 8;

type Path = Vec<String>;

/// A crate's files.
#[derive(Default)]
struct Tree {
    /// By the paths of their modules.
    files: BTreeMap<Path, String>,
    /// What each module names for others.
    named: BTreeMap<Path, BTreeMap<String, Path>>,
    /// What each module uses.
    used: BTreeMap<Path, Vec<Path>>,
}

/// The path of a file's module, from the part of its name behind `src/`.
fn module(name: &str) -> Path {
    let name = name.trim_end_matches(".rs");
    let mut path: Path = name.split('/').map(str::to_owned).collect();
    if path.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main")) {
        path.pop();
    }
    path
}

/// Code with `pub` in place of `pub(in path)`.
fn without_visibility(code: &str) -> String {
    let mut parts = code.split("pub(in ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |code, part| code + "pub" + part.split_once(')').unwrap_or(("", part)).1)
}

impl Tree {
    fn add(&mut self, name: &str, source: &Source) {
        let module = module(name);
        let code = parts(&source.lines_without_tests().join("\n")).code;
        let (uses, others) = uses(&code);
        let used = self.used.entry(module.clone()).or_default();
        used.extend(paths(&without_visibility(&others)));
        let named = self.named.entry(module.clone()).or_default();
        for declared in uses {
            if declared.is_public {
                let last = |path: &Path| path.last().cloned().unwrap_or_default();
                named.extend(declared.paths.into_iter().map(|path| (last(&path), path)));
            } else {
                used.extend(declared.paths);
            }
        }
        // A library and a program in one crate: the library is the root.
        if !(name == "main.rs" && self.files.contains_key(&module)) {
            self.files.insert(module, source.path.clone());
        }
    }

    /// The module in which what a path names is declared; none if that is elsewhere.
    fn home(&self, from: &Path, path: &[String], turns: usize) -> Option<Path> {
        let mut at = from.clone();
        let mut names = path.iter();
        match path.first()?.as_str() {
            "crate" => at.clear(),
            "self" | "super" => {}
            child if self.files.contains_key(&[from.as_slice(), &[child.to_owned()]].concat()) => {
                at.push(child.to_owned());
            }
            _ => return None,
        }
        if matches!(path[0].as_str(), "super") {
            at.pop()?;
        }
        names.next();
        while let Some(name) = names.next() {
            let child = [at.as_slice(), std::slice::from_ref(name)].concat();
            if name == "super" {
                at.pop()?;
            } else if self.files.contains_key(&child) {
                at = child;
            } else {
                let named = self.named.get(&at).and_then(|named| named.get(name));
                let Some(named) = named.filter(|_| turns < TURNS_MAX) else { break };
                let further = [named.as_slice(), names.as_slice()].concat();
                return self.home(&at, &further, turns + 1);
            }
        }
        Some(at)
    }

    /// Which files each file needs.
    fn needs(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut needs = BTreeMap::<&str, BTreeSet<&str>>::new();
        for (module, file) in &self.files {
            let homes = self.used[module].iter().filter_map(|path| self.home(module, path, 0));
            let files = homes.filter_map(|home| self.files.get(&home));
            let others = files.filter(|other| *other != file).map(String::as_str);
            needs.entry(file).or_default().extend(others);
        }
        needs
    }
}

/// The files that a file needs, and those that they need.
fn reach<'a>(needs: &BTreeMap<&'a str, BTreeSet<&'a str>>, from: &str) -> BTreeSet<&'a str> {
    let (mut reached, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(file) = next.pop() {
        for other in needs.get(file).into_iter().flatten() {
            if reached.insert(*other) {
                next.push(other);
            }
        }
    }
    reached
}

/// Files that stand in a circle, each with those that it needs of it.
fn circles(sources: &[Source]) -> Offences {
    let mut trees = BTreeMap::<&str, Tree>::new();
    for source in sources.iter().filter(|source| !source.is_test()) {
        if let Some((folder, name)) = source.path.split_once("/src/") {
            trees.entry(folder).or_default().add(name, source);
        }
    }
    let mut offences = Offences::new();
    for tree in trees.values() {
        let needs = tree.needs();
        let reached: BTreeMap<&str, _> = needs.keys().map(|it| (*it, reach(&needs, it))).collect();
        for (file, reaches) in &reached {
            if reaches.contains(file) {
                let with: Vec<&str> = (needs[file].iter().copied())
                    .filter(|other| reached[other].contains(file))
                    .collect();
                let told = format!("{file}: needs in a circle {}", with.join(", "));
                add(&mut offences, file, told);
            }
        }
    }
    offences
}

#[test]
fn files_do_not_need_each_other_in_a_circle() {
    let offences = circles(&sources(&[".rs"]));
    none(&complaints(&offences, include_str!("exceptions/circles.txt")));
}

#[test]
fn a_circle_is_found_and_what_is_none_is_not() {
    let tree = |files: &[(&str, &str)]| {
        let source = |&(path, text): &(&str, &str)| Source {
            path: format!("crates/x/src/{path}"),
            text: text.into(),
        };
        let found = circles(&files.iter().map(source).collect::<Vec<_>>());
        found.into_keys().map(|it| it.trim_start_matches("crates/x/src/").to_owned()).collect()
    };
    let none = Vec::<String>::new();
    let library = ("lib.rs", "mod a;\nmod b;\nmod c;\npub use a::A;\npub(crate) use b::{B, f};\n");
    // By a name that the library has for others.
    let a = ("a.rs", "use crate::B;\npub struct A(B);\n");
    let b = ("b.rs", "pub struct B;\nfn f() { crate::a::go(); }\n");
    let c = ("c.rs", "use crate::{A, B};\n");
    let found: Vec<String> = tree(&[library, a, b, c]);
    assert_eq!(found, ["a.rs", "b.rs"]);
    let b =
        ("b.rs", "pub struct B; // crate::a::go()\n#[cfg(test)]\nmod tests {\n use crate::A;\n}\n");
    assert_eq!(tree(&[library, a, b, c]), none);
    // A child that uses its parent, which uses its child.
    let child = ("a/child.rs", "use super::A;\npub fn g(_: A) {}\n");
    let a = ("a.rs", "mod child;\npub struct A;\nfn h() { child::g(A) }\n");
    assert_eq!(tree(&[library, a, child, b]), ["a.rs", "a/child.rs"]);
    let a = ("a.rs", "mod child;\npub use child::g;\npub struct A;\n");
    assert_eq!(tree(&[library, a, child, b]), none);
    let child = ("a/child.rs", "pub(in crate::a) struct C;\npub fn g(_: crate::b::B) {}\n");
    let a = ("a.rs", "mod child;\npub struct A(child::C);\n");
    assert_eq!(tree(&[library, a, child, b]), none);
    let child = ("a/child.rs", "pub(in crate::a) struct C(crate::a::A);\n");
    assert_eq!(tree(&[library, a, child, b]), ["a.rs", "a/child.rs"]);
}
