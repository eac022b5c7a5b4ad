//! What a bucket that keeps versions shows: the latest of each key, and all of them.
//!
//! Versions with ids are rows in the bucket's space of versions, where a key's follow one another,
//! the latest first; the null version is at the key itself, among the bucket's objects.

use super::failure::corrupt;
use super::key::object_key;
use super::read::Found;
use super::rows::{Bytes, Entry};
use super::short::is_marker;
use super::source::Objects;
use super::table::View;
use crate::rollup::{Source, page};
use crate::{
    CatalogError, ListedVersion, Listing, ListingRequest, Object, ObjectVersion, VersionId,
    Versioning,
};
use ripstop_object::{
    split_version_name, version_name, versions_begin, versions_end, versions_of, versions_prefix,
};

type ObjectEntry<'a> = Entry<'a, Bytes, Object>;

/// Both tables' keys in step.
struct Heads<'a> {
    view: &'a View,
    bucket: &'a str,
    nulls: Objects<'a>,
    /// The next null version, once it is known; `Some(None)` if there is none any more.
    null: Option<Option<(String, ObjectEntry<'a>)>>,
    named: Objects<'a>,
    /// The next version with an id, in the same way.
    version: Option<Option<(String, VersionId, ObjectEntry<'a>)>>,
}

/// Whose turn it is.
enum Turn<'a> {
    Null(String, ObjectEntry<'a>),
    Named(String, VersionId, ObjectEntry<'a>),
}

impl<'a> Heads<'a> {
    fn new(view: &'a View, bucket: &'a str) -> Self {
        let (nulls, named) = (Objects::new(view, bucket), Objects::new(view, &versions_of(bucket)));
        Self { view, bucket, nulls, null: None, named, version: None }
    }

    /// Goes to the first version of a key that is `from` or greater.
    fn seek(&mut self, from: &[u8]) -> Result<(), CatalogError> {
        self.nulls.seek(from)?;
        self.null = None;
        self.seek_named(&escaped(from))
    }

    fn seek_named(&mut self, from: &[u8]) -> Result<(), CatalogError> {
        self.named.seek(from)?;
        self.version = None;
        Ok(())
    }

    /// Goes behind a version of a key.
    fn seek_behind(&mut self, key: &str, id: &str) -> Result<(), CatalogError> {
        let null = self.null_order(key)?;
        let behind_key = [key.as_bytes(), b"\0"].concat();
        let behind = match VersionId::parse(id) {
            Some(id) => {
                let is_to_come = null.is_some_and(|order| order < id);
                self.nulls.seek(if is_to_come { key.as_bytes() } else { &behind_key })?;
                [version_name(key, id).as_bytes(), b"\0"].concat()
            }
            None => {
                self.nulls.seek(&behind_key)?;
                // Those that were made before it; of one that is gone, nobody knows which.
                null.map_or_else(
                    || versions_end(key).into_bytes(),
                    |order| version_name(key, order).into_bytes(),
                )
            }
        };
        self.null = None;
        self.seek_named(&behind)
    }

    /// What orders the null version of a key, if it has one.
    fn null_order(&self, key: &str) -> Result<Option<VersionId>, CatalogError> {
        let key = object_key(self.bucket, key.as_bytes());
        let found = self.view.objects.find(&key.as_slice())?;
        Ok(found.map(|object: Object| object.null_order()))
    }

    /// The next version: by key, and of each key the latest first.
    fn next(&mut self, prefix: &str) -> Result<Option<Turn<'a>>, CatalogError> {
        if self.null.is_none() {
            self.null = Some(self.nulls.next(prefix)?);
        }
        if self.version.is_none() {
            let next = self.named.next(&versions_prefix(prefix))?;
            let split = |(name, entry): (String, ObjectEntry<'a>)| {
                let odd = || corrupt(format!("{name:?} is no name of a version"));
                let (key, id) = split_version_name(&name).ok_or_else(odd)?;
                Ok::<_, CatalogError>((key, id, entry))
            };
            self.version = Some(next.map(split).transpose()?);
        }
        let null_is_next = match (self.null.as_ref().and_then(Option::as_ref), &self.version) {
            (None, _) => false,
            (Some(_), None | Some(None)) => true,
            (Some((null, entry)), Some(Some((key, id, _)))) => {
                null < key || null == key && entry.read()?.null_order() > *id
            }
        };
        Ok(if null_is_next {
            self.null.take().flatten().map(|(key, entry)| Turn::Null(key, entry))
        } else {
            let next = self.version.take().flatten();
            if next.is_none() {
                self.version = Some(None);
            }
            next.map(|(key, id, entry)| Turn::Named(key, id, entry))
        })
    }

    /// Passes over what is left of a key's versions.
    fn pass(&mut self, key: &str) -> Result<(), CatalogError> {
        if self.null.as_ref().and_then(Option::as_ref).is_some_and(|(null, _)| null == key) {
            self.null = None;
        }
        // Mostly a key has few: the next is looked at before anything is sought.
        let of_key = |head: &Option<Option<(String, VersionId, ObjectEntry<'a>)>>| {
            head.as_ref().and_then(Option::as_ref).is_none_or(|(next, _, _)| next == key)
        };
        if of_key(&self.version) {
            self.seek_named(versions_end(key).as_bytes())?;
        }
        Ok(())
    }
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
    passed_max: usize,
    passed: usize,
    stopped_at: Option<String>,
}

impl<'a> Latest<'a> {
    pub(super) fn new(view: &'a View, bucket: &'a str) -> Self {
        Self::passing(PASSED_MAX, view, bucket)
    }

    fn passing(passed_max: usize, view: &'a View, bucket: &'a str) -> Self {
        Self { heads: Heads::new(view, bucket), passed_max, passed: 0, stopped_at: None }
    }
}

impl<'a> Source for Latest<'a> {
    type Item = ObjectEntry<'a>;

    fn seek(&mut self, from: &[u8]) -> Result<(), CatalogError> {
        self.heads.seek(from)
    }

    fn seek_within(&mut self, key: &str, _id: &str) -> Result<(), CatalogError> {
        // Of each key there is one, so ids mean nothing here.
        self.heads.seek(&[key.as_bytes(), b"\0"].concat())
    }

    fn next(&mut self, prefix: &str) -> Result<Option<(String, Self::Item)>, CatalogError> {
        while let Some(turn) = self.heads.next(prefix)? {
            let (Turn::Null(key, entry) | Turn::Named(key, _, entry)) = turn;
            self.heads.pass(&key)?;
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
struct All<'a> {
    heads: Heads<'a>,
    /// The key that was come to last: what follows of it is not the latest.
    last: Option<String>,
}

/// A version as it was come to.
struct Come<'a> {
    version: ObjectVersion,
    is_latest: bool,
    entry: ObjectEntry<'a>,
}

impl<'a> Source for All<'a> {
    type Item = Come<'a>;

    fn seek(&mut self, from: &[u8]) -> Result<(), CatalogError> {
        self.last = None;
        self.heads.seek(from)
    }

    fn seek_within(&mut self, key: &str, id: &str) -> Result<(), CatalogError> {
        self.last = Some(key.to_owned());
        self.heads.seek_behind(key, id)
    }

    fn next(&mut self, prefix: &str) -> Result<Option<(String, Come<'a>)>, CatalogError> {
        let (key, version, entry) = match self.heads.next(prefix)? {
            None => return Ok(None),
            Some(Turn::Null(key, entry)) => (key, ObjectVersion::Null, entry),
            Some(Turn::Named(key, id, entry)) => (key, ObjectVersion::Id(id), entry),
        };
        let is_latest = self.last.as_ref() != Some(&key);
        if is_latest {
            self.last = Some(key.clone());
        }
        Ok(Some((key, Come { version, is_latest, entry })))
    }
}

impl View {
    /// Whether a bucket keeps versions; `None` where there is no such bucket.
    pub(super) fn versioning(&self, bucket: &str) -> Result<Option<Versioning>, CatalogError> {
        Ok(self.bucket(bucket)?.map(|bucket| bucket.versioning))
    }

    /// The latest of a key's versions, unless its record is longer than `len_max` bytes.
    pub(super) fn current(
        &self,
        bucket: &str,
        key: &str,
        len_max: usize,
    ) -> Result<Found, CatalogError> {
        let at_key = object_key(bucket, key.as_bytes());
        if matches!(self.versioning(bucket)?, None | Some(Versioning::Never)) {
            return self.object(&at_key, len_max);
        }
        let space = versions_of(bucket);
        let begin = object_key(&space, versions_begin(key).as_bytes());
        let latest = self.objects.range(begin.as_slice()..)?.next().transpose()?;
        let latest = latest.filter(|entry| entry.key().starts_with(&begin));
        let Some(latest) = latest else {
            return self.version(&at_key, ObjectVersion::Null, len_max);
        };
        let null = self.objects.raw(&at_key.as_slice())?;
        let len = null.as_ref().map_or(0, |null| null.value().len()).max(latest.len());
        if len > len_max {
            return Ok(Found::Long);
        }
        let at = object_key(&space, b"").len();
        let name = super::key::text(&latest.key()[at..])?;
        let odd = || corrupt(format!("{name:?} is no name of a version"));
        let (_, id) = split_version_name(&name).ok_or_else(odd)?;
        if let Some(null) = null
            && self.objects.decode(&at_key.as_slice(), null.value())?.null_order() > id
        {
            return self.version(&at_key, ObjectVersion::Null, len_max);
        }
        self.version(latest.key(), ObjectVersion::Id(id), len_max)
    }

    fn version(
        &self,
        at: &[u8],
        version: ObjectVersion,
        len_max: usize,
    ) -> Result<Found, CatalogError> {
        let mut found = self.object(at, len_max)?;
        if let Found::Object(located) = &mut found {
            located.version = Some(version);
        }
        Ok(found)
    }

    pub(super) fn versions(&self, request: &ListingRequest) -> Result<Listing, CatalogError> {
        self.must_have_bucket(request)?;
        let heads = Heads::new(self, &request.bucket);
        let page = page(request, &mut All { heads, last: None })?;
        let versions = page.items.into_iter().map(|(key, come)| {
            let Come { version, is_latest, entry } = come;
            let is_marker = is_marker(&entry)?;
            let object = super::short::listed(&entry)?;
            Ok(ListedVersion { key, version, is_latest, is_marker, object })
        });
        let versions = versions.collect::<Result<Vec<_>, CatalogError>>()?;
        let mut listing = Listing { versions, prefixes: page.prefixes, ..Listing::default() };
        if page.is_truncated && page.ends_with_prefix {
            listing.next = listing.prefixes.last().cloned();
        } else if page.is_truncated {
            listing.next = listing.versions.last().map(|last| last.key.clone());
            listing.next_upload = listing.versions.last().map(|last| last.version.to_string());
        }
        Ok(listing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{bucket, object, stripe};
    use crate::{Catalog as _, CatalogSettings, Change, Condition, Embedded, Object, Quota, Stamp};
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
    async fn a_page_passes_over_so_many_deleted_keys_and_says_where_it_goes_on() {
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
