use crate::Filter;
use alloc::string::String;
use alloc::vec::Vec;

/// When something becomes due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// This many days after the object was written, at the end of that day; at least one.
    AfterDays(u32),
    /// At this time, in milliseconds since 1970, whenever the object was written.
    At(u64),
}

/// What a rule removes of what keys stand for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expiration {
    /// Objects, and delete markers of keys of which nothing else is left.
    Objects(When),
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
pub struct Rule {
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
    /// How many days after they began uploads end that nobody completed, at the end of that day; at
    /// least one.
    pub uploads_after_days: Option<u32>,
}

/// A bucket's rules, in their order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rules(Vec<Rule>);

impl Rules {
    /// These.
    pub const fn new(rules: Vec<Rule>) -> Self {
        Self(rules)
    }

    /// Those that are followed.
    pub(crate) fn followed(&self) -> impl Iterator<Item = &Rule> {
        self.0.iter().filter(|rule| rule.is_enabled)
    }

    /// What the keys of all objects begin with that a rule which is followed removes; `None` if
    /// none removes any.
    pub fn prefix_of_objects(&self) -> Option<&str> {
        common_prefix(
            self.followed().filter(|it| it.expiration.is_some() || it.noncurrent.is_some()),
        )
    }

    /// The same of uploads.
    pub fn prefix_of_uploads(&self) -> Option<&str> {
        common_prefix(self.followed().filter(|it| it.uploads_after_days.is_some()))
    }
}

/// The longest prefix that those of all rules begin with; `None` where there is no rule.
fn common_prefix<'a>(rules: impl Iterator<Item = &'a Rule>) -> Option<&'a str> {
    rules.map(|rule| &*rule.filter.prefix).reduce(|one, other| {
        let mut len = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
        while !one.is_char_boundary(len) {
            len -= 1;
        }
        &one[..len]
    })
}
