use super::FlowId;
use alloc::vec::Vec;

const ABSENT: u32 = u32::MAX;

/// A binary heap with at most one key per flow, which can be changed or taken out in O(log flows).
#[derive(Clone, Debug)]
pub(super) struct Heap<K> {
    entries: Vec<(K, FlowId)>,
    /// By flow: its place in `entries`.
    places: Vec<u32>,
}

impl<K> Default for Heap<K> {
    fn default() -> Self {
        Self { entries: Vec::new(), places: Vec::new() }
    }
}

impl<K: Ord + Copy> Heap<K> {
    /// The flow with the smallest key.
    pub(super) fn first(&self) -> Option<(K, FlowId)> {
        self.entries.first().copied()
    }

    fn place(&self, flow: FlowId) -> Option<usize> {
        let place = *self.places.get(usize::from(flow.0))?;
        (place != ABSENT).then_some(place as usize)
    }

    /// Gives the flow this key, whether it had one or not.
    pub(super) fn set(&mut self, flow: FlowId, key: K) {
        let place = self.place(flow).unwrap_or_else(|| {
            if self.places.len() <= usize::from(flow.0) {
                self.places.resize(usize::from(flow.0) + 1, ABSENT);
            }
            self.entries.push((key, flow));
            self.entries.len() - 1
        });
        self.entries[place].0 = key;
        self.settle(place);
    }

    /// Takes the flow out; false if it was not there.
    pub(super) fn remove(&mut self, flow: FlowId) -> bool {
        let Some(place) = self.place(flow) else { return false };
        self.entries.swap_remove(place);
        self.places[usize::from(flow.0)] = ABSENT;
        if place < self.entries.len() {
            self.settle(place);
        }
        true
    }

    /// Moves the entry at `place` to where its key belongs.
    fn settle(&mut self, mut place: usize) {
        let entry = self.entries[place];
        while place > 0 && entry < self.entries[(place - 1) / 2] {
            self.put(place, self.entries[(place - 1) / 2]);
            place = (place - 1) / 2;
        }
        loop {
            let mut child = 2 * place + 1;
            if child + 1 < self.entries.len() && self.entries[child + 1] < self.entries[child] {
                child += 1;
            }
            if child >= self.entries.len() || entry < self.entries[child] {
                break;
            }
            self.put(place, self.entries[child]);
            place = child;
        }
        self.put(place, entry);
    }

    fn put(&mut self, place: usize, entry: (K, FlowId)) {
        self.entries[place] = entry;
        self.places[usize::from(entry.1.0)] = place as u32;
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn the_first_is_the_smallest_after_any_changes(
            steps in prop::collection::vec((0..12u16, prop::option::weighted(0.7, 0..9u32)), 0..80),
        ) {
            let mut heap = Heap::default();
            let mut model = BTreeMap::new();
            for (flow, key) in steps {
                if let Some(key) = key {
                    heap.set(FlowId(flow), key);
                    model.insert(flow, key);
                } else {
                    prop_assert_eq!(heap.remove(FlowId(flow)), model.remove(&flow).is_some());
                }
                let smallest = model.iter().map(|(&flow, &key)| (key, FlowId(flow))).min();
                prop_assert_eq!(heap.first(), smallest);
            }
        }
    }
}
