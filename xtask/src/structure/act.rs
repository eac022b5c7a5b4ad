//! What reads a clock, throws dice or spawns, without which a run could be replayed: only files
//! that are known to.

use super::{
    exception::{Offences, add, complaints},
    none,
    rust::parts,
    source::{Source, sources},
};

const ACTS: [&str; 8] = [
    "Instant::now",
    "SystemTime::now",
    "getrandom::",
    "rand::",
    "tokio::spawn",
    "task::spawn",
    "thread::spawn",
    "thread::Builder",
];

/// Files of crates that act, without their tests.
fn acts(sources: &[Source]) -> Offences {
    let mut offences = Offences::new();
    let ours = sources.iter().filter(|source| {
        source.path.starts_with("crates/") && source.path.contains("/src/") && !source.is_test()
    });
    for source in ours {
        let code = parts(&source.lines_without_tests().join("\n")).code;
        for (line, number) in code.lines().zip(1..) {
            for act in ACTS {
                let is_word = |at: usize| {
                    let before = line[..at].chars().next_back();
                    before.is_none_or(|c| !c.is_alphanumeric() && c != '_')
                };
                if line.match_indices(act).any(|(at, _)| is_word(at)) {
                    let told = format!("{}:{number}: {act}", source.path);
                    add(&mut offences, &source.path, told);
                }
            }
        }
    }
    offences
}

#[test]
fn clocks_dice_and_spawning_are_where_they_were() {
    let offences = acts(&sources(&[".rs"]));
    none(&complaints(&offences, include_str!("exceptions/acts.txt")));
}

#[test]
fn what_acts_is_found() {
    let source = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
    let found = acts(&[
        source("crates/edge/x/src/a.rs", "let t = std::time::Instant::now();"),
        source("crates/edge/x/src/b.rs", "fn f() {} // Instant::now\nlet t = operand::now();"),
        source("crates/edge/x/src/tests.rs", "tokio::spawn(f);"),
        source("crates/edge/x/src/c.rs", "x();\n#[cfg(test)]\nmod tests {\n tokio::spawn(f);\n}"),
        source("crates/edge/x/src/d.rs", "\n    getrandom::fill(&mut bytes)?;"),
        source("xtask/src/e.rs", "tokio::spawn(f);"),
    ]);
    let names: Vec<&str> = found.keys().map(|it| &it["crates/edge/x/src/".len()..]).collect();
    assert_eq!(names, ["a.rs", "d.rs"]);
    assert_eq!(found["crates/edge/x/src/d.rs"], ["crates/edge/x/src/d.rs:2: getrandom::"]);
}
