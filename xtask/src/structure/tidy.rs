use super::{
    none,
    source::{Source, sources},
};

const LINES_MAX: usize = 500;
const UNFINISHED: [&str; 3] =
    [concat!("dbg", "!("), concat!("todo", "!("), concat!("unimplemented", "!(")];
const MACHINES: [&str; 3] =
    [concat!("/wor", "k/"), concat!("/roo", "t/"), concat!("/tmp/", "target")];
const NAMELESS: [&str; 7] = ["Manager", "Helper", "Helpers", "Util", "Utils", "Context", "Info"];

/// Files that are longer than a page.
fn long(sources: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    for source in sources {
        let lines = source.lines_without_tests().len();
        if lines > LINES_MAX {
            complaints.push(format!("{}: {lines} lines, at most {LINES_MAX}", source.path));
        }
    }
    complaints
}

#[test]
fn files_are_pages() {
    none(&long(&sources(&[".rs", ".py"])));
}

#[test]
fn a_file_of_more_than_a_page_is_found() {
    let source = |lines: usize, tests: usize| Source {
        path: "a.rs".into(),
        text: "x\n".repeat(lines) + "#[cfg(test)]\nmod tests {\n" + &"x\n".repeat(tests) + "}\n",
    };
    assert!(long(&[source(LINES_MAX, LINES_MAX)]).is_empty());
    assert_eq!(long(&[source(LINES_MAX + 1, 0)]), ["a.rs: 501 lines, at most 500"]);
}

/// A file's code without comments and attributes.
fn bare(text: &str) -> String {
    let mut code = String::new();
    let mut depth = 0_usize;
    for line in text.lines() {
        let line = line.split("//").next().unwrap();
        if depth == 0 && !line.trim_start().starts_with('#') {
            code.push_str(line);
            code.push('\n');
            continue;
        }
        depth += line.matches('[').count();
        depth -= line.matches(']').count().min(depth);
    }
    code
}

#[test]
fn libraries_only_name_their_modules() {
    let mut complaints = Vec::new();
    for source in sources(&["src/lib.rs"]) {
        let code = bare(&source.text);
        for statement in code.split(';').map(str::trim).filter(|statement| !statement.is_empty()) {
            let kinds = ["mod ", "pub mod ", "pub(crate) mod ", "pub use ", "extern crate "];
            let plain = kinds.iter().any(|kind| statement.starts_with(kind));
            if !plain || (statement.contains('{') && !statement.starts_with("pub use ")) {
                complaints.push(format!("{}: {statement}", source.path));
            }
        }
        if !source.text.starts_with("//!") {
            complaints.push(format!("{}: says nothing of the crate", source.path));
        }
    }
    none(&complaints);
}

#[test]
fn nothing_is_left_unfinished() {
    let mut complaints = Vec::new();
    for source in sources(&[".rs"]) {
        for (number, line) in source.text.lines().enumerate() {
            if UNFINISHED.iter().any(|word| line.contains(word)) {
                complaints.push(format!("{}:{}: {}", source.path, number + 1, line.trim()));
            }
        }
    }
    none(&complaints);
}

/// Whether `path` stands in a line as the beginning of an absolute path.
fn names(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before
            .is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '.' | '_' | '-' | '}' | '~' | '*'))
    })
}

#[test]
fn no_machine_of_ours_is_named() {
    let mut complaints = Vec::new();
    for source in sources(&[".rs", ".toml", ".md", ".py", ".sh", ".ini", ".txt", ".yml", ".ci/run"])
    {
        for (number, line) in source.text.lines().enumerate() {
            if MACHINES.iter().any(|machine| names(line, machine)) {
                complaints.push(format!("{}:{}: {}", source.path, number + 1, line.trim()));
            }
        }
    }
    none(&complaints);
}

/// Names of the types that a line declares.
fn declared(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line =
        line.strip_prefix("pub(crate) ").or(line.strip_prefix("pub(super) ")).unwrap_or(line);
    let line = line.strip_prefix("pub ").unwrap_or(line);
    let kinds = ["struct ", "enum ", "trait ", "type ", "union "];
    let rest = kinds.iter().find_map(|kind| line.strip_prefix(kind))?;
    rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

#[test]
fn names_say_what_a_thing_is() {
    let mut complaints = Vec::new();
    for source in sources(&[".rs"]) {
        for (number, line) in source.text.lines().enumerate() {
            let name = declared(line).unwrap_or_default();
            if NAMELESS.iter().any(|ending| name.ends_with(ending)) {
                complaints.push(format!("{}:{}: {name}", source.path, number + 1));
            }
        }
    }
    none(&complaints);
}

#[test]
fn long_tests_live_apart() {
    let mut complaints = Vec::new();
    for source in sources(&[".rs"]).iter().filter(|source| !source.is_test()) {
        let code = source.lines_without_tests().len();
        let tests = source.text.lines().count() - code;
        if tests > code && tests > 100 {
            complaints.push(format!("{}: {tests} lines of tests, {code} of code", source.path));
        }
    }
    none(&complaints);
}

#[test]
fn the_tidy_rules_see_what_they_should() {
    assert_eq!(declared("    pub(crate) struct FooManager<T> {"), Some("FooManager"));
    assert_eq!(declared("let x = Info;"), None);
    assert!(names("path = \"/roo\\t\"".replace("\\t", "t/").as_str(), MACHINES[1]));
    assert!(!names(&format!("net{}", MACHINES[0]), MACHINES[0]));
    let code = "//! Docs\n#![no_std]\n#[expect(\n    x,\n    reason = \"y\"\n)]\nmod a; // b\n";
    assert_eq!(bare(code).trim(), "mod a;");
    let source =
        Source { path: "a/tests.rs".into(), text: "x\n#[cfg(test)]\nmod tests {\n}".into() };
    assert_eq!((source.lines_without_tests(), source.is_test()), (vec!["x"], true));
}
