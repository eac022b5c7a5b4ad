use alloc::string::String;

/// Objects below this many bytes stay where they are, unless a rule or [`Sizes`] say otherwise.
pub const MOVED_LEN_MIN: u64 = 128 << 10;
/// Classes to which objects of every size go where sizes vary by class.
const OF_EVERY_SIZE: [&str; 2] = ["GLACIER", "DEEP_ARCHIVE"];

/// That a rule moves objects to a class of storage.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transition<W> {
    /// The class.
    pub class: String,
    /// When. Here days may be none: then it is at the end of the day.
    pub when: W,
}

/// Which sizes of objects rules move that do not ask for any.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Sizes {
    /// From [`MOVED_LEN_MIN`] on.
    #[default]
    AllClasses,
    /// The same, but all of them to `GLACIER` and `DEEP_ARCHIVE`.
    ByClass,
}

impl Sizes {
    /// Whether an object of this length goes to a class.
    pub(crate) fn fit(self, len: u64, class: &str) -> bool {
        len >= MOVED_LEN_MIN || self == Self::ByClass && OF_EVERY_SIZE.contains(&class)
    }
}
