//! Version 3 of the records: each a kind and a map of numbered fields.

use crate::{
    Beginning, Stop,
    fields::{Base, Body as _, Choice as _, Value as _, found, no_others},
    format::Entry,
    numbers::{SINCE, base_after, kind},
};
use ripstop_form::{Found, Unreadable, append, first};
use ripstop_gateway::{Action, Event};
use ripstop_model::Timestamp;
use std::mem;

/// A record that borrows what it holds.
pub(crate) type Borrowed<'a> = Entry<&'a Beginning, &'a Event, &'a [Action]>;

/// Writes the records of a block.
#[derive(Debug, Default)]
pub(crate) struct Writing {
    /// Whether the block says what its records are relative to.
    is_based: bool,
    base: Base,
    /// The time of the last event.
    now: Timestamp,
}

impl Writing {
    /// Begins another block.
    pub(crate) fn begin(&mut self) {
        self.is_based = false;
    }

    /// The record behind those in `bytes`.
    pub(crate) fn append(&mut self, bytes: Vec<u8>, record: &Borrowed<'_>) -> Vec<u8> {
        let none = Base::default();
        match record {
            Entry::Began(beginning) => {
                append(bytes, kind::BEGAN, |to| beginning.write_fields(to, &none))
            }
            Entry::Told { now, event } => self.told(bytes, *now, event),
            Entry::Said(actions) => self.said(bytes, actions),
            Entry::Stopped(stop) => append(bytes, kind::STOPPED, |to| stop.write(1, to, &none)),
            Entry::Finished => append(bytes, kind::FINISHED, |_| {}),
        }
    }

    pub(crate) fn told(&mut self, bytes: Vec<u8>, now: Timestamp, event: &Event) -> Vec<u8> {
        let bytes = self.based(bytes, now);
        let since = now.as_nanos().wrapping_sub(self.now.as_nanos());
        let bytes = append(bytes, event.kind(), |to| {
            to.number(SINCE, since);
            event.write_kind(to, &self.base);
        });
        (self.now, self.base) = (now, base_after(event, self.base));
        bytes
    }

    pub(crate) fn said(&mut self, bytes: Vec<u8>, actions: &[Action]) -> Vec<u8> {
        let mut bytes = self.based(bytes, self.now);
        for action in actions {
            bytes = append(bytes, action.kind(), |to| action.write_kind(to, &self.base));
        }
        append(bytes, kind::SAID, |_| {})
    }

    fn based(&mut self, bytes: Vec<u8>, now: Timestamp) -> Vec<u8> {
        if mem::replace(&mut self.is_based, true) {
            return bytes;
        }
        self.now = now;
        append(bytes, kind::BASE, |to| {
            to.number(1, now.as_nanos());
            to.number(2, self.base.request);
            to.number(3, self.base.task);
        })
    }
}

/// Reads the records of a block.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    base: Base,
    now: Timestamp,
    said: Vec<Action>,
}

/// What stands first.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one at a time, and mostly the large one")]
pub(crate) enum First {
    Entry(Entry),
    /// What belongs to a record that ends further on.
    Part,
    /// What may be passed over.
    Unknown,
}

impl Reading {
    /// Whether the end of what was said is missing.
    pub(crate) fn is_amid(&self) -> bool {
        !self.said.is_empty()
    }

    /// What stands first in `bytes`, and how many bytes that is.
    pub(crate) fn first(&mut self, bytes: &[u8]) -> Result<(usize, First), Unreadable> {
        let mut read = First::Unknown;
        let (len, _) = first(bytes, |kind, from| {
            read = self.read(kind, from)?;
            Ok(!matches!(read, First::Unknown))
        })?;
        Ok((len, read))
    }

    fn read(&mut self, kind: u64, from: &mut Found<'_>) -> Result<First, Unreadable> {
        let none = Base::default();
        Ok(First::Entry(match kind {
            kind::BASE => {
                self.read_base(from)?;
                return Ok(First::Part);
            }
            kind::SAID => {
                from.fields(no_others)?;
                Entry::Said(mem::take(&mut self.said))
            }
            kind::BEGAN => Entry::Began(Beginning::read_fields(from, &none, &mut no_others)?),
            kind::STOPPED => {
                let mut stop = None;
                from.fields(|field, from| {
                    if field == 1 {
                        stop = Some(Stop::read(from, &none)?);
                    }
                    Ok(field == 1)
                })?;
                Entry::Stopped(found(1, stop, None)?)
            }
            kind::FINISHED => {
                from.fields(no_others)?;
                Entry::Finished
            }
            _ => return self.read_other(kind, from),
        }))
    }

    fn read_base(&mut self, from: &mut Found<'_>) -> Result<(), Unreadable> {
        (self.base, self.now) = (Base::default(), Timestamp::ZERO);
        from.fields(|field, from| {
            match field {
                1 => self.now = Timestamp::from_nanos(from.number()?),
                2 => self.base.request = from.number()?,
                3 => self.base.task = from.number()?,
                _ => return Ok(false),
            }
            Ok(true)
        })
    }

    /// An event, or one of the actions that were said to it.
    fn read_other(&mut self, kind: u64, from: &mut Found<'_>) -> Result<First, Unreadable> {
        if let Some(action) = Action::read_kind(kind, from, &self.base, &mut no_others)? {
            self.said.push(action);
            return Ok(First::Part);
        }
        let mut since = 0;
        let event = Event::read_kind(kind, from, &self.base, &mut |field, from| {
            if field == SINCE {
                since = from.number()?;
            }
            Ok(field == SINCE)
        })?;
        let Some(event) = event else { return Ok(First::Unknown) };
        self.now = Timestamp::from_nanos(self.now.as_nanos().wrapping_add(since));
        self.base = base_after(&event, self.base);
        Ok(First::Entry(Entry::Told { now: self.now, event }))
    }
}
