use crate::{Controller, ControllerSettings};
use alloc::{boxed::Box, string::String};
use core::fmt;

type Maker = fn(&ControllerSettings) -> Box<dyn Controller>;

/// One controller: its name, what it does in a few words, and how it is made.
type Row = (&'static str, &'static str, Maker);

const REGISTRY: &[Row] = &[
    ("none", "each write alone, at once", |_| Box::new(crate::natural::Unbatched)),
    ("natural", "what came while the batch before was on its way", |_| {
        Box::new(crate::natural::Natural)
    }),
    ("fixed", "a set time after the last end", |s| {
        Box::new(crate::fixed::FixedInterval::after_end(s))
    }),
    ("fixed-every", "a set time after the last departure, whatever is outstanding", |s| {
        Box::new(crate::fixed::FixedInterval::every(s))
    }),
    ("stout", "Stout as published: a decision for each batch", |s| {
        Box::new(crate::stout::Stout::published(s))
    }),
    ("stout-10", "Stout with decisions over ten batches and tolerance", |s| {
        Box::new(crate::stout::Stout::over_ten(s))
    }),
    ("modelled", "the least delay by a fitted model of a shared store", |s| {
        Box::new(crate::modelled::Modelled::new(s))
    }),
];

/// No controller has this name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownController {
    /// The name that was asked for.
    pub name: String,
}

impl fmt::Display for UnknownController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no batching is named {:?}; there are:", self.name)?;
        names()
            .enumerate()
            .try_for_each(|(at, name)| write!(f, "{} {name}", if at == 0 { "" } else { "," }))
    }
}

impl core::error::Error for UnknownController {}

/// The names that [`by_name`] knows.
pub fn names() -> impl Iterator<Item = &'static str> {
    REGISTRY.iter().map(|&(name, ..)| name)
}

/// Each controller's name and what it does in a few words.
pub fn descriptions() -> impl Iterator<Item = (&'static str, &'static str)> {
    REGISTRY.iter().map(|&(name, does, _)| (name, does))
}

/// The controller of this name.
pub fn by_name(
    name: &str,
    settings: &ControllerSettings,
) -> Result<Box<dyn Controller>, UnknownController> {
    let found = REGISTRY.iter().find(|&&(known, ..)| known == name);
    found.map(|(.., make)| make(settings)).ok_or_else(|| UnknownController { name: name.into() })
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    #[test]
    fn every_listed_name_is_known_and_others_are_not() {
        for name in names() {
            assert!(by_name(name, &ControllerSettings::default()).is_ok(), "{name}");
        }
        let error = by_name("Natural", &ControllerSettings::default()).unwrap_err().to_string();
        let begin = "no batching is named \"Natural\"; there are: none, natural, fixed";
        assert!(error.starts_with(begin), "{error}");
    }
}
