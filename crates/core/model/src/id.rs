use core::{fmt, str::FromStr};
use serde::{Deserialize, Serialize};

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number_id!(
    /// One place that stores bytes. The catalog maps it to the node's configured name for ever.
    NodeId(u16)
);
number_id!(
    /// Nodes that share a storage code, a layout and a policy.
    PoolId(u16)
);
number_id!(
    /// Who asks: a tenant by its place in the configuration, from 1; see [`TenantId::ANYBODY`].
    TenantId(u16)
);
number_id!(
    /// One read or write of one stripe; unique within a machine's life.
    RequestId(u64)
);
number_id!(
    /// One storage operation on one chunk; unique within a machine's life.
    TaskId(u64)
);

impl TenantId {
    /// Everybody who is no configured tenant, and the gateway's own work.
    pub const ANYBODY: Self = Self(0);
}

/// Names one stripe for ever: 48 bits of milliseconds since 1970, then 80 random bits.
///
/// The time lets a sweep tell the fragments of a write under way from those of a write that died.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct StripeId(pub u128);

impl StripeId {
    /// A new id from the milliseconds since 1970 and 80 bits of `random` (higher bits are dropped).
    pub const fn new(unix_ms: u64, random: u128) -> Self {
        Self(((unix_ms as u128) << 80) | (random & ((1 << 80) - 1)))
    }

    /// When the stripe was named, in milliseconds since 1970.
    pub const fn unix_ms(self) -> u64 {
        (self.0 >> 80) as u64
    }
}

impl fmt::Display for StripeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for StripeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Names one fragment: the stripe and the place in it, `0..fragments`.
///
/// Its text form, `<32 hex digits>.<3 decimal digits>`, is the backend object's name. What a name
/// stands for is a function of the stripe alone: writing it again writes the same bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FragmentId {
    /// The stripe it belongs to.
    pub stripe: StripeId,
    /// Its place in the stripe.
    pub index: u8,
}

impl fmt::Display for FragmentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.stripe, self.index)
    }
}

impl fmt::Debug for FragmentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The text is not an id's canonical form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParseIdError;

impl fmt::Display for ParseIdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not an id")
    }
}

impl core::error::Error for ParseIdError {}

impl FromStr for StripeId {
    type Err = ParseIdError;
    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let canonical = text.len() == 32
            && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if !canonical {
            return Err(ParseIdError);
        }
        u128::from_str_radix(text, 16).map(Self).map_err(|_| ParseIdError)
    }
}

impl FromStr for FragmentId {
    type Err = ParseIdError;
    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let (stripe, index) = text.split_once('.').ok_or(ParseIdError)?;
        if index.len() != 3 || !index.bytes().all(|b| b.is_ascii_digit()) {
            return Err(ParseIdError);
        }
        let index = index.parse().map_err(|_| ParseIdError)?;
        Ok(Self { stripe: stripe.parse()?, index })
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;
    use std::string::ToString;

    proptest! {
        #[test]
        fn fragment_names_round_trip(ms in 0..1u64 << 48, random: u128, index: u8) {
            let id = FragmentId { stripe: StripeId::new(ms, random), index };
            prop_assert_eq!(id.to_string().parse(), Ok(id));
            prop_assert_eq!(id.stripe.unix_ms(), ms);
        }
    }

    #[test]
    fn only_the_canonical_form_is_an_id() {
        for text in ["", "0.000", "+0000000000000000000000000000000.000"] {
            assert_eq!(text.parse::<FragmentId>(), Err(ParseIdError), "{text}");
        }
        let upper = "0123456789ABCDEF0123456789abcdef.001";
        assert_eq!(upper.parse::<FragmentId>(), Err(ParseIdError));
        let too_high = "0123456789abcdef0123456789abcdef.256";
        assert_eq!(too_high.parse::<FragmentId>(), Err(ParseIdError));
    }
}
