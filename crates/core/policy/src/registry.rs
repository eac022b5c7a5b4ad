use crate::{Fixed, Policy};
use alloc::{boxed::Box, string::String};
use core::fmt;

/// The names that [`by_name`] knows.
pub const NAMES: &[&str] = &["fixed"];

/// What the policies can be told; each reads what concerns it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Settings {
    /// `fixed`: chunks a full read fetches, of which K are needed; K if `None`, never more than N.
    pub read_chunks: Option<u8>,
}

/// No policy has this name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownPolicy {
    /// The name that was asked for.
    pub name: String,
}

impl fmt::Display for UnknownPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no policy is named {:?}; there are: {}", self.name, NAMES.join(", "))
    }
}

impl core::error::Error for UnknownPolicy {}

/// The policy of this name.
pub fn by_name(name: &str, settings: &Settings) -> Result<Box<dyn Policy>, UnknownPolicy> {
    match name {
        "fixed" => Ok(Box::new(Fixed::new(settings))),
        _ => Err(UnknownPolicy { name: name.into() }),
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    #[test]
    fn every_listed_name_is_known_and_others_are_not() {
        for name in NAMES {
            assert!(by_name(name, &Settings::default()).is_ok(), "{name}");
        }
        let error = by_name("Fixed", &Settings::default()).unwrap_err();
        assert_eq!(error.to_string(), "no policy is named \"Fixed\"; there are: fixed");
    }
}
