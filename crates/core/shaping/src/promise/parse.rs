use super::decimal::{UNITS, decimal};
use crate::{Bound, Fraction, Promise, PromiseError, Tier};
use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use core::{str::FromStr, time::Duration};

impl FromStr for Fraction {
    type Err = PromiseError;

    /// `0.95`, `95%`, `1`.
    fn from_str(text: &str) -> Result<Self, PromiseError> {
        let (number, whole) = match text.strip_suffix('%') {
            Some(number) => (number, Self::WHOLE / 100),
            None => (text, Self::WHOLE),
        };
        let billionths = decimal(number, whole.into()).and_then(|share| u32::try_from(share).ok());
        let fraction = billionths.and_then(Self::from_billionths);
        fraction.ok_or_else(|| PromiseError::Fraction { found: text.to_string() })
    }
}

impl FromStr for Bound {
    type Err = PromiseError;

    /// `10ms`, `1.5s`, `250us`.
    fn from_str(text: &str) -> Result<Self, PromiseError> {
        let digits = text.trim_end_matches(|letter: char| letter.is_alphabetic());
        let unit = UNITS.iter().find(|(name, _)| *name == &text[digits.len()..]);
        let nanos = unit.and_then(|(_, unit)| decimal(digits.trim_ascii_end(), *unit));
        let span = nanos.map(|nanos| Self(Duration::from_nanos(nanos)));
        span.ok_or_else(|| PromiseError::Span { found: text.to_string() })
    }
}

impl FromStr for Tier {
    type Err = PromiseError;

    /// `0.95:10ms`.
    fn from_str(text: &str) -> Result<Self, PromiseError> {
        let (fraction, bound) =
            text.split_once(':').ok_or_else(|| PromiseError::Form { found: text.to_string() })?;
        Self::new(fraction.trim_ascii().parse()?, bound.trim_ascii().parse::<Bound>()?.0)
    }
}

impl FromStr for Promise {
    type Err = PromiseError;

    /// `0.9:20ms,0.99:50ms,1:500ms`.
    fn from_str(text: &str) -> Result<Self, PromiseError> {
        Self::new(text.split(',').map(str::parse).collect::<Result<Vec<Tier>, _>>()?)
    }
}

/// What serde needs to read and write them as text.
macro_rules! as_text {
    ($name:ident) => {
        impl TryFrom<String> for $name {
            type Error = PromiseError;
            fn try_from(text: String) -> Result<Self, PromiseError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.to_string()
            }
        }
    };
}
as_text!(Fraction);
as_text!(Promise);
