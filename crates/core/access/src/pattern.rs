//! Texts with wildcards, and with variables that a request fills in.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

/// What a variable stands for in a request: one text, if there is just one.
pub(crate) type Resolve<'a> = &'a dyn Fn(&str) -> Option<String>;

#[derive(Clone, PartialEq, Eq, Debug)]
enum Token {
    /// These characters.
    Text(Box<str>),
    /// Any one character.
    One,
    /// Any characters, or none.
    Many,
    /// What the request has under this key, or else this.
    Variable(Box<str>, Option<Box<str>>),
}

/// A text with `*`, `?` and `${key}`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Pattern {
    tokens: Vec<Token>,
    has_variables: bool,
}

impl Pattern {
    /// With wildcards, and with variables if the policy's version has them.
    pub(crate) fn new(text: &str, variables: bool) -> Self {
        Self::read(text, true, variables)
    }

    /// Without wildcards.
    pub(crate) fn literal(text: &str, variables: bool) -> Self {
        Self::read(text, false, variables)
    }

    fn read(text: &str, wildcards: bool, variables: bool) -> Self {
        let mut tokens = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        let mut has_variables = false;
        let flush = |plain: &mut String, tokens: &mut Vec<Token>| {
            if !plain.is_empty() {
                tokens.push(Token::Text(core::mem::take(plain).into_boxed_str()));
            }
        };
        while let Some(char) = rest.chars().next() {
            let braced = rest.strip_prefix("${").filter(|_| variables);
            if let Some((inner, after)) = braced.and_then(|inner| inner.split_once('}')) {
                rest = after;
                if matches!(inner, "*" | "?" | "$") {
                    plain.push_str(inner);
                    continue;
                }
                flush(&mut plain, &mut tokens);
                has_variables = true;
                tokens.push(variable(inner));
                continue;
            }
            rest = &rest[char.len_utf8()..];
            match char {
                '*' if wildcards => {
                    flush(&mut plain, &mut tokens);
                    if tokens.last() != Some(&Token::Many) {
                        tokens.push(Token::Many);
                    }
                }
                '?' if wildcards => {
                    flush(&mut plain, &mut tokens);
                    tokens.push(Token::One);
                }
                _ => plain.push(char),
            }
        }
        flush(&mut plain, &mut tokens);
        Self { tokens, has_variables }
    }

    /// Whether it fits all of `text`.
    pub(crate) fn fits(&self, text: &str, resolve: Resolve<'_>) -> bool {
        if !self.has_variables {
            return fits(&self.tokens, &[], text);
        }
        // What fits with no value need not be filled in.
        if !fits(&self.tokens, &[], text) {
            return false;
        }
        let variables = self.tokens.iter().enumerate().filter_map(|(at, token)| match token {
            Token::Variable(key, default) => Some((at, key, default)),
            Token::Text(_) | Token::One | Token::Many => None,
        });
        let mut filled = variables.map(|(at, key, default)| {
            let value = resolve(key).or_else(|| default.as_deref().map(String::from));
            value.map(|value| (at, value))
        });
        // What is not known is nothing that a text could be.
        let Some(Some(first)) = filled.next() else { return false };
        let Some(second) = filled.next() else { return fits(&self.tokens, &[first], text) };
        let all = [Some(first), second].into_iter().chain(filled).collect::<Option<Vec<_>>>();
        all.is_some_and(|all| fits(&self.tokens, &all, text))
    }

    /// The text, if it is one without wildcards and variables.
    pub(crate) fn plain(&self) -> Option<&str> {
        match self.tokens.as_slice() {
            [] => Some(""),
            [Token::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Whether it may fit a text without a slash.
    pub(crate) fn may_fit_bucket(&self) -> bool {
        !self.tokens.iter().any(|token| matches!(token, Token::Text(text) if text.contains('/')))
    }

    /// Whether it may fit a text with a slash.
    pub(crate) fn may_fit_object(&self) -> bool {
        let wide = |token: &Token| match token {
            Token::Text(text) => text.contains('/'),
            Token::Many | Token::Variable(..) => true,
            Token::One => false,
        };
        self.tokens.iter().any(wide)
    }

    /// Whether it has something in common with all texts that begin with a bucket's name: fits the
    /// name itself, or may fit what follows it after a slash.
    pub(crate) fn may_fit_within(&self, bucket: &str) -> bool {
        let mut states = Vec::from([(0, 0)]);
        advance(&self.tokens, &mut states);
        for char in bucket.chars() {
            states = step(&self.tokens, &states, char);
        }
        let ends = states.iter().any(|&(at, _)| at == self.tokens.len());
        ends || !step(&self.tokens, &states, '/').is_empty()
    }
}

fn variable(inner: &str) -> Token {
    let (key, default) = match inner.split_once(',') {
        Some((key, default)) => (key, Some(default.trim().trim_matches('\''))),
        None => (inner, None),
    };
    Token::Variable(key.trim().into(), default.map(Into::into))
}

/// Which places between tokens, and which offset in a text, can be reached without a character.
fn advance(tokens: &[Token], states: &mut Vec<(usize, usize)>) {
    let mut next = 0;
    while let Some(&(at, offset)) = states.get(next) {
        next += 1;
        let skips = match tokens.get(at) {
            Some(Token::Many | Token::Variable(..)) => true,
            Some(Token::Text(text)) => offset == text.len(),
            Some(Token::One) | None => false,
        };
        if skips && !states.contains(&(at + 1, 0)) {
            states.push((at + 1, 0));
        }
    }
}

/// The same after one more character. A variable stands for any text.
fn step(tokens: &[Token], states: &[(usize, usize)], char: char) -> Vec<(usize, usize)> {
    let mut after = Vec::new();
    for &(at, offset) in states {
        match tokens.get(at) {
            Some(Token::Many | Token::Variable(..)) => after.push((at, 0)),
            Some(Token::One) => after.push((at + 1, 0)),
            Some(Token::Text(text)) if text[offset..].starts_with(char) => {
                after.push((at, offset + char.len_utf8()));
            }
            Some(Token::Text(_)) | None => {}
        }
    }
    advance(tokens, &mut after);
    after
}

/// Greedy, going back to the last `*` alone: what fitted before it need not be tried again. So it
/// takes at most the product of both lengths. Variables have what they are filled with, by place;
/// one that is not filled stands for any text.
fn fits(tokens: &[Token], filled: &[(usize, String)], text: &str) -> bool {
    let text_of = |at: usize| match tokens.get(at) {
        Some(Token::Text(text)) => Some(&**text),
        Some(Token::Variable(..)) => {
            filled.iter().find(|(place, _)| *place == at).map(|(_, value)| value.as_str())
        }
        Some(Token::One | Token::Many) | None => None,
    };
    let (mut at, mut rest) = (0, text);
    let mut back: Option<(usize, &str)> = None;
    loop {
        let taken = match (text_of(at), tokens.get(at)) {
            (Some(wanted), _) => rest.strip_prefix(wanted),
            (None, Some(Token::One)) => rest.chars().next().map(|char| &rest[char.len_utf8()..]),
            (None, None) if rest.is_empty() => return true,
            (None, None) => None,
            (None, Some(_)) if at + 1 == tokens.len() => return true,
            (None, Some(Token::Many | Token::Variable(..) | Token::Text(_))) => {
                back = Some((at + 1, rest));
                Some(rest)
            }
        };
        if let Some(left) = taken {
            (at, rest) = (at + 1, left);
            continue;
        }
        let Some((after, from)) = back else { return false };
        let Some(char) = from.chars().next() else { return false };
        let mut from = &from[char.len_utf8()..];
        // A text that follows the star can begin only where its first byte is, which begins a
        // character.
        if let Some(first) = text_of(after).and_then(|wanted| wanted.bytes().next()) {
            let Some(next) = from.bytes().position(|byte| byte == first) else { return false };
            from = &from[next..];
        }
        back = Some((after, from));
        (at, rest) = (after, from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nothing(_: &str) -> Option<String> {
        None
    }

    #[test]
    fn wildcards_fit_what_they_stand_for() {
        for (pattern, text, fit) in [
            ("", "", true),
            ("*", "", true),
            ("*", "anything/at all", true),
            ("a?c", "abc", true),
            ("a?c", "aéc", true),
            ("a?c", "ac", false),
            ("b/*/x", "b/1/2/x", true),
            ("b/*/x", "b/x", false),
            ("*a*b*", "xaybz", true),
            ("*a*b*", "bya", false),
            ("a**b", "ab", true),
            ("*.jpg", "x.jpg.png", false),
            ("*.jpg", "x.jpg.jpg", true),
            ("${*}", "*", false),
        ] {
            assert_eq!(Pattern::new(pattern, false).fits(text, &nothing), fit, "{pattern} {text}");
        }
        let long = "a".repeat(2000);
        assert!(!Pattern::new(&("*a".repeat(500) + "b"), false).fits(&long, &nothing));
    }

    #[test]
    fn variables_are_filled_in_by_the_request_and_stand_for_themselves_alone() {
        let resolve = |key: &str| (key == "aws:username").then(|| "a*b".into());
        let pattern = Pattern::new("home/${aws:username}/*", true);
        assert!(pattern.fits("home/a*b/x", &resolve));
        assert!(!pattern.fits("home/axb/x", &resolve), "a star in a value is a star");
        assert!(!pattern.fits("home//x", &nothing), "what is not known fits nothing");
        assert!(Pattern::new("${aws:username, 'none'}", true).fits("none", &nothing));
        assert!(Pattern::new("a${*}${?}${$}", true).fits("a*?$", &nothing));
        assert!(!Pattern::new("a${*}", true).fits("ab", &nothing));
        assert!(Pattern::literal("a*", true).fits("a*", &nothing));
        assert!(!Pattern::literal("a*", true).fits("ab", &nothing));
    }

    #[test]
    fn what_may_lie_in_a_bucket_is_told_from_what_cannot() {
        for (pattern, may) in [
            ("bucket", true),
            ("bucket/*", true),
            ("bucket/${aws:username}/*", true),
            ("b*", true),
            ("*", true),
            ("*/*", true),
            ("buck?t/x", true),
            ("prefix-bucket", false),
            ("bucket2", false),
            ("bucket2/*", false),
            ("buck", false),
            ("/bucket", false),
            ("${aws:username}", true),
        ] {
            assert_eq!(Pattern::new(pattern, true).may_fit_within("bucket"), may, "{pattern}");
        }
    }
}
