//! One word, one meaning: no two public types of one name in what ships.

use super::{
    exception::{Offences, add, complaints},
    none,
    rust::parts,
    source::{Source, sources},
};
use std::collections::BTreeMap;

const LAYERS: [&str; 3] = ["crates/core/", "crates/edge/", "crates/app/"];

/// The name of the public type that a line declares; a macro's `$name` is none yet.
fn declared(line: &str) -> Option<&str> {
    let line = line.trim_start().strip_prefix("pub ")?;
    let kinds = ["struct ", "enum ", "trait ", "type ", "union "];
    let rest = kinds.iter().find_map(|kind| line.strip_prefix(kind))?;
    rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().filter(|name| !name.is_empty())
}

/// Names that two public types have.
fn twice(sources: &[Source]) -> Offences {
    let mut places = BTreeMap::<String, Vec<String>>::new();
    for source in sources.iter().filter(|source| !source.is_test()) {
        let ships = LAYERS.iter().any(|layer| source.path.starts_with(layer));
        if !ships || !source.path.contains("/src/") {
            continue;
        }
        let code = parts(&source.lines_without_tests().join("\n")).code;
        for (line, number) in code.lines().zip(1..) {
            if let Some(name) = declared(line) {
                places.entry(name.into()).or_default().push(format!("{}:{number}", source.path));
            }
        }
    }
    let mut offences = Offences::new();
    for (name, places) in places.iter().filter(|(_, places)| places.len() > 1) {
        add(&mut offences, name, format!("{name}: is public at {}", places.join(" and ")));
    }
    offences
}

#[test]
fn no_two_public_types_have_one_name() {
    let offences = twice(&sources(&[".rs"]));
    none(&complaints(&offences, include_str!("exceptions/names.txt")));
}

#[test]
fn a_name_that_two_types_have_is_found() {
    let source = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
    let found = twice(&[
        source("crates/core/a/src/lib.rs", "pub struct Plan;\npub(crate) struct Node;"),
        source("crates/edge/b/src/b.rs", "    pub enum Plan {}\n// pub struct Other;"),
        source("crates/edge/b/src/c.rs", "pub struct Node;\npub trait Other {}"),
        source("crates/core/e/src/e.rs", "pub struct $name;\npub struct $other(u64);"),
        source("crates/sim/d/src/d.rs", "pub struct Other;"),
    ]);
    assert_eq!(found.keys().collect::<Vec<_>>(), ["Plan"]);
    let told = "Plan: is public at crates/core/a/src/lib.rs:1 and crates/edge/b/src/b.rs:1";
    assert_eq!(found["Plan"], [told]);
}
