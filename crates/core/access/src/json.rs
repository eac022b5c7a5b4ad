//! JSON, as much as policies are written in: bounded in depth, each name of an object once.

use alloc::string::String;
use alloc::vec::Vec;

/// Values within each other.
const DEPTH_MAX: usize = 16;

/// A value.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    /// As it is written.
    Number(String),
    Text(String),
    List(Vec<Json>),
    /// In the order of the text.
    Object(Vec<(String, Json)>),
}

/// The text is no JSON, too deep, or names something twice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NoJson;

type Read<T> = Result<T, NoJson>;

impl Json {
    pub(crate) fn read(text: &str) -> Read<Self> {
        let mut reader = Reader { text, at: 0 };
        let value = reader.value(0)?;
        reader.blank();
        if reader.at == text.len() { Ok(value) } else { Err(NoJson) }
    }

    /// One text, or a list of texts; numbers and truths count as texts.
    pub(crate) fn texts(&self) -> Option<Vec<String>> {
        match self {
            Self::List(values) => values.iter().map(Self::text).collect(),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) | Self::Object(_) => {
                self.text().map(|text| Vec::from([text]))
            }
        }
    }

    fn text(&self) -> Option<String> {
        match self {
            Self::Text(text) | Self::Number(text) => Some(text.clone()),
            Self::Bool(truth) => Some(String::from(if *truth { "true" } else { "false" })),
            Self::Null | Self::List(_) | Self::Object(_) => None,
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blank(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Whether the next byte is this one, which is taken then.
    fn takes(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Read<()> {
        if self.takes(byte) { Ok(()) } else { Err(NoJson) }
    }

    fn value(&mut self, depth: usize) -> Read<Json> {
        if depth > DEPTH_MAX {
            return Err(NoJson);
        }
        self.blank();
        match self.peek().ok_or(NoJson)? {
            b'{' => self.object(depth),
            b'[' => self.list(depth),
            b'"' => self.string().map(Json::Text),
            b't' => self.word("true", Json::Bool(true)),
            b'f' => self.word("false", Json::Bool(false)),
            b'n' => self.word("null", Json::Null),
            _ => self.number(),
        }
    }

    fn word(&mut self, word: &str, value: Json) -> Read<Json> {
        if !self.text[self.at..].starts_with(word) {
            return Err(NoJson);
        }
        self.at += word.len();
        Ok(value)
    }

    fn object(&mut self, depth: usize) -> Read<Json> {
        self.expect(b'{')?;
        let mut members: Vec<(String, Json)> = Vec::new();
        self.blank();
        if self.takes(b'}') {
            return Ok(Json::Object(members));
        }
        loop {
            self.blank();
            let name = self.string()?;
            // Which of two is meant would be a guess, and of a denial a dangerous one.
            if members.iter().any(|(given, _)| *given == name) {
                return Err(NoJson);
            }
            self.blank();
            self.expect(b':')?;
            let value = self.value(depth + 1)?;
            members.push((name, value));
            self.blank();
            if self.takes(b'}') {
                return Ok(Json::Object(members));
            }
            self.expect(b',')?;
        }
    }

    fn list(&mut self, depth: usize) -> Read<Json> {
        self.expect(b'[')?;
        let mut values = Vec::new();
        self.blank();
        if self.takes(b']') {
            return Ok(Json::List(values));
        }
        loop {
            values.push(self.value(depth + 1)?);
            self.blank();
            if self.takes(b']') {
                return Ok(Json::List(values));
            }
            self.expect(b',')?;
        }
    }

    fn digits(&mut self) -> Read<()> {
        let from = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at > from { Ok(()) } else { Err(NoJson) }
    }

    fn number(&mut self) -> Read<Json> {
        let from = self.at;
        self.takes(b'-');
        if !self.takes(b'0') {
            self.digits()?;
        }
        if self.takes(b'.') {
            self.digits()?;
        }
        if self.takes(b'e') || self.takes(b'E') {
            let _ = self.takes(b'+') || self.takes(b'-');
            self.digits()?;
        }
        Ok(Json::Number(String::from(&self.text[from..self.at])))
    }

    fn string(&mut self) -> Read<String> {
        self.expect(b'"')?;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let char = rest.chars().next().ok_or(NoJson)?;
            self.at += char.len_utf8();
            match char {
                '"' => return Ok(out),
                '\\' => out.push(self.escaped()?),
                '\u{0}'..='\u{1f}' => return Err(NoJson),
                _ => out.push(char),
            }
        }
    }

    fn escaped(&mut self) -> Read<char> {
        let byte = self.peek().ok_or(NoJson)?;
        self.at += 1;
        Ok(match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let high = self.unit()?;
                if !(0xd800..0xdc00).contains(&high) {
                    return char::from_u32(high).ok_or(NoJson);
                }
                self.expect(b'\\')?;
                self.expect(b'u')?;
                let low = self.unit()?;
                if !(0xdc00..0xe000).contains(&low) {
                    return Err(NoJson);
                }
                let code = 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                return char::from_u32(code).ok_or(NoJson);
            }
            _ => return Err(NoJson),
        })
    }

    fn unit(&mut self) -> Read<u32> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4).ok_or(NoJson)?;
        let mut unit = 0;
        for digit in digits {
            unit = unit * 16 + char::from(*digit).to_digit(16).ok_or(NoJson)?;
        }
        self.at += 4;
        Ok(unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_json_is_is_read_and_nothing_else() {
        let text = r#" { "a" : [1, -0.5e+3, true, null], "b": "x\n\u00e9\ud83d\ude00", "c": {} } "#;
        let Json::Object(members) = Json::read(text).unwrap() else { panic!("an object") };
        assert_eq!(members[1].1, Json::Text("x\né😀".into()));
        assert_eq!(members[2].1, Json::Object(Vec::new()));
        let list = Json::List(Vec::from([
            Json::Number("1".into()),
            Json::Number("-0.5e+3".into()),
            Json::Bool(true),
            Json::Null,
        ]));
        assert_eq!(members[0].1, list);
        for wrong in [
            "",
            "{",
            "{true}",
            "{\"a\"}",
            "{\"a\":1,}",
            "[1,]",
            "01",
            "1.",
            "\"\\x\"",
            "\"\\ud800\"",
            "\"\\ud800\\u0041\"",
            "\"a",
            "\"\t\"",
            "{} x",
            "{\"a\":1,\"a\":2}",
            "nul",
            "+1",
            "\"\\u12\"",
        ] {
            assert_eq!(Json::read(wrong), Err(NoJson), "{wrong}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(Json::read(&nested(DEPTH_MAX + 1)).is_ok());
        assert_eq!(Json::read(&nested(DEPTH_MAX + 2)), Err(NoJson));
        assert_eq!(Json::read(&nested(100_000)), Err(NoJson));
    }
}
