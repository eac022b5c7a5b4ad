//! Meta commands carried out, and their answers.

use crate::{
    count::Count,
    decide::{self, CountEnd, DeleteEnd, Found, StoreEnd, end_by},
    item::{KvItem, Marks},
    request::Meta,
    shelf::{Shelf, Sight, Trace},
    turn::Turn,
};
use bytes::Bytes;

/// Gets an item, makes one, or gives it another end.
pub(crate) async fn get<S: Shelf>(turn: &mut Turn<'_, S>, meta: &Meta) {
    let now_s = turn.now_s;
    let door = turn.door;
    let shelf = &door.shelf;
    let trace = if meta.has(b'u') { Trace::None } else { Trace::Use };
    let mut shown = None;
    if decide::only_reads(meta) {
        let item = match shelf.read(&meta.key, trace, now_s).await {
            Ok(Some(item)) => item,
            Ok(None) => return missed(turn, meta),
            Err(error) => return turn.fail(error, false),
        };
        if !decide::wins(meta, now_s, &item) {
            turn.tally.one(Count::GetHit);
            return found(turn, meta, &item, Found { is_made: false, has_won: false });
        }
        // Who wins is decided again, with nothing in between.
        shown = Some(item);
    }
    let decide = |old: Option<&KvItem>| decide::meta_get(meta, now_s, old);
    let changed = match shelf.change(&meta.key, Sight::Open, now_s, decide).await {
        Ok(changed) => changed,
        Err(error) => return turn.fail(error, false),
    };
    let Some(end) = changed.told else { return missed(turn, meta) };
    let is_touched = meta.exptime.is_some();
    turn.tally.one(if is_touched { Count::TouchHit } else { Count::GetHit });
    // A made item was not there before, but for its version.
    let made = changed.after.map(|item| KvItem {
        exptime_s: 0,
        marks: item.marks.without(Marks::WON).without(Marks::FETCHED),
        ..item
    });
    let item = changed.before.or(made);
    let was_fetched = shown.map(|shown| shown.marks.has(Marks::FETCHED));
    if let Some(item) = item {
        let marks = match was_fetched {
            Some(false) => item.marks.without(Marks::FETCHED),
            Some(true) | None => item.marks,
        };
        found(turn, meta, &KvItem { marks, ..item }, end);
    }
}

fn missed<S: Shelf>(turn: &mut Turn<'_, S>, meta: &Meta) {
    turn.tally.one(Count::GetMiss);
    if meta.is_quiet {
        return;
    }
    turn.out.put(b"EN");
    echoes(turn, meta);
    turn.out.end();
}

/// What the client said itself, and the end of the line.
fn echoes<S: Shelf>(turn: &mut Turn<'_, S>, meta: &Meta) {
    for &letter in meta.letters.as_slice() {
        turn.echo(letter, meta, meta.is_binary);
    }
}

/// Answers an item as it was before.
fn found<S: Shelf>(turn: &mut Turn<'_, S>, meta: &Meta, item: &KvItem, end: Found) {
    let has_value = meta.has(b'v');
    status(turn, has_value, item.value.len());
    let mut end_s = item.exptime_s;
    for &letter in meta.letters.as_slice() {
        end_s = end_by(letter, meta, end_s, end.is_made, turn.now_s);
        match letter {
            b's' => number(turn, b's', item.value.len() as u64),
            b't' => left(turn, end_s),
            b'c' => number(turn, b'c', item.cas),
            b'f' => number(turn, b'f', item.flags.into()),
            b'l' => number(turn, b'l', turn.now_s.saturating_sub(item.used_s).into()),
            b'h' => number(turn, b'h', item.marks.has(Marks::FETCHED).into()),
            _ => turn.echo(letter, meta, item.marks.has(Marks::BINARY)),
        }
    }
    for (is_so, letter) in [
        (item.marks.has(Marks::WON), b'Z'),
        (item.marks.has(Marks::STALE), b'X'),
        (end.has_won, b'W'),
    ] {
        if is_so {
            turn.out.flag(letter);
        }
    }
    turn.out.end();
    if has_value {
        turn.out.value(&item.value);
    }
}

fn status<S: Shelf>(turn: &mut Turn<'_, S>, has_value: bool, len: usize) {
    if has_value {
        turn.out.put(b"VA ");
        turn.out.number(len as u64);
    } else {
        turn.out.put(b"HD");
    }
}

fn number<S: Shelf>(turn: &mut Turn<'_, S>, letter: u8, number: u64) {
    turn.out.flag(letter);
    turn.out.number(number);
}

/// How long something lives that ends then.
fn left<S: Shelf>(turn: &mut Turn<'_, S>, end_s: u32) {
    match end_s {
        0 => turn.out.put(b" t-1"),
        end_s => number(turn, b't', end_s.saturating_sub(turn.now_s).into()),
    }
}

/// Answers a store.
pub(crate) fn stored<S: Shelf>(turn: &mut Turn<'_, S>, meta: &Meta, end: StoreEnd, cas: u64) {
    let status: &[u8] = match end {
        StoreEnd::Stored if meta.is_quiet => return,
        StoreEnd::Stored => b"HD",
        StoreEnd::Exists => b"EX",
        StoreEnd::NotFound => b"NF",
        StoreEnd::NotStored => b"NS",
    };
    turn.out.put(status);
    for &letter in meta.letters.as_slice() {
        match letter {
            b'c' => number(turn, b'c', cas),
            _ => turn.echo(letter, meta, meta.is_binary),
        }
    }
    turn.out.end();
}

/// Deletes an item, or says that it is out of date.
pub(crate) async fn delete<S: Shelf>(turn: &mut Turn<'_, S>, meta: &Meta) {
    let now_s = turn.now_s;
    let decide = |old: Option<&KvItem>| decide::meta_delete(meta, now_s, old);
    let end = match turn.door.shelf.change(&meta.key, Sight::Open, now_s, decide).await {
        Ok(changed) => changed.told,
        Err(error) => return turn.fail(error, false),
    };
    let status: &[u8] = match end {
        DeleteEnd::Deleted => {
            turn.tally.one(Count::DeleteHit);
            b"HD"
        }
        DeleteEnd::Stale => b"HD",
        DeleteEnd::Exists => {
            turn.tally.one(Count::DeleteMiss);
            b"EX"
        }
        DeleteEnd::NotFound => {
            turn.tally.one(Count::DeleteMiss);
            b"NF"
        }
    };
    if meta.is_quiet && matches!(end, DeleteEnd::Deleted | DeleteEnd::Stale) {
        return;
    }
    turn.out.put(status);
    echoes(turn, meta);
    turn.out.end();
}

/// Counts a number up or down.
pub(crate) async fn count<S: Shelf>(turn: &mut Turn<'_, S>, meta: &Meta) {
    let is_up = !matches!(meta.mode, Some(b'D' | b'-'));
    let by = meta.delta.unwrap_or(1);
    let step = decide::Step { key: &meta.key, is_up, by, meta: Some(meta) };
    let now_s = turn.now_s;
    let decide = |old: Option<&KvItem>| decide::count(step, now_s, old);
    let changed = match turn.door.shelf.change(&meta.key, Sight::Open, now_s, decide).await {
        Ok(changed) => changed,
        Err(error) => return turn.fail(error, false),
    };
    turn.counted(is_up, changed.told);
    let is_made = matches!(changed.told, CountEnd::Begins(_));
    let number = match changed.told {
        CountEnd::NoNumber => return turn.no_number(),
        CountEnd::Is(_) if meta.is_quiet => return,
        CountEnd::Is(number) | CountEnd::Begins(number) => number,
        CountEnd::Missing | CountEnd::Exists => {
            let is_missing = changed.told == CountEnd::Missing;
            turn.out.put(if is_missing { b"NF" } else { b"EX" });
            echoes(turn, meta);
            return turn.out.end();
        }
    };
    let end_s = changed.before.map_or(0, |item| item.exptime_s);
    let cas = changed.after.map_or(0, |item| item.cas);
    counted(turn, meta, number, (end_s, cas, is_made));
}

/// Answers a number whose item ended then before, has this version now, and was made or not.
fn counted<S: Shelf>(
    turn: &mut Turn<'_, S>,
    meta: &Meta,
    value: u64,
    (mut end_s, cas, is_made): (u32, u64, bool),
) {
    let mut digits = itoa::Buffer::new();
    let digits = digits.format(value).as_bytes();
    let has_value = meta.has(b'v');
    status(turn, has_value, digits.len());
    for &letter in meta.letters.as_slice() {
        end_s = end_by(letter, meta, end_s, is_made, turn.now_s);
        match letter {
            b'c' => number(turn, b'c', cas),
            b't' => left(turn, end_s),
            _ => turn.echo(letter, meta, meta.is_binary),
        }
    }
    turn.out.end();
    if has_value {
        turn.out.value(&Bytes::copy_from_slice(digits));
    }
}
