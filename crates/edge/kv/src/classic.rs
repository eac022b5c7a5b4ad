//! Lines of the classic commands.

use crate::{
    head::{Head, value_len},
    meta,
    number::{signed_32, unsigned_32, unsigned_64},
    request::{Command, Count, Get, KEY_LEN_MAX, Request, StatsOf, Store, StoreMode},
    token::Tokens,
};
use bytes::Bytes;

const BAD_LINE: &str = "CLIENT_ERROR bad command line format";
const BAD_EXPTIME: &str = "CLIENT_ERROR invalid exptime argument";

/// What a line, without its end, begins.
pub(crate) fn head(line: &Bytes) -> Head {
    let tokens = Tokens::of(line);
    let words = tokens.words();
    let Some(&command) = words.first().filter(|command| command.len() >= 2) else {
        return Head::Whole(Request::say("ERROR"));
    };
    if command.len() == 2 && command[0] == b'm' {
        return meta::head(line, &tokens);
    }
    let request = match command {
        b"get" | b"bget" => get(line, &tokens, false),
        b"gets" => get(line, &tokens, true),
        b"gat" => get_and_touch(line, &tokens, false),
        b"gats" => get_and_touch(line, &tokens, true),
        b"set" => return store(line, words, StoreMode::Set),
        b"add" => return store(line, words, StoreMode::Add),
        b"replace" => return store(line, words, StoreMode::Replace),
        b"append" => return store(line, words, StoreMode::Append),
        b"prepend" => return store(line, words, StoreMode::Prepend),
        b"cas" => return store(line, words, StoreMode::Cas),
        b"incr" => count(line, words, true),
        b"decr" => count(line, words, false),
        b"delete" => delete(line, words),
        b"touch" => touch(line, words),
        b"flush_all" => flush(words),
        b"stats" => stats(words),
        b"version" => Request { command: Command::Version, is_quiet: false },
        b"quit" => Request { command: Command::Quit, is_quiet: false },
        _ => return other(words),
    };
    Head::Whole(request)
}

/// Whether the last word says that no answer is wanted.
fn is_quiet(words: &[&[u8]]) -> bool {
    words.last().is_some_and(|word| *word == b"noreply")
}

fn get(line: &Bytes, tokens: &Tokens<'_>, with_cas: bool) -> Request {
    if tokens.words().len() < 2 {
        return Request::say("ERROR");
    }
    keys(line, tokens, 1).map_or(Request::say(BAD_LINE), |keys| Request {
        command: Command::Get(Get { keys, with_cas, touch: None }),
        is_quiet: false,
    })
}

fn get_and_touch(line: &Bytes, tokens: &Tokens<'_>, with_cas: bool) -> Request {
    let Some(exptime) = tokens.words().get(1) else { return Request::say("ERROR") };
    let Some(exptime) = signed_32(exptime) else { return Request::say(BAD_EXPTIME) };
    keys(line, tokens, 2).map_or(Request::say(BAD_LINE), |keys| Request {
        command: Command::Get(Get { keys, with_cas, touch: Some(exptime) }),
        is_quiet: false,
    })
}

/// The keys of a line after so much of its beginning; none if one is too long.
fn keys(line: &Bytes, first: &Tokens<'_>, skip: usize) -> Option<Vec<Bytes>> {
    let mut keys = Vec::with_capacity(first.words().len());
    let mut take = |words: &[&[u8]]| {
        let fit = words.iter().all(|key| key.len() <= KEY_LEN_MAX);
        keys.extend(words.iter().map(|key| line.slice_ref(key)));
        fit
    };
    let mut fit = take(&first.words()[skip..]);
    let mut rest = first.rest;
    while fit && !rest.is_empty() {
        let tokens = Tokens::of(rest);
        fit = take(tokens.words());
        rest = tokens.rest;
    }
    fit.then_some(keys)
}

fn store(line: &Bytes, words: &[&[u8]], mode: StoreMode) -> Head {
    let least = if mode == StoreMode::Cas { 6 } else { 5 };
    if words.len() != least && words.len() != least + 1 {
        return Head::Whole(Request::say("ERROR"));
    }
    let is_quiet = is_quiet(words);
    let read = || {
        let key = (words[1].len() <= KEY_LEN_MAX).then(|| line.slice_ref(words[1]))?;
        let (flags, exptime) = (unsigned_32(words[2])?, signed_32(words[3])?);
        let len = value_len(signed_32(words[4])?)?;
        let cas = if mode == StoreMode::Cas { unsigned_64(words[5])? } else { 0 };
        let store = Store { mode, key, flags, exptime, cas, value: Bytes::new(), meta: None };
        Some((store, len))
    };
    match read() {
        Some((store, value_len)) => Head::Body { store, is_quiet, value_len },
        None => Head::Whole(Request::say_unless(is_quiet, BAD_LINE)),
    }
}

fn count(line: &Bytes, words: &[&[u8]], is_up: bool) -> Request {
    if !matches!(words.len(), 3 | 4) {
        return Request::say("ERROR");
    }
    let is_quiet = is_quiet(words);
    if words[1].len() > KEY_LEN_MAX {
        return Request::say_unless(is_quiet, BAD_LINE);
    }
    let Some(by) = unsigned_64(words[2]) else {
        return Request::say_unless(is_quiet, "CLIENT_ERROR invalid numeric delta argument");
    };
    let key = line.slice_ref(words[1]);
    Request { command: Command::Count(Count { key, is_up, by }), is_quiet }
}

fn delete(line: &Bytes, words: &[&[u8]]) -> Request {
    let usage = "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]";
    if !matches!(words.len(), 2..=4) {
        return Request::say("ERROR");
    }
    let is_quiet = words.len() > 2 && is_quiet(words);
    let holds_zero = words.get(2).is_some_and(|word| *word == b"0");
    let is_valid = match words.len() {
        2 => true,
        3 => holds_zero || is_quiet,
        _ => holds_zero && is_quiet,
    };
    if !is_valid {
        return Request::say_unless(is_quiet, usage);
    }
    if words[1].len() > KEY_LEN_MAX {
        return Request::say_unless(is_quiet, BAD_LINE);
    }
    Request { command: Command::Delete(line.slice_ref(words[1])), is_quiet }
}

fn touch(line: &Bytes, words: &[&[u8]]) -> Request {
    if !matches!(words.len(), 3 | 4) {
        return Request::say("ERROR");
    }
    let is_quiet = is_quiet(words);
    if words[1].len() > KEY_LEN_MAX {
        return Request::say_unless(is_quiet, BAD_LINE);
    }
    let Some(exptime) = signed_32(words[2]) else {
        return Request::say_unless(is_quiet, BAD_EXPTIME);
    };
    Request { command: Command::Touch { key: line.slice_ref(words[1]), exptime }, is_quiet }
}

fn flush(words: &[&[u8]]) -> Request {
    if words.len() > 3 {
        return Request::say("ERROR");
    }
    let is_quiet = is_quiet(words);
    if words.len() == if is_quiet { 2 } else { 1 } {
        return Request { command: Command::Flush { delay: 0 }, is_quiet };
    }
    match signed_32(words[1]) {
        Some(delay) => Request { command: Command::Flush { delay }, is_quiet },
        None => Request::say_unless(is_quiet, BAD_EXPTIME),
    }
}

fn stats(words: &[&[u8]]) -> Request {
    let of = match words.get(1).copied() {
        None => StatsOf::All,
        Some(b"settings") => StatsOf::Settings,
        Some(b"items") => StatsOf::Items,
        Some(b"slabs") => StatsOf::Slabs,
        Some(b"sizes") => StatsOf::Sizes,
        Some(b"conns") => StatsOf::Conns,
        Some(b"reset") => StatsOf::Reset,
        Some(b"detail") => return Request::say("CLIENT_ERROR usage: stats detail on|off|dump"),
        Some(b"cachedump") => return Request::say("CLIENT_ERROR stats cachedump not allowed"),
        Some(_) => return Request::say("ERROR"),
    };
    Request { command: Command::Stats(of), is_quiet: false }
}

/// Commands that change nothing here.
fn other(words: &[&[u8]]) -> Head {
    let line = match words[0] {
        b"shutdown" => Request::say("ERROR: shutdown not enabled"),
        b"verbosity" => verbosity(words),
        b"cache_memlimit" => memory_limit(words),
        b"watch" => Request::say_unless(is_quiet(words), "CLIENT_ERROR watch commands not allowed"),
        b"lru_crawler" if words.len() == 3 && matches!(words[1], b"crawl" | b"metadump") => {
            Request::say("CLIENT_ERROR lru crawler disabled")
        }
        b"slabs" if words.len() == 4 && words[1] == b"reassign" => {
            Request::say("CLIENT_ERROR slab reassignment disabled")
        }
        // memcached sorts commands by these letters before it looks for HTTP.
        [b'g' | b's' | b'a' | b'c' | b'i' | b'd' | b't', ..] => Request::say("ERROR"),
        _ if words.last().is_some_and(|word| word.starts_with(b"HTTP/")) => return Head::Close,
        _ => Request::say("ERROR"),
    };
    Head::Whole(line)
}

fn verbosity(words: &[&[u8]]) -> Request {
    if !matches!(words.len(), 2 | 3) {
        return Request::say("ERROR");
    }
    let said = if unsigned_32(words[1]).is_some() { "OK" } else { BAD_LINE };
    Request::say_unless(is_quiet(words), said)
}

fn memory_limit(words: &[&[u8]]) -> Request {
    if !matches!(words.len(), 2 | 3) {
        return Request::say("ERROR");
    }
    let said = match unsigned_32(words[1]) {
        None => "ERROR",
        Some(0..8) => "MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m",
        Some(8..=1_000_000_000) => "MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust",
        Some(_) => "MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes",
    };
    Request::say_unless(is_quiet(words), said)
}
