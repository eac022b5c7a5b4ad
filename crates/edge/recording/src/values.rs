//! The forms of values that are no tables: numbers, times, texts, sets and lists.

use crate::fields::{Base, Body, Value, no_others};
use ripstop_form::{Fields, Found, Unreadable};
use ripstop_model::{Code, NodeId, RequestId, StripSet, TaskId, TenantId, Timestamp};
use ripstop_shaping::Fraction;
use std::time::Duration;

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

/// A task's id has a slot in its lower half and in its upper one how often that was used: the
/// machine makes them so. With the upper half's lower 16 bits next to the lower half's, near ids
/// differ by what is short.
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

/// A bit for each strip, the first strip's the lowest of the first byte; zeros at the end are left
/// out.
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
