//! How versions stand, from a listing of them.

use crate::Standing;
use alloc::string::String;

/// A version as a listing shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shown<'a> {
    /// Its key.
    pub key: &'a str,
    /// When it was written, in milliseconds since 1970.
    pub modified_ms: u64,
    /// Whether it is what its key stands for.
    pub is_latest: bool,
    /// Whether it is a delete marker.
    pub is_marker: bool,
}

/// Says of versions that come in the order of a listing, by key and the latest first, how each
/// stands. That a delete marker is alone is known once the next version has come, or none has: so
/// it is held back until then. What is written while a listing is read may be missed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Succession<T> {
    /// The version before.
    before: Option<Before>,
    /// A delete marker that is the latest of its key, if it was the version before.
    held: Option<T>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Before {
    key: String,
    modified_ms: u64,
    /// Versions of its key that are not the latest, until and with it.
    noncurrent: u32,
}

impl<T> Default for Succession<T> {
    fn default() -> Self {
        Self { before: None, held: None }
    }
}

impl<T> Succession<T> {
    /// The next version, and what stands for it; answers whose standing is known now. A delete
    /// marker that is the latest and not alone is none's concern.
    pub fn next(&mut self, shown: Shown<'_>, item: T) -> [Option<(T, Standing)>; 2] {
        let Shown { key, modified_ms, is_latest, is_marker } = shown;
        let before = self.before.take().filter(|before| before.key == key);
        let held = self.held.take().filter(|_| before.is_none());
        let lone = held.map(|item| (item, Standing::LoneMarker));
        let mut noncurrent = 0;
        let own = if !is_latest {
            let (since_ms, later) =
                before.as_ref().map_or((modified_ms, 0), |it| (it.modified_ms, it.noncurrent));
            noncurrent = later.saturating_add(1);
            // Where the one that followed is not known, nothing is.
            before.is_some().then_some((item, Standing::Noncurrent { since_ms, later }))
        } else if is_marker {
            self.held = Some(item);
            None
        } else {
            Some((item, Standing::Latest))
        };
        self.before = Some(Before { key: key.into(), modified_ms, noncurrent });
        [lone, own]
    }

    /// No version comes any more.
    pub fn end(&mut self) -> Option<(T, Standing)> {
        self.before = None;
        self.held.take().map(|item| (item, Standing::LoneMarker))
    }
}
