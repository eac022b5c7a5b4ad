//! What readers ask of versions.

use super::key::{object_key, text};
use super::read::Found;
use super::rows::Entry;
use super::short::{is_marker, listed, versioning};
use super::table::View;
use super::versions::{All, Come, odd};
use crate::rollup::page;
use crate::{
    CatalogError, ListedVersion, Listing, ListingRequest, Object, ObjectVersion, Versioning,
};
use ripstop_object::{split_version_name, versions_begin, versions_of};

impl View {
    /// Whether a bucket keeps versions; `None` where there is no such bucket.
    pub(super) fn versioning(&self, bucket: &str) -> Result<Option<Versioning>, CatalogError> {
        // Without the rest of its record, which may be long.
        let name = bucket.as_bytes();
        let found = self.buckets.range::<&[u8]>(name..=name)?.next().transpose()?;
        found.map(|entry| versioning(&entry)).transpose()
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
        let null = self.objects.raw(&at_key.as_slice())?;
        let null_len = null.as_ref().map_or(0, |null| null.value().len());
        if latest.as_ref().map_or(0, Entry::len).max(null_len) > len_max {
            return Ok(Found::Long);
        }
        let null = null.map(|null| self.objects.decode(&at_key.as_slice(), null.value()));
        let null = null.transpose()?;
        let Some(latest) = latest else {
            return match null {
                Some(null) => self.version(null, ObjectVersion::Null),
                None => self.objects.must_be_absent(&at_key.as_slice()).map(|()| Found::None),
            };
        };
        let name = text(&latest.key()[object_key(&space, b"").len()..])?;
        let (_, id) = split_version_name(&name).ok_or_else(|| odd(&name))?;
        match null.filter(|null| null.null_order() > id) {
            Some(null) => self.version(null, ObjectVersion::Null),
            None => self.version(latest.read()?, ObjectVersion::Id(id)),
        }
    }

    /// Which is the latest of a key's versions.
    pub(super) fn latest_version(
        &self,
        bucket: &str,
        key: &str,
    ) -> Result<Option<ObjectVersion>, CatalogError> {
        Ok(match self.current(bucket, key, usize::MAX)? {
            Found::Object(located) => located.version.or(Some(ObjectVersion::Null)),
            Found::None | Found::Long => None,
        })
    }

    fn version(&self, object: Object, version: ObjectVersion) -> Result<Found, CatalogError> {
        let mut found = self.located(object)?;
        if let Found::Object(located) = &mut found {
            located.version = Some(version);
        }
        Ok(found)
    }

    pub(super) fn versions(&self, request: &ListingRequest) -> Result<Listing, CatalogError> {
        self.must_have_bucket(request)?;
        let page = page(request, &mut All::new(self, &request.bucket))?;
        let versions = page.items.into_iter().map(|(key, come)| {
            let Come { version, is_latest, entry } = come;
            let is_marker = is_marker(&entry)?;
            let object = listed(&entry)?;
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
