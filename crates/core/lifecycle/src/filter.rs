use crate::View;
use alloc::string::String;
use alloc::vec::Vec;

/// Which objects a rule is about: those for which all of it holds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Filter {
    /// Their keys begin with this.
    pub prefix: String,
    /// They have these tags, names and values.
    pub tags: Vec<(String, String)>,
    /// They are longer than this, in bytes.
    pub longer_than: Option<u64>,
    /// They are shorter than this, in bytes.
    pub shorter_than: Option<u64>,
}

impl Filter {
    /// Whether it is about an object. Tags that are not known are taken to be those asked for.
    pub fn fits(&self, view: &View<'_>) -> bool {
        let has = |tag: &(String, String)| view.tags.is_none_or(|tags| tags.contains(tag));
        view.key.starts_with(&*self.prefix)
            && self.longer_than.is_none_or(|len| view.len > len)
            && self.shorter_than.is_none_or(|len| view.len < len)
            && self.tags.iter().all(has)
    }

    /// Whether it asks for a prefix alone, as what has no bytes and no tags can have.
    pub(crate) fn asks_prefix_alone(&self) -> bool {
        self.tags.is_empty() && self.longer_than.is_none() && self.shorter_than.is_none()
    }
}
