//! Things by numbers below 2^63 that are not used twice.

/// How often a place is used before its numbers come again.
const GENERATION_MAX: u32 = u32::MAX >> 1;

/// Things by number.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    places: Vec<(u32, Option<T>)>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(crate) const fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }

    /// The number that the next thing will be found by.
    pub(crate) fn next(&self) -> u64 {
        match self.free.last() {
            Some(&at) => u64::from(self.places[at as usize].0) << 32 | u64::from(at),
            None => self.places.len() as u64,
        }
    }

    /// The number that it is found by.
    pub(crate) fn insert(&mut self, thing: T) -> u64 {
        let at = self.free.pop().unwrap_or_else(|| {
            self.places.push((0, None));
            (self.places.len() - 1) as u32
        });
        let place = &mut self.places[at as usize];
        place.1 = Some(thing);
        u64::from(place.0) << 32 | u64::from(at)
    }

    fn place(&mut self, number: u64) -> Option<&mut (u32, Option<T>)> {
        let place = self.places.get_mut(number as u32 as usize)?;
        (place.0 == (number >> 32) as u32).then_some(place)
    }

    pub(crate) fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        self.place(number)?.1.as_mut()
    }

    pub(crate) fn remove(&mut self, number: u64) -> Option<T> {
        let place = self.place(number)?;
        let thing = place.1.take()?;
        place.0 = place.0.wrapping_add(1) & GENERATION_MAX;
        self.free.push(number as u32);
        Some(thing)
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn it_is_a_map_whose_keys_are_never_used_again(
            steps in prop::collection::vec((any::<bool>(), any::<prop::sample::Index>()), 0..300),
        ) {
            let (mut slab, mut model, mut given) = (Slab::new(), BTreeMap::new(), Vec::new());
            for (step, (is_insert, at)) in steps.into_iter().enumerate() {
                if is_insert || given.is_empty() {
                    let next = slab.next();
                    let number = slab.insert(step);
                    prop_assert_eq!(number, next);
                    prop_assert!(!given.contains(&number));
                    given.push(number);
                    model.insert(number, step);
                } else {
                    let number = given[at.index(given.len())];
                    prop_assert_eq!(slab.get_mut(number).copied(), model.get(&number).copied());
                    prop_assert_eq!(slab.remove(number), model.remove(&number));
                }
                prop_assert_eq!(slab.len(), model.len());
            }
        }
    }
}
