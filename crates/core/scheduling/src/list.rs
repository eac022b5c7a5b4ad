use alloc::vec::Vec;

const END: u32 = u32::MAX;
const APART: u32 = u32::MAX - 1;

/// The links of lists of slot numbers: each slot is in at most one list of those that share these
/// links.
#[derive(Clone, Default, Debug)]
pub struct Links(Vec<Link>);

#[derive(Clone, Copy, Debug)]
struct Link {
    before: u32,
    after: u32,
}

/// A first-in, first-out list of slot numbers from which any can be taken in O(1).
#[derive(Clone, Copy, Debug)]
pub struct List {
    first: u32,
    last: u32,
    len: u32,
}

impl Default for List {
    fn default() -> Self {
        Self { first: END, last: END, len: 0 }
    }
}

impl Links {
    /// Whether the slot is in one of the lists.
    pub fn contains(&self, slot: u32) -> bool {
        self.0.get(slot as usize).is_some_and(|link| link.before != APART)
    }

    /// The slot behind this one in its list.
    pub fn after(&self, slot: u32) -> Option<u32> {
        self.0.get(slot as usize).map(|link| link.after).filter(|&after| after < APART)
    }
}

impl List {
    /// How many slots are in the list.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The slot that joined first.
    pub fn front(&self) -> Option<u32> {
        (self.len > 0).then_some(self.first)
    }

    /// The slot that joined last.
    pub fn back(&self) -> Option<u32> {
        (self.len > 0).then_some(self.last)
    }

    /// Adds a slot at the end.
    ///
    /// # Panics
    /// If the slot is in a list of these links already.
    pub fn push(&mut self, links: &mut Links, slot: u32) {
        let at = slot as usize;
        if links.0.len() <= at {
            links.0.resize(at + 1, Link { before: APART, after: APART });
        }
        assert!(links.0[at].before == APART, "a slot joins one list at a time");
        links.0[at] = Link { before: self.last, after: END };
        if self.last == END {
            self.first = slot;
        } else {
            links.0[self.last as usize].after = slot;
        }
        self.last = slot;
        self.len += 1;
    }

    /// Takes out a slot of this list.
    ///
    /// # Panics
    /// If the slot is in no list of these links.
    pub fn remove(&mut self, links: &mut Links, slot: u32) {
        let Link { before, after } = links.0[slot as usize];
        assert!(before != APART, "a slot leaves the list it is in");
        if before == END {
            self.first = after;
        } else {
            links.0[before as usize].after = after;
        }
        if after == END {
            self.last = before;
        } else {
            links.0[after as usize].before = before;
        }
        links.0[slot as usize] = Link { before: APART, after: APART };
        self.len -= 1;
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    proptest! {
        #[test]
        fn lists_behave_like_vectors(steps in prop::collection::vec((0..8u32, 0..2usize), 0..60)) {
            let mut links = Links::default();
            let mut lists = [List::default(); 2];
            let mut models = [Vec::new(), Vec::new()];
            for (slot, to) in steps {
                let from = models.iter().position(|model| model.contains(&slot));
                prop_assert_eq!(links.contains(slot), from.is_some());
                if let Some(from) = from {
                    lists[from].remove(&mut links, slot);
                    models[from].retain(|&other| other != slot);
                } else {
                    lists[to].push(&mut links, slot);
                    models[to].push(slot);
                }
                for (list, model) in lists.iter().zip(&models) {
                    let walk = core::iter::successors(list.front(), |&at| links.after(at));
                    prop_assert_eq!(walk.collect::<Vec<_>>(), model.clone());
                    prop_assert_eq!(list.len(), model.len());
                    prop_assert_eq!(list.back(), model.last().copied());
                }
            }
        }
    }
}
