//! What a bucket that keeps versions shows: the latest of each key, and all of them.
//!
//! Versions with ids are rows in the bucket's space of versions, where a key's follow one another,
//! the latest first; the null version is at the key itself, among the bucket's objects.

use super::failure::corrupt;
use super::key::object_key;
use super::rows::{Bytes, Entry};
use super::short::is_marker;
use super::source::Objects;
use super::table::View;
use crate::rollup::Source;
use crate::{CatalogError, Object, ObjectVersion, VersionId};
use ripstop_object::{
    split_version_name, version_name, versions_end, versions_of, versions_prefix,
};

type ObjectEntry<'a> = Entry<'a, Bytes, Object>;

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

/// Both tables' keys in step.
struct Heads<'a> {
    view: &'a View,
    bucket: &'a str,
    nulls: Objects<'a>,
    /// The next null version, with its key.
    null: Head<(String, ObjectEntry<'a>)>,
    named: Objects<'a>,
    /// The next version with an id, with its key.
    version: Head<(String, VersionId, ObjectEntry<'a>)>,
}

/// Whose turn it is.
enum Turn<'a> {
    Null(String, ObjectEntry<'a>),
    Named(String, VersionId, ObjectEntry<'a>),
}

impl<'a> Heads<'a> {
    fn new(view: &'a View, bucket: &'a str) -> Self {
        let (nulls, named) = (Objects::new(view, bucket), Objects::new(view, &versions_of(bucket)));
        Self { view, bucket, nulls, null: Head::Unread, named, version: Head::Unread }
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
    fn null_order(&self, key: &str) -> Result<Option<VersionId>, CatalogError> {
        let key = object_key(self.bucket, key.as_bytes());
        let found = self.view.objects.find(&key.as_slice())?;
        Ok(found.map(|object: Object| object.null_order()))
    }

    /// Looks at what comes next of both.
    fn look(&mut self, prefix: &str) -> Result<(), CatalogError> {
        if matches!(self.null, Head::Unread) {
            self.null = self.nulls.next(prefix)?.into();
        }
        if matches!(self.version, Head::Unread) {
            let next = self.named.next(&versions_prefix(prefix))?;
            let split = |(name, entry): (String, ObjectEntry<'a>)| {
                let (key, id) = split_version_name(&name).ok_or_else(|| odd(&name))?;
                Ok::<_, CatalogError>((key, id, entry))
            };
            self.version = next.map(split).transpose()?.into();
        }
        Ok(())
    }

    /// The next version: by key, and of each key the latest first.
    fn next(&mut self, prefix: &str) -> Result<Option<Turn<'a>>, CatalogError> {
        self.look(prefix)?;
        let null_is_next = match (self.null.get(), self.version.get()) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some((null, entry)), Some((key, id, _))) => {
                null < key || null == key && entry.read()?.null_order() > *id
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

pub(super) fn odd(name: &str) -> CatalogError {
    corrupt(format!("{name:?} is no name of a version"))
}

/// Bytes of a key, or of something between keys, as they sort among names of versions.
fn escaped(key: &[u8]) -> Vec<u8> {
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
pub(super) struct Latest<'a> {
    heads: Heads<'a>,
    /// The key that was come to last, of which there may be more versions.
    last: Option<String>,
    passed_max: usize,
    passed: usize,
    stopped_at: Option<String>,
}

impl<'a> Latest<'a> {
    pub(super) fn new(view: &'a View, bucket: &'a str) -> Self {
        Self::passing(PASSED_MAX, view, bucket)
    }

    fn passing(passed_max: usize, view: &'a View, bucket: &'a str) -> Self {
        let heads = Heads::new(view, bucket);
        Self { heads, last: None, passed_max, passed: 0, stopped_at: None }
    }
}

impl<'a> Source for Latest<'a> {
    type Item = ObjectEntry<'a>;

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
            if !is_marker(&entry)? {
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
pub(super) struct All<'a> {
    heads: Heads<'a>,
    /// The key that was come to last: what follows of it is not the latest.
    last: Option<String>,
    /// But this is: others came or went since the page before.
    latest: Option<ObjectVersion>,
}

/// A version as it was come to.
pub(super) struct Come<'a> {
    pub(super) version: ObjectVersion,
    pub(super) is_latest: bool,
    pub(super) entry: ObjectEntry<'a>,
}

impl<'a> All<'a> {
    pub(super) fn new(view: &'a View, bucket: &'a str) -> Self {
        Self { heads: Heads::new(view, bucket), last: None, latest: None }
    }
}

impl<'a> Source for All<'a> {
    type Item = Come<'a>;

    fn seek(&mut self, from: &[u8]) -> Result<(), CatalogError> {
        self.last = None;
        self.heads.seek(from)
    }

    fn seek_within(&mut self, key: &str, id: &str) -> Result<(), CatalogError> {
        self.last = Some(key.to_owned());
        self.latest = self.heads.view.latest_version(self.heads.bucket, key)?;
        self.heads.seek_behind(key, id)
    }

    fn next(&mut self, prefix: &str) -> Result<Option<(String, Come<'a>)>, CatalogError> {
        let (key, version, entry) = match self.heads.next(prefix)? {
            None => return Ok(None),
            Some(Turn::Null(key, entry)) => (key, ObjectVersion::Null, entry),
            Some(Turn::Named(key, id, entry)) => (key, ObjectVersion::Id(id), entry),
        };
        let is_another = self.last.as_ref() != Some(&key);
        let is_latest = is_another || self.latest == Some(version);
        if is_another {
            (self.last, self.latest) = (Some(key.clone()), None);
        }
        Ok(Some((key, Come { version, is_latest, entry })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{bucket, object, stripe};
    use crate::rollup::page;
    use crate::{
        Catalog as _, CatalogSettings, Change, Condition, Embedded, ListingRequest, Quota, Stamp,
        Versioning,
    };
    use ripstop_model::StripeId;
    use ripstop_object::Place;

    fn put(key: &str, when: u64, is_marker: bool) -> Change {
        let stamp = Stamp { when, stripe: StripeId(u128::from(when)) };
        let version = ObjectVersion::Id(VersionId::of(stamp));
        let place = Place::of_version("b", key, version).into_owned();
        let told_by = u128::from(when) + 1;
        let object = object("e", &[], told_by);
        Change::PutObject {
            bucket: place.bucket.into_owned(),
            key: place.key.into_owned(),
            object: Object { stamp: Some(stamp), is_marker, ..object },
            stripes: vec![(StripeId(told_by), stripe())],
            condition: Condition::None,
            quota: Quota::NONE,
        }
    }

    #[tokio::test]
    async fn a_page_that_passes_over_deleted_keys_ends_and_says_where_it_goes_on() {
        let catalog = Embedded::in_memory(CatalogSettings::default()).unwrap();
        let kept = crate::Bucket { versioning: Versioning::Enabled, ..bucket("b", 1) };
        let stripes = vec![(StripeId(1), stripe())];
        let mut changes = vec![Change::CreateBucket { bucket: kept, stripes }];
        let keys = ["a", "b", "c", "d", "e", "f"];
        changes.extend((10..).zip(keys).map(|(at, key)| put(key, at, key != "a" && key != "f")));
        for outcome in catalog.commit(1, changes).await.unwrap() {
            outcome.unwrap();
        }
        let pages = |passed_max| {
            let reading = catalog.here(move |view| {
                let mut request =
                    ListingRequest { bucket: "b".into(), max: 10, ..Default::default() };
                let (mut pages, mut keys) = (0, Vec::new());
                loop {
                    let latest = &mut Latest::passing(passed_max, view, "b");
                    let page = page(&request, latest)?;
                    pages += 1;
                    keys.extend(page.items.into_iter().map(|(key, _)| key));
                    assert_eq!(page.is_truncated, page.stopped_at.is_some());
                    let Some(at) = page.stopped_at else { return Ok((pages, keys)) };
                    request.after = at;
                }
            });
            async { reading.await.unwrap() }
        };
        let both: Vec<String> = vec!["a".into(), "f".into()];
        assert_eq!(pages(5).await, (1, both.clone()));
        assert_eq!(
            pages(4).await,
            (2, both.clone()),
            "the page ends with the last that is deleted"
        );
        assert_eq!(pages(1).await, (5, both));
    }
}
