//! What keeps versions from being removed, as far as clients were told so.

use std::collections::BTreeMap;

/// What keeps one version.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Lock {
    /// Until when nobody may remove it, milliseconds since 1970.
    pub(crate) complied_until_ms: u64,
    /// Until when nobody may who does not ask to pass it by.
    pub(crate) governed_until_ms: u64,
    /// Whether a legal hold was told of, which nobody has asked to take away.
    pub(crate) is_held: bool,
    /// Whether somebody ever asked for its hold to be taken away: that may happen at any time.
    pub(crate) may_be_freed: bool,
}

impl Lock {
    /// Whether it keeps a version from one who asks to pass by what can be passed by, or does not.
    pub(crate) fn holds(&self, as_of_ms: u64, bypass: bool) -> bool {
        let is_governed = self.governed_until_ms > as_of_ms && !bypass;
        self.complied_until_ms > as_of_ms || is_governed || self.is_held && !self.may_be_freed
    }
}

/// A key and a version of it.
pub(crate) type VersionName = (String, String);

/// What keeps the versions of the bucket that has locks.
#[derive(Debug, Default)]
pub(crate) struct Locks(BTreeMap<VersionName, Lock>);

impl Locks {
    pub(crate) fn of(&self, name: &VersionName) -> Lock {
        self.0.get(name).copied().unwrap_or_default()
    }

    /// A version was put with this.
    pub(crate) fn note(&mut self, name: VersionName, lock: Lock) {
        self.0.insert(name, lock);
    }

    /// It is held.
    pub(crate) fn hold(&mut self, name: VersionName) {
        self.0.entry(name).or_default().is_held = true;
    }

    /// Somebody asks to pass by what can be passed by: it may be gone at any time.
    pub(crate) fn may_be_passed(&mut self, name: &VersionName) {
        if let Some(lock) = self.0.get_mut(name) {
            lock.governed_until_ms = 0;
        }
    }

    /// Somebody asks that it be held no more.
    pub(crate) fn may_be_freed(&mut self, name: VersionName) {
        self.0.entry(name).or_default().may_be_freed = true;
    }

    /// All of them.
    pub(crate) fn all(&self) -> Vec<(VersionName, Lock)> {
        self.0.iter().map(|(name, lock)| (name.clone(), *lock)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_holds_as_long_as_it_was_told_and_a_hold_until_somebody_asks() {
        let strict = Lock { complied_until_ms: 10, ..Lock::default() };
        assert!(strict.holds(9, true) && !strict.holds(10, false));
        let governed = Lock { governed_until_ms: 10, ..Lock::default() };
        assert!(governed.holds(9, false) && !governed.holds(9, true));
        let (mut locks, name) = (Locks::default(), ("k".to_owned(), "1".to_owned()));
        locks.hold(name.clone());
        assert!(locks.of(&name).holds(u64::MAX, true));
        locks.may_be_freed(name.clone());
        assert!(!locks.of(&name).holds(0, true), "that may have happened");
        locks.hold(name.clone());
        assert!(!locks.of(&name).holds(0, true), "or may happen yet");
    }
}
