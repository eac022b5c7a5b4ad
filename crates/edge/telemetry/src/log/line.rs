use super::LogFormat;
use serde_json::Value;
use std::{
    borrow::Cow,
    fmt::{self, Write as _},
    io::Write as _,
    time::SystemTime,
};
use time::{OffsetDateTime, format_description::BorrowedFormatItem, macros::format_description};
use tracing::{
    Metadata,
    field::{Field, Visit},
};

/// Names that a line gives a meaning; a field of one of these names gets an underscore at its end.
const TAKEN: [&str; 4] = ["timestamp", "level", "target", "message"];
/// A field whose name has one of these in it is not shown.
const SECRET: [&str; 6] =
    ["secret", "password", "passphrase", "authorization", "signature", "token"];
/// What is shown instead.
const REDACTED: &str = "[redacted]";
/// Query parameters whose values are secrets, wherever a text has them.
const SECRET_PARAMETERS: [&str; 3] = ["signature=", "security-token=", "secret="];

/// Room for most lines.
const LINE_LEN: usize = 512;

const TIME: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:6]Z");

/// The fields of an event or span.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields {
    message: String,
    /// In the order they were said in: of one name, the last counts.
    named: Vec<(&'static str, Value)>,
}

impl Fields {
    fn put(&mut self, field: &Field, value: Value) {
        let name = field.name();
        if name == "message" {
            self.message = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            return;
        }
        self.named.push((name, if is_secret(name) { REDACTED.into() } else { value }));
    }

    /// Takes over what is said farther from the event; not its message.
    pub(super) fn inherit(&mut self, outer: &Self) {
        self.named.extend_from_slice(&outer.named);
    }

    /// By name, each once.
    fn by_name(&self) -> Vec<&(&'static str, Value)> {
        let mut named: Vec<_> = self.named.iter().rev().collect();
        named.sort_by_key(|(name, _)| *name);
        named.dedup_by_key(|(name, _)| *name);
        named
    }
}

/// Whether a field of this name is not to be shown. Asked for each field of each line, so it looks
/// no farther where no such word begins.
fn is_secret(name: &str) -> bool {
    let name = name.as_bytes();
    let begins = |at: usize| matches!(name[at] | 0x20, b's' | b'p' | b'a' | b't');
    (0..name.len()).filter(|&at| begins(at)).any(|at| {
        let here = |word: &str| name[at..].get(..word.len());
        let is = |word: &str| here(word).is_some_and(|it| it.eq_ignore_ascii_case(word.as_bytes()));
        SECRET.into_iter().any(is)
    })
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, redact(format!("{value:?}")).into());
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, redact(value.to_owned()).into());
    }
    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        let mut text = value.to_string();
        let mut source = value.source();
        while let Some(error) = source {
            let _ = write!(text, ": {error}");
            source = error.source();
        }
        self.put(field, redact(text).into());
    }
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value.into());
    }
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }
}

/// Takes the values of secret query parameters out of a text.
fn redact(text: String) -> String {
    if !text.contains('=') {
        return text;
    }
    let lower = text.to_ascii_lowercase();
    let mut found: Vec<usize> = SECRET_PARAMETERS
        .iter()
        .flat_map(|name| lower.match_indices(name).map(|(at, name)| at + name.len()))
        .collect();
    if found.is_empty() {
        return text;
    }
    found.sort_unstable();
    let mut shown = String::new();
    let mut from = 0;
    for at in found.into_iter().filter(|at| *at > 0) {
        if at < from {
            continue;
        }
        shown.push_str(&text[from..at]);
        shown.push_str(REDACTED);
        let ends = |c: char| c == '&' || c == ',' || c == '"' || c.is_whitespace();
        from = text[at..].find(ends).map_or(text.len(), |len| at + len);
    }
    shown.push_str(&text[from..]);
    shown
}

/// One line of the log, its end included.
pub(super) fn line(
    format: LogFormat,
    now: SystemTime,
    metadata: &Metadata<'_>,
    fields: &Fields,
) -> Vec<u8> {
    let now = OffsetDateTime::from(now).format(TIME).unwrap_or_default();
    let (level, target) = (metadata.level(), metadata.target());
    let mut line = Vec::with_capacity(LINE_LEN);
    // Writing to a vector does not fail.
    let _ = match format {
        LogFormat::Json => {
            let _ = write!(line, r#"{{"timestamp":"{now}","level":"{level}","target":"#);
            json(&mut line, target);
            line.extend(br#","message":"#);
            json(&mut line, &*fields.message);
            Ok(())
        }
        LogFormat::Text => write!(line, "{now} {level:>5} {target}: {}", tame(&fields.message)),
    };
    for (name, value) in fields.by_name() {
        let is_taken = TAKEN.contains(name);
        let name = if is_taken { Cow::Owned(format!("{name}_")) } else { Cow::Borrowed(*name) };
        let _ = match (format, value) {
            (LogFormat::Json, value) => {
                line.push(b',');
                json(&mut line, &*name);
                line.push(b':');
                json(&mut line, value);
                Ok(())
            }
            (LogFormat::Text, Value::String(text)) if is_plain(text) => {
                write!(line, " {name}={text}")
            }
            (LogFormat::Text, value) => write!(line, " {name}={}", tame(&value.to_string())),
        };
    }
    line.extend(if format == LogFormat::Json { &b"}\n"[..] } else { b"\n" });
    line
}

/// Writes a value at the end of a line.
fn json(line: &mut Vec<u8>, value: impl serde::Serialize) {
    serde_json::to_writer(line, &value).expect("texts and numbers can be written");
}

/// Whether a text can stand in a line without quotation marks.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '"')
}

/// A text that cannot end its line, or do anything else to a terminal.
fn tame(text: &str) -> String {
    let mut tamed = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            tamed.extend(c.escape_default());
        } else {
            tamed.push(c);
        }
    }
    tamed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_secret_whose_name_has_such_a_word_in_it() {
        for name in ["secret", "secret_key", "x_amz_security_token", "mySignature", "Password"] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["access_key", "status", "path", "secre", "tok_en", "ö", ""] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn values_of_secret_parameters_are_taken_out_of_texts() {
        let redacted = |text: &str| redact(text.to_owned());
        assert_eq!(redacted("GET /b/k?versions"), "GET /b/k?versions");
        assert_eq!(
            redacted("/k?X-Amz-Signature=abc&X-Amz-Security-Token=a%20b"),
            "/k?X-Amz-Signature=[redacted]&X-Amz-Security-Token=[redacted]"
        );
        assert_eq!(
            redacted("Credential=AK/x, Signature=abc"),
            "Credential=AK/x, Signature=[redacted]"
        );
        assert_eq!(redacted("ö signature=secret=x ü"), "ö signature=[redacted] ü");
    }
}
