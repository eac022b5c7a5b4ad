//! Records of several kinds, one behind the other: of each its kind, a number, and a map of its
//! fields.
//!
//! Kinds follow the rule of fields: one below [`PASSABLE`] must be known, others are passed over.
//! Where nothing is written again, so that nothing unknown is kept, fields are written and read
//! without a [`Record`](crate::Record): by closures, which may know what the fields are relative
//! to.

use crate::{
    Fields, Found, PASSABLE, Record, Unreadable,
    record::{NEGATIVE, UNSIGNED, taken},
};
use minicbor::{Decoder, data::Type};

/// A record of this kind, of the fields that `write` writes, behind `after`.
pub fn append(after: Vec<u8>, kind: u64, write: impl FnOnce(&mut Fields)) -> Vec<u8> {
    let mut fields = Fields::new(after);
    fields.value(kind);
    fields.short_map(write);
    fields.into_bytes()
}

/// Has `read` read the first record of `bytes`, unless it answers that it does not know its kind.
/// Returns how many bytes it is, and whether it was known.
pub fn first(
    bytes: &[u8],
    read: impl FnOnce(u64, &mut Found<'_>) -> Result<bool, Unreadable>,
) -> Result<(usize, bool), Unreadable> {
    let mut found = Found { field: 0, from: Decoder::new(bytes) };
    let kind = found.from.u64()?;
    let known = read(kind, &mut found)?;
    if !known {
        if kind < PASSABLE {
            return Err(Unreadable::Kind(kind));
        }
        found.from.skip()?;
    }
    Ok((found.from.position(), known))
}

impl Fields {
    /// A number that is written even if it is 0, because it would be another if it were left out.
    #[inline]
    pub fn given(&mut self, field: u64, value: u64) {
        self.value(field);
        self.head(UNSIGNED, value);
    }

    /// A truth that is written even if it is `false`, because it would be another if it were left
    /// out.
    pub fn given_truth(&mut self, field: u64, value: bool) {
        taken(self.value(field).bool(value));
    }

    /// A number that may be below 0; 0 is written, too.
    #[inline]
    pub fn signed(&mut self, field: u64, value: i64) {
        self.value(field);
        match u64::try_from(value) {
            Ok(value) => self.head(UNSIGNED, value),
            Err(_) => self.head(NEGATIVE, !value.cast_unsigned()),
        }
    }

    /// A number that may be more than 64 bits hold: then it is bytes, the highest first.
    #[inline]
    pub fn wide(&mut self, field: u64, value: u128) {
        match u64::try_from(value) {
            Ok(value) => self.given(field, value),
            Err(_) => taken(self.value(field).bytes(&value.to_be_bytes())),
        }
    }

    /// A number that is not whole.
    pub fn real(&mut self, field: u64, value: f64) {
        taken(self.value(field).f64(value));
    }

    /// A map of its own.
    pub fn nest(&mut self, field: u64, write: impl FnOnce(&mut Self)) {
        self.value(field);
        self.short_map(write);
    }

    /// Texts; an empty list is left out.
    pub fn texts<'a>(&mut self, field: u64, texts: impl ExactSizeIterator<Item = &'a str>) {
        if texts.len() == 0 {
            return;
        }
        let to = self.value(field);
        taken(to.array(texts.len() as u64));
        for text in texts {
            taken(to.str(text));
        }
    }

    /// A list of maps, each of which `write` writes; an empty list is written, too.
    pub fn maps<T>(
        &mut self,
        field: u64,
        values: impl ExactSizeIterator<Item = T>,
        mut write: impl FnMut(T, &mut Self),
    ) {
        taken(self.value(field).array(values.len() as u64));
        for value in values {
            self.short_map(|to| write(value, to));
        }
    }
}

impl Found<'_> {
    /// Has `read` read each field of a map. Those of which it answers that it does not know them
    /// are passed over, or refused, by their number.
    pub fn fields(
        &mut self,
        mut read: impl FnMut(u64, &mut Self) -> Result<bool, Unreadable>,
    ) -> Result<(), Unreadable> {
        self.walk(|found, _| {
            let field = found.field;
            if !read(field, found)? {
                if field < PASSABLE {
                    return Err(Unreadable::Newer(field));
                }
                found.from.skip()?;
            }
            Ok(true)
        })
    }

    /// Has `read` read each map of a list.
    pub fn maps<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<T, Unreadable>,
    ) -> Result<Vec<T>, Unreadable> {
        let mut maps = Vec::new();
        for _ in 0..self.len()? {
            maps.push(read(self)?);
        }
        Ok(maps)
    }

    /// Texts, of which there may be `max`.
    pub fn texts(&mut self, max: usize) -> Result<Vec<String>, Unreadable> {
        let count = self.bounded(max)?;
        (0..count).map(|_| Ok(self.from.str()?.to_owned())).collect()
    }

    /// Records, of which there may be `max`.
    pub fn records<R: Record>(&mut self, max: usize) -> Result<Vec<R>, Unreadable> {
        let count = self.bounded(max)?;
        (0..count).map(|_| self.record()).collect()
    }

    /// How many elements a list has, before there is room for them.
    fn bounded(&mut self, max: usize) -> Result<usize, Unreadable> {
        let count = usize::try_from(self.len()?).unwrap_or(usize::MAX);
        if count <= max { Ok(count) } else { Err(self.wrong("has more elements than it can have")) }
    }

    /// A number that may be below 0.
    pub fn signed(&mut self) -> Result<i64, Unreadable> {
        Ok(self.from.i64()?)
    }

    /// A number that may be more than 64 bits hold.
    pub fn wide(&mut self) -> Result<u128, Unreadable> {
        if self.from.datatype()? == Type::Bytes {
            return Ok(u128::from_be_bytes(self.array()?));
        }
        Ok(self.number()?.into())
    }

    /// A number that is not whole.
    pub fn real(&mut self) -> Result<f64, Unreadable> {
        Ok(self.from.f64()?)
    }
}
