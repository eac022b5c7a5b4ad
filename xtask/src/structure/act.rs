//! Clocks, dice and what is done beside: in what ships only `crates/edge/host` has them, so that a
//! run can be played again from a seed.

use super::{
    none,
    rust::parts,
    source::{Source, sources},
};

/// What the host has for everybody.
const ACTS: [&str; 11] = [
    "Instant::now",
    "SystemTime::now",
    "OffsetDateTime::now_utc",
    ".elapsed()",
    "getrandom::",
    "rand::",
    "tokio::spawn",
    "task::spawn",
    "task::spawn_blocking",
    "thread::spawn",
    "thread::Builder",
];
const HOST: &str = "crates/edge/host/";
/// What every node must pass, in tests alone.
const TESTS: &str = "crates/edge/node/src/conformance.rs";
/// Measures how long the planner takes, for a figure.
const MEASURES: &str = "crates/sim/placing/src/jlcm/convergence.rs";

/// Lines of what ships that act by themselves.
fn acts(sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    let ours = sources.iter().filter(|source| {
        let path = &source.path;
        let ships = path.starts_with("crates/") && path.contains("/src/") && !source.is_test();
        ships && !path.starts_with(HOST) && ![TESTS, MEASURES].contains(&path.as_str())
    });
    for source in ours {
        let code = parts(&source.lines_without_tests().join("\n")).code;
        for (line, number) in code.lines().zip(1..) {
            for act in ACTS {
                let is_word = |at: usize| {
                    let before = line[..at].chars().next_back();
                    act.starts_with('.') || before.is_none_or(|c| !c.is_alphanumeric() && c != '_')
                };
                if line.match_indices(act).any(|(at, _)| is_word(at)) {
                    found.push(format!("{}:{number}: {act}: ask ripstop_host", source.path));
                }
            }
        }
    }
    found
}

/// What the drill does not play: other doors, and what an operator looks through.
const UNPLAYED: [&str; 3] = ["crates/edge/kv/", "crates/edge/memory/", "crates/edge/telemetry/"];

/// Choices whose order is drawn each time.
fn drawn(sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources {
        let path = &source.path;
        let is_ours = path.starts_with("crates/edge/") || path.starts_with("crates/app/gateway/");
        let is_played = is_ours && !UNPLAYED.iter().any(|folder| path.starts_with(folder));
        if !is_played || !path.contains("/src/") || source.is_test() {
            continue;
        }
        let code = parts(&source.lines_without_tests().join("\n")).code;
        for (at, _) in code.match_indices("select!") {
            let body = code[at..].split_once('{').map_or("", |(_, body)| body.trim_start());
            if !body.starts_with("biased;") {
                let number = code[..at].lines().count();
                found.push(format!("{path}:{number}: select! begins with biased;"));
            }
        }
    }
    found
}

#[test]
fn what_is_played_chooses_in_one_order() {
    none(&drawn(&sources(&[".rs"])));
    let source = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
    let tree = [
        source("crates/edge/a/src/a.rs", "tokio::select! {\n    biased;\n    a = b => c,\n}\n"),
        source("crates/edge/a/src/b.rs", "\ntokio::select! {\n    a = b => c,\n}\n"),
        source("crates/edge/kv/src/c.rs", "tokio::select! {\n    a = b => c,\n}\n"),
    ];
    assert_eq!(drawn(&tree), ["crates/edge/a/src/b.rs:2: select! begins with biased;"]);
}

#[test]
fn clocks_dice_and_tasks_are_the_hosts() {
    none(&acts(&sources(&[".rs"])));
}

#[test]
fn what_acts_by_itself_is_found() {
    let source = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
    let tree = [
        source("crates/edge/a/src/a.rs", "fn f() {\n    let at = Instant::now();\n}\n"),
        source("crates/edge/a/src/b.rs", "// Instant::now\nlet a = \"tokio::spawn\";\n"),
        source("crates/edge/host/src/c.rs", "Instant::now();\n"),
        source("crates/app/d/src/d.rs", "let took = begun.elapsed();\ntokio::spawn(f());\n"),
        source(
            "crates/app/e/src/e.rs",
            "fn f() {}\n#[cfg(test)]\nmod tests {\n Instant::now();\n}\n",
        ),
        source("crates/edge/f/src/f.rs", "strand::spawn();\noperand::throw();\n"),
        source("lab/src/g.rs", "Instant::now();\n"),
    ];
    let found: Vec<String> =
        acts(&tree).iter().map(|it| it.replace(": ask ripstop_host", "")).collect();
    assert_eq!(
        found,
        [
            "crates/edge/a/src/a.rs:2: Instant::now",
            "crates/app/d/src/d.rs:1: .elapsed()",
            "crates/app/d/src/d.rs:2: tokio::spawn",
        ]
    );
}
