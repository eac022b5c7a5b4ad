//! How values become fields, and fields values.
//!
//! The tables in `numbers` are written with the macros here: [`record`] for what is always the same
//! fields, [`choice`] for what is one of several kinds, [`names`] for kinds without fields. Each
//! table is matched without `..` and `_`: a member or a variant that is added in core does not
//! compile until it has a number.

use ripstop_form::{Fields, Found, Unreadable};

/// What ids are relative to, so that they are short however long a machine has lived: those that
/// the last event named.
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
    /// Writes it, whatever it is; only text and lists that are empty are left out, so that a table
    /// gives them no other default.
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

/// Fields in braces as those of a variant with names, in parentheses as those of one without, and
/// in brackets as the one record that it holds: a pattern, and an expression.
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

/// A table of an enum's kinds, and of the fields of each; after `else` the variant whose kinds are
/// another table's.
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
