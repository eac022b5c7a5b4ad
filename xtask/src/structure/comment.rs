//! Comments and documents: how wide, and in which words.

use super::{
    exception::{Offences, add},
    none,
    rust::parts,
    source::{Source, sources},
};

const COLUMNS_MAX: usize = 100;

/// Words that a native speaker would not write, each with what would stand there. One more is one
/// more line.
const BANNED: [(&str, &str); 7] = [
    ("so many", "this many, or the name of the number"),
    ("anew", "again"),
    ("foretell", "predict"),
    ("foretells", "predicts"),
    ("foretold", "predicted"),
    ("in the mean", "on average"),
    ("of late", "recently"),
];

/// What is told of each.
fn told(offences: &Offences) -> Vec<String> {
    offences.values().flatten().cloned().collect()
}

/// Comments that are too wide, by file.
fn wide(sources: &[Source]) -> Offences {
    let mut offences = Offences::new();
    for source in sources {
        let comments = parts(&source.text).comments;
        let lines: Vec<&str> = source.text.lines().collect();
        for (number, _) in comments {
            let columns = lines.get(number - 1).map_or(0, |line| line.chars().count());
            if columns > COLUMNS_MAX {
                let told = format!("{}:{number}: a comment of {columns} columns", source.path);
                add(&mut offences, &source.path, told);
            }
        }
    }
    offences
}

/// What a file says to its readers, with the lines.
fn prose(source: &Source) -> Vec<(usize, String)> {
    let ending = source.path.rsplit('.').next();
    if ending == Some("rs") {
        return parts(&source.text).comments;
    }
    let numbered = source.text.lines().zip(1..).map(|(line, number)| (number, line));
    if ending == Some("md") {
        return numbered.map(|(number, line)| (number, line.to_owned())).collect();
    }
    let said = |(number, line): (usize, &str)| {
        let (before, said) = line.split_once('#')?;
        let plain = before.is_empty() || before.ends_with(' ');
        plain.then(|| (number, said.to_owned()))
    };
    numbered.filter_map(said).collect()
}

/// Banned words, by file; they may go on in the next line.
fn banned(sources: &[Source]) -> Offences {
    let mut offences = Offences::new();
    for source in sources {
        let mut words = Vec::new();
        let mut last = 0;
        for (number, line) in prose(source) {
            // What is not the next line says something else.
            if number > last + 1 {
                words.push((number, String::new()));
            }
            last = number;
            let split = line.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '\'');
            let split = split.filter(|word| !word.is_empty());
            words.extend(split.map(|word| (number, word.to_lowercase())));
        }
        for (phrase, instead) in BANNED {
            let phrase_words: Vec<&str> = phrase.split(' ').collect();
            for found in words.windows(phrase_words.len()) {
                if found.iter().map(|(_, word)| word.as_str()).eq(phrase_words.iter().copied()) {
                    let (path, number) = (&source.path, found[0].0);
                    let told = format!("{path}:{number}: \"{phrase}\": say {instead}");
                    add(&mut offences, path, told);
                }
            }
        }
    }
    offences
}

#[test]
fn comments_are_no_wider_than_code() {
    let offences = wide(&sources(&[".rs"]));
    none(&told(&offences));
}

#[test]
fn words_are_those_of_a_native_speaker() {
    let offences = banned(&sources(&[".rs", ".md", ".py", ".toml", ".sh"]));
    none(&told(&offences));
}

#[test]
fn wide_comments_and_banned_words_are_found() {
    let source = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
    let long = "x".repeat(COLUMNS_MAX);
    let tree = [
        source("a.rs", &format!("let a = \"{long}\";\n// {long}\n")),
        source("b.rs", &format!("/// {}\nlet b = \"{long}\";\n", &long[4..])),
    ];
    assert_eq!(wide(&tree).into_keys().collect::<Vec<_>>(), ["a.rs"]);
    let tree = [
        source("a.rs", "/// At most so\n/// many of them.\nlet a = \"anew\";\n"),
        source("b.rs", "// so\n\n// many; in the meantime, foretelling of later\n"),
        source("c.md", "Made Anew.\n"),
        source("d.py", "text = 'anew'\nx = 1  # of late\n"),
    ];
    let found = banned(&tree);
    assert_eq!(found.keys().collect::<Vec<_>>(), ["a.rs", "c.md", "d.py"]);
    assert_eq!(found["a.rs"].len(), 1);
    assert!(found["a.rs"][0].starts_with("a.rs:1: \"so many\""), "{found:?}");
}
