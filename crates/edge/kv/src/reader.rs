//! Requests from bytes as they come, in whatever pieces.

use crate::{
    admission::{ENTRY_LEN_MAX, KvUsers},
    classic,
    head::Head,
    item::memcached_len,
    number::unsigned_32,
    request::{Command, Request, Store, StoreMode},
    token::Tokens,
};
use bytes::{Buf as _, Bytes, BytesMut};
use zeroize::Zeroizing;

/// Bytes of a line that is no `get`, at most. memcached takes 2 to 16 KiB, depending on the pieces
/// in which it comes.
const LINE_LEN_MAX: usize = 16 << 10;
/// Bytes of a line of keys, at most.
const KEYS_LINE_LEN_MAX: usize = 1 << 20;
/// The first byte of the binary protocol.
const BINARY: u8 = 0x80;
/// A line's end.
const END_LEN: usize = 2;

/// What there is of requests.
#[derive(PartialEq, Eq, Debug)]
#[expect(clippy::large_enum_variant, reason = "it is taken apart at once: a box would cost more")]
pub(crate) enum Parsed {
    /// No whole one; this many bytes are to be there before it is worth asking again.
    More(usize),
    /// One.
    Request(Request),
    /// Nothing that follows would be understood: this is said, and the connection closed.
    Close(&'static str),
}

/// Why there is no line.
enum NoLine {
    /// It has no end yet; this many bytes are to be there before it is worth asking again.
    Yet(usize),
    /// It is longer than one may be.
    TooLong,
}

impl From<NoLine> for Parsed {
    fn from(none: NoLine) -> Self {
        match none {
            NoLine::Yet(need) => Self::More(need),
            NoLine::TooLong => Self::Close("CLIENT_ERROR line too long"),
        }
    }
}

/// Takes requests off a connection's bytes.
#[derive(Debug)]
pub(crate) struct Reader {
    state: State,
    item_max: usize,
    /// Bytes of the line at hand in which there is no end.
    seen: usize,
    is_first: bool,
}

#[derive(Debug)]
enum State {
    /// Nobody has said who they are.
    Strange(KvUsers),
    /// They are about to, in this many bytes.
    Entering(KvUsers, usize),
    Line,
    /// The value of a store, of this length.
    Body {
        store: Box<Store>,
        is_quiet: bool,
        value_len: usize,
    },
    /// What nobody wants.
    Swallow(usize),
}

impl Reader {
    /// Reads requests whose items come to at most `item_max` bytes, counted as memcached does. With
    /// `users`, only after one of them came in.
    pub(crate) fn new(item_max: usize, users: Option<KvUsers>) -> Self {
        let state = users.map_or(State::Line, State::Strange);
        Self { state, item_max, seen: 0, is_first: true }
    }

    /// The next request.
    pub(crate) fn next(&mut self, inbox: &mut BytesMut) -> Parsed {
        if self.is_first
            && let Some(&first) = inbox.first()
        {
            self.is_first = false;
            if first == BINARY {
                return Parsed::Close("");
            }
        }
        loop {
            match &mut self.state {
                State::Line => {}
                State::Strange(_) => return self.introduction(inbox),
                State::Entering(users, len) => {
                    let (users, len) = (users.clone(), *len);
                    return self.enter(inbox, users, len);
                }
                State::Swallow(left) => {
                    let len = (*left).min(inbox.len());
                    inbox.advance(len);
                    *left -= len;
                    if *left > 0 {
                        return Parsed::More(*left);
                    }
                    self.state = State::Line;
                }
                State::Body { value_len, .. } => {
                    let whole = *value_len + END_LEN;
                    if inbox.len() < whole {
                        return Parsed::More(whole);
                    }
                    return Parsed::Request(self.store(inbox.split_to(whole).freeze()));
                }
            }
            let line = match self.line(inbox, is_of_keys) {
                Ok(line) => line.freeze(),
                Err(none) => return none.into(),
            };
            match classic::head(&line) {
                Head::Whole(request) => return Parsed::Request(request),
                Head::Close => return Parsed::Close(""),
                Head::Swallow(request, value_len) => {
                    self.state = State::Swallow(value_len + END_LEN);
                    return Parsed::Request(request);
                }
                Head::Body { store, is_quiet, value_len } => {
                    if let Some(refused) = self.begin(store, is_quiet, value_len) {
                        return Parsed::Request(refused);
                    }
                }
            }
        }
    }

    /// Whether nobody has said who they are, who is to.
    pub(crate) fn is_strange(&self) -> bool {
        matches!(self.state, State::Strange(_) | State::Entering(..))
    }

    /// Whether no command has begun, as far as it has been told.
    pub(crate) fn is_between(&self) -> bool {
        matches!(self.state, State::Line | State::Strange(_))
    }

    /// The memory for the value at hand, of which there are `have` bytes, is not there: it is not
    /// stored, and these bytes are to be dropped.
    pub(crate) fn refuse(&mut self, have: usize) -> Option<Request> {
        let State::Body { store, is_quiet, value_len } = &self.state else { return None };
        let is_quiet = *is_quiet && store.meta.is_none();
        self.state = State::Swallow(value_len + END_LEN - have);
        Some(Request::say_unless(is_quiet, "SERVER_ERROR out of memory storing object"))
    }

    /// A line without its end.
    fn line(
        &mut self,
        inbox: &mut BytesMut,
        is_long: fn(&[u8]) -> bool,
    ) -> Result<BytesMut, NoLine> {
        let found = inbox[self.seen..].iter().position(|&byte| byte == b'\n');
        let len = found.map_or(inbox.len(), |at| self.seen + at);
        if len > LINE_LEN_MAX {
            let max = if is_long(inbox) { KEYS_LINE_LEN_MAX } else { LINE_LEN_MAX };
            if len > max {
                return Err(NoLine::TooLong);
            }
        }
        if found.is_none() {
            self.seen = len;
            return Err(NoLine::Yet(len + 1));
        }
        self.seen = 0;
        let mut line = inbox.split_to(len + 1);
        line.truncate(len);
        // As in memcached, a carriage return alone is a word.
        if len > 1 && line.ends_with(b"\r") {
            line.truncate(len - 1);
        }
        Ok(line)
    }

    /// Begins to read a value; what is said instead of a value that is too long.
    fn begin(&mut self, store: Store, is_quiet: bool, value_len: usize) -> Option<Request> {
        if memcached_len(store.key.len(), store.flags, value_len) <= self.item_max {
            self.state = State::Body { store: Box::new(store), is_quiet, value_len };
            return None;
        }
        self.state = State::Swallow(value_len + END_LEN);
        let removes = store.mode == StoreMode::Set || store.meta.is_some();
        let command = Command::TooLarge { key: store.key, removes };
        Some(Request { command, is_quiet: is_quiet && store.meta.is_none() })
    }

    /// The store whose value, with a line's end, this is.
    fn store(&mut self, mut value: Bytes) -> Request {
        let State::Body { store, is_quiet, value_len } =
            std::mem::replace(&mut self.state, State::Line)
        else {
            return Request::say("ERROR");
        };
        if !value.ends_with(b"\r\n") {
            let is_quiet = is_quiet && store.meta.is_none();
            return Request::say_unless(is_quiet, "CLIENT_ERROR bad data chunk");
        }
        value.truncate(value_len);
        let is_quiet = is_quiet || store.meta.as_ref().is_some_and(|meta| meta.is_quiet);
        Request { command: Command::Store(Store { value, ..*store }), is_quiet }
    }

    /// The line that says how long a name and a password are.
    fn introduction(&mut self, inbox: &mut BytesMut) -> Parsed {
        let line = match self.line(inbox, |_| false) {
            Ok(line) => line,
            Err(none) => return none.into(),
        };
        let tokens = Tokens::of(&line);
        let len = match tokens.words() {
            [b"set", _, _, _, len, ..] => unsigned_32(len),
            _ => None,
        };
        let len = len.map(|len| len as usize).filter(|&len| len <= ENTRY_LEN_MAX);
        let State::Strange(users) = &self.state else { return Parsed::More(1) };
        match len {
            None => Parsed::Request(Request::say("CLIENT_ERROR unauthenticated")),
            Some(len) => {
                self.state = State::Entering(users.clone(), len);
                self.next(inbox)
            }
        }
    }

    /// A name and a password.
    fn enter(&mut self, inbox: &mut BytesMut, users: KvUsers, len: usize) -> Parsed {
        let whole = len + END_LEN;
        if inbox.len() < whole {
            return Parsed::More(whole);
        }
        let shown = Zeroizing::new(inbox[..whole].to_vec());
        inbox[..whole].fill(0);
        inbox.advance(whole);
        let tokens = Tokens::of(&shown[..len]);
        let (said, is_known) = match tokens.words() {
            _ if !shown.ends_with(b"\r\n") => {
                (Some("CLIENT_ERROR bad command line termination"), false)
            }
            [name, password, ..] => (None, users.know(name, password)),
            _ => (Some("CLIENT_ERROR bad authentication token format"), false),
        };
        self.state = if is_known { State::Line } else { State::Strange(users) };
        Parsed::Request(said.map_or(
            Request { command: Command::Enter { is_known }, is_quiet: false },
            Request::say,
        ))
    }
}

/// Whether a line that has no end yet asks for items by their keys: these may be many.
fn is_of_keys(line: &[u8]) -> bool {
    let start = line.iter().position(|&byte| byte != b' ').unwrap_or(0);
    let words: [&[u8]; 4] = [b"get ", b"gets ", b"gat ", b"gats "];
    words.iter().any(|word| line[start..].starts_with(word))
}

#[cfg(test)]
mod tests;
