use alloc::vec::Vec;
use core::ops::{Index, IndexMut};

/// Values in numbered slots that are used again; a key names one use of a slot for ever.
#[derive(Clone, Debug)]
pub struct Table<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Table<T> {
    /// Puts a value into a free slot and returns the slot.
    pub fn insert(&mut self, value: T) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize].value = Some(value);
            return slot;
        }
        self.slots.push(Slot { generation: 0, value: Some(value) });
        (self.slots.len() - 1) as u32
    }

    /// Takes the value out of a slot and retires the slot's key.
    pub fn remove(&mut self, slot: u32) -> Option<T> {
        let place = self.slots.get_mut(slot as usize)?;
        let value = place.value.take()?;
        place.generation = place.generation.wrapping_add(1);
        self.free.push(slot);
        Some(value)
    }

    /// Drops the value in a slot, without moving it, and retires the slot's key; nothing if it is empty.
    pub fn discard(&mut self, slot: u32) {
        if let Some(place) = self.slots.get_mut(slot as usize)
            && place.value.is_some()
        {
            place.value = None;
            place.generation = place.generation.wrapping_add(1);
            self.free.push(slot);
        }
    }

    /// The key of what is in a slot: different for each of the slot's first 2³² uses.
    pub fn key(&self, slot: u32) -> u64 {
        u64::from(self.slots[slot as usize].generation) << 32 | u64::from(slot)
    }

    /// The slot that a key names, if what it named is still there.
    pub fn find(&self, key: u64) -> Option<u32> {
        let place = self.slots.get((key & u64::from(u32::MAX)) as usize)?;
        (place.value.is_some() && u64::from(place.generation) == key >> 32).then_some(key as u32)
    }

    /// What is in a slot.
    pub fn get(&self, slot: u32) -> Option<&T> {
        self.slots.get(slot as usize)?.value.as_ref()
    }

    /// Slots in use.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether no slot is in use.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The slots in use and their values, by slot.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let slots = self.slots.iter().enumerate();
        slots.filter_map(|(slot, place)| Some((slot as u32, place.value.as_ref()?)))
    }
}

impl<T> Index<u32> for Table<T> {
    type Output = T;
    fn index(&self, slot: u32) -> &T {
        self.slots[slot as usize].value.as_ref().expect("whoever holds a slot's number uses it")
    }
}

impl<T> IndexMut<u32> for Table<T> {
    fn index_mut(&mut self, slot: u32) -> &mut T {
        self.slots[slot as usize].value.as_mut().expect("whoever holds a slot's number uses it")
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
        fn keys_name_what_was_inserted_until_it_is_removed(steps: Vec<(bool, u8)>) {
            let (mut table, mut model, mut gone) = (Table::default(), BTreeMap::new(), Vec::new());
            for (at, (insert, pick)) in steps.into_iter().enumerate() {
                if insert || model.is_empty() {
                    let slot = table.insert(at);
                    prop_assert_eq!(model.insert(table.key(slot), at), None);
                } else {
                    let (&key, &value) = model.iter().nth(usize::from(pick) % model.len()).unwrap();
                    if pick % 2 == 0 {
                        prop_assert_eq!(table.remove(key as u32), Some(value));
                    } else {
                        table.discard(key as u32);
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
