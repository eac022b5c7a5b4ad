//! memcached's meta protocol (`doc/protocol.txt`) as version 1.6.18 speaks it, and no more of it
//! than is used.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use thiserror::Error;

/// Bytes of a value that a server may answer.
pub const ANSWER_LEN_MAX: usize = 4 << 20;
/// Bytes of an answer's line.
const LINE_LEN_MAX: usize = 2048;
/// What of a server's words is repeated in an error.
const QUOTED_MAX: usize = 64;

/// What a server said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// `VA`: an item's bytes.
    Value(Bytes),
    /// `HD`: it is done.
    Done,
    /// `EN`: there is no such item.
    Missing,
    /// `NF`: there was nothing to do it to.
    NotFound,
    /// `NS`: the item was there, so it was not added.
    NotStored,
    /// `MN`: everything before it is done.
    Fence,
    /// `OK`: the answer of the older commands.
    Okay,
    /// `SERVER_ERROR`: the server could not, with its words.
    Refused(String),
}

/// What a server said, and which request it named.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Said {
    pub(crate) answer: Answer,
    pub(crate) opaque: Option<u32>,
}

/// What cannot be an answer.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Nonsense {
    /// A line that no server of this protocol sends.
    #[error("answered what is no answer: \"{0}\"")]
    Line(String),
    /// A line without an end.
    #[error("sent a line of more than {LINE_LEN_MAX} bytes")]
    LongLine,
    /// More bytes than a value may have.
    #[error("announced a value of {0} bytes, at most {ANSWER_LEN_MAX} are taken")]
    LongValue(u64),
    /// A value that does not end where it said.
    #[error("sent a value that is longer than the {0} bytes it announced")]
    Overrun(usize),
    /// The answer of another request.
    #[error("answered request {said}, whose turn it is not: {awaited} is next")]
    Order {
        /// The number that it said.
        said: String,
        /// The number of the request that is next.
        awaited: String,
    },
}

/// What is at the beginning of what a server sent.
#[derive(Debug)]
pub(crate) enum Parsed {
    /// An answer, which is taken out.
    Said(Said),
    /// Part of one: at least as many more bytes are needed.
    Partly(usize),
}

/// Takes the first answer out of what a server sent. Values are not copied.
pub(crate) fn parse(input: &mut BytesMut) -> Result<Parsed, Nonsense> {
    let seen = &input[..input.len().min(LINE_LEN_MAX)];
    let Some(end) = seen.iter().position(|&byte| byte == b'\n') else {
        return if input.len() >= LINE_LEN_MAX {
            Err(Nonsense::LongLine)
        } else {
            Ok(Parsed::Partly(1))
        };
    };
    let line = input[..end].strip_suffix(b"\r").ok_or_else(|| quoted(&input[..end]))?;
    let mut words = line.split(|&byte| byte == b' ');
    let answer = match words.next() {
        Some(b"VA") => {
            let len = value_len(words.next()).ok_or_else(|| quoted(line))?;
            return value(input, end + 1, len);
        }
        Some(b"HD") => Answer::Done,
        Some(b"EN") => Answer::Missing,
        Some(b"NF") => Answer::NotFound,
        Some(b"NS") => Answer::NotStored,
        Some(b"MN") => Answer::Fence,
        Some(b"OK") => Answer::Okay,
        Some(b"SERVER_ERROR") => {
            let told = quotation(&line[line.len().min("SERVER_ERROR ".len())..]);
            input.advance(end + 1);
            return Ok(Parsed::Said(Said { answer: Answer::Refused(told), opaque: None }));
        }
        Some(_) | None => return Err(quoted(line)),
    };
    let opaque = opaque(words);
    input.advance(end + 1);
    Ok(Parsed::Said(Said { answer, opaque }))
}

/// An item's bytes, the line before which is `head` bytes long.
fn value(input: &mut BytesMut, head: usize, len: u64) -> Result<Parsed, Nonsense> {
    let count = usize::try_from(len).unwrap_or(usize::MAX);
    if count > ANSWER_LEN_MAX {
        return Err(Nonsense::LongValue(len));
    }
    let whole = head + count + 2;
    if input.len() < whole {
        return Ok(Parsed::Partly(whole - input.len()));
    }
    if input[whole - 2..whole] != *b"\r\n" {
        return Err(Nonsense::Overrun(count));
    }
    let line = &input[..head - 2];
    let opaque = opaque(line.split(|&byte| byte == b' ').skip(2));
    input.advance(head);
    let bytes = input.split_to(count).freeze();
    input.advance(2);
    Ok(Parsed::Said(Said { answer: Answer::Value(bytes), opaque }))
}

fn value_len(word: Option<&[u8]>) -> Option<u64> {
    let word = word?;
    // More digits are more than any value has.
    let is_number = !word.is_empty() && word.len() <= 18 && word.iter().all(u8::is_ascii_digit);
    let add = |number, digit: &u8| number * 10 + u64::from(digit - b'0');
    is_number.then(|| word.iter().fold(0, add))
}

/// The request's number among an answer's flags.
fn opaque<'a>(mut flags: impl Iterator<Item = &'a [u8]>) -> Option<u32> {
    let digits = flags.find_map(|flag| flag.strip_prefix(b"O"))?;
    if digits.is_empty() || digits.len() > 8 {
        return None;
    }
    digits
        .iter()
        .try_fold(0, |number: u32, &digit| Some(number << 4 | char::from(digit).to_digit(16)?))
}

fn quoted(line: &[u8]) -> Nonsense {
    Nonsense::Line(quotation(line))
}

fn quotation(line: &[u8]) -> String {
    line[..line.len().min(QUOTED_MAX)].escape_ascii().to_string()
}

/// `mg`: an item's bytes are asked for.
pub(crate) fn put_get(out: &mut BytesMut, key: &[u8], opaque: u32) {
    put_words(out, &[b"mg ", key, b" v O"]);
    put_hex(out, opaque);
    out.put_slice(b"\r\n");
}

/// `ms`: the line before an item's bytes, which are `len` and then a line's end. What is added
/// leaves an item that is there as it is.
pub(crate) fn put_set(out: &mut BytesMut, key: &[u8], len: usize, is_add: bool, opaque: u32) {
    put_words(out, &[b"ms ", key, b" "]);
    put_decimal(out, len);
    out.put_slice(if is_add { b" ME O" } else { b" O" });
    put_hex(out, opaque);
    out.put_slice(b"\r\n");
}

/// `md`: an item is to go. Quietly: no answer if it was there.
pub(crate) fn put_delete(out: &mut BytesMut, key: &[u8], is_quiet: bool, opaque: u32) {
    put_words(out, &[b"md ", key, if is_quiet { b" q O" } else { b" O" }]);
    put_hex(out, opaque);
    out.put_slice(b"\r\n");
}

/// `mn`: is answered once everything before it is done.
pub(crate) fn put_fence(out: &mut BytesMut) {
    out.put_slice(b"mn\r\n");
}

/// All items of the server are to go.
pub(crate) fn put_flush(out: &mut BytesMut) {
    out.put_slice(b"flush_all\r\n");
}

fn put_words(out: &mut BytesMut, words: &[&[u8]]) {
    for word in words {
        out.put_slice(word);
    }
}

fn put_hex(out: &mut BytesMut, number: u32) {
    let digits = (8 - number.leading_zeros() / 4).max(1);
    for at in (0..digits).rev() {
        out.put_u8(b"0123456789abcdef"[(number >> (4 * at)) as usize & 15]);
    }
}

fn put_decimal(out: &mut BytesMut, number: usize) {
    let (mut digits, mut rest, mut from) = ([0; 20], number, 20);
    while from == 20 || rest > 0 {
        from -= 1;
        digits[from] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    out.put_slice(&digits[from..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn said(text: &[u8]) -> Result<Option<Said>, Nonsense> {
        let mut input = BytesMut::from(text);
        match parse(&mut input)? {
            Parsed::Said(said) => {
                assert!(input.is_empty(), "{input:?} is left");
                Ok(Some(said))
            }
            Parsed::Partly(_) => Ok(None),
        }
    }

    #[test]
    fn requests_are_words_of_the_protocol() {
        let mut out = BytesMut::new();
        put_get(&mut out, b"key", 0);
        put_set(&mut out, b"key", 0, false, 0x12);
        put_set(&mut out, b"key", 1234, true, u32::MAX);
        put_delete(&mut out, b"key", false, 16);
        put_delete(&mut out, b"key", true, 0xabc);
        put_fence(&mut out);
        put_flush(&mut out);
        let expected = "mg key v O0\r\nms key 0 O12\r\nms key 1234 ME Offffffff\r\nmd key O10\r\n\
            md key q Oabc\r\nmn\r\nflush_all\r\n";
        assert_eq!(str::from_utf8(&out).unwrap(), expected);
    }

    #[test]
    fn answers_are_told_apart() {
        let is = |text: &str, answer, opaque| {
            assert_eq!(said(text.as_bytes()), Ok(Some(Said { answer, opaque })), "{text}");
        };
        is("VA 5 t-1 O1f\r\na\r\nbc\r\n", Answer::Value(Bytes::from_static(b"a\r\nbc")), Some(31));
        is("VA 0 O0\r\n\r\n", Answer::Value(Bytes::new()), Some(0));
        is("HD O12\r\n", Answer::Done, Some(18));
        is("EN\r\n", Answer::Missing, None);
        is("NF O1\r\n", Answer::NotFound, Some(1));
        is("NS O1\r\n", Answer::NotStored, Some(1));
        is("MN\r\n", Answer::Fence, None);
        is("OK\r\n", Answer::Okay, None);
        let full = Answer::Refused("out of memory storing object".into());
        is("SERVER_ERROR out of memory storing object\r\n", full, None);
        is("HD O123456789\r\n", Answer::Done, None);
        is("HD Oxyz\r\n", Answer::Done, None);
    }

    #[test]
    fn nonsense_is_refused_with_its_words() {
        let refused = |text: &[u8]| said(text).unwrap_err().to_string();
        assert_eq!(refused(b"HTTP/1.1 200\r\n"), "answered what is no answer: \"HTTP/1.1 200\"");
        assert_eq!(refused(b"HD\n"), "answered what is no answer: \"HD\"");
        assert_eq!(refused(b"VA x\r\n"), "answered what is no answer: \"VA x\"");
        assert_eq!(refused(b"VA -5\r\n"), "answered what is no answer: \"VA -5\"");
        assert_eq!(refused(b"VA\r\n"), "answered what is no answer: \"VA\"");
        assert_eq!(refused(b"VA 99999999999999999999\r\n").len(), 53);
        let long = "announced a value of 99999999999 bytes, at most 4194304 are taken";
        assert_eq!(refused(b"VA 99999999999 O1\r\n"), long);
        let overrun = "sent a value that is longer than the 2 bytes it announced";
        assert_eq!(refused(b"VA 2\r\nabcd"), overrun);
        assert_eq!(refused(&[b'x'; 4096]), "sent a line of more than 2048 bytes");
    }

    proptest! {
        #[test]
        fn whatever_is_cut_off_an_answer_it_waits_for_the_rest(
            value in prop::collection::vec(any::<u8>(), 0..300),
            opaque: u32,
            cut in 0usize..320,
        ) {
            let mut text = format!("VA {} O{opaque:x}\r\n", value.len()).into_bytes();
            text.extend_from_slice(&value);
            text.extend_from_slice(b"\r\n");
            let part = &text[..cut.min(text.len() - 1)];
            prop_assert_eq!(said(part), Ok(None));
            let whole = Said { answer: Answer::Value(Bytes::from(value)), opaque: Some(opaque) };
            prop_assert_eq!(said(&text), Ok(Some(whole)));
        }

        #[test]
        fn no_bytes_make_it_panic(text in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut input = BytesMut::from(&text[..]);
            while let Ok(Parsed::Said(_)) = parse(&mut input) {}
        }
    }
}
