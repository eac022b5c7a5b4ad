//! A line, cut at its spaces.

/// Words of a line, at most; of a `get` the rest is cut again.
pub(crate) const TOKENS_MAX: usize = 23;

/// The first words of a line, and what is left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tokens<'a> {
    words: [&'a [u8]; TOKENS_MAX],
    len: usize,
    /// What follows the last of as many words as there may be.
    pub(crate) rest: &'a [u8],
}

impl<'a> Tokens<'a> {
    /// Cuts a line. Only spaces part words, and a zero byte ends the line, as in C.
    pub(crate) fn of(line: &'a [u8]) -> Self {
        let end = line.iter().position(|&byte| byte == 0).unwrap_or(line.len());
        let mut tokens = Self { words: [&[]; TOKENS_MAX], len: 0, rest: &line[..end] };
        while tokens.len < TOKENS_MAX {
            let Some(start) = tokens.rest.iter().position(|&byte| byte != b' ') else {
                tokens.rest = &[];
                break;
            };
            let word = &tokens.rest[start..];
            let len = word.iter().position(|&byte| byte == b' ').unwrap_or(word.len());
            tokens.words[tokens.len] = &word[..len];
            tokens.len += 1;
            tokens.rest = word.get(len + 1..).unwrap_or_default();
        }
        tokens
    }

    pub(crate) fn words(&self) -> &[&'a [u8]] {
        &self.words[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_part_words_and_nothing_else_does() {
        for (line, words) in [
            ("", &[][..]),
            ("   ", &[]),
            ("get a", &["get", "a"]),
            ("  get   a\tb  ", &["get", "a\tb"]),
            ("get a\0b c", &["get", "a"]),
        ] {
            let tokens = Tokens::of(line.as_bytes());
            let cut: Vec<_> = tokens.words().iter().map(|word| str::from_utf8(word)).collect();
            assert_eq!(cut, words.iter().map(|&word| Ok(word)).collect::<Vec<_>>(), "{line:?}");
            assert!(tokens.rest.is_empty());
        }
        let many = "k ".repeat(TOKENS_MAX) + "more and more";
        let tokens = Tokens::of(many.as_bytes());
        assert_eq!((tokens.words().len(), tokens.rest), (TOKENS_MAX, &b"more and more"[..]));
    }
}
