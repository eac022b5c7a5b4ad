use super::{
    none,
    source::{Source, sources},
};
use crate::root::root;

const ARCHITECTURE_LINES_MAX: usize = 400;

/// Targets of a document's links, without those outside the repository and within the page.
fn links(document: &Source) -> Vec<String> {
    let mut found = Vec::new();
    let mut fenced = false;
    for line in document.text.lines() {
        fenced ^= line.trim_start().starts_with("```");
        if fenced {
            continue;
        }
        for (at, _) in line.match_indices("](") {
            let target = line[at + 2..].split([')', ' ']).next().unwrap();
            let path = target.split('#').next().unwrap();
            if !path.is_empty() && !path.contains("://") && !path.starts_with("mailto:") {
                found.push(path.to_owned());
            }
        }
    }
    found
}

#[test]
fn links_lead_somewhere() {
    let root = root().unwrap();
    let mut complaints = Vec::new();
    for document in sources(&[".md"]) {
        let folder = root.join(&document.path).parent().unwrap().to_owned();
        for link in links(&document) {
            if !folder.join(&link).exists() {
                complaints.push(format!("{}: {link}", document.path));
            }
        }
    }
    none(&complaints);
}

#[test]
fn the_documents_that_others_lean_on_are_there() {
    let root = root().unwrap();
    let wanted = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "LICENSE"];
    none(
        &wanted
            .into_iter()
            .filter(|n| !root.join(n).exists())
            .map(String::from)
            .collect::<Vec<_>>(),
    );
}

#[test]
fn the_architecture_is_read_in_one_sitting() {
    for document in sources(&[".md"]) {
        let lines = document.text.lines().count();
        let long = document.path == "ARCHITECTURE.md" && lines > ARCHITECTURE_LINES_MAX;
        assert!(!long, "ARCHITECTURE.md has {lines} lines, at most {ARCHITECTURE_LINES_MAX}");
    }
}

#[test]
fn links_are_found_in_text_and_not_in_code() {
    let text = "See [a](b/c.md#part), [d](https://e), [f](#g).\n```\n[h](i)\n```\n![j](k.svg)";
    let document = Source { path: "x.md".into(), text: text.into() };
    assert_eq!(links(&document), ["b/c.md", "k.svg"]);
}
