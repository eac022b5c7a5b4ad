//! Which host answers, if this is a rehearsal.

#[cfg(feature = "seeded")]
pub(crate) use crate::seeded::{Host, current};
#[cfg(not(feature = "seeded"))]
pub(crate) use none::{Host, current};

/// What ships knows no other host than the system.
#[cfg(not(feature = "seeded"))]
mod none {
    use std::time::SystemTime;

    /// There is none.
    #[derive(Clone, Debug)]
    pub(crate) enum Host {}

    #[inline]
    pub(crate) const fn current() -> Option<Host> {
        None
    }

    impl Host {
        pub(crate) const fn wall(&self) -> SystemTime {
            match *self {}
        }

        pub(crate) const fn fill(&self, _bytes: &mut [u8]) {
            match *self {}
        }

        pub(crate) const fn has_threads(&self) -> bool {
            match *self {}
        }

        pub(crate) const fn steps(&self) -> bool {
            match *self {}
        }

        pub(crate) const fn within<T>(&self, _act: impl FnOnce() -> T) -> T {
            match *self {}
        }
    }
}
