use super::telling::Standing;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most things that a report names one by one of each kind; it counts the rest.
const NAMED_MAX: usize = 1000;

/// What a rebuild found and made.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RebuildReport {
    /// Fragments with a whole header.
    pub fragments: u64,
    /// Fragments without one, and stripes that tell what no program writes.
    pub damaged: u64,
    /// Of the damaged, those whose header takes no key, of stripes that are sealed with one:
    /// forged.
    #[serde(default)]
    pub forged: u64,
    /// Of the damaged, those that are sealed or encrypted with a key that is not here, by key.
    #[serde(default)]
    pub locked: BTreeMap<String, u64>,
    /// Fragments that are believed though nothing verified them: their key is not here, and the
    /// caller asked to do without.
    #[serde(default)]
    pub unsealed: u64,
    /// Stripes whose telling cannot be read, each with the reason: a newer program wrote it.
    pub unreadable: Roll,
    /// Fragments whose headers differ from what enough others of their stripe say: not used.
    pub differing: Roll,
    /// Stripes of which nothing is believed, because their headers contradict one another or are
    /// not such as their pool writes.
    pub disputed: Roll,
    /// Stripes that another store wrote: passed over.
    pub foreign: u64,
    /// Nodes whose listing broke off: what only they tell of is not in the new catalog.
    pub unlisted: u64,
    /// Buckets made.
    pub buckets: u64,
    /// Objects made.
    pub objects: u64,
    /// Names that were deleted, of which something older is still told at the nodes.
    #[serde(default)]
    pub deletions: u64,
    /// Versions that were told of but have too few fragments left, as `bucket/key`; an older whole
    /// version was taken where there was one.
    pub lost: Roll,
    /// Versions that were told of but never had enough fragments, as `bucket/key`: writes that were
    /// not answered, or deletions that were under way.
    pub unfinished: Roll,
}

/// How many there are, and the first of them.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Roll {
    /// How many.
    pub count: u64,
    /// At most a thousand.
    pub named: Vec<String>,
}

impl Roll {
    pub(super) fn note(&mut self, name: impl FnOnce() -> String) {
        self.note_many(1, name);
    }

    /// Notes several that have one name together.
    pub(super) fn note_many(&mut self, count: u64, name: impl FnOnce() -> String) {
        self.count += count;
        if self.named.len() < NAMED_MAX {
            self.named.push(name());
        }
    }
}

impl RebuildReport {
    /// Whether everything that was ever answered is there, as far as can be told.
    pub fn is_whole(&self) -> bool {
        let missing = [&self.lost, &self.disputed, &self.unreadable];
        missing.iter().all(|missing| missing.count == 0)
            && self.unlisted == 0
            && self.locked.is_empty()
    }

    /// Notes something that cannot be read, and why.
    pub(super) fn note(&mut self, why: &Standing, name: impl FnOnce() -> String) {
        self.note_many(why, 1, name);
    }

    /// Notes several things that cannot be read together.
    pub(super) fn note_many(&mut self, why: &Standing, count: u64, name: impl FnOnce() -> String) {
        match why {
            Standing::Believed(_) => {}
            Standing::Unfinished => self.unfinished.note_many(count, name),
            // It is among the disputed stripes as well.
            Standing::Lost | Standing::Disputed => self.lost.note_many(count, name),
        }
    }
}
