//! CONTRIBUTING tells a newcomer which file to open.

use super::{
    none,
    source::{Source, sources},
};
use crate::root::root;

const TITLE: &str = "## To change X, open Y";
/// Things that somebody would want to change, at least.
const ANSWERS_MIN: usize = 20;

/// Each thing to change, with the files that are named for it.
fn answers(document: &Source) -> Vec<(&str, Vec<&str>)> {
    let section = document.text.lines().skip_while(|line| *line != TITLE).skip(1);
    let section = section.take_while(|line| !line.starts_with("## "));
    let answers = section.filter_map(|line| line.strip_prefix("* ")?.split_once(':'));
    answers.map(|(thing, files)| (thing, files.split('`').skip(1).step_by(2).collect())).collect()
}

/// What is wrong with the answers.
fn complaints(document: &Source, is_file: impl Fn(&str) -> bool) -> Vec<String> {
    let answers = answers(document);
    let mut complaints = Vec::new();
    if answers.len() < ANSWERS_MIN {
        let (path, count) = (&document.path, answers.len());
        complaints.push(format!("{path}: {TITLE}: {count} answers, at least {ANSWERS_MIN}"));
    }
    for (thing, files) in answers {
        if files.is_empty() {
            complaints.push(format!("{}: {thing}: names no file", document.path));
        }
        let gone = files.into_iter().filter(|file| !is_file(file));
        complaints.extend(gone.map(|file| format!("{}: {thing}: no {file}", document.path)));
    }
    complaints
}

#[test]
fn a_newcomer_is_told_which_file_to_open() {
    let root = root().unwrap();
    let documents = sources(&["CONTRIBUTING.md"]);
    let document = documents.iter().find(|it| it.path == "CONTRIBUTING.md").unwrap();
    none(&complaints(document, |file| root.join(file).is_file()));
}

#[test]
fn answers_that_are_too_few_or_lead_nowhere_are_found() {
    let document = |answers: &str| Source {
        path: "c.md".into(),
        text: format!("* not here: `a`\n{TITLE}\n\n{answers}\n## Else\n* nor here: `a`\n"),
    };
    let is_file = |file: &str| matches!(file, "a" | "b");
    let good = "* one thing: `a`, and `b` beside it\n";
    assert_eq!(complaints(&document(&good.repeat(ANSWERS_MIN)), is_file), Vec::<String>::new());
    let few = complaints(&document(&good.repeat(ANSWERS_MIN - 1)), is_file);
    assert_eq!(few, ["c.md: ## To change X, open Y: 19 answers, at least 20"]);
    let wrong = good.repeat(ANSWERS_MIN) + "* two: `a` or `c`\n* three: ask\n";
    let wrong = complaints(&document(&wrong), is_file);
    assert_eq!(wrong, ["c.md: two: no c", "c.md: three: names no file"]);
}
