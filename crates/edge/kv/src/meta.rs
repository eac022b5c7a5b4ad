//! Lines of the meta commands.

use crate::{
    base64_key,
    head::Head,
    number::{signed_32, unsigned_32, unsigned_64},
    request::{Command, KEY_LEN_MAX, META_FLAGS_MAX, Meta, Request, Store, StoreMode},
    token::Tokens,
};
use bytes::Bytes;

/// Bytes of an opaque token, at most, its letter included.
const OPAQUE_LEN_MAX: usize = 32;

const BAD_LINE: &str = "CLIENT_ERROR bad command line format";
const BAD_TOKEN: &str = "CLIENT_ERROR bad token in command line format";
const BAD_FLAG: &str = "CLIENT_ERROR invalid or duplicate flag";
const LONG_OPAQUE: &str = "CLIENT_ERROR opaque token too long";

/// Words of a meta command, at most: command, key, and flags.
const WORDS_MAX: usize = 2 + META_FLAGS_MAX;

/// Flags that were read, and what is wrong with them.
struct Flags {
    meta: Meta,
    /// Why they are refused.
    fault: Option<&'static str>,
    /// Whether the opaque token is longer than may be.
    long_opaque: bool,
}

/// Reads flags; `line` is what `key` and they are parts of.
fn flags(line: &Bytes, key: &[u8], words: &[&[u8]]) -> Flags {
    let meta = Meta { key: line.slice_ref(key), ..Meta::default() };
    let mut read = Flags { meta, fault: None, long_opaque: false };
    for word in words {
        let letter = word[0];
        if letter >= 127 || read.meta.has(letter) {
            read.fault = Some("CLIENT_ERROR duplicate flag");
            return read;
        }
        // There are never more words than letters fit.
        read.meta.letters.push(letter);
        match flag(&mut read, line, word) {
            Ok(true) => {}
            Ok(false) => {
                read.fault = Some("CLIENT_ERROR invalid flag");
                return read;
            }
            // The last fault is the one that is told.
            Err(fault) => read.fault = Some(fault),
        }
    }
    read
}

/// Reads one flag; whether there is such a one.
fn flag(read: &mut Flags, line: &Bytes, word: &[u8]) -> Result<bool, &'static str> {
    let (meta, rest) = (&mut read.meta, &word[1..]);
    match word[0] {
        b'b' => {
            let key = base64_key::decode(&meta.key).ok_or("CLIENT_ERROR error decoding key")?;
            meta.key = key.into();
            meta.is_binary = true;
        }
        b'N' => meta.vivify = Some(signed_32(rest).ok_or(BAD_TOKEN)?),
        b'T' => meta.exptime = Some(signed_32(rest).ok_or(BAD_TOKEN)?),
        b'R' => meta.recache = Some(signed_32(rest).ok_or(BAD_TOKEN)?),
        b'C' => meta.cas = Some(unsigned_64(rest).ok_or(BAD_TOKEN)?),
        b'F' => meta.flags = unsigned_32(rest).ok_or(read.fault.unwrap_or(BAD_LINE))?,
        b'M' => match rest {
            [mode] => meta.mode = Some(*mode),
            _ => return Err("CLIENT_ERROR incorrect length for M token"),
        },
        b'J' => {
            meta.initial = unsigned_64(rest).ok_or("CLIENT_ERROR invalid numeric initial value")?;
        }
        b'D' => {
            meta.delta = Some(unsigned_64(rest).ok_or("CLIENT_ERROR invalid numeric delta value")?);
        }
        b'O' => {
            read.long_opaque = word.len() > OPAQUE_LEN_MAX;
            meta.opaque = line.slice_ref(word);
        }
        b'q' => meta.is_quiet = true,
        b'P' | b'L' | b'k' | b's' | b't' | b'c' | b'f' | b'v' | b'l' | b'h' | b'u' | b'I' => {}
        _ => return Ok(false),
    }
    Ok(true)
}

/// The command of these words, the first of which has two letters and begins with `m`.
pub(crate) fn head(line: &Bytes, tokens: &Tokens<'_>) -> Head {
    let words = tokens.words();
    let request = match words[0][1] {
        b'n' => Request { command: Command::MetaEnd, is_quiet: false },
        b'e' => debug(line, words),
        b'g' => get(line, words),
        b'd' => plain(line, words, Command::MetaDelete),
        b'a' => count(line, words),
        b's' => return set(line, words),
        _ => Request::say("ERROR"),
    };
    Head::Whole(request)
}

fn get(line: &Bytes, words: &[&[u8]]) -> Request {
    match words {
        [] | [_] => return Request::say("ERROR"),
        [_, key, ..] if key.len() > KEY_LEN_MAX => return Request::say(BAD_LINE),
        _ if words.len() > WORDS_MAX => {
            return Request::say("CLIENT_ERROR options flags are too long");
        }
        _ => {}
    }
    let Flags { meta, fault, long_opaque } = flags(line, words[1], &words[2..]);
    match fault.or(long_opaque.then_some(LONG_OPAQUE)) {
        Some(fault) => Request::say(fault),
        None => Request { is_quiet: meta.is_quiet, command: Command::MetaGet(meta) },
    }
}

/// A command that says of all faults in its flags the same.
fn plain(line: &Bytes, words: &[&[u8]], command: fn(Meta) -> Command) -> Request {
    match words {
        [] | [_] => return Request::say("ERROR"),
        [_, key, ..] if key.len() > KEY_LEN_MAX => return Request::say(BAD_LINE),
        _ if words.len() > WORDS_MAX => {
            return Request::say("CLIENT_ERROR options flags too long");
        }
        _ => {}
    }
    let Flags { meta, fault, long_opaque } = flags(line, words[1], &words[2..]);
    match (fault, long_opaque) {
        (Some(_), _) => Request::say(BAD_FLAG),
        (None, true) => Request::say(LONG_OPAQUE),
        (None, false) => Request { is_quiet: meta.is_quiet, command: command(meta) },
    }
}

fn count(line: &Bytes, words: &[&[u8]]) -> Request {
    let request = plain(line, words, Command::MetaCount);
    if let Command::MetaCount(Meta { mode: Some(mode), .. }) = request.command
        && !matches!(mode, b'I' | b'+' | b'D' | b'-')
    {
        return Request::say("CLIENT_ERROR invalid mode for ma M token");
    }
    request
}

fn debug(line: &Bytes, words: &[&[u8]]) -> Request {
    let (key, more) = match words {
        [_, key, more @ ..] if key.len() <= KEY_LEN_MAX => (*key, more),
        _ => return Request::say(BAD_LINE),
    };
    let is_binary = more.first().is_some_and(|word| *word == b"b");
    let key = if is_binary {
        base64_key::decode(key).map(Bytes::from)
    } else {
        Some(line.slice_ref(key))
    };
    key.map_or(Request::say(BAD_LINE), |key| Request {
        command: Command::MetaDebug { key },
        is_quiet: false,
    })
}

fn set(line: &Bytes, words: &[&[u8]]) -> Head {
    let (key, len) = match words {
        [] | [_] => return Head::Whole(Request::say("ERROR")),
        [_, key, ..] if key.len() > KEY_LEN_MAX => return Head::Whole(Request::say(BAD_LINE)),
        [_, _] => return Head::Whole(Request::say(BAD_LINE)),
        _ if words.len() > WORDS_MAX => {
            return Head::Whole(Request::say("CLIENT_ERROR options flags too long"));
        }
        [_, key, len, ..] => (*key, signed_32(len)),
    };
    let Some(value_len) = len.and_then(crate::head::value_len) else {
        return Head::Whole(Request::say(BAD_LINE));
    };
    let Flags { meta, fault, long_opaque } = flags(line, key, &words[3..]);
    let mode = match meta.mode {
        None | Some(b'S') => Ok(StoreMode::Set),
        Some(b'E') => Ok(StoreMode::Add),
        Some(b'A') => Ok(StoreMode::Append),
        Some(b'P') => Ok(StoreMode::Prepend),
        Some(b'R') => Ok(StoreMode::Replace),
        Some(_) => Err("CLIENT_ERROR invalid mode for ms M token"),
    };
    let told = long_opaque.then_some(LONG_OPAQUE);
    let mode = match (fault, mode, told) {
        (Some(fault), _, _) | (None, Err(fault), _) | (None, Ok(_), Some(fault)) => {
            return Head::Swallow(Request::say(fault), value_len);
        }
        (None, Ok(mode), None) => mode,
    };
    let takes_cas = matches!(mode, StoreMode::Set | StoreMode::Replace);
    let mode = if meta.cas.is_some() && takes_cas { StoreMode::Cas } else { mode };
    let store = Store {
        mode,
        key: meta.key.clone(),
        flags: meta.flags,
        exptime: meta.exptime.unwrap_or(0),
        cas: meta.cas.unwrap_or(0),
        value: Bytes::new(),
        meta: Some(meta),
    };
    Head::Body { store, is_quiet: false, value_len }
}
