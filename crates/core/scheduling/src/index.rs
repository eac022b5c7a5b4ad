use core::num::{NonZeroU16, NonZeroU32};

/// What names the places of a table: numbers from 0, used again.
pub trait Slot: Copy {
    /// The slot of a number below 2³² − 1.
    fn of(number: u32) -> Self;

    /// Its number.
    fn number(self) -> u32;
}

macro_rules! slot {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        // One more than the number, so that an `Option` of it is as small.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub struct $name(NonZeroU32);

        impl Slot for $name {
            fn of(number: u32) -> Self {
                Self(NonZeroU32::MIN.saturating_add(number))
            }

            fn number(self) -> u32 {
                self.0.get() - 1
            }
        }
    };
}

slot!(
    /// A request that is not settled, by its place among those.
    RequestSlot
);
slot!(
    /// A task that has not ended, by its place among those.
    TaskSlot
);

/// A node, by its place among those that the machine was told of.
// One more than the index, so that an `Option` of it is as small.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct NodeIndex(NonZeroU16);

impl NodeIndex {
    /// The node at this place, of at most 65,534.
    pub const fn new(index: usize) -> Self {
        Self(NonZeroU16::MIN.saturating_add(index as u16))
    }

    /// Its place.
    pub const fn get(self) -> usize {
        self.0.get() as usize - 1
    }
}

impl Slot for NodeIndex {
    fn of(number: u32) -> Self {
        Self::new(number as usize)
    }

    fn number(self) -> u32 {
        self.get() as u32
    }
}

/// A fragment, by its place in its stripe (in a shared fragment: a run of strips).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FragmentIndex(pub u8);

impl FragmentIndex {
    /// The fragment at this place, of at most 255.
    pub const fn new(index: usize) -> Self {
        Self(index as u8)
    }

    /// Its place.
    pub const fn get(self) -> usize {
        self.0 as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_as_they_were_given_and_none_of_them_takes_room() {
        for number in [0, 1, 65_533] {
            assert_eq!(RequestSlot::of(number).number(), number);
            assert_eq!(NodeIndex::of(number).number(), number);
            assert_eq!(NodeIndex::new(number as usize).get(), number as usize);
        }
        assert_eq!(TaskSlot::of(u32::MAX - 1).number(), u32::MAX - 1);
        assert_eq!(size_of::<Option<TaskSlot>>(), size_of::<u32>());
        assert_eq!(size_of::<Option<NodeIndex>>(), size_of::<u16>());
    }
}
