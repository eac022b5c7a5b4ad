use crate::Slot;
use alloc::vec::Vec;
use core::{
    marker::PhantomData,
    ops::{Index, IndexMut},
};

/// Values in numbered slots that are used again; a key names one use of a slot for ever.
#[derive(Clone, Debug)]
pub struct Table<S, T> {
    places: Vec<Place<T>>,
    free: Vec<u32>,
    named: PhantomData<S>,
}

#[derive(Clone, Debug)]
struct Place<T> {
    generation: u32,
    value: Option<T>,
}

impl<S, T> Default for Table<S, T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new(), named: PhantomData }
    }
}

impl<S: Slot, T> Table<S, T> {
    /// Puts a value into a free slot and returns the slot.
    pub fn insert(&mut self, value: T) -> S {
        if let Some(number) = self.free.pop() {
            self.places[number as usize].value = Some(value);
            return S::of(number);
        }
        self.places.push(Place { generation: 0, value: Some(value) });
        S::of((self.places.len() - 1) as u32)
    }

    /// Takes the value out of a slot and retires the slot's key.
    pub fn remove(&mut self, slot: S) -> Option<T> {
        let place = self.places.get_mut(slot.number() as usize)?;
        let value = place.value.take()?;
        place.generation = place.generation.wrapping_add(1);
        self.free.push(slot.number());
        Some(value)
    }

    /// Drops the value in a slot, without moving it, and retires the slot's key; nothing if it is
    /// empty.
    pub fn discard(&mut self, slot: S) {
        if let Some(place) = self.places.get_mut(slot.number() as usize)
            && place.value.is_some()
        {
            place.value = None;
            place.generation = place.generation.wrapping_add(1);
            self.free.push(slot.number());
        }
    }

    /// The key of what is in a slot: different for each of the slot's first 2³² uses.
    pub fn key(&self, slot: S) -> u64 {
        u64::from(self.places[slot.number() as usize].generation) << 32 | u64::from(slot.number())
    }

    /// The slot that a key names, if what it named is still there.
    pub fn find(&self, key: u64) -> Option<S> {
        let place = self.places.get((key & u64::from(u32::MAX)) as usize)?;
        (place.value.is_some() && u64::from(place.generation) == key >> 32)
            .then_some(S::of(key as u32))
    }

    /// What is in a slot.
    pub fn get(&self, slot: S) -> Option<&T> {
        self.places.get(slot.number() as usize)?.value.as_ref()
    }

    /// Slots in use.
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Whether no slot is in use.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The slots in use and their values, by slot.
    pub fn iter(&self) -> impl Iterator<Item = (S, &T)> {
        let places = self.places.iter().enumerate();
        places.filter_map(|(number, place)| Some((S::of(number as u32), place.value.as_ref()?)))
    }
}

impl<S: Slot, T> Index<S> for Table<S, T> {
    type Output = T;
    fn index(&self, slot: S) -> &T {
        self.places[slot.number() as usize]
            .value
            .as_ref()
            .expect("who holds a slot's number uses it")
    }
}

impl<S: Slot, T> IndexMut<S> for Table<S, T> {
    fn index_mut(&mut self, slot: S) -> &mut T {
        self.places[slot.number() as usize]
            .value
            .as_mut()
            .expect("who holds a slot's number uses it")
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::TaskSlot;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn keys_name_what_was_inserted_until_it_is_removed(steps: Vec<(bool, u8)>) {
            let (mut table, mut model, mut gone) = (Table::<TaskSlot, _>::default(), BTreeMap::new(), Vec::new());
            for (at, (insert, pick)) in steps.into_iter().enumerate() {
                if insert || model.is_empty() {
                    let slot = table.insert(at);
                    prop_assert_eq!(model.insert(table.key(slot), at), None);
                } else {
                    let (&key, &value) = model.iter().nth(usize::from(pick) % model.len()).unwrap();
                    if pick % 2 == 0 {
                        prop_assert_eq!(table.remove(TaskSlot::of(key as u32)), Some(value));
                    } else {
                        table.discard(TaskSlot::of(key as u32));
                    }
                    model.remove(&key);
                    gone.push(key);
                }
                prop_assert_eq!(table.len(), model.len());
                prop_assert_eq!(table.iter().count(), model.len());
                for (&key, &value) in &model {
                    prop_assert_eq!(table.find(key).map(|slot| table[slot]), Some(value));
                }
                prop_assert!(gone.iter().all(|&key| table.find(key).is_none()));
            }
        }
    }
}
