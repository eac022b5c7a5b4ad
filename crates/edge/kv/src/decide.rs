//! What commands do to an item, as memcached 1.6.18 has it: no clock, no store.

use crate::{
    clock::end_of,
    item::{KvItem, Marks, is_in_pieces, memcached_len},
    number::unsigned_64,
    request::{Meta, Store, StoreMode},
    shelf::ItemDeed,
};
use bytes::{BufMut as _, Bytes, BytesMut};

/// How a store ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StoreEnd {
    Stored,
    Exists,
    NotFound,
    NotStored,
}

/// How the version that a store asked for is to the one that is there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Match {
    Unasked,
    Same,
    /// It is older, and the client knows that it may be.
    Older,
    Other,
}

fn compare(store: &Store, old: &KvItem) -> Match {
    let may_be_older = store.meta.as_ref().is_some_and(|meta| meta.has(b'I'));
    match store.cas {
        0 => Match::Unasked,
        cas if cas == old.cas => Match::Same,
        cas if may_be_older && store.mode == StoreMode::Cas && cas < old.cas => Match::Older,
        _ => Match::Other,
    }
}

/// Stores a value, if what is there allows it. `item_max`: what an item comes to, at most.
pub(crate) fn store(
    store: &Store,
    item_max: usize,
    now_s: u32,
    old: Option<&KvItem>,
) -> (ItemDeed, StoreEnd) {
    let is_binary = store.meta.as_ref().is_some_and(|meta| meta.is_binary);
    let fresh = KvItem {
        flags: store.flags,
        exptime_s: end_of(store.exptime, now_s),
        used_s: now_s,
        cas: 0,
        marks: Marks::default().with_if(is_binary, Marks::BINARY),
        value: store.value.clone(),
    };
    let Some(old) = old else {
        return match store.mode {
            StoreMode::Set | StoreMode::Add => (ItemDeed::Store(fresh), StoreEnd::Stored),
            StoreMode::Cas => (ItemDeed::Keep, StoreEnd::NotFound),
            StoreMode::Replace | StoreMode::Append | StoreMode::Prepend => {
                (ItemDeed::Keep, StoreEnd::NotStored)
            }
        };
    };
    match (store.mode, compare(store, old)) {
        (StoreMode::Add, _) => (ItemDeed::Keep, StoreEnd::NotStored),
        (StoreMode::Set | StoreMode::Replace, _) | (StoreMode::Cas, Match::Same) => {
            (ItemDeed::Store(fresh), StoreEnd::Stored)
        }
        (StoreMode::Cas, Match::Older) => {
            let marks = fresh.marks.with(Marks::STALE);
            let marks = marks.with_if(old.marks.has(Marks::WON), Marks::WON);
            let exptime_s = old.exptime_s;
            (ItemDeed::Store(KvItem { exptime_s, marks, ..fresh }), StoreEnd::Stored)
        }
        (StoreMode::Cas, Match::Unasked | Match::Other)
        | (StoreMode::Append | StoreMode::Prepend, Match::Older | Match::Other) => {
            (ItemDeed::Keep, StoreEnd::Exists)
        }
        (mode @ (StoreMode::Append | StoreMode::Prepend), Match::Unasked | Match::Same) => {
            let len = old.value.len() + store.value.len();
            if memcached_len(store.key.len(), old.flags, len) > item_max {
                return (ItemDeed::Keep, StoreEnd::NotStored);
            }
            let value = if mode == StoreMode::Append {
                joined(&old.value, &store.value)
            } else {
                joined(&store.value, &old.value)
            };
            let marks = fresh.marks.with_if(old.marks.has(Marks::BINARY), Marks::BINARY);
            let (flags, exptime_s) = (old.flags, old.exptime_s);
            let item = KvItem { flags, exptime_s, marks, value, ..fresh };
            (ItemDeed::Store(item), StoreEnd::Stored)
        }
    }
}

fn joined(first: &[u8], last: &[u8]) -> Bytes {
    let mut value = BytesMut::with_capacity(first.len() + last.len());
    value.put_slice(first);
    value.put_slice(last);
    value.freeze()
}

/// The item gets another end, and is in use.
pub(crate) fn touch(exptime: i32, now_s: u32, old: Option<&KvItem>) -> (ItemDeed, ()) {
    let touched = |old: &KvItem| {
        let exptime_s = end_of(exptime, now_s);
        ItemDeed::Edit(KvItem { exptime_s, ..used(old, now_s) })
    };
    (old.map_or(ItemDeed::Keep, touched), ())
}

fn used(old: &KvItem, now_s: u32) -> KvItem {
    KvItem { used_s: now_s, marks: old.marks.with(Marks::FETCHED), ..old.clone() }
}

/// How a number was counted up or down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CountEnd {
    Missing,
    NoNumber,
    Exists,
    /// What it is now.
    Is(u64),
    /// There was none, and it begins with this.
    Begins(u64),
}

/// What is counted, and by how much.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) is_up: bool,
    pub(crate) by: u64,
    /// What `ma` adds.
    pub(crate) meta: Option<&'a Meta>,
}

/// Counts a number up or down.
pub(crate) fn count(step: Step<'_>, now_s: u32, old: Option<&KvItem>) -> (ItemDeed, CountEnd) {
    let Some(old) = old else {
        let Some(meta) = step.meta.filter(|meta| meta.vivify.is_some()) else {
            return (ItemDeed::Keep, CountEnd::Missing);
        };
        let value = Bytes::copy_from_slice(itoa::Buffer::new().format(meta.initial).as_bytes());
        let made = KvItem { value, ..made(meta, now_s) };
        return (ItemDeed::Store(made), CountEnd::Begins(meta.initial));
    };
    let len = old.value.len();
    if len == 0 || is_in_pieces(step.key.len(), old.flags, len) {
        return (ItemDeed::Keep, CountEnd::NoNumber);
    }
    if step.meta.and_then(|meta| meta.cas).is_some_and(|cas| cas != 0 && cas != old.cas) {
        return (ItemDeed::Keep, CountEnd::Exists);
    }
    let Some(number) = unsigned_64(&old.value) else { return (ItemDeed::Keep, CountEnd::NoNumber) };
    let number =
        if step.is_up { number.wrapping_add(step.by) } else { number.saturating_sub(step.by) };
    let mut digits = itoa::Buffer::new();
    let digits = digits.format(number);
    let is_longer = digits.len() > len;
    let mut value = Vec::with_capacity(len.max(digits.len()));
    value.extend_from_slice(digits.as_bytes());
    // A shorter number leaves the length as it was.
    value.resize(len.max(digits.len()), b' ');
    let kept = if is_longer { Marks(old.marks.0 & Marks::BINARY.0) } else { old.marks };
    let exptime_s =
        step.meta.map_or(old.exptime_s, |meta| end_after(meta, old.exptime_s, false, now_s));
    let value = Bytes::from(value);
    let item = KvItem { exptime_s, used_s: now_s, marks: kept, value, ..old.clone() };
    (ItemDeed::Store(item), CountEnd::Is(number))
}

/// An item that was not there and is made because of `N`.
fn made(meta: &Meta, now_s: u32) -> KvItem {
    KvItem {
        flags: 0,
        exptime_s: end_after(meta, 0, true, now_s),
        used_s: now_s,
        cas: 0,
        marks: Marks::default().with_if(meta.is_binary, Marks::BINARY),
        value: Bytes::new(),
    }
}

/// The item's end after this flag.
pub(crate) fn end_by(letter: u8, meta: &Meta, end_s: u32, is_made: bool, now_s: u32) -> u32 {
    match (letter, meta.exptime, meta.vivify) {
        (b'T', Some(exptime), _) | (b'N', _, Some(exptime)) if letter == b'T' || is_made => {
            end_of(exptime, now_s)
        }
        _ => end_s,
    }
}

/// The item's end after all flags.
fn end_after(meta: &Meta, end_s: u32, is_made: bool, now_s: u32) -> u32 {
    let letters = meta.letters.as_slice().iter();
    letters.fold(end_s, |end_s, &letter| end_by(letter, meta, end_s, is_made, now_s))
}

/// What a meta get finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Found {
    /// It was not there, and was made.
    pub(crate) is_made: bool,
    /// Who asked is to bring a newer one.
    pub(crate) has_won: bool,
}

/// Whether a meta get only reads what is there, whatever that is.
pub(crate) fn only_reads(meta: &Meta) -> bool {
    meta.exptime.is_none() && meta.vivify.is_none() && meta.recache.is_none()
}

/// Whether who gets this is to bring a newer one.
pub(crate) fn wins(meta: &Meta, now_s: u32, old: &KvItem) -> bool {
    if old.marks.has(Marks::WON) {
        return false;
    }
    let before_s = meta.recache.map_or(0, |exptime| end_of(exptime, now_s));
    let mut end_s = old.exptime_s;
    let mut is_late = false;
    for &letter in meta.letters.as_slice() {
        end_s = end_by(letter, meta, end_s, false, now_s);
        is_late |= letter == b'R' && end_s != 0 && end_s < before_s;
    }
    is_late || old.marks.has(Marks::STALE)
}

/// Gets an item, with what the flags change of it.
pub(crate) fn meta_get(meta: &Meta, now_s: u32, old: Option<&KvItem>) -> (ItemDeed, Option<Found>) {
    let is_used = !meta.has(b'u');
    let trace = |item: KvItem| if is_used { used(&item, now_s) } else { item };
    let Some(old) = old else {
        if meta.vivify.is_none() {
            return (ItemDeed::Keep, None);
        }
        let made = made(meta, now_s);
        let marks = made.marks.with(Marks::WON);
        let found = Found { is_made: true, has_won: true };
        return (ItemDeed::Store(trace(KvItem { marks, ..made })), Some(found));
    };
    let has_won = wins(meta, now_s, old);
    let marks = old.marks.with_if(has_won, Marks::WON);
    let exptime_s = end_after(meta, old.exptime_s, false, now_s);
    let edited = trace(KvItem { exptime_s, marks, ..old.clone() });
    (ItemDeed::Edit(edited), Some(Found { is_made: false, has_won }))
}

/// How a deletion ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DeleteEnd {
    Deleted,
    /// It is there and out of date.
    Stale,
    Exists,
    NotFound,
}

/// Deletes an item, or says that it is out of date.
pub(crate) fn meta_delete(meta: &Meta, now_s: u32, old: Option<&KvItem>) -> (ItemDeed, DeleteEnd) {
    let Some(old) = old else { return (ItemDeed::Keep, DeleteEnd::NotFound) };
    if meta.cas.is_some_and(|cas| cas != old.cas) {
        return (ItemDeed::Keep, DeleteEnd::Exists);
    }
    if !meta.has(b'I') {
        return (ItemDeed::Remove, DeleteEnd::Deleted);
    }
    let exptime_s = meta.exptime.map_or(old.exptime_s, |exptime| end_of(exptime, now_s));
    let marks = old.marks.with(Marks::STALE).without(Marks::WON);
    (ItemDeed::Store(KvItem { exptime_s, marks, ..old.clone() }), DeleteEnd::Stale)
}
