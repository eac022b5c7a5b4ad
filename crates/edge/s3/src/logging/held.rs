//! Records that wait to be delivered, in bounded memory.

use super::destination::Destination;
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};
use tokio::sync::Notify;

/// Bytes of records that wait, of all buckets; beyond, they are lost.
pub(super) const HELD_MAX: usize = 16 << 20;
/// Bytes of records of one destination that are delivered without waiting longer.
const FULL_AT: usize = 1 << 20;

/// Records that wait.
#[derive(Debug, Default)]
pub(crate) struct Logs {
    held: Mutex<Held>,
    /// Some are to be delivered now.
    full: Notify,
}

#[derive(Debug, Default)]
struct Held {
    parts: BTreeMap<Destination, Part>,
    bytes: usize,
    lost: u64,
}

/// Records of one destination.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Part {
    pub(super) text: String,
    /// When the first came, in milliseconds since 1970.
    pub(super) since_ms: u64,
}

impl Logs {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a record until it is delivered, if there is room.
    pub(super) fn push(&self, destination: &Destination, line: &str, at_ms: u64) {
        let mut held = self.held();
        if held.bytes + line.len() > HELD_MAX {
            held.lost += 1;
            return;
        }
        held.bytes += line.len();
        if !held.parts.contains_key(destination) {
            let part = Part { text: String::new(), since_ms: at_ms };
            held.parts.insert(destination.clone(), part);
        }
        let Some(part) = held.parts.get_mut(destination) else { return };
        part.text.push_str(line);
        if part.text.len() >= FULL_AT {
            self.full.notify_one();
        }
    }

    /// Until some are to be delivered at once.
    pub(super) async fn full(&self) {
        self.full.notified().await;
    }

    /// What waits, or only what is full.
    pub(super) fn take(&self, only_full: bool) -> Vec<(Destination, Part)> {
        let mut held = self.held();
        let is_due = |_: &Destination, part: &mut Part| !only_full || part.text.len() >= FULL_AT;
        let taken: Vec<_> = held.parts.extract_if(.., is_due).collect();
        held.bytes -= taken.iter().map(|(_, part)| part.text.len()).sum::<usize>();
        taken
    }

    /// Keeps again what could not be delivered, if there is room.
    pub(super) fn put_back(&self, destination: Destination, part: Part) {
        let mut held = self.held();
        if held.bytes + part.text.len() > HELD_MAX {
            held.lost += part.text.lines().count() as u64;
            return;
        }
        held.bytes += part.text.len();
        let later = held.parts.remove(&destination).unwrap_or_default();
        let text = part.text + &later.text;
        held.parts.insert(destination, Part { text, since_ms: part.since_ms });
    }

    /// Records that cannot be delivered.
    pub(super) fn lose(&self, part: &Part) {
        self.held().lost += part.text.lines().count() as u64;
    }

    /// How many were lost since it was last asked.
    pub(super) fn lost(&self) -> u64 {
        std::mem::take(&mut self.held().lost)
    }
}
