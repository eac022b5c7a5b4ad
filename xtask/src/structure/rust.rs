//! Rust's text, taken apart as far as the rules need it.

/// A file's code, line by line as it was, with blanks in place of comments and of what texts hold;
/// and its comments.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) code: String,
    /// What each says behind its slashes, with its line from 1.
    pub(super) comments: Vec<(usize, String)>,
}

/// Takes a file apart.
pub(super) fn parts(text: &str) -> Parts {
    let mut parts = Parts::default();
    let (mut rest, mut line) = (text, 1);
    while let Some(next) = rest.chars().next() {
        let len = token(rest, parts.code.chars().next_back());
        let (token, after) = rest.split_at(len.max(next.len_utf8()));
        if token.starts_with("//") || token.starts_with("/*") {
            for (at, said) in token.lines().enumerate() {
                let said = said.trim_start().trim_start_matches(['/', '!', '*']);
                parts.comments.push((line + at, said.to_owned()));
            }
            blank(token, &mut parts.code);
        } else if token.len() > 1 {
            parts.code.push('"');
            blank(token, &mut parts.code);
            parts.code.push('"');
        } else {
            parts.code.push_str(token);
        }
        line += token.matches('\n').count();
        rest = after;
    }
    parts
}

fn blank(token: &str, code: &mut String) {
    code.extend(token.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
}

/// Bytes of the comment or text that `rest` begins with; 0 if it begins with neither.
fn token(rest: &str, before: Option<char>) -> usize {
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return block_comment(rest);
    }
    let amid_a_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let bare = rest.strip_prefix('b').filter(|_| !amid_a_word).unwrap_or(rest);
    let prefix = rest.len() - bare.len();
    if bare.starts_with('"') {
        return prefix + quoted(bare, '"');
    }
    if !amid_a_word && bare.starts_with('r') {
        let hashes = bare[1..].len() - bare[1..].trim_start_matches('#').len();
        if bare[1 + hashes..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(hashes));
            let begin = 2 + hashes;
            let len = bare[begin..].find(&end).map_or(bare.len(), |at| begin + at + end.len());
            return prefix + len;
        }
    }
    // A lifetime is no character.
    let character = bare
        .strip_prefix('\'')
        .is_some_and(|it| it.starts_with('\\') || it.chars().nth(1) == Some('\''));
    if character { prefix + quoted(bare, '\'') } else { 0 }
}

fn quoted(text: &str, end: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if c == end && !escaped {
            return at + c.len_utf8();
        }
        escaped = c == '\\' && !escaped;
    }
    text.len()
}

fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest.starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

/// A `use` declaration.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Use {
    /// Whether it names something here for others.
    pub(super) is_public: bool,
    /// What it names, braces taken apart; what that is called here is not told.
    pub(super) paths: Vec<Vec<String>>,
}

/// The `use` declarations in code, and the code without them.
pub(super) fn uses(code: &str) -> (Vec<Use>, String) {
    let (mut found, mut others, mut done) = (Vec::new(), String::new(), 0);
    for (at, word) in code.match_indices("use ") {
        let line = code[..at].rsplit(['\n', ';', '{', '}']).next().unwrap_or_default().trim();
        let visible = line.is_empty() || line == "pub" || line.starts_with("pub(");
        let Some(len) = code[at..].find(';').filter(|_| visible && at >= done) else { continue };
        let mut paths = Vec::new();
        expand(&code[at + word.len()..at + len], &[], &mut paths);
        found.push(Use { is_public: line.starts_with("pub"), paths });
        others.push_str(&code[done..at]);
        done = at + len;
    }
    others.push_str(&code[done..]);
    (found, others)
}

fn expand(tree: &str, before: &[String], paths: &mut Vec<Vec<String>>) {
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        let path = tree.split(" as ").next().unwrap_or_default();
        let names = path.split("::").map(|name| name.trim().to_owned());
        let mut path = before.to_vec();
        path.extend(names.filter(|name| !name.is_empty()));
        if path.last().is_some_and(|last| last == "self") && path.len() > 1 {
            path.pop();
        }
        if !path.is_empty() {
            paths.push(path);
        }
        return;
    };
    let mut path = before.to_vec();
    let names = tree[..open].split("::").map(|name| name.trim().to_owned());
    path.extend(names.filter(|name| !name.is_empty()));
    let inner = tree[open + 1..].strip_suffix('}').unwrap_or(&tree[open + 1..]);
    let (mut depth, mut begin) = (0_usize, 0);
    for (at, c) in inner.char_indices().chain([(inner.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                if !inner[begin..at].trim().is_empty() {
                    expand(&inner[begin..at], &path, paths);
                }
                begin = at + 1;
            }
            _ => {}
        }
    }
}

/// Every path in code: names with `::` between them.
pub(super) fn paths(code: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut path: Vec<String> = Vec::new();
    let mut name = String::new();
    let mut rest = code;
    loop {
        let next = rest.chars().next();
        if let Some(c) = next.filter(|c| c.is_alphanumeric() || *c == '_') {
            name.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        }
        if !name.is_empty() {
            path.push(std::mem::take(&mut name));
        }
        if let Some(after) = rest.strip_prefix("::").filter(|_| !path.is_empty()) {
            rest = after;
            continue;
        }
        if path.len() > 1 {
            found.push(std::mem::take(&mut path));
        }
        path.clear();
        let Some(c) = next else { return found };
        rest = &rest[c.len_utf8()..];
    }
}

#[test]
fn comments_and_texts_are_told_from_code() {
    let text = "let a = \"// no\"; // yes\nlet b = 'x'; /* two\nlines */ fn f<'a>(r: &'a str) {}\nr#\"use a::b;\"#";
    let Parts { code, comments } = parts(text);
    let said: Vec<(usize, &str)> = comments.iter().map(|(at, it)| (*at, it.trim())).collect();
    assert_eq!(said, [(1, "yes"), (2, "two"), (3, "lines */")]);
    assert!(code.contains("fn f<'a>(r: &'a str) {}") && !code.contains("use"), "{code}");
    assert_eq!(code.lines().count(), text.lines().count());
}

#[test]
fn uses_and_paths_are_found() {
    let code =
        "use crate::{a::{B, self}, c::*};\npub(crate) use d::E as F;\nlet x = super::g::h();";
    let (told, others) = uses(code);
    let path = |text: &str| text.split("::").map(str::to_owned).collect::<Vec<_>>();
    let first = vec![path("crate::a::B"), path("crate::a"), path("crate::c::*")];
    assert_eq!(told[0], Use { is_public: false, paths: first });
    assert_eq!(told[1], Use { is_public: true, paths: vec![path("d::E")] });
    assert_eq!(paths(&others), [path("super::g::h")]);
}
