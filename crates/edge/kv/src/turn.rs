//! One command of a connection, and what all commands answer with.

use crate::{
    count::{Count, Tally},
    decide::CountEnd,
    door::Door,
    outbox::Outbox,
    request::Meta,
    shelf::{Shelf, ShelfError},
};

/// What is said of what is no number.
pub(crate) const NO_NUMBER: &str = "CLIENT_ERROR cannot increment or decrement non-numeric value";

/// One command of a connection.
pub(crate) struct Turn<'a, S> {
    pub(crate) door: &'a Door<S>,
    pub(crate) out: &'a mut Outbox,
    pub(crate) tally: &'a mut Tally,
    /// The second of now.
    pub(crate) now_s: u32,
}

impl<S: Shelf> Turn<'_, S> {
    /// Says a line, if an answer is wanted.
    pub(crate) fn say(&mut self, line: &str, is_quiet: bool) {
        if !is_quiet {
            self.out.line(line);
        }
    }

    /// Says why something was not done.
    pub(crate) fn fail(&mut self, error: ShelfError, is_quiet: bool) {
        self.tally.one(Count::Failed);
        if !is_quiet {
            self.out.line(&format!("SERVER_ERROR {error}"));
        }
    }

    /// Counts what became of a number.
    pub(crate) fn counted(&mut self, is_up: bool, end: CountEnd) {
        match (end, is_up) {
            (CountEnd::Missing, true) => self.tally.one(Count::IncrMiss),
            (CountEnd::Missing, false) => self.tally.one(Count::DecrMiss),
            (CountEnd::Is(_), true) => self.tally.one(Count::IncrHit),
            (CountEnd::Is(_), false) => self.tally.one(Count::DecrHit),
            (CountEnd::NoNumber | CountEnd::Exists | CountEnd::Begins(_), _) => {}
        }
    }

    /// Says that what is there is no number.
    pub(crate) fn no_number(&mut self) {
        self.out.line(NO_NUMBER);
    }

    /// A key, as the client knows it.
    pub(crate) fn key(&mut self, key: &[u8], is_binary: bool) {
        if is_binary {
            self.out.base64(key);
        } else {
            self.out.put(key);
        }
    }

    /// The flags that answer what the client said itself.
    pub(crate) fn echo(&mut self, letter: u8, meta: &Meta, is_binary: bool) {
        match letter {
            b'O' => {
                self.out.put(b" ");
                self.out.put(&meta.opaque);
            }
            b'k' => {
                self.out.flag(b'k');
                self.key(&meta.key, is_binary);
                if is_binary {
                    self.out.flag(b'b');
                }
            }
            _ => {}
        }
    }
}
