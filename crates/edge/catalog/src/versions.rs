//! What a bucket that keeps versions shows: the latest of each key, and all of them.
//!
//! Versions with ids are rows in the bucket's space of versions, where a key's follow one another,
//! the latest first; the null version is at the key itself, among the bucket's objects.

use crate::rollup::Source;
use crate::{CatalogError, ObjectVersion, VersionId};
use ripstop_object::{
    split_version_name, version_name, versions_begin, versions_end, versions_prefix,
};

/// What stands at a key or at one of its versions.
pub trait VersionRow {
    /// Whether it is a delete marker.
    fn is_marker(&self) -> Result<bool, CatalogError>;
    /// What orders it among the versions of its key, as the null version.
    fn null_order(&self) -> Result<VersionId, CatalogError>;
}

/// Versions of a key that are passed over one by one: that is less than a search for the next key.
const STEPS_MAX: usize = 4;

/// What comes next of a table.
enum Head<T> {
    /// Not looked at yet.
    Unread,
    Is(T),
    /// Nothing any more.
    End,
}

impl<T> Head<T> {
    /// What is next, which has been looked at.
    const fn get(&self) -> Option<&T> {
        match self {
            Self::Is(next) => Some(next),
            Self::Unread | Self::End => None,
        }
    }

    /// Takes what is next; what follows is to be looked at.
    fn take(&mut self) -> Option<T> {
        match std::mem::replace(self, Self::Unread) {
            Self::Is(next) => Some(next),
            Self::Unread => None,
            Self::End => {
                *self = Self::End;
                None
            }
        }
    }
}

impl<T> From<Option<T>> for Head<T> {
    fn from(next: Option<T>) -> Self {
        next.map_or(Self::End, Self::Is)
    }
}

/// The keys of a bucket and those of its space of versions, in step.
struct Heads<S: Source> {
    nulls: S,
    /// The next null version, with its key.
    null: Head<(String, S::Item)>,
    named: S,
    /// The next version with an id, with its key.
    version: Head<(String, VersionId, S::Item)>,
}

/// Whose turn it is.
enum Turn<R> {
    Null(String, R),
    Named(String, VersionId, R),
}

impl<S: Source<Item: VersionRow>> Heads<S> {
    const fn new(nulls: S, named: S) -> Self {
        Self { nulls, null: Head::Unread, named, version: Head::Unread }
    }

    /// Goes to the first version of a key that is `from` or greater.
    fn seek(&mut self, from: &[u8]) -> Result<(), CatalogError> {
        self.seek_null(from)?;
        self.seek_named(&escaped(from))
    }

    fn seek_null(&mut self, from: &[u8]) -> Result<(), CatalogError> {
        self.null = Head::Unread;
        self.nulls.seek(from)
    }

    fn seek_named(&mut self, from: &[u8]) -> Result<(), CatalogError> {
        self.version = Head::Unread;
        self.named.seek(from)
    }

    /// Goes behind a version of a key.
    fn seek_behind(&mut self, key: &str, id: &str) -> Result<(), CatalogError> {
        let null = self.null_order(key)?;
        let behind_key = [key.as_bytes(), b"\0"].concat();
        if let Some(id) = VersionId::parse(id) {
            let is_to_come = null.is_some_and(|order| order < id);
            self.seek_null(if is_to_come { key.as_bytes() } else { &behind_key })?;
            return self.seek_named(&[version_name(key, id).as_bytes(), b"\0"].concat());
        }
        self.seek_null(&behind_key)?;
        // Those that were made before it; of one that is gone, nobody knows which.
        let behind =
            null.map_or_else(|| versions_end(key), |order| version_name(key, order)).into_bytes();
        self.seek_named(&behind)
    }

    /// What orders the null version of a key, if it has one.
    fn null_order(&mut self, key: &str) -> Result<Option<VersionId>, CatalogError> {
        self.seek_null(key.as_bytes())?;
        let found = self.nulls.next(key)?.filter(|(found, _)| found == key);
        found.map(|(_, null)| null.null_order()).transpose()
    }

    /// Which is the latest of a key's versions.
    fn latest(&mut self, key: &str) -> Result<Option<ObjectVersion>, CatalogError> {
        let null = self.null_order(key)?;
        let begin = versions_begin(key);
        self.seek_named(begin.as_bytes())?;
        let named = match self.named.next(&begin)? {
            Some((name, _)) => Some(split_version_name(&name).ok_or_else(|| odd(&name))?.1),
            None => None,
        };
        Ok(match (null, named) {
            (Some(null), Some(id)) if null > id => Some(ObjectVersion::Null),
            (_, Some(id)) => Some(ObjectVersion::Id(id)),
            (Some(_), None) => Some(ObjectVersion::Null),
            (None, None) => None,
        })
    }

    /// Looks at what comes next of both.
    fn look(&mut self, prefix: &str) -> Result<(), CatalogError> {
        if matches!(self.null, Head::Unread) {
            self.null = self.nulls.next(prefix)?.into();
        }
        if matches!(self.version, Head::Unread) {
            let next = self.named.next(&versions_prefix(prefix))?;
            let split = |(name, entry): (String, S::Item)| {
                let (key, id) = split_version_name(&name).ok_or_else(|| odd(&name))?;
                Ok::<_, CatalogError>((key, id, entry))
            };
            self.version = next.map(split).transpose()?.into();
        }
        Ok(())
    }

    /// The next version: by key, and of each key the latest first.
    fn next(&mut self, prefix: &str) -> Result<Option<Turn<S::Item>>, CatalogError> {
        self.look(prefix)?;
        let null_is_next = match (self.null.get(), self.version.get()) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some((null, entry)), Some((key, id, _))) => {
                null < key || null == key && entry.null_order()? > *id
            }
        };
        if null_is_next {
            return Ok(self.null.take().map(|(key, entry)| Turn::Null(key, entry)));
        }
        Ok(self.version.take().map(|(key, id, entry)| Turn::Named(key, id, entry)))
    }

    /// Passes over what is left of a key's versions.
    fn pass(&mut self, key: &str, prefix: &str) -> Result<(), CatalogError> {
        if self.null.get().is_some_and(|(null, _)| null == key) {
            self.null.take();
        }
        for _ in 0..=STEPS_MAX {
            self.look(prefix)?;
            if self.version.get().is_none_or(|(next, ..)| next != key) {
                return Ok(());
            }
            self.version.take();
        }
        self.seek_named(versions_end(key).as_bytes())
    }
}

pub(crate) fn odd(name: &str) -> CatalogError {
    CatalogError::Corrupt { reason: format!("{name:?} is no name of a version") }
}

/// Bytes of a key, or of something between keys, as they sort among names of versions.
pub fn escaped(key: &[u8]) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(key.len());
    for &byte in key {
        escaped.push(byte);
        if byte == 0 {
            escaped.push(1);
        }
    }
    escaped
}

/// Deleted keys that a page passes over, at most: behind them the next begins.
const PASSED_MAX: usize = 10_000;

/// Keys of a bucket that stand for objects.
pub struct Latest<S: Source> {
    heads: Heads<S>,
    /// The key that was come to last, of which there may be more versions.
    last: Option<String>,
    passed_max: usize,
    passed: usize,
    stopped_at: Option<String>,
}

impl<S: Source<Item: VersionRow>> Latest<S> {
    /// From the keys of a bucket, and those of its space of versions.
    pub const fn new(nulls: S, named: S) -> Self {
        Self::passing(PASSED_MAX, nulls, named)
    }

    /// Passing over no more deleted keys than this.
    pub(crate) const fn passing(passed_max: usize, nulls: S, named: S) -> Self {
        let heads = Heads::new(nulls, named);
        Self { heads, last: None, passed_max, passed: 0, stopped_at: None }
    }
}

impl<S: Source<Item: VersionRow>> Source for Latest<S> {
    type Item = S::Item;

    fn seek(&mut self, from: &[u8]) -> Result<(), CatalogError> {
        self.last = None;
        self.heads.seek(from)
    }

    fn seek_within(&mut self, key: &str, _id: &str) -> Result<(), CatalogError> {
        // Of each key there is one, so ids mean nothing here.
        self.seek(&[key.as_bytes(), b"\0"].concat())
    }

    fn next(&mut self, prefix: &str) -> Result<Option<(String, Self::Item)>, CatalogError> {
        loop {
            // Only now: who groups keys goes on elsewhere.
            if let Some(last) = self.last.take() {
                self.heads.pass(&last, prefix)?;
            }
            let Some(turn) = self.heads.next(prefix)? else { break };
            let (Turn::Null(key, entry) | Turn::Named(key, _, entry)) = turn;
            self.last = Some(key.clone());
            if !entry.is_marker()? {
                return Ok(Some((key, entry)));
            }
            self.passed += 1;
            if self.passed >= self.passed_max {
                self.stopped_at = Some(key);
                break;
            }
        }
        Ok(None)
    }

    fn stopped_at(&self) -> Option<&str> {
        self.stopped_at.as_deref()
    }
}

/// All versions of a bucket's keys.
pub struct AllVersions<S: Source> {
    heads: Heads<S>,
    /// The key that was come to last: what follows of it is not the latest.
    last: Option<String>,
    /// But this is: others came or went since the page before.
    latest: Option<ObjectVersion>,
}

/// A version as it was come to.
#[derive(Debug)]
pub struct Come<R> {
    /// Which.
    pub version: ObjectVersion,
    /// Whether it is what its key stands for.
    pub is_latest: bool,
    /// What stands there.
    pub row: R,
}

impl<S: Source<Item: VersionRow>> AllVersions<S> {
    /// From the keys of a bucket, and those of its space of versions.
    pub const fn new(nulls: S, named: S) -> Self {
        Self { heads: Heads::new(nulls, named), last: None, latest: None }
    }
}

impl<S: Source<Item: VersionRow>> Source for AllVersions<S> {
    type Item = Come<S::Item>;

    fn seek(&mut self, from: &[u8]) -> Result<(), CatalogError> {
        self.last = None;
        self.heads.seek(from)
    }

    fn seek_within(&mut self, key: &str, id: &str) -> Result<(), CatalogError> {
        self.last = Some(key.to_owned());
        self.latest = self.heads.latest(key)?;
        self.heads.seek_behind(key, id)
    }

    fn next(&mut self, prefix: &str) -> Result<Option<(String, Self::Item)>, CatalogError> {
        let (key, version, row) = match self.heads.next(prefix)? {
            None => return Ok(None),
            Some(Turn::Null(key, row)) => (key, ObjectVersion::Null, row),
            Some(Turn::Named(key, id, row)) => (key, ObjectVersion::Id(id), row),
        };
        let is_another = self.last.as_ref() != Some(&key);
        let is_latest = is_another || self.latest == Some(version);
        if is_another {
            (self.last, self.latest) = (Some(key.clone()), None);
        }
        Ok(Some((key, Come { version, is_latest, row })))
    }
}
