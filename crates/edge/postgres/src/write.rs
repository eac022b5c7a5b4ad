//! Statements that write what was decided.

use crate::connection::{Ask, Value};
use crate::number::{Nothing, Number};
use crate::place::{
    key_of, leftover_key, outlived_at_key, outlived_key, part_key, stripe_key, upload_place,
};
use crate::short::Short;
use crate::statement::Sql;
use crate::table::{Table, VOUCHED};
use ripstop_catalog::{LOCATED_EXTENTS_MAX, Object, Versioning, seal};
use ripstop_form::Record;
use ripstop_model::StripeId;
use ripstop_object::Writes;
use std::collections::BTreeMap;

/// Rows of a table to be written and removed.
#[derive(Default)]
struct Written {
    keys: Vec<Vec<u8>>,
    records: Vec<Vec<u8>>,
    /// The first column besides, if there is one, of bytes or of numbers, and the second.
    bytes: [Vec<Vec<u8>>; 2],
    numbers: Vec<i64>,
    removed: Vec<Vec<u8>>,
}

/// What is to be written, by table.
#[derive(Default)]
struct Writing(BTreeMap<Table, Written>);

impl Writing {
    fn table(&mut self, table: Table) -> &mut Written {
        self.0.entry(table).or_default()
    }

    /// Writes a row, or removes it; whether it was written.
    fn set<R: Record>(
        &mut self,
        table: Table,
        key: Vec<u8>,
        row: Option<&R>,
    ) -> Option<&mut Written> {
        let written = self.table(table);
        let Some(row) = row else {
            written.removed.push(key);
            return None;
        };
        written.records.push(seal(table.name(), &key, row));
        written.keys.push(key);
        Some(written)
    }

    fn set_number(&mut self, table: Table, key: Vec<u8>, row: Option<u64>) {
        if let (Some(written), Some(number)) =
            (self.set::<Number>(table, key, row.map(Number).as_ref()), row)
            && !table.columns().is_empty()
        {
            written.numbers.push(signed(number));
        }
    }

    fn set_object(&mut self, key: Vec<u8>, row: Option<&Object>) {
        let at = key.clone();
        if let (Some(written), Some(object)) = (self.set::<Object>(Table::Objects, key, row), row) {
            written.bytes[0].push(Short::seal(&at, object));
            written.bytes[1].push(coming_along(object));
        }
    }
}

/// The names of the stripes that an object is found with, in the order of their first use; none if
/// it has too many extents.
pub(crate) fn coming_along(object: &Object) -> Vec<u8> {
    let mut names: Vec<StripeId> = Vec::new();
    if object.extents.len() <= LOCATED_EXTENTS_MAX {
        for extent in &object.extents {
            if !names.contains(&extent.stripe) {
                names.push(extent.stripe);
            }
        }
    }
    names.into_iter().flat_map(stripe_key).collect()
}

/// The number that stands for how versions are kept.
const fn number_of(versioning: Versioning) -> i64 {
    match versioning {
        Versioning::Never => 0,
        Versioning::Enabled => 1,
        Versioning::Suspended => 2,
    }
}

/// How versions are kept, by its number; as if they were, where the number is not known.
pub(crate) const fn versioning_of(number: i64) -> Versioning {
    match number {
        0 => Versioning::Never,
        1 => Versioning::Enabled,
        _ => Versioning::Suspended,
    }
}

/// A time as the database has it: what is later than it can say is never.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The statements that write everything.
pub(crate) fn statements(writes: &Writes<'_>) -> Vec<Ask> {
    let mut writing = Writing::default();
    for (name, row) in &writes.buckets {
        let written = writing.set(Table::Buckets, name.as_bytes().into(), row.as_deref());
        if let (Some(written), Some(bucket)) = (written, row) {
            written.numbers.push(number_of(bucket.versioning));
        }
    }
    for (at, row) in &writes.objects {
        writing.set_object(key_of(at), row.as_deref());
    }
    for (id, row) in &writes.stripes {
        writing.set(Table::Stripes, stripe_key(*id), row.as_ref());
    }
    for (id, row) in &writes.garbage {
        let written = writing.set(Table::Garbage, stripe_key(*id), row.as_ref());
        if let (Some(written), Some(garbage)) = (written, row) {
            written.numbers.push(signed(garbage.since_ms));
        }
    }
    for (copy, since) in &writes.leftovers {
        writing.set_number(Table::Leftovers, leftover_key(copy), *since);
    }
    for (bucket, row) in &writes.accounts {
        writing.set(Table::Accounts, bucket.as_bytes().into(), row.as_ref());
    }
    uploads(&mut writing, writes);
    tellings(&mut writing, writes);
    for (name, number) in &writes.nodes {
        writing.set_number(Table::Nodes, name.as_bytes().into(), Some(number.0.into()));
    }
    for (session, until) in &writes.sessions {
        writing.set_number(Table::Sessions, session.0.to_be_bytes().into(), *until);
    }
    for (session, row) in &writes.watermarks {
        writing.set(Table::Watermarks, session.0.to_be_bytes().into(), row.as_ref());
    }
    for (id, row) in &writes.gateways {
        writing.set(Table::Gateways, id.0.to_be_bytes().into(), row.as_deref());
    }
    for (name, lease) in &writes.leases {
        writing.set(Table::Leases, name.as_bytes().into(), Some(lease));
    }
    if let Some(before) = writes.vouched_before {
        writing.set_number(Table::Facts, VOUCHED.into(), Some(before));
    }
    writing.0.into_iter().flat_map(|(table, written)| asks(table, written)).collect()
}

fn uploads(writing: &mut Writing, writes: &Writes<'_>) {
    for (id, row) in &writes.uploads {
        writing.set(Table::Uploads, id.as_bytes().into(), row.as_deref());
    }
    for ((at, id), is_there) in &writes.upload_places {
        let row = is_there.then_some(&Nothing);
        writing.set::<Nothing>(Table::UploadPlaces, upload_place(at, id), row);
    }
    for ((upload, number), row) in &writes.parts {
        writing.set(Table::Parts, part_key(upload, *number), row.as_deref());
    }
}

fn tellings(writing: &mut Writing, writes: &Writes<'_>) {
    for (at, row) in &writes.tombstones {
        writing.set(Table::Tombstones, key_of(at), row.as_deref());
    }
    for ((at, stripe), is_so) in &writes.outlived {
        let row = is_so.then_some(&Nothing);
        writing.set::<Nothing>(Table::Outlived, outlived_key(*stripe, at), row);
        writing.set::<Nothing>(Table::OutlivedAt, outlived_at_key(at, *stripe), row);
    }
}

fn asks(table: Table, written: Written) -> Vec<Ask> {
    let Written { keys, records, bytes: [first, second], numbers, removed } = written;
    let mut asks = Vec::new();
    if !keys.is_empty() {
        let mut values = vec![Value::List(keys), Value::List(records)];
        match table.columns() {
            [] => {}
            [_] => values.push(Value::Numbers(numbers)),
            _ => values.extend([Value::List(first), Value::List(second)]),
        }
        asks.push(Ask(Sql::Set(table), values));
    }
    if !removed.is_empty() {
        asks.push(Ask(Sql::Remove(table), vec![Value::List(removed)]));
    }
    asks
}
