//! No circles of files: what a file names is below it, and never leads back to it.

use super::{
    none,
    source::{Source, sources},
};
use std::collections::{BTreeMap, BTreeSet};

/// Crates whose files stand in no circle.
const STRAIGHT: [&str; 6] = [
    "crates/app/cli/src/",
    "crates/app/client/src/",
    "crates/app/gateway/src/",
    "crates/app/planner/src/",
    "crates/edge/roster/src/",
    "lab/src/",
];

/// A module's place in its crate; the root's is empty.
type Module = Vec<String>;

/// Which modules each file of a crate names.
type Names = BTreeMap<Module, BTreeSet<Module>>;

/// Where a file is in its crate.
fn module(path: &str) -> Module {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let mut parts: Module = path.split('/').map(str::to_owned).collect();
    if parts.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        parts.pop();
    }
    parts
}

/// The paths that a tree of `use` stands for, without renames.
fn paths(tree: &str) -> Vec<String> {
    let Some((before, rest)) = tree.split_once('{') else {
        return vec![tree.split(" as ").next().unwrap_or(tree).trim().to_owned()];
    };
    let inside = rest.rsplit_once('}').map_or(rest, |(inside, _)| inside);
    let (mut parts, mut depth) = (vec![String::new()], 0);
    for c in inside.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if c == ',' && depth == 0 {
            parts.push(String::new());
        } else if let Some(last) = parts.last_mut() {
            last.push(c);
        }
    }
    let parts = parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty());
    parts.flat_map(|part| paths(&format!("{}{part}", before.trim()))).collect()
}

/// The paths that a file's code names, in `use` and elsewhere.
fn named(source: &Source) -> Vec<String> {
    let lines = source.lines_without_tests();
    let code = lines.iter().map(|line| line.split("//").next().unwrap_or_default());
    let code = code.collect::<Vec<_>>().join("\n");
    let mut found = Vec::new();
    for statement in code.split(';') {
        let uses = statement.rsplit_once("use ").filter(|(before, _)| {
            let before = before.trim_end();
            before.is_empty() || before.ends_with(['}', ']', '\n', ')']) || before.ends_with("pub")
        });
        if let Some((_, tree)) = uses {
            found.extend(paths(&tree.split_whitespace().collect::<Vec<_>>().join(" ")));
        }
    }
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let words = code.split(|c| !is_name(c));
    // What ends so goes on in braces, which were looked at above.
    let words = words.filter(|word| word.contains("::") && !word.ends_with("::"));
    found.extend(words.map(str::to_owned));
    found
}

/// The module of a crate that a path written in `from` begins with.
fn resolve(path: &str, from: &Module, files: &BTreeSet<Module>) -> Option<Module> {
    let mut parts: Vec<&str> = path.split("::").collect();
    let mut base = from.clone();
    match *parts.first()? {
        "crate" => {
            base.clear();
            parts.remove(0);
        }
        "self" => drop(parts.remove(0)),
        "super" => {
            while parts.first() == Some(&"super") {
                base.pop();
                parts.remove(0);
            }
        }
        child => {
            let own = [base.as_slice(), &[child.to_owned()]].concat();
            files.contains(&own).then_some(())?;
        }
    }
    base.extend(parts.into_iter().map(str::to_owned));
    while !files.contains(&base) {
        base.pop()?;
    }
    Some(base)
}

/// What the files of a crate name of one another.
fn names(crate_: &str, all: &[Source]) -> Names {
    let own = all.iter().filter(|source| source.path.starts_with(crate_) && !source.is_test());
    let own: Vec<(Module, &Source)> =
        own.map(|source| (module(&source.path[crate_.len()..]), source)).collect();
    let files: BTreeSet<Module> = own.iter().map(|(module, _)| module.clone()).collect();
    let of = |(module, source): &(Module, &Source)| {
        let named = named(source);
        let named = named.iter().filter_map(|path| resolve(path, module, &files));
        (module.clone(), named.filter(|other| other != module).collect())
    };
    own.iter().map(of).collect()
}

/// The files that are left once those are taken away, again and again, that name none of the rest.
fn circular(mut names: Names) -> Vec<Module> {
    loop {
        let leaves: Vec<Module> =
            names.iter().filter(|(_, named)| named.is_empty()).map(|(at, _)| at.clone()).collect();
        if leaves.is_empty() {
            return names.into_keys().collect();
        }
        for leaf in leaves {
            names.remove(&leaf);
            for named in names.values_mut() {
                named.remove(&leaf);
            }
        }
    }
}

#[test]
fn no_file_leads_back_to_itself() {
    let all = sources(&[".rs"]);
    let mut complaints = Vec::new();
    for crate_ in STRAIGHT {
        let names = names(crate_, &all);
        assert!(names.len() > 3, "{crate_} was not found");
        let files = circular(names);
        let files = files.iter().map(|file| file.join("/"));
        complaints.extend(files.map(|file| format!("{crate_}{file} is in a circle, or names one")));
    }
    none(&complaints);
}

#[test]
fn circles_are_seen_through_parents_braces_and_paths() {
    let source = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
    let of = |files: &[(&str, &str)]| {
        let files: Vec<Source> = files.iter().map(|(path, text)| source(path, text)).collect();
        circular(names("", &files)).iter().map(|file| file.join("/")).collect::<Vec<_>>()
    };
    let nothing: [&str; 0] = [];
    assert_eq!(
        of(&[("lib.rs", "mod a;\nmod b;"), ("a.rs", "use crate::b::B;"), ("b.rs", "")]),
        nothing
    );
    assert_eq!(
        of(&[("a.rs", "mod b;\nuse b::B;"), ("a/b.rs", "use super::{\n    A,\n};")]),
        ["a", "a/b"]
    );
    assert_eq!(
        of(&[("a.rs", "fn f() { crate::b::g() }"), ("b.rs", "pub use crate::{x, a::{f as h}};")]),
        ["a", "b"]
    );
    assert_eq!(
        of(&[
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "#[cfg(test)]\nmod tests {\nuse crate::a::A;\n}")
        ]),
        nothing
    );
}
