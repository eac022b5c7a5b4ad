//! What is wrong with a catalog while it is open, and panics of the database as errors.

use super::failure::corrupt;
use crate::CatalogError;
use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Mutex, Once, PoisonError};

/// Why a catalog takes no changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// Its disk does not take what is written: it is full, say. Reads go on. The catalog tries
    /// again by itself.
    Unwritable {
        /// What the disk said.
        reason: String,
    },
    /// Its disk failed to make safe what was written, so what is on it is unknown: the disk wants
    /// looking at, and the catalog opening again.
    InDoubt {
        /// What the disk said.
        reason: String,
    },
    /// What is on disk is not what was written. Reads of what is whole go on; a change could write
    /// checksums over the damage, and hide it.
    Damaged {
        /// What was found.
        reason: String,
    },
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unwritable { reason } => {
                write!(f, "the catalog takes no changes until its disk takes writes: {reason}")
            }
            Self::InDoubt { reason } => {
                write!(f, "the catalog takes no changes, its disk failed a sync: {reason}")
            }
            Self::Damaged { reason } => {
                write!(f, "the catalog is damaged and takes no changes: {reason}")
            }
        }
    }
}

impl std::error::Error for Trouble {}

/// How a catalog stands, for those who watch it. Outlives the catalog.
#[derive(Clone, Debug, Default)]
pub struct Health(Arc<Mutex<Option<Trouble>>>);

impl Health {
    /// Why the catalog takes no changes; `None` while it does.
    pub fn trouble(&self) -> Option<Trouble> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Damage stays what is wrong, whatever else happens.
    pub(super) fn fall(&self, trouble: Trouble) {
        let mut standing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*standing, Some(Trouble::Damaged { .. })) || *standing == Some(trouble.clone())
        {
            return;
        }
        tracing::error!("{trouble}");
        *standing = Some(trouble);
    }

    /// The disk takes writes again.
    pub(super) fn rise(&self) {
        let mut standing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*standing, Some(Trouble::Unwritable { .. })) {
            tracing::info!("the catalog's disk takes writes again");
            *standing = None;
        }
    }

    /// Notes damage that an operation met.
    pub(super) fn noted<T>(&self, result: Result<T, CatalogError>) -> Result<T, CatalogError> {
        if let Err(CatalogError::Corrupt { reason }) = &result {
            self.fall(Trouble::Damaged { reason: reason.clone() });
        }
        result
    }
}

thread_local! {
    /// Whether a panic on this thread becomes an error, and is nobody's business to print.
    static CATCHING: Cell<bool> = const { Cell::new(false) };
}

/// Runs what reads or writes the database. On damaged pages that may panic, which is answered as
/// [`CatalogError::Corrupt`].
pub(super) fn caught<T>(work: impl FnOnce() -> Result<T, CatalogError>) -> Result<T, CatalogError> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let loud = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if CATCHING.get() {
                tracing::error!("the database panicked: {panic}");
            } else {
                loud(panic);
            }
        }));
    });
    let outer = CATCHING.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    CATCHING.set(outer);
    result.unwrap_or_else(|panic| {
        Err(corrupt(format!("the database cannot make sense of its file: {}", told(&*panic))))
    })
}

fn told(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no reason given")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_the_database_is_an_error_that_says_why() {
        let error = caught::<()>(|| panic!("index {} out of bounds", 7)).unwrap_err();
        assert!(
            matches!(&error, CatalogError::Corrupt { reason } if reason.ends_with("index 7 out of bounds"))
        );
        assert!(caught(|| Ok(5)).is_ok());
    }

    #[test]
    fn damage_stays_what_is_wrong() {
        let health = Health::default();
        health.fall(Trouble::Unwritable { reason: "full".into() });
        health.rise();
        assert_eq!(health.trouble(), None);
        let damaged = Trouble::Damaged { reason: "a page".into() };
        health.fall(damaged.clone());
        health.fall(Trouble::Unwritable { reason: "full".into() });
        health.rise();
        assert_eq!(health.trouble(), Some(damaged));
    }
}
