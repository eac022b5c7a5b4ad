use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bytes that a connection holds of what all may hold for values on their way in. They are given
/// back when this is dropped.
#[derive(Debug)]
pub(crate) struct Incoming<'a> {
    all: &'a AtomicUsize,
    max: usize,
    held: usize,
}

impl<'a> Incoming<'a> {
    pub(crate) const fn new(all: &'a AtomicUsize, max: usize) -> Self {
        Self { all, max, held: 0 }
    }

    /// Whether it holds any.
    pub(crate) const fn is_held(&self) -> bool {
        self.held > 0
    }

    /// Holds this many instead of what it held; false if there are no more.
    pub(crate) fn hold(&mut self, bytes: usize) -> bool {
        if bytes <= self.held {
            self.all.fetch_sub(self.held - bytes, Relaxed);
            self.held = bytes;
            return true;
        }
        let more = bytes - self.held;
        let grown = |all: usize| all.checked_add(more).filter(|&sum| sum <= self.max);
        let is_there = self.all.fetch_update(Relaxed, Relaxed, grown).is_ok();
        if is_there {
            self.held = bytes;
        }
        is_there
    }
}

impl Drop for Incoming<'_> {
    fn drop(&mut self) {
        self.all.fetch_sub(self.held, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_held_than_there_is_and_all_comes_back() {
        let all = AtomicUsize::new(0);
        let (mut one, mut other) = (Incoming::new(&all, 10), Incoming::new(&all, 10));
        assert!(one.hold(6) && !other.hold(5) && other.hold(4));
        assert!(!one.hold(7) && one.hold(3) && other.hold(7));
        drop(one);
        assert!(!other.hold(11) && other.hold(10));
        drop(other);
        assert_eq!(all.into_inner(), 0);
    }
}
