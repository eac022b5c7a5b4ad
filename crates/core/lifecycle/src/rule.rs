use crate::{Filter, Sizes, Transition};
use alloc::string::String;
use alloc::vec::Vec;

/// When something becomes due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Due {
    /// This many days after the object was written, at the end of that day; at least one.
    AfterDays(u32),
    /// At this time, in milliseconds since 1970, whenever the object was written.
    At(u64),
}

/// What a rule removes of what keys stand for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expiration {
    /// Objects, and delete markers of keys of which nothing else is left.
    Objects(Due),
    /// Only such delete markers, as soon as they are.
    LoneMarkers,
}

/// What a rule removes of versions that are no longer what their keys stand for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Noncurrent {
    /// How many days after a later version came, at the end of that day; at least one.
    pub after_days: u32,
    /// How many of them are kept all the same, the latest.
    pub kept: u32,
}

/// One rule.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LifecycleRule {
    /// Its name, unique in its bucket.
    pub id: String,
    /// Whether it is followed.
    pub is_enabled: bool,
    /// What it is about.
    pub filter: Filter,
    /// What it removes of what keys stand for.
    pub expiration: Option<Expiration>,
    /// What it removes of other versions.
    pub noncurrent: Option<Noncurrent>,
    /// To which classes of storage it moves what keys stand for.
    pub transitions: Vec<Transition<Due>>,
    /// To which it moves other versions.
    pub noncurrent_transitions: Vec<Transition<Noncurrent>>,
    /// How many days after they began uploads end that nobody completed, at the end of that day; at
    /// least one.
    pub uploads_after_days: Option<u32>,
}

impl LifecycleRule {
    /// Whether it moves anything.
    fn moves(&self) -> bool {
        !(self.transitions.is_empty() && self.noncurrent_transitions.is_empty())
    }
}

/// A bucket's rules, in their order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rules {
    rules: Vec<LifecycleRule>,
    sizes: Sizes,
}

impl Rules {
    /// These.
    pub const fn new(rules: Vec<LifecycleRule>) -> Self {
        Self { rules, sizes: Sizes::AllClasses }
    }

    /// The same, moving objects of these sizes where a rule does not ask for any.
    #[must_use]
    pub fn with_sizes(self, sizes: Sizes) -> Self {
        Self { sizes, ..self }
    }

    /// Which sizes of objects are moved where a rule does not ask for any.
    pub(crate) const fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// Those that are followed.
    pub(crate) fn followed(&self) -> impl Iterator<Item = &LifecycleRule> {
        self.rules.iter().filter(|rule| rule.is_enabled)
    }

    /// What the keys of all objects begin with that a rule which is followed removes or moves;
    /// `None` if none does so with any.
    pub fn prefix_of_objects(&self) -> Option<&str> {
        let is_about = |rule: &&LifecycleRule| {
            rule.expiration.is_some() || rule.noncurrent.is_some() || rule.moves()
        };
        common_prefix(self.followed().filter(is_about))
    }

    /// The same of uploads.
    pub fn prefix_of_uploads(&self) -> Option<&str> {
        common_prefix(self.followed().filter(|it| it.uploads_after_days.is_some()))
    }
}

/// The longest prefix that those of all rules begin with; `None` where there is no rule.
fn common_prefix<'a>(rules: impl Iterator<Item = &'a LifecycleRule>) -> Option<&'a str> {
    rules.map(|rule| &*rule.filter.prefix).reduce(|one, other| {
        let mut len = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
        while !one.is_char_boundary(len) {
            len -= 1;
        }
        &one[..len]
    })
}
