//! What a node of a drill holds, which outlives gateways.

use bytes::Bytes;
use ripstop_delay::Dice;
use ripstop_model::FragmentId;
use ripstop_node::Listed;
use std::{collections::BTreeMap, time::SystemTime};

/// Of what was deleted since the last sync, at most this much may come back.
const REMOVED_MAX: usize = 64;

/// A fragment.
#[derive(Clone, Debug)]
pub(crate) struct Fragment {
    pub(crate) bytes: Bytes,
    pub(crate) modified: SystemTime,
    /// Whether it is not what was to be stored. What nothing claims then stays: nobody can tell
    /// whose it is.
    pub(crate) is_spoiled: bool,
}

/// What a node holds, and the luck of what it does.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) fragments: BTreeMap<FragmentId, Fragment>,
    /// Deleted, and not synced: a loss of power may bring it back.
    pub(crate) removed: BTreeMap<FragmentId, Fragment>,
    pub(crate) dice: Dice,
}

impl Held {
    pub(crate) fn new(seed: u64, number: usize) -> Self {
        let dice = Dice::numbered(seed, 1000 + number as u64);
        Self { fragments: BTreeMap::new(), removed: BTreeMap::new(), dice }
    }

    pub(crate) fn put(&mut self, name: FragmentId, fragment: Fragment) {
        self.removed.remove(&name);
        self.fragments.insert(name, fragment);
    }

    pub(crate) fn delete(&mut self, name: FragmentId) {
        if let Some(fragment) = self.fragments.remove(&name) {
            self.removed.insert(name, fragment);
            if self.removed.len() > REMOVED_MAX {
                self.removed.pop_first();
            }
        }
    }

    /// The power fails: what was stored is safe, what was deleted may not be.
    pub(crate) fn lose_power(&mut self) {
        for (name, fragment) in std::mem::take(&mut self.removed) {
            if self.dice.below(2) == 0 {
                self.fragments.entry(name).or_insert(fragment);
            }
        }
    }

    /// Everything is lost.
    pub(crate) fn wipe(&mut self) {
        self.fragments.clear();
        self.removed.clear();
    }

    /// All of it; of a listing that is late some is missing, and some of what is gone is there.
    pub(crate) fn listed(&mut self, is_late: bool) -> Vec<Listed> {
        let Self { fragments, removed, dice } = self;
        let mut luck = |one_in: u64| is_late && dice.below(one_in) == 0;
        let mut listed = Vec::new();
        for (name, fragment) in &*fragments {
            if !luck(8) {
                listed.push(shown(*name, fragment));
            }
        }
        for (name, fragment) in &*removed {
            if luck(3) {
                listed.push(shown(*name, fragment));
            }
        }
        listed
    }
}

fn shown(name: FragmentId, fragment: &Fragment) -> Listed {
    Listed { name, len: fragment.bytes.len() as u64, modified: fragment.modified }
}
