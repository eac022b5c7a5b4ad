//! What readers ask of versions.

use super::read::Found;
use super::rows::{Bytes, Entry};
use super::short::{is_marker, listed, versioning};
use super::source::Objects;
use super::table::View;
use crate::key::{object_key, text};
use crate::rollup::page;
use crate::versions::{AllVersions, Come, odd};
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

    fn version(&self, object: Object, version: ObjectVersion) -> Result<Found, CatalogError> {
        let mut found = self.located(object)?;
        if let Found::Object(located) = &mut found {
            located.version = Some(version);
        }
        Ok(found)
    }

    pub(super) fn versions(&self, request: &ListingRequest) -> Result<Listing, CatalogError> {
        self.must_have_bucket(request)?;
        let nulls = Objects::new(self, &request.bucket);
        let named = Objects::new(self, &versions_of(&request.bucket));
        let page = page(request, &mut AllVersions::new(nulls, named))?;
        let shown = |key: &str, come: Come<Entry<'_, Bytes, Object>>| {
            let (is_marker, object) = (is_marker(&come.row)?, listed(&come.row)?);
            let Come { version, is_latest, .. } = come;
            Ok(ListedVersion { key: key.to_owned(), version, is_latest, is_marker, object })
        };
        page.of_versions(shown)
    }
}
