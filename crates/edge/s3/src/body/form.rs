//! What comes before the file in a browser's form (RFC 7578), all of it bounded.

use super::{
    Payload, Source,
    file::{File, Find, find},
};
use crate::{
    allowance::Held,
    error::{Code, Failure, Outcome},
    uri,
};
use bytes::{Bytes, BytesMut};

/// Most bytes of fields before the file, names and values together.
const FIELDS_LEN_MAX: usize = 20 << 10;
/// Most bytes before the file, with what delimits and heads the fields.
const BEFORE_LEN_MAX: usize = 64 << 10;
/// Longest boundary.
const BOUNDARY_LEN_MAX: usize = 70;
/// How the file's field is called.
const FILE: &str = "file";

/// Names and values.
type Pairs = Vec<(String, String)>;

/// A form up to its file.
#[derive(Debug)]
pub(crate) struct Opened {
    /// Names, in lower case, and values, in the order they came; each name once.
    pub(crate) fields: Pairs,
    /// How the file is called where it comes from.
    pub(crate) filename: String,
    /// The file.
    pub(crate) payload: Payload,
}

fn malformed() -> Failure {
    Code::MalformedPostRequest.into()
}

fn too_long() -> Failure {
    Code::MaxPostPreDataLengthExceeded.into()
}

/// The boundary that a request's `Content-Type` names.
pub(crate) fn boundary(content_type: &str) -> Outcome<&str> {
    let mut parameters = content_type.split(';').skip(1).filter_map(|it| it.split_once('='));
    let named = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("boundary"));
    let (_, value) = named.ok_or_else(malformed)?;
    let value = value.trim().trim_matches('"');
    let is_text = value.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let fits = (1..=BOUNDARY_LEN_MAX).contains(&value.len()) && is_text;
    if fits { Ok(value) } else { Err(malformed()) }
}

/// Reads a form of `len` bytes up to its file; memory is taken of `held` as it comes.
pub(crate) async fn open(
    mut source: Source,
    boundary: &str,
    len: u64,
    held: &mut Held,
) -> Outcome<Opened> {
    let mut head = Head::new(boundary);
    let mut received = 0;
    loop {
        let Some(mut piece) = source.next().await? else { return Err(malformed()) };
        received += piece.len() as u64;
        while !piece.is_empty() {
            let taken = piece.split_to(piece.len().min(head.room()));
            held.grow(taken.len()).await?;
            head.bytes.extend_from_slice(&taken);
            if let Some(filename) = head.advance()? {
                let Head { bytes, at, delimiter, fields, .. } = head;
                // Mostly few bytes are before the rest of what came with them.
                let undecoded = [&bytes[at..], &piece].concat();
                // The delimiter that ends it, and two dashes.
                let around = received - undecoded.len() as u64 + delimiter.len() as u64 + 2;
                let file = File::new(delimiter, len.saturating_sub(around));
                let payload = Payload::file(source, file, Bytes::from(undecoded));
                return Ok(Opened { fields, filename, payload });
            }
            if head.room() == 0 {
                return Err(too_long());
            }
        }
    }
}

/// Fields, name of the file and its length, of a form with the boundary `b` that comes in pieces of
/// `step` bytes: as far as it came.
#[cfg(any(test, feature = "fuzz"))]
pub(crate) fn read_form(form: &[u8], step: usize) -> Outcome<(Pairs, String, usize)> {
    let mut head = Head::new("b");
    for (at, piece) in form.chunks(step).enumerate() {
        let taken = piece.len().min(head.room());
        head.bytes.extend_from_slice(&piece[..taken]);
        let Some(filename) = head.advance()? else {
            if head.room() == 0 {
                return Err(too_long());
            }
            continue;
        };
        let rest = &form[form.len().min((at + 1) * step)..];
        let mut file = File::new(head.delimiter, form.len() as u64);
        let mut len = 0;
        for piece in std::iter::once(&head.bytes[head.at..]).chain(rest.chunks(step)) {
            let mut input = Bytes::copy_from_slice(piece);
            while let Some(piece) = file.decode(&mut input)? {
                len += piece.len();
            }
        }
        return Ok((head.fields, filename, len));
    }
    Err(malformed())
}

/// What came of a form before its file.
struct Head {
    /// What came, behind the line end that the first delimiter begins with.
    bytes: BytesMut,
    /// Where what was not read yet begins.
    at: usize,
    /// Up to where there is no delimiter.
    looked: usize,
    delimiter: Vec<u8>,
    within: Within,
    fields: Pairs,
    fields_len: usize,
}

/// What is being read.
enum Within {
    /// What stands before the first delimiter, which is nothing to us.
    Preamble,
    /// What follows a delimiter on its line, and the headers of a field.
    Headers,
    /// The value of the field of that name.
    Value(String),
}

impl Head {
    fn new(boundary: &str) -> Self {
        let delimiter = [b"\r\n--", boundary.as_bytes()].concat();
        let (fields, within) = (Vec::new(), Within::Preamble);
        let bytes = BytesMut::from(&b"\r\n"[..]);
        Self { bytes, at: 0, looked: 0, delimiter, within, fields, fields_len: 0 }
    }

    /// How much more it takes.
    fn room(&self) -> usize {
        BEFORE_LEN_MAX.saturating_sub(self.bytes.len())
    }

    /// Reads as much as came; the file's name once it was come to.
    fn advance(&mut self) -> Outcome<Option<String>> {
        loop {
            match &self.within {
                Within::Preamble => {
                    if self.until_delimiter().is_none() {
                        return Ok(None);
                    }
                    self.within = Within::Headers;
                }
                Within::Headers => {
                    let rest = &self.bytes[self.at..];
                    if rest.starts_with(b"--") {
                        return Err(Code::IncorrectNumberOfFiles.into());
                    }
                    let from = self.looked.saturating_sub(self.at);
                    let end = rest[from..].windows(4).position(|four| four == b"\r\n\r\n");
                    let Some(len) = end.map(|len| from + len) else {
                        // Three bytes of it may be there.
                        self.looked = self.at.max(self.bytes.len().saturating_sub(3));
                        return Ok(None);
                    };
                    let disposition = Disposition::read(&rest[..len])?;
                    self.at += len + 4;
                    self.looked = self.at;
                    if disposition.name == FILE {
                        return Ok(Some(disposition.filename));
                    }
                    self.within = Within::Value(disposition.name);
                }
                Within::Value(name) => {
                    let name = name.clone();
                    let Some(value) = self.until_delimiter() else { return Ok(None) };
                    let value = String::from_utf8(value).map_err(|_| malformed())?;
                    self.push(name, value)?;
                    self.within = Within::Headers;
                }
            }
        }
    }

    /// What stands before the next delimiter; it is behind that then.
    fn until_delimiter(&mut self) -> Option<Vec<u8>> {
        match find(&self.bytes[self.looked..], &self.delimiter) {
            Find::Whole(at) => {
                let end = self.looked + at;
                // The line end of an empty value is that of the delimiter.
                let before = self.bytes[self.at..end].to_vec();
                self.at = end + self.delimiter.len();
                self.looked = self.at;
                Some(before)
            }
            Find::Begun(at) => {
                self.looked += at;
                None
            }
            Find::Nowhere => {
                self.looked = self.bytes.len();
                None
            }
        }
    }

    fn push(&mut self, name: String, value: String) -> Outcome<()> {
        self.fields_len += name.len() + value.len();
        if self.fields_len > FIELDS_LEN_MAX {
            return Err(too_long());
        }
        // Which of two is meant would be a guess, and the policy might look at the other.
        if self.fields.iter().any(|(given, _)| *given == name) {
            let message = format!("The form has more than one field named '{name}'.");
            return Err(Failure::argument(message, &name, &value));
        }
        self.fields.push((name, value));
        Ok(())
    }
}

/// What the headers of a field say of it.
struct Disposition {
    name: String,
    filename: String,
}

impl Disposition {
    fn read(headers: &[u8]) -> Outcome<Self> {
        let headers = std::str::from_utf8(headers).map_err(|_| malformed())?;
        // The first line is what is left of the delimiter's.
        let (rest, headers) = headers.split_once("\r\n").ok_or_else(malformed)?;
        if !rest.trim().is_empty() {
            return Err(malformed());
        }
        let lines = headers.split("\r\n").filter_map(|line| line.split_once(':'));
        let mut dispositions = lines
            .filter(|(name, _)| name.trim().eq_ignore_ascii_case("content-disposition"))
            .map(|(_, value)| value.trim());
        let value = dispositions.next().ok_or_else(malformed)?;
        let kind = value.split(';').next().unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("form-data") || dispositions.next().is_some() {
            return Err(malformed());
        }
        let (mut name, mut filename, mut extended) = (None, None, None);
        for (parameter, value) in parameters(&value[kind.len()..]) {
            let place = match parameter.to_ascii_lowercase().as_str() {
                "name" => &mut name,
                "filename" => &mut filename,
                "filename*" => &mut extended,
                _ => continue,
            };
            *place = Some(value);
        }
        let extended = extended.as_deref().and_then(decode_extended);
        Ok(Self {
            name: name.ok_or_else(malformed)?.to_ascii_lowercase(),
            filename: extended.or(filename).unwrap_or_default(),
        })
    }
}

/// The parameters of a header, in quotation marks or without. Browsers write a mark within as
/// `%22`, others behind a backslash; any other backslash is one.
fn parameters(text: &str) -> Vec<(&str, String)> {
    let (mut found, mut rest) = (Vec::new(), text);
    while let Some((name, value)) = rest.split_once('=') {
        let name = name.trim_start_matches([';', ' ', '\t']).trim();
        let Some(quoted) = value.strip_prefix('"') else {
            let end = value.find(';').unwrap_or(value.len());
            found.push((name, value[..end].trim().to_owned()));
            rest = &value[end..];
            continue;
        };
        let mut text = String::new();
        let mut chars = quoted.char_indices().peekable();
        rest = "";
        while let Some((at, char)) = chars.next() {
            match char {
                '"' => {
                    rest = &quoted[at + 1..];
                    break;
                }
                '\\' if chars.next_if(|(_, next)| *next == '"').is_some() => text.push('"'),
                _ => text.push(char),
            }
        }
        found.push((name, text));
    }
    found
}

/// A value as RFC 5987 writes it: `UTF-8''%C3%A9`.
fn decode_extended(text: &str) -> Option<String> {
    let (charset, rest) = text.split_once('\'')?;
    let (_, encoded) = rest.split_once('\'')?;
    charset.eq_ignore_ascii_case("utf-8").then(|| uri::decode(encoded, false))?
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fields and the file's name, of a form that comes in pieces of `step` bytes; and what is left
    /// for the file of what came.
    fn read(form: &[u8], step: usize) -> Outcome<Option<(Pairs, String, Vec<u8>)>> {
        let mut head = Head::new("b");
        for (at, piece) in form.chunks(step).enumerate() {
            head.bytes.extend_from_slice(piece);
            if let Some(filename) = head.advance()? {
                let rest = form.len().min((at + 1) * step);
                let left = [&head.bytes[head.at..], &form[rest..]].concat();
                return Ok(Some((head.fields, filename, left)));
            }
            if head.room() == 0 {
                return Err(too_long());
            }
        }
        Ok(None)
    }

    fn field(name: &str, value: &str) -> String {
        format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    }

    #[test]
    fn fields_are_read_however_the_form_is_cut() {
        let form = [
            "a preamble\r\n",
            &field("Key", "k\r\n--\r"),
            &field("empty", ""),
            "--b \r\ncontent-type: text/plain\r\nCONTENT-DISPOSITION: Form-Data;name=bare ; x=y\r\n\r\nv\r\n",
            "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"C:\\d\\a\\\"b\"\r\n\
             Content-Type: image/png\r\n\r\nbytes\r\n--b--",
        ]
        .concat();
        for step in 1..=form.len() {
            let (fields, filename, left) = read(form.as_bytes(), step).unwrap().unwrap();
            let expected = [("key", "k\r\n--\r"), ("empty", ""), ("bare", "v")];
            assert_eq!(fields, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
            assert_eq!(
                (filename.as_str(), left.as_slice()),
                ("C:\\d\\a\"b", &b"bytes\r\n--b--"[..])
            );
        }
    }

    #[test]
    fn what_is_no_form_is_refused_and_what_has_not_come_is_waited_for() {
        let long = "x".repeat(FIELDS_LEN_MAX);
        let many: String = (0..100_000).map(|at| field(&at.to_string(), "")).collect();
        for (form, code) in [
            (field("a", "1") + "--b--", Code::IncorrectNumberOfFiles),
            (field("a", "1") + &field("A", "2") + "--b--", Code::InvalidArgument),
            (field("a", &long) + "--b--", Code::MaxPostPreDataLengthExceeded),
            (field(&long, "x") + "--b--", Code::MaxPostPreDataLengthExceeded),
            (many, Code::MaxPostPreDataLengthExceeded),
            ("x".repeat(BEFORE_LEN_MAX), Code::MaxPostPreDataLengthExceeded),
            ("--b\r\nA: b\r\n\r\n".to_owned(), Code::MalformedPostRequest),
            ("--b\r\n\r\n\r\n".to_owned(), Code::MalformedPostRequest),
            (
                "--bc\r\nContent-Disposition: form-data; name=x\r\n\r\n".to_owned(),
                Code::MalformedPostRequest,
            ),
            (
                "--b\r\nContent-Disposition: attachment; name=x\r\n\r\n".to_owned(),
                Code::MalformedPostRequest,
            ),
            (
                "--b\r\nContent-Disposition: form-data\r\n\r\n".to_owned(),
                Code::MalformedPostRequest,
            ),
        ] {
            for step in [7, 4096] {
                let told = read(form.as_bytes(), step).map(drop).map_err(|failure| failure.code);
                assert_eq!(told, Err(code), "{}", &form[..form.len().min(80)]);
            }
        }
        for open in ["", "--", "--b", "--b\r\nContent-Dis", &field("a", "1")[..], "x\r\n-"] {
            assert!(read(open.as_bytes(), 1).unwrap().is_none(), "{open}");
        }
    }

    #[test]
    fn names_of_files_are_read_as_browsers_and_others_write_them() {
        for (parameters, expected) in [
            ("name=file; filename=plain", "plain"),
            ("name=\"file\"; filename=\"a;b=c\"", "a;b=c"),
            ("name=file; filename=x; filename*=UTF-8''%C3%A9t%C3%A9", "\u{e9}t\u{e9}"),
            ("name=file; filename*=latin1''%E9; filename=y", "y"),
            ("name=file; filename=\"open", "open"),
            ("name=file", ""),
        ] {
            let headers = format!("\r\nContent-Disposition: form-data; {parameters}");
            assert_eq!(Disposition::read(headers.as_bytes()).unwrap().filename, expected);
        }
    }

    #[test]
    fn a_boundary_is_named_and_short() {
        assert_eq!(boundary("multipart/form-data; boundary=b").unwrap(), "b");
        assert_eq!(boundary("multipart/form-data; x=y; Boundary=\"--a b\"").unwrap(), "--a b");
        let long = format!("multipart/form-data; boundary={}", "b".repeat(71));
        for none in ["multipart/form-data", "multipart/form-data; boundary=", long.as_str()] {
            assert_eq!(boundary(none).unwrap_err().code, Code::MalformedPostRequest, "{none}");
        }
    }
}
