use ripstop_model::Timestamp;

/// What is due when, one entry for each slot at most: a binary heap from which any slot can be
/// taken.
///
/// Entries due at the same time come in the order they were set.
#[derive(Clone, Debug, Default)]
pub struct Calendar {
    heap: Vec<Entry>,
    /// Where each slot is in the heap.
    places: Vec<u32>,
    /// Numbers the entries.
    set: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Entry {
    due: Timestamp,
    number: u64,
    slot: u32,
}

const NOWHERE: u32 = u32::MAX;

impl Calendar {
    /// Sets when a slot is due, in place of what was set before.
    pub fn set(&mut self, slot: u32, due: Timestamp) {
        self.remove(slot);
        let at = slot as usize;
        if self.places.len() <= at {
            self.places.resize(at + 1, NOWHERE);
        }
        self.heap.push(Entry { due, number: self.set, slot });
        self.set += 1;
        self.rise(self.heap.len() - 1);
    }

    /// Takes a slot out; false if it was not set.
    pub fn remove(&mut self, slot: u32) -> bool {
        let place = self.places.get(slot as usize).copied().unwrap_or(NOWHERE);
        if place == NOWHERE {
            return false;
        }
        self.take(place as usize);
        true
    }

    /// When the next slot is due.
    pub fn due(&self) -> Option<Timestamp> {
        self.heap.first().map(|entry| entry.due)
    }

    /// Takes out the slot that is due next.
    pub fn pop(&mut self) -> Option<(Timestamp, u32)> {
        let first = *self.heap.first()?;
        self.take(0);
        Some((first.due, first.slot))
    }

    /// The slots that are set, in no order.
    pub fn slots(&self) -> impl Iterator<Item = u32> {
        self.heap.iter().map(|entry| entry.slot)
    }

    fn take(&mut self, at: usize) {
        let last = self.heap.pop().expect("the slot is in the heap");
        let gone =
            if at < self.heap.len() { core::mem::replace(&mut self.heap[at], last) } else { last };
        self.places[gone.slot as usize] = NOWHERE;
        if at < self.heap.len() {
            self.places[last.slot as usize] = at as u32;
            self.sink(at);
            self.rise(at);
        }
    }

    fn rise(&mut self, mut at: usize) {
        let entry = self.heap[at];
        while at > 0 {
            let above = (at - 1) / 2;
            if self.heap[above] <= entry {
                break;
            }
            self.put(at, self.heap[above]);
            at = above;
        }
        self.put(at, entry);
    }

    fn sink(&mut self, mut at: usize) {
        let entry = self.heap[at];
        loop {
            let mut below = 2 * at + 1;
            if below >= self.heap.len() {
                break;
            }
            let right = below + 1;
            if right < self.heap.len() && self.heap[right] < self.heap[below] {
                below = right;
            }
            if entry <= self.heap[below] {
                break;
            }
            self.put(at, self.heap[below]);
            at = below;
        }
        self.put(at, entry);
    }

    fn put(&mut self, at: usize, entry: Entry) {
        self.heap[at] = entry;
        self.places[entry.slot as usize] = at as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn behaves_like_a_sorted_map(steps in prop::collection::vec((0..12u32, 0..4u8, 0..9u64), 0..200)) {
            let (mut calendar, mut model) = (Calendar::default(), BTreeMap::new());
            for (number, (slot, step, due)) in steps.into_iter().enumerate() {
                let at = Timestamp::from_nanos(due);
                match step {
                    0 | 1 => {
                        model.retain(|_, &mut other| other != slot);
                        model.insert((at, number), slot);
                        calendar.set(slot, at);
                    }
                    2 => {
                        let known = model.values().any(|&other| other == slot);
                        model.retain(|_, &mut other| other != slot);
                        prop_assert_eq!(calendar.remove(slot), known);
                    }
                    _ => {
                        let first = model.pop_first().map(|((due, _), slot)| (due, slot));
                        prop_assert_eq!(calendar.pop(), first);
                    }
                }
                prop_assert_eq!(calendar.due(), model.keys().next().map(|key| key.0));
                prop_assert_eq!(calendar.slots().count(), model.len());
            }
        }
    }
}
