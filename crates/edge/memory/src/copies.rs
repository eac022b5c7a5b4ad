//! Where copies of objects are at servers. A copy is needed until its stripe is sealed; its place
//! at its server is then given to the next copy that comes there, so that neither costs a deletion.
//! What is to be deleted counts as there until it was overwritten. If no copy comes soon it is
//! deleted.

use ripstop_model::Timestamp;
use ripstop_tier::{ItemName, ServerId, TierTask};
use std::collections::{BTreeMap, VecDeque};

/// Longest that a copy is there that nobody needs.
const LINGER_NANOS: u64 = 250_000_000;
/// Copies at one server that are there and that nobody needs, at most.
const LINGERING_MAX: usize = 4096;

/// Where copies are.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    shelves: BTreeMap<ServerId, Shelf>,
    /// Stores that overwrite what is to be deleted.
    overwriting: BTreeMap<TierTask, (ServerId, u32)>,
    /// Deletions that a server was asked for.
    deleting: BTreeMap<TierTask, (ServerId, Left)>,
}

/// The places of one server.
#[derive(Debug, Default)]
struct Shelf {
    places: BTreeMap<ItemName, u32>,
    /// Places at which nothing is.
    empty: Vec<u32>,
    /// What nobody needs, and since when; the first first.
    left: VecDeque<(Timestamp, Left)>,
    /// Deletions that are over when their place is overwritten.
    deletions: BTreeMap<u32, TierTask>,
    /// Above all places that were used.
    next: u32,
}

/// What nobody needs.
#[derive(Clone, Copy, Debug)]
struct Left {
    name: ItemName,
    place: u32,
}

impl Copies {
    /// The place of a copy that is there.
    pub(crate) fn place(&self, server: ServerId, name: ItemName) -> Option<u32> {
        self.shelves.get(&server)?.places.get(&name).copied()
    }

    /// An earlier run left a copy there.
    pub(crate) fn found(&mut self, server: ServerId, name: ItemName, place: u32) {
        let shelf = self.shelves.entry(server).or_default();
        shelf.places.insert(name, place);
        shelf.next = shelf.next.max(place.saturating_add(1));
    }

    /// A copy is about to be stored.
    pub(crate) fn give(&mut self, task: TierTask, server: ServerId, name: ItemName) {
        let Shelf { places, empty, left, deletions, next } =
            self.shelves.entry(server).or_default();
        let place = *places.entry(name).or_insert_with(|| {
            let left = left.pop_front().map(|(_, left)| left.place);
            left.or_else(|| empty.pop()).unwrap_or_else(|| {
                *next += 1;
                *next - 1
            })
        });
        if deletions.contains_key(&place) {
            self.overwriting.insert(task, (server, place));
        }
    }

    /// A store is over; the deletion that is over with it, if it was done.
    pub(crate) fn stored(&mut self, task: TierTask, is_done: bool) -> Option<TierTask> {
        let (server, place) = self.overwriting.remove(&task)?;
        if !is_done {
            // The next try has the same place.
            return None;
        }
        self.shelves.get_mut(&server)?.deletions.remove(&place)
    }

    /// Nobody needs the copy; false if there is none.
    pub(crate) fn leave(
        &mut self,
        now: Timestamp,
        task: TierTask,
        server: ServerId,
        name: ItemName,
    ) -> bool {
        let Some(shelf) = self.shelves.get_mut(&server) else { return false };
        let Some(place) = shelf.places.remove(&name) else { return false };
        shelf.left.push_back((now, Left { name, place }));
        shelf.deletions.insert(place, task);
        true
    }

    /// What is to be deleted now: what lingered, or all at servers that are to be empty.
    pub(crate) fn take_due(
        &mut self,
        now: Timestamp,
        is_to_be_empty: impl Fn(ServerId) -> bool,
    ) -> Vec<(ServerId, u32, TierTask)> {
        let mut due = Vec::new();
        for (&server, shelf) in &mut self.shelves {
            let is_all = !shelf.left.is_empty() && is_to_be_empty(server);
            while let Some(&(since, left)) = shelf.left.front() {
                let is_old = now.as_nanos().saturating_sub(since.as_nanos()) >= LINGER_NANOS;
                if !is_all && !is_old && shelf.left.len() <= LINGERING_MAX {
                    break;
                }
                shelf.left.pop_front();
                let task = shelf.deletions.remove(&left.place).expect("it is to be deleted");
                self.deleting.insert(task, (server, left));
                due.push((server, left.place, task));
            }
        }
        due
    }

    /// A server has deleted it, or not.
    pub(crate) fn deleted(&mut self, task: TierTask, is_done: bool) {
        let Some((server, Left { name, place })) = self.deleting.remove(&task) else { return };
        let Some(shelf) = self.shelves.get_mut(&server) else { return };
        if is_done {
            shelf.empty.push(place);
        } else {
            shelf.places.insert(name, place);
        }
    }

    /// When something will have lingered.
    pub(crate) fn deadline(&self) -> Option<Timestamp> {
        let first = |shelf: &Shelf| shelf.left.front().map(|left| left.0);
        let first = self.shelves.values().filter_map(first).min()?;
        Some(Timestamp::from_nanos(first.as_nanos() + LINGER_NANOS))
    }

    /// The server has nothing any more.
    pub(crate) fn forget(&mut self, server: ServerId) {
        self.shelves.remove(&server);
        self.overwriting.retain(|_, it| it.0 != server);
        self.deleting.retain(|_, it| it.0 != server);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_tier::ChunkId;

    const SERVER: ServerId = ServerId(3);

    fn name(slot: u16) -> ItemName {
        ItemName::Object { chunk: ChunkId(1), slot }
    }

    const fn at(nanos: u64) -> Timestamp {
        Timestamp::from_nanos(nanos)
    }

    #[test]
    fn a_place_is_given_on_and_its_deletion_is_over_once_it_is_overwritten() {
        let mut copies = Copies::default();
        copies.give(TierTask(1), SERVER, name(0));
        copies.give(TierTask(2), SERVER, name(1));
        assert_eq!(copies.place(SERVER, name(1)), Some(1));
        assert_eq!(copies.stored(TierTask(1), true), None);
        assert!(copies.leave(at(5), TierTask(3), SERVER, name(0)));
        assert!(!copies.leave(at(5), TierTask(4), SERVER, name(0)), "it is none any more");
        assert_eq!(copies.deadline(), Some(at(5 + LINGER_NANOS)));
        copies.give(TierTask(5), SERVER, name(2));
        assert_eq!(copies.place(SERVER, name(2)), Some(0));
        // It may be there still, so the deletion is not over.
        assert_eq!(copies.stored(TierTask(5), false), None);
        copies.give(TierTask(6), SERVER, name(2));
        assert_eq!(copies.stored(TierTask(6), true), Some(TierTask(3)));
        assert_eq!(copies.deadline(), None);
    }

    #[test]
    fn what_lingers_is_deleted_and_is_there_until_it_was() {
        let mut copies = Copies::default();
        copies.found(SERVER, name(0), 7);
        copies.give(TierTask(1), SERVER, name(1));
        assert_eq!(copies.place(SERVER, name(1)), Some(8));
        assert!(copies.leave(at(5), TierTask(2), SERVER, name(0)));
        assert_eq!(copies.take_due(at(4 + LINGER_NANOS), |_| false), []);
        assert_eq!(copies.take_due(at(5 + LINGER_NANOS), |_| false), [(SERVER, 7, TierTask(2))]);
        copies.deleted(TierTask(2), false);
        assert_eq!(copies.place(SERVER, name(0)), Some(7));
        assert!(copies.leave(at(9), TierTask(3), SERVER, name(0)));
        assert_eq!(copies.take_due(at(9), |server| server == SERVER), [(SERVER, 7, TierTask(3))]);
        copies.deleted(TierTask(3), true);
        copies.give(TierTask(4), SERVER, name(2));
        assert_eq!(copies.place(SERVER, name(2)), Some(7));
        copies.forget(SERVER);
        assert_eq!(copies.place(SERVER, name(2)), None);
    }
}
