//! How values become fields, and fields values.
//!
//! The tables in `numbers` are written with the macros here: [`record`] for what is always the same fields,
//! [`choice`] for what is one of several kinds, [`names`] for kinds without fields. Each table is matched
//! without `..` and `_`: a member or a variant that is added in core does not compile until it has a number.

use ripstop_form::{Fields, Found, Unreadable};
use ripstop_model::{Code, NodeId, RequestId, StripSet, TaskId, TenantId, Timestamp};
use ripstop_shaping::Fraction;
use std::time::Duration;

/// What ids are relative to, so that they are short however long a machine has lived: those that the last
/// event named.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Base {
    pub request: u64,
    pub task: u64,
}

/// Reads a field that is none of those of a table.
pub(crate) type Others<'o> = &'o mut dyn FnMut(u64, &mut Found<'_>) -> Result<bool, Unreadable>;

/// Others there are none.
#[expect(clippy::unnecessary_wraps, reason = "it is one of those that read other fields")]
pub(crate) fn no_others(_: u64, _: &mut Found<'_>) -> Result<bool, Unreadable> {
    Ok(false)
}

/// What is the value of a field.
pub(crate) trait Value: Sized + PartialEq {
    /// What it is where its field is left out; none if that is never done.
    fn absent(base: &Base) -> Option<Self>;
    /// Writes it, whatever it is; only text and lists that are empty are left out, so that a table gives them
    /// no other default.
    fn write(&self, field: u64, to: &mut Fields, base: &Base);
    fn read(from: &mut Found<'_>, base: &Base) -> Result<Self, Unreadable>;
}

/// What is always the same fields.
pub(crate) trait Body: Sized {
    fn write_fields(&self, to: &mut Fields, base: &Base);
    fn read_fields(
        from: &mut Found<'_>,
        base: &Base,
        others: Others<'_>,
    ) -> Result<Self, Unreadable>;
}

/// What is one of several kinds, each of other fields.
pub(crate) trait Choice: Sized {
    /// The kind's number.
    fn kind(&self) -> u64;
    fn write_kind(&self, to: &mut Fields, base: &Base);
    /// None if there is no kind of this number.
    fn read_kind(
        kind: u64,
        from: &mut Found<'_>,
        base: &Base,
        others: Others<'_>,
    ) -> Result<Option<Self>, Unreadable>;
}

/// Writes a field, unless it is what it is where it is left out.
#[expect(clippy::needless_pass_by_value, reason = "tables make it just for this")]
pub(crate) fn put<V: Value>(
    (field, value): (u64, &V),
    absent: Option<V>,
    to: &mut Fields,
    base: &Base,
) {
    if absent.as_ref() != Some(value) {
        value.write(field, to, base);
    }
}

/// The value of a field that was found, or not.
pub(crate) fn found<V>(field: u64, found: Option<V>, absent: Option<V>) -> Result<V, Unreadable> {
    found.or(absent).ok_or(Unreadable::Field { field, reason: "is missing" })
}

/// What a field is where it is left out: as its table says, or as its type has it.
macro_rules! absent {
    ($base:ident) => {
        $crate::fields::Value::absent($base)
    };
    ($base:ident $absent:expr) => {
        Some($absent)
    };
}

/// Fields in braces as those of a variant with names, in parentheses as those of one without, and in brackets as
/// the one record that it holds: a pattern, and an expression.
macro_rules! shape {
    ($type:ident $variant:ident { $($number:literal $field:ident $(= $absent:expr)?),* $(,)? }) => {
        $type::$variant { $($field),* }
    };
    ($type:ident $variant:ident ( $($number:literal $field:ident $(= $absent:expr)?),* $(,)? )) => {
        $type::$variant($($field),*)
    };
    ($type:ident $variant:ident [ $record:ident ]) => {
        $type::$variant($record)
    };
}

macro_rules! write_fields {
    ($to:ident $base:ident [ $record:ident ]) => {
        $crate::fields::Body::write_fields($record, $to, $base)
    };
    ($to:ident $base:ident { $($fields:tt)* }) => { write_fields!($to $base ($($fields)*)) };
    ($to:ident $base:ident ( $($number:literal $field:ident $(= $absent:expr)?),* $(,)? )) => {{
        $($crate::fields::put(
            ($number, $field), $crate::fields::absent!($base $($absent)?), $to, $base,
        );)*
    }};
}

/// Binds each field to what was read.
macro_rules! read_fields {
    ($from:ident $base:ident $others:ident [ $record:ident ] => $made:expr) => {{
        let $record = $crate::fields::Body::read_fields($from, $base, $others)?;
        $made
    }};
    ($from:ident $base:ident $others:ident { $($fields:tt)* } => $made:expr) => {
        read_fields!($from $base $others ($($fields)*) => $made)
    };
    ($from:ident $base:ident $others:ident
        ( $($number:literal $field:ident $(= $absent:expr)?),* $(,)? ) => $made:expr) => {{
        $(let mut $field = None;)*
        $from.fields(|number, from| {
            match number {
                $($number => {
                    $field = Some($crate::fields::Value::read(from, $base)?);
                    Ok(true)
                })*
                _ => $others(number, from),
            }
        })?;
        $(let $field = $crate::fields::found(
            $number, $field, $crate::fields::absent!($base $($absent)?),
        )?;)*
        $made
    }};
}

/// A table of a struct's fields.
macro_rules! record {
    ($type:ident { $($number:literal $field:ident $(= $absent:expr)?),* $(,)? }) => {
        impl $crate::fields::Body for $type {
            fn write_fields(&self, to: &mut Fields, base: &Base) {
                let $type { $($field),* } = self;
                write_fields!(to base { $($number $field $(= $absent)?),* });
            }

            fn read_fields(
                from: &mut Found<'_>,
                base: &Base,
                others: Others<'_>,
            ) -> Result<Self, Unreadable> {
                Ok(read_fields!(from base others { $($number $field $(= $absent)?),* }
                    => $type { $($field),* }))
            }
        }

        impl $crate::fields::Value for $type {
            fn absent(_: &Base) -> Option<Self> {
                None
            }

            fn write(&self, field: u64, to: &mut Fields, base: &Base) {
                to.nest(field, |to| $crate::fields::Body::write_fields(self, to, base));
            }

            fn read(from: &mut Found<'_>, base: &Base) -> Result<Self, Unreadable> {
                $crate::fields::Body::read_fields(from, base, &mut no_others)
            }
        }
    };
}

/// A table of an enum's kinds, and of the fields of each; after `else` the variant whose kinds are another
/// table's.
macro_rules! choice {
    ($type:ident { $($kind:literal $variant:ident $shape:tt),* $(,)? } $(else $rest:ident)?) => {
        impl $crate::fields::Choice for $type {
            fn kind(&self) -> u64 {
                match self {
                    $($type::$variant { .. } => $kind,)*
                    $($type::$rest(rest) => rest.kind(),)?
                }
            }

            fn write_kind(&self, to: &mut Fields, base: &Base) {
                match self {
                    $(shape!($type $variant $shape) => write_fields!(to base $shape),)*
                    $($type::$rest(rest) => rest.write_kind(to, base),)?
                }
            }

            fn read_kind(
                kind: u64,
                from: &mut Found<'_>,
                base: &Base,
                others: Others<'_>,
            ) -> Result<Option<Self>, Unreadable> {
                $(if kind == $kind {
                    return Ok(Some(
                        read_fields!(from base others $shape => shape!($type $variant $shape)),
                    ));
                })*
                rest!(kind from base others $($type $rest)?)
            }
        }

        impl $crate::fields::Value for $type {
            fn absent(_: &Base) -> Option<Self> {
                None
            }

            /// A map of one field, the kind's.
            fn write(&self, field: u64, to: &mut Fields, base: &Base) {
                to.nest(field, |to| {
                    to.nest($crate::fields::Choice::kind(self), |to| {
                        $crate::fields::Choice::write_kind(self, to, base);
                    });
                });
            }

            fn read(from: &mut Found<'_>, base: &Base) -> Result<Self, Unreadable> {
                let mut chosen = None;
                from.fields(|kind, from| {
                    let read = $crate::fields::Choice::read_kind(kind, from, base, &mut no_others)?;
                    let is_known = read.is_some();
                    chosen = read.or(chosen.take());
                    Ok(is_known)
                })?;
                chosen.ok_or_else(|| from.wrong("is of no kind"))
            }
        }
    };
}

/// Reads what is of none of a table's own kinds.
macro_rules! rest {
    ($kind:ident $from:ident $base:ident $others:ident) => {
        Ok(None)
    };
    ($kind:ident $from:ident $base:ident $others:ident $type:ident $rest:ident) => {{
        let rest = $crate::fields::Choice::read_kind($kind, $from, $base, $others)?;
        Ok(rest.map($type::$rest))
    }};
}

/// A table of an enum whose variants have no fields; the first is what is left out.
macro_rules! names {
    ($type:ident { $first:ident $(, $number:literal $variant:ident)* $(,)? }) => {
        impl $crate::fields::Value for $type {
            fn absent(_: &Base) -> Option<Self> {
                Some($type::$first)
            }

            fn write(&self, field: u64, to: &mut Fields, _: &Base) {
                to.given(field, match self {
                    $type::$first => 0,
                    $($type::$variant => $number,)*
                });
            }

            fn read(from: &mut Found<'_>, _: &Base) -> Result<Self, Unreadable> {
                match from.number()? {
                    0 => Ok($type::$first),
                    $($number => Ok($type::$variant),)*
                    _ => Err(from.wrong("is of a kind that a newer program must have written")),
                }
            }
        }
    };
}

pub(crate) use {absent, choice, names, read_fields, record, rest, shape, write_fields};

/// A value whose form is a number.
macro_rules! number {
    ($($type:ty),*) => {
        $(impl Value for $type {
            fn absent(_: &Base) -> Option<Self> {
                Some(0)
            }

            #[allow(clippy::cast_lossless, reason = "of one of the types it may be none")]
            fn write(&self, field: u64, to: &mut Fields, _: &Base) {
                to.given(field, *self as u64);
            }

            fn read(from: &mut Found<'_>, _: &Base) -> Result<Self, Unreadable> {
                from.small()
            }
        })*
    };
}

number!(u8, u16, u32, u64, usize);

/// A value that is a number by these functions.
macro_rules! numbered {
    ($($type:ident: |$base:ident| $absent:expr, |$value:ident| $written:expr,
        |$from:ident| $read:expr;)*) => {
        $(impl Value for $type {
            fn absent($base: &Base) -> Option<Self> {
                Some($absent)
            }

            fn write(&self, field: u64, to: &mut Fields, $base: &Base) {
                let $value = self;
                to.signed(field, $written);
            }

            fn read($from: &mut Found<'_>, $base: &Base) -> Result<Self, Unreadable> {
                Ok($read)
            }
        })*
    };
}

numbered! {
    RequestId: |base| Self(base.request),
        |id| id.0.wrapping_sub(base.request).cast_signed(),
        |from| Self(base.request.wrapping_add(from.signed()?.cast_unsigned()));
    TaskId: |base| Self(base.task),
        |id| gather(id.0).wrapping_sub(gather(base.task)).cast_signed(),
        |from| Self(scatter(gather(base.task).wrapping_add(from.signed()?.cast_unsigned())));
    NodeId: |_base| Self(0), |id| id.0.into(), |from| Self(from.small()?);
    TenantId: |_base| Self(0), |id| id.0.into(), |from| Self(from.small()?);
}

/// A task's id has a slot in its lower half and in its upper one how often that was used: the machine makes them
/// so. With the upper half's lower 16 bits next to the lower half's, near ids differ by what is short.
const fn gather(id: u64) -> u64 {
    id & 0xffff | (id >> 32) << 16 | (id & 0xffff_0000) << 32
}

/// The id that was [`gather`]ed.
const fn scatter(gathered: u64) -> u64 {
    gathered & 0xffff | (gathered << 16 & 0xffff_ffff_0000_0000) | (gathered >> 32 & 0xffff_0000)
}

impl Value for bool {
    fn absent(_: &Base) -> Option<Self> {
        Some(false)
    }

    fn write(&self, field: u64, to: &mut Fields, _: &Base) {
        to.given_truth(field, *self);
    }

    fn read(from: &mut Found<'_>, _: &Base) -> Result<Self, Unreadable> {
        from.truth()
    }
}

impl Value for f64 {
    fn absent(_: &Base) -> Option<Self> {
        None
    }

    fn write(&self, field: u64, to: &mut Fields, _: &Base) {
        to.real(field, *self);
    }

    fn read(from: &mut Found<'_>, _: &Base) -> Result<Self, Unreadable> {
        from.real()
    }
}

impl Value for String {
    fn absent(_: &Base) -> Option<Self> {
        Some(Self::new())
    }

    fn write(&self, field: u64, to: &mut Fields, _: &Base) {
        to.text(field, self);
    }

    fn read(from: &mut Found<'_>, _: &Base) -> Result<Self, Unreadable> {
        Ok(from.text()?.into())
    }
}

/// Nanoseconds.
impl Value for Duration {
    fn absent(_: &Base) -> Option<Self> {
        Some(Self::ZERO)
    }

    fn write(&self, field: u64, to: &mut Fields, _: &Base) {
        to.wide(field, self.as_nanos());
    }

    fn read(from: &mut Found<'_>, _: &Base) -> Result<Self, Unreadable> {
        const SECOND: u128 = 1_000_000_000;
        let nanos = from.wide()?;
        let seconds = u64::try_from(nanos / SECOND).map_err(|_| from.wrong("is too large"))?;
        Ok(Self::new(seconds, (nanos % SECOND) as u32))
    }
}

/// Nanoseconds since the clock's origin.
impl Value for Timestamp {
    fn absent(_: &Base) -> Option<Self> {
        Some(Self::ZERO)
    }

    fn write(&self, field: u64, to: &mut Fields, _: &Base) {
        to.given(field, self.as_nanos());
    }

    fn read(from: &mut Found<'_>, _: &Base) -> Result<Self, Unreadable> {
        Ok(Self::from_nanos(from.number()?))
    }
}

/// A bit for each strip, the first strip's the lowest of the first byte; zeros at the end are left out.
impl Value for StripSet {
    fn absent(_: &Base) -> Option<Self> {
        Some(Self::EMPTY)
    }

    fn write(&self, field: u64, to: &mut Fields, _: &Base) {
        let mut bytes = [0; 32];
        for (bytes, word) in bytes.chunks_exact_mut(8).zip(self.words()) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        let len = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        to.bytes(field, &bytes[..len]);
    }

    fn read(from: &mut Found<'_>, _: &Base) -> Result<Self, Unreadable> {
        let read = from.bytes()?;
        let mut bytes = [0; 32];
        let set = bytes.get_mut(..read.len()).ok_or_else(|| from.wrong("has another length"))?;
        set.copy_from_slice(read);
        let (words, _) = bytes.as_chunks();
        Ok(Self::from_words(std::array::from_fn(|at| u64::from_le_bytes(words[at]))))
    }
}

/// Two bytes: n, k.
impl Value for Code {
    fn absent(_: &Base) -> Option<Self> {
        None
    }

    fn write(&self, field: u64, to: &mut Fields, _: &Base) {
        to.bytes(field, &[self.n() as u8, self.k() as u8]);
    }

    fn read(from: &mut Found<'_>, _: &Base) -> Result<Self, Unreadable> {
        let [n, k] = from.array()?;
        Self::new(n.into(), k.into()).map_err(|_| from.wrong("is no code"))
    }
}

/// Billionths.
impl Value for Fraction {
    fn absent(_: &Base) -> Option<Self> {
        None
    }

    fn write(&self, field: u64, to: &mut Fields, _: &Base) {
        to.given(field, self.billionths().into());
    }

    fn read(from: &mut Found<'_>, _: &Base) -> Result<Self, Unreadable> {
        Self::from_billionths(from.small()?).ok_or_else(|| from.wrong("is no fraction"))
    }
}

impl<V: Value> Value for Option<V> {
    fn absent(_: &Base) -> Option<Self> {
        Some(None)
    }

    fn write(&self, field: u64, to: &mut Fields, base: &Base) {
        if let Some(value) = self {
            value.write(field, to, base);
        }
    }

    fn read(from: &mut Found<'_>, base: &Base) -> Result<Self, Unreadable> {
        V::read(from, base).map(Some)
    }
}

/// A list of maps.
impl<B: Body + PartialEq> Value for Vec<B> {
    fn absent(_: &Base) -> Option<Self> {
        Some(Self::new())
    }

    fn write(&self, field: u64, to: &mut Fields, base: &Base) {
        to.maps(field, self.iter(), |it, to| it.write_fields(to, base));
    }

    fn read(from: &mut Found<'_>, base: &Base) -> Result<Self, Unreadable> {
        from.maps(|from| B::read_fields(from, base, &mut no_others))
    }
}

/// Numbers, each of which may be missing.
impl Value for Vec<Option<NodeId>> {
    fn absent(_: &Base) -> Option<Self> {
        Some(Self::new())
    }

    fn write(&self, field: u64, to: &mut Fields, _: &Base) {
        to.options(field, self.iter().map(|node| node.map(|node| node.0.into())));
    }

    fn read(from: &mut Found<'_>, _: &Base) -> Result<Self, Unreadable> {
        Ok(from.options()?.into_iter().map(|node| node.map(NodeId)).collect())
    }
}

/// A column.
impl Value for Vec<NodeId> {
    fn absent(_: &Base) -> Option<Self> {
        Some(Self::new())
    }

    fn write(&self, field: u64, to: &mut Fields, _: &Base) {
        to.column(field, self.iter().map(|node| node.0.to_le_bytes()));
    }

    fn read(from: &mut Found<'_>, _: &Base) -> Result<Self, Unreadable> {
        Ok(from.column()?.iter().map(|node| NodeId(u16::from_le_bytes(*node))).collect())
    }
}

/// A column.
impl Value for Vec<u32> {
    fn absent(_: &Base) -> Option<Self> {
        Some(Self::new())
    }

    fn write(&self, field: u64, to: &mut Fields, _: &Base) {
        to.column(field, self.iter().map(|number| number.to_le_bytes()));
    }

    fn read(from: &mut Found<'_>, _: &Base) -> Result<Self, Unreadable> {
        Ok(from.column()?.iter().map(|number| u32::from_le_bytes(*number)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_id_is_gathered_and_scattered_again(id: u64) {
            prop_assert_eq!(scatter(gather(id)), id);
            prop_assert_eq!(gather(scatter(id)), id);
        }
    }

    #[test]
    fn ids_that_the_machine_gives_are_short() {
        assert_eq!(gather(0x0000_0003_0000_0017), 0x3_0017);
    }
}
