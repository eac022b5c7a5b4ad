//! Things by numbers that grow: a window of pages over the numbers that are in use, so that one is
//! found by two looks, and in the order of the numbers.

use crate::{ChunkId, SealId, TierTask};
use alloc::{boxed::Box, collections::VecDeque};
use core::{marker::PhantomData, ops::Index};

/// Numbers of a page.
const PAGE: u64 = 32;

/// What is a number.
pub(crate) trait Numbered: Copy {
    fn new(number: u64) -> Self;
    fn number(self) -> u64;
}

macro_rules! numbered {
    ($($name:ident),*) => {$(
        impl Numbered for $name {
            fn new(number: u64) -> Self {
                Self(number)
            }

            fn number(self) -> u64 {
                self.0
            }
        }
    )*};
}
numbered!(ChunkId, SealId, TierTask);

#[derive(Clone, Debug)]
struct Page<T> {
    things: [Option<T>; PAGE as usize],
    used: u8,
}

/// Things by number.
#[derive(Clone, Debug)]
pub(crate) struct Table<K, T> {
    pages: VecDeque<Option<Box<Page<T>>>>,
    /// Number of the first page.
    first: u64,
    len: usize,
    key: PhantomData<K>,
}

impl<K: Numbered, T> Table<K, T> {
    pub(crate) const fn new() -> Self {
        Self { pages: VecDeque::new(), first: 0, len: 0, key: PhantomData }
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of memory that it takes, without what the things own.
    pub(crate) fn bytes(&self) -> usize {
        let pages = self.pages.iter().flatten().count();
        pages * size_of::<Page<T>>() + self.pages.capacity() * size_of::<usize>()
    }

    pub(crate) fn get(&self, key: &K) -> Option<&T> {
        let at = (key.number() / PAGE).checked_sub(self.first)?;
        let page = self.pages.get(at as usize)?.as_ref()?;
        page.things[(key.number() % PAGE) as usize].as_ref()
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut T> {
        let at = (key.number() / PAGE).checked_sub(self.first)?;
        let page = self.pages.get_mut(at as usize)?.as_mut()?;
        page.things[(key.number() % PAGE) as usize].as_mut()
    }

    pub(crate) fn contains_key(&self, key: &K) -> bool {
        self.get(key).is_some()
    }

    pub(crate) fn insert(&mut self, key: K, thing: T) {
        let page = key.number() / PAGE;
        if self.pages.is_empty() {
            self.first = page;
        }
        while page < self.first {
            self.pages.push_front(None);
            self.first -= 1;
        }
        let at = (page - self.first) as usize;
        while self.pages.len() <= at {
            self.pages.push_back(None);
        }
        let new = || Box::new(Page { things: [const { None }; PAGE as usize], used: 0 });
        let page = self.pages[at].get_or_insert_with(new);
        let before = page.things[(key.number() % PAGE) as usize].replace(thing);
        let is_new = before.is_none();
        page.used += u8::from(is_new);
        self.len += usize::from(is_new);
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<T> {
        let at = (key.number() / PAGE).checked_sub(self.first)? as usize;
        let page = self.pages.get_mut(at)?.as_mut()?;
        let thing = page.things[(key.number() % PAGE) as usize].take()?;
        page.used -= 1;
        self.len -= 1;
        if page.used == 0 {
            self.pages[at] = None;
            while let Some(None) = self.pages.front() {
                self.pages.pop_front();
                self.first += 1;
            }
            while let Some(None) = self.pages.back() {
                self.pages.pop_back();
            }
        }
        Some(thing)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (K, &T)> {
        self.range_from(K::new(0))
    }

    /// Those of this number and greater ones.
    pub(crate) fn range_from(&self, from: K) -> impl Iterator<Item = (K, &T)> {
        let from = from.number();
        let skipped = (from / PAGE).saturating_sub(self.first) as usize;
        let pages = self.pages.iter().enumerate().skip(skipped);
        let pages = pages.filter_map(|(at, page)| Some((self.first + at as u64, page.as_ref()?)));
        let things = pages.flat_map(|(number, page)| {
            let numbers = number * PAGE..;
            numbers.zip(&page.things)
        });
        let things = things.filter_map(|(number, thing)| Some((number, thing.as_ref()?)));
        things.filter(move |(number, _)| *number >= from).map(|(number, it)| (K::new(number), it))
    }

    /// The first of this number or a greater one.
    pub(crate) fn first_from(&self, from: K) -> Option<K> {
        self.range_from(from).next().map(|(key, _)| key)
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = K> {
        self.iter().map(|(key, _)| key)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &T> {
        self.iter().map(|(_, thing)| thing)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (K, &mut T)> {
        let pages = (self.first..).zip(&mut self.pages);
        let pages = pages.filter_map(|(number, page)| Some((number, page.as_mut()?)));
        let things = pages.flat_map(|(number, page)| (number * PAGE..).zip(&mut page.things));
        things.filter_map(|(number, thing)| Some((K::new(number), thing.as_mut()?)))
    }
}

impl<K: Numbered, T> Index<&K> for Table<K, T> {
    type Output = T;

    fn index(&self, key: &K) -> &T {
        self.get(key).expect("it is there")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{collections::BTreeMap, vec::Vec};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_an_ordered_map(
            steps in prop::collection::vec((0u64..400, 0u8..3), 0..400),
            from in 0u64..400,
        ) {
            let (mut table, mut model) = (Table::<ChunkId, u64>::new(), BTreeMap::new());
            for (number, what) in steps {
                let key = ChunkId(number + 1000);
                if what == 0 {
                    prop_assert_eq!(table.remove(&key), model.remove(&key));
                } else {
                    table.insert(key, number * 2);
                    model.insert(key, number * 2);
                }
                prop_assert_eq!(table.get(&key), model.get(&key));
                prop_assert_eq!(table.len(), model.len());
            }
            let from = ChunkId(from + 1000);
            let range: Vec<_> = table.range_from(from).map(|(key, it)| (key, *it)).collect();
            let expected: Vec<_> = model.range(from..).map(|(key, it)| (*key, *it)).collect();
            prop_assert_eq!(range, expected);
            for (key, it) in table.iter_mut() {
                *it += key.0;
            }
            for (key, it) in &mut model {
                *it += key.0;
            }
            let all: Vec<_> = table.iter().map(|(key, it)| (key, *it)).collect();
            prop_assert_eq!(all, model.into_iter().collect::<Vec<_>>());
            for key in table.keys().collect::<Vec<_>>() {
                table.remove(&key);
            }
            prop_assert!(table.pages.is_empty() && table.is_empty());
        }
    }
}
