//! How a record is written, and how it is read.

use crate::Unreadable;
use minicbor::data::Type;
use minicbor::encode::Error;
use minicbor::{Decoder, Encoder};
use ripstop_object::Unknown;
use std::{convert::Infallible, mem};

/// The first number of those that a program may pass over without knowing them.
pub const PASSABLE: u64 = 128;

/// Most fields of a map whose head is one byte.
const SHORT_MAX: usize = 23;
/// Major types, as they stand in a first byte.
pub(crate) const UNSIGNED: u8 = 0;
pub(crate) const NEGATIVE: u8 = 1 << 5;
const EMPTY_MAP: u8 = 0xa0;
const OPEN_MAP: u8 = 0xbf;
const BREAK: u8 = 0xff;

/// What has a form; by default, with every field left out.
pub trait Record: Default {
    /// Writes the fields, in the order of their numbers, and last those that are unknown.
    fn write(&self, to: &mut Fields);

    /// Reads a field's value; `false`, having read nothing, if there is no field of that number.
    fn read(&mut self, field: u64, from: &mut Found<'_>) -> Result<bool, Unreadable>;

    /// Where fields that may be passed over are kept. A record without such a place has none that
    /// may: every number that it does not know is refused.
    fn unknown(&mut self) -> Option<&mut Unknown> {
        None
    }
}

/// A record being written.
#[derive(Debug)]
pub struct Fields {
    to: Encoder<Vec<u8>>,
    /// Fields of the map that is being written; at least as many as there are.
    count: usize,
}

/// The record's bytes behind those of `after`.
pub fn encode(record: &impl Record, after: Vec<u8>) -> Vec<u8> {
    compose(after, |to| record.write(to))
}

/// The bytes of a record of the fields that `write` writes, behind those of `after`.
pub fn compose(after: Vec<u8>, write: impl FnOnce(&mut Fields)) -> Vec<u8> {
    let mut fields = Fields::new(after);
    fields.map(write);
    fields.into_bytes()
}

/// A vector takes everything.
pub(crate) fn taken<T>(result: Result<T, Error<Infallible>>) {
    result.map(drop).expect("nothing is written that cannot be");
}

impl Fields {
    pub(crate) fn new(after: Vec<u8>) -> Self {
        Self { to: Encoder::new(after), count: 0 }
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.to.into_writer()
    }

    /// What writes the value of this field.
    #[inline]
    pub(crate) fn value(&mut self, field: u64) -> &mut Encoder<Vec<u8>> {
        self.count += 1;
        self.head(UNSIGNED, field);
        &mut self.to
    }

    /// What begins a value: its major type, with a number. The encoder writes the same, in more
    /// steps: recordings are made of little else, where a machine waits for it.
    #[inline]
    pub(crate) fn head(&mut self, major: u8, number: u64) {
        let bytes = self.to.writer_mut();
        if number < 24 {
            bytes.push(major | number as u8);
        } else if let Ok(number) = u8::try_from(number) {
            bytes.extend_from_slice(&[major | 0x18, number]);
        } else if let Ok(number) = u16::try_from(number) {
            let [a, b] = number.to_be_bytes();
            bytes.extend_from_slice(&[major | 0x19, a, b]);
        } else if let Ok(number) = u32::try_from(number) {
            let [a, b, c, d] = number.to_be_bytes();
            bytes.extend_from_slice(&[major | 0x1a, a, b, c, d]);
        } else {
            bytes.push(major | 0x1b);
            bytes.extend_from_slice(&number.to_be_bytes());
        }
    }

    /// A map whose head is one byte if it has few fields, which nothing ends then.
    #[inline]
    pub(crate) fn short_map(&mut self, write: impl FnOnce(&mut Self)) {
        let head = self.to.writer().len();
        self.to.writer_mut().push(EMPTY_MAP);
        let outer = mem::replace(&mut self.count, 0);
        write(self);
        let count = mem::replace(&mut self.count, outer);
        let bytes = self.to.writer_mut();
        if count <= SHORT_MAX {
            bytes[head] |= count as u8;
        } else {
            bytes[head] = OPEN_MAP;
            bytes.push(BREAK);
        }
    }

    fn map(&mut self, write: impl FnOnce(&mut Self)) {
        taken(self.to.begin_map());
        write(self);
        taken(self.to.end());
    }

    /// A number; 0 is left out.
    #[inline]
    pub fn number(&mut self, field: u64, value: u64) {
        if value != 0 {
            self.value(field);
            self.head(UNSIGNED, value);
        }
    }

    /// A truth; `false` is left out.
    pub fn truth(&mut self, field: u64, value: bool) {
        if value {
            taken(self.value(field).bool(true));
        }
    }

    /// Text; an empty one is left out.
    pub fn text(&mut self, field: u64, value: &str) {
        if !value.is_empty() {
            taken(self.value(field).str(value));
        }
    }

    /// Bytes; none are left out.
    pub fn bytes(&mut self, field: u64, value: &[u8]) {
        if !value.is_empty() {
            taken(self.value(field).bytes(value));
        }
    }

    /// A column of values of `N` bytes each; an empty one is left out.
    pub fn column<const N: usize>(
        &mut self,
        field: u64,
        values: impl ExactSizeIterator<Item = [u8; N]>,
    ) {
        if values.len() == 0 {
            return;
        }
        taken(self.value(field).bytes_len((N * values.len()) as u64));
        for value in values {
            self.to.writer_mut().extend_from_slice(&value);
        }
    }

    /// A column of which one of zeros alone is left out too: another says how many there are.
    pub fn sparse_column<const N: usize>(
        &mut self,
        field: u64,
        values: impl ExactSizeIterator<Item = [u8; N]> + Clone,
    ) {
        if values.clone().any(|value| value != [0; N]) {
            self.column(field, values);
        }
    }

    /// Names and values; an empty list is left out.
    pub fn pairs(&mut self, field: u64, pairs: &[(String, String)]) {
        if pairs.is_empty() {
            return;
        }
        taken(self.value(field).array(2 * pairs.len() as u64));
        for (name, value) in pairs {
            taken(self.to.str(name).and_then(|to| to.str(value)));
        }
    }

    /// Numbers, each of which may be missing; an empty list is written too.
    pub fn options(&mut self, field: u64, values: impl ExactSizeIterator<Item = Option<u64>>) {
        taken(self.value(field).array(values.len() as u64));
        for value in values {
            taken(match value {
                Some(value) => self.to.u64(value),
                None => self.to.null(),
            });
        }
    }

    /// Bytes, each of which may be missing; a list of which all are is left out.
    pub fn blobs<'a>(
        &mut self,
        field: u64,
        values: impl ExactSizeIterator<Item = Option<&'a [u8]>> + Clone,
    ) {
        if values.clone().all(|value| value.is_none()) {
            return;
        }
        taken(self.value(field).array(values.len() as u64));
        for value in values {
            taken(match value {
                Some(value) => self.to.bytes(value),
                None => self.to.null(),
            });
        }
    }

    /// A record in this one.
    pub fn record(&mut self, field: u64, record: &impl Record) {
        self.value(field);
        self.map(|to| record.write(to));
    }

    /// Records in this one; an empty list is left out.
    pub fn records<R: Record>(&mut self, field: u64, records: impl ExactSizeIterator<Item = R>) {
        if records.len() == 0 {
            return;
        }
        taken(self.value(field).array(records.len() as u64));
        for record in records {
            self.map(|to| record.write(to));
        }
    }

    /// What was unknown as the record was read.
    pub fn unknown(&mut self, unknown: &Unknown) {
        // How many fields that is, nobody has counted.
        self.count += if unknown.is_empty() { 0 } else { SHORT_MAX + 1 };
        self.to.writer_mut().extend_from_slice(unknown.bytes());
    }
}

/// The value of a field, to be read once.
#[derive(Debug)]
pub struct Found<'b> {
    pub(crate) field: u64,
    pub(crate) from: Decoder<'b>,
}

/// The record that `bytes` are, all of them.
pub fn decode<R: Record>(bytes: &[u8]) -> Result<R, Unreadable> {
    let mut found = Found { field: 0, from: Decoder::new(bytes) };
    let record = found.record()?;
    if found.from.position() == bytes.len() {
        Ok(record)
    } else {
        Err(Unreadable::Form("something follows it".into()))
    }
}

/// Each element with its value in a column, which must have as many.
pub fn paired<'a, T, C: IntoIterator<IntoIter: ExactSizeIterator>>(
    elements: &'a mut [T],
    column: C,
    from: &Found<'_>,
) -> Result<impl Iterator<Item = (&'a mut T, C::Item)>, Unreadable> {
    let column = column.into_iter();
    if elements.len() == column.len() {
        Ok(elements.iter_mut().zip(column))
    } else {
        Err(from.wrong("has another number of elements than the column before it"))
    }
}

/// Shows `see` the fields of a record one after another, with the bytes that follow unread, until
/// it wants no more (`None`); else it answers whether it has read the value.
pub fn scan<'b>(
    bytes: &'b [u8],
    mut see: impl FnMut(u64, &mut Found<'b>) -> Result<Option<bool>, Unreadable>,
) -> Result<(), Unreadable> {
    let mut found = Found { field: 0, from: Decoder::new(bytes) };
    found.walk(|found, _| {
        let seen = see(found.field, found)?;
        if seen == Some(false) {
            found.from.skip()?;
        }
        Ok(seen.is_some())
    })
}

impl<'b> Found<'b> {
    /// Has `see` read each field of the map that is the value, for as long as it wants; tells it
    /// where the field begins.
    pub(crate) fn walk(
        &mut self,
        mut see: impl FnMut(&mut Self, usize) -> Result<bool, Unreadable>,
    ) -> Result<(), Unreadable> {
        let mut left = self.from.map()?;
        loop {
            let begin = self.from.position();
            match &mut left {
                Some(0) => return Ok(()),
                Some(left) => *left -= 1,
                None if self.from.datatype()? == Type::Break => {
                    self.from.set_position(begin + 1);
                    return Ok(());
                }
                None => {}
            }
            self.field = self.from.u64()?;
            if !see(self, begin)? {
                return Ok(());
            }
        }
    }

    /// A record.
    pub fn record<R: Record>(&mut self) -> Result<R, Unreadable> {
        let mut record = R::default();
        self.walk(|found, begin| {
            let field = found.field;
            if !record.read(field, found)? {
                let unknown = record.unknown().filter(|_| field >= PASSABLE);
                let unknown = unknown.ok_or(Unreadable::Newer(field))?;
                found.from.skip()?;
                let as_it_is = &found.from.input()[begin..found.from.position()];
                unknown.keep(as_it_is);
            }
            Ok(true)
        })?;
        Ok(record)
    }

    /// Shows `see` each field of a record, of which no more is wanted than it reads; it answers
    /// whether it has read the value.
    pub fn scan(
        &mut self,
        mut see: impl FnMut(u64, &mut Self) -> Result<bool, Unreadable>,
    ) -> Result<(), Unreadable> {
        self.walk(|found, _| {
            if !see(found.field, found)? {
                found.from.skip()?;
            }
            Ok(true)
        })
    }

    /// A number.
    pub fn number(&mut self) -> Result<u64, Unreadable> {
        Ok(self.from.u64()?)
    }

    /// A number that a smaller type holds.
    pub fn small<T: TryFrom<u64>>(&mut self) -> Result<T, Unreadable> {
        let number = self.from.u64()?;
        T::try_from(number).map_err(|_| self.wrong("is too large"))
    }

    /// A truth.
    pub fn truth(&mut self) -> Result<bool, Unreadable> {
        Ok(self.from.bool()?)
    }

    /// Text.
    pub fn text(&mut self) -> Result<&'b str, Unreadable> {
        Ok(self.from.str()?)
    }

    /// Bytes.
    pub fn bytes(&mut self) -> Result<&'b [u8], Unreadable> {
        Ok(self.from.bytes()?)
    }

    /// As many bytes as an array has.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Unreadable> {
        let bytes = self.from.bytes()?;
        bytes.try_into().map_err(|_| self.wrong("has another length"))
    }

    /// A column of numbers of `N` bytes each.
    pub fn column<const N: usize>(&mut self) -> Result<&'b [[u8; N]], Unreadable> {
        match self.from.bytes()?.as_chunks() {
            (column, []) => Ok(column),
            _ => Err(self.wrong("has half a number")),
        }
    }

    /// Names and values.
    pub fn pairs(&mut self) -> Result<Vec<(String, String)>, Unreadable> {
        let mut pairs = Vec::new();
        let mut left = self.len()?;
        while left > 0 {
            if left == 1 {
                return Err(self.wrong("has a name without a value"));
            }
            pairs.push((self.from.str()?.to_owned(), self.from.str()?.to_owned()));
            left -= 2;
        }
        Ok(pairs)
    }

    /// Numbers, each of which may be missing.
    pub fn options<T: TryFrom<u64>>(&mut self) -> Result<Vec<Option<T>>, Unreadable> {
        self.list(Self::small)
    }

    /// Bytes, each of which may be missing.
    pub fn blobs(&mut self) -> Result<Vec<Option<Vec<u8>>>, Unreadable> {
        self.list(|found| Ok(found.from.bytes()?.to_vec()))
    }

    /// That the value is not what it can be.
    pub const fn wrong(&self, reason: &'static str) -> Unreadable {
        Unreadable::Field { field: self.field, reason }
    }

    pub(crate) fn len(&mut self) -> Result<u64, Unreadable> {
        self.from.array()?.ok_or_else(|| self.wrong("does not say how long it is"))
    }

    fn list<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<T, Unreadable>,
    ) -> Result<Vec<Option<T>>, Unreadable> {
        let mut list = Vec::new();
        for _ in 0..self.len()? {
            let is_missing = self.from.datatype()? == Type::Null;
            list.push(if is_missing {
                self.from.null()?;
                None
            } else {
                Some(read(self)?)
            });
        }
        Ok(list)
    }
}
