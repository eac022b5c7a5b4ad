use crate::{Policy, PolicySettings};
use alloc::{boxed::Box, string::String};
use core::fmt;

type Maker = fn(&PolicySettings) -> Box<dyn Policy>;

/// A setting, or some that go together, which not every policy reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SettingKey {
    /// [`PolicySettings::code`].
    Code,
    /// [`PolicySettings::read_chunks`].
    ReadChunks,
    /// [`PolicySettings::limits`].
    Limits,
    /// [`PolicySettings::memory`] and [`PolicySettings::model`].
    Model,
    /// [`PolicySettings::hedge_after`].
    HedgeAfter,
}

use SettingKey as Key;

/// One policy: its name, what it does in a few words, what it reads, and how it is made. Rows name
/// types by their files, so that a policy is its file, which a `mod` line names, and a row.
type Row = (&'static str, &'static str, &'static [SettingKey], Maker);

const REGISTRY: &[Row] = &[
    ("fixed", "one code for all", &[Key::Code, Key::ReadChunks], |s| {
        Box::new(crate::fixed::Fixed::new(s))
    }),
    ("replication", "two copies at once", &[], |s| {
        Box::new(crate::replication::Replication::new(s))
    }),
    ("all", "every chunk at once", &[Key::Limits], |s| Box::new(crate::all::All::new(s))),
    ("greedy", "whatever lanes idle", &[Key::Limits], |s| Box::new(crate::greedy::Greedy::new(s))),
    ("fixed-dimension", "k set, n by the backlog", &[Key::Code, Key::Limits, Key::Model], |s| {
        Box::new(crate::tofec::Tofec::fixed_dimension(s))
    }),
    ("tofec", "n and k by the backlog", &[Key::Limits, Key::Model], |s| {
        Box::new(crate::tofec::Tofec::published(s))
    }),
    ("tofec-multi", "the same, for many servers", &[Key::Limits, Key::Model], |s| {
        Box::new(crate::tofec::MultiServerTofec::new(s))
    }),
    ("hedge", "one more after a set time", &[Key::Code, Key::HedgeAfter], |s| {
        Box::new(crate::hedge::Hedge::fixed(s))
    }),
    ("hedge-p95", "one more after the 95th percentile", &[Key::Code, Key::HedgeAfter], |s| {
        Box::new(crate::hedge::Hedge::p95(s))
    }),
    ("backfill", "redundancy on lanes nobody else wants", &[Key::Limits], |s| {
        Box::new(crate::backfill::Backfill::new(s))
    }),
    ("foresight", "what a lane taken now costs those to come", &[Key::Limits], |s| {
        Box::new(crate::foresight::Foresight::new(s))
    }),
];

/// No policy has this name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownPolicy {
    /// The name that was asked for.
    pub name: String,
}

impl fmt::Display for UnknownPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no policy is named {:?}; there are:", self.name)?;
        names()
            .enumerate()
            .try_for_each(|(at, name)| write!(f, "{} {name}", if at == 0 { "" } else { "," }))
    }
}

impl core::error::Error for UnknownPolicy {}

/// The names that [`by_name`] knows.
pub fn names() -> impl Iterator<Item = &'static str> {
    REGISTRY.iter().map(|&(name, ..)| name)
}

/// Each policy's name and what it does in a few words.
pub fn descriptions() -> impl Iterator<Item = (&'static str, &'static str)> {
    REGISTRY.iter().map(|&(name, does, ..)| (name, does))
}

/// The names of the policies that read a setting.
pub fn readers(key: SettingKey) -> impl Iterator<Item = &'static str> {
    let rows = REGISTRY.iter().filter(move |(_, _, reads, _)| reads.contains(&key));
    rows.map(|&(name, ..)| name)
}

/// The policy of this name.
pub fn by_name(name: &str, settings: &PolicySettings) -> Result<Box<dyn Policy>, UnknownPolicy> {
    let found = REGISTRY.iter().find(|&&(known, ..)| known == name);
    found.map(|(.., make)| make(settings)).ok_or_else(|| UnknownPolicy { name: name.into() })
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::{Chunking, Limits, Load, Operation, RequestClass};
    use core::time::Duration;
    use ripstop_model::{Code, Timestamp};
    use std::string::ToString;

    #[test]
    fn every_listed_name_is_known_and_others_are_not() {
        for name in names() {
            assert!(by_name(name, &PolicySettings::default()).is_ok(), "{name}");
        }
        let error = by_name("Fixed", &PolicySettings::default()).unwrap_err().to_string();
        assert!(
            error.starts_with("no policy is named \"Fixed\"; there are: fixed, repl"),
            "{error}"
        );
    }

    #[test]
    fn the_settings_that_a_policy_reads_change_it_and_no_others_do() {
        let default = PolicySettings::default();
        let (code, limits) = (Code::new(3, 2).ok(), Limits { k_max: 1, r_max: 1.25 });
        let model = ripstop_delay::Preset::S3In2013A.shifted_exponential();
        let changes = [
            (SettingKey::Code, PolicySettings { code, ..default }),
            (SettingKey::ReadChunks, PolicySettings { read_chunks: Some(5), ..default }),
            (SettingKey::Limits, PolicySettings { limits, ..default }),
            (SettingKey::Model, PolicySettings { memory: 0.5, model, ..default }),
            (
                SettingKey::HedgeAfter,
                PolicySettings { hedge_after: Duration::from_secs(7), ..default },
            ),
        ];
        let made = |name, settings: &PolicySettings| std::format!("{:?}", by_name(name, settings));
        for (key, changed) in changes {
            for name in names() {
                let reads = readers(key).any(|reader| reader == name);
                assert_eq!(made(name, &changed) != made(name, &default), reads, "{name}, {key:?}");
            }
        }
    }

    #[test]
    fn every_policy_chooses_codes_that_the_stripe_can_be_served_with() {
        let read_or_write = [Operation::Read, Operation::Write];
        let kinds = [Chunking::Strip, Chunking::Run]
            .into_iter()
            .flat_map(|chunking| read_or_write.map(|operation| (chunking, operation)));
        let kinds: std::vec::Vec<_> = kinds.collect();
        for (name, (n, k)) in names()
            .flat_map(|name| [(1, 1), (3, 1), (6, 4), (12, 12), (24, 12)].map(|code| (name, code)))
        {
            let mut policy = by_name(name, &PolicySettings::default()).unwrap();
            let code = Code::new(n, k).unwrap();
            for &(chunking, operation) in &kinds {
                for (strip_bytes, backlog, lanes_idle) in
                    [(1, 0, 16), (4096, 0, 3), (1 << 20, 0, 16), (4096, 5, 0), (1 << 20, 1000, 0)]
                {
                    let class = RequestClass { operation, strip_bytes, code, chunking };
                    let load = Load { backlog, lanes: 16, lanes_idle, ..Load::default() };
                    let chosen = policy.choose(Timestamp::ZERO, &class, load).code;
                    assert!(chunking.serves(code, chosen), "{name}: {chosen}, {class:?}, {load:?}");
                }
            }
        }
    }
}
