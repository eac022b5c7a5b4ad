//! The tables of objects and uploads as sorted sources for listings.

use super::kinds::{Nothing, UploadKey};
use super::rows::{Bytes, Entries, Entry};
use super::short::is_marker;
use super::table::View;
use crate::key::{object_key, text};
use crate::rollup::Source;
use crate::versions::VersionRow;
use crate::{CatalogError, Object, VersionId};

/// A bucket's keys; each stands for an object's record, not decoded yet.
pub(super) struct Objects<'a> {
    view: &'a View,
    /// What every key of the bucket begins with in the table.
    bucket: Vec<u8>,
    range: Option<Entries<'a, Bytes, Object>>,
}

impl<'a> Objects<'a> {
    pub(super) fn new(view: &'a View, bucket: &str) -> Self {
        Self { view, bucket: object_key(bucket, b""), range: None }
    }
}

impl<'a> Source for Objects<'a> {
    type Item = Entry<'a, Bytes, Object>;

    fn seek(&mut self, from: &[u8]) -> Result<(), CatalogError> {
        let from = [self.bucket.as_slice(), from].concat();
        self.range = Some(self.view.objects.range(from.as_slice()..)?);
        Ok(())
    }

    fn seek_within(&mut self, key: &str, _id: &str) -> Result<(), CatalogError> {
        // A key has one object, so ids mean nothing here.
        self.seek(&[key.as_bytes(), b"\0"].concat())
    }

    fn next(&mut self, prefix: &str) -> Result<Option<(String, Self::Item)>, CatalogError> {
        let Some(next) = self.range.as_mut().and_then(Iterator::next) else {
            return Ok(None);
        };
        let entry = next?;
        let key = match entry.key().strip_prefix(self.bucket.as_slice()) {
            Some(key) if key.starts_with(prefix.as_bytes()) => text(key)?,
            Some(_) | None => return Ok(None),
        };
        Ok(Some((key, entry)))
    }
}

impl VersionRow for Entry<'_, Bytes, Object> {
    fn is_marker(&self) -> Result<bool, CatalogError> {
        is_marker(self)
    }

    fn null_order(&self) -> Result<VersionId, CatalogError> {
        Ok(self.read()?.null_order())
    }
}

/// A bucket's uploads by key, then id; each stands for its id.
pub(super) struct Uploads<'a> {
    view: &'a View,
    bucket: &'a str,
    range: Option<Entries<'a, UploadKey, Nothing>>,
}

impl<'a> Uploads<'a> {
    pub(super) fn new(view: &'a View, bucket: &'a str) -> Self {
        Self { view, bucket, range: None }
    }

    fn seek_place(&mut self, key: &[u8], id: &[u8]) -> Result<(), CatalogError> {
        let from = (self.bucket.as_bytes(), key, id);
        self.range = Some(self.view.uploads_by_key.range(from..)?);
        Ok(())
    }
}

impl Source for Uploads<'_> {
    type Item = String;

    fn seek(&mut self, from: &[u8]) -> Result<(), CatalogError> {
        self.seek_place(from, b"")
    }

    fn seek_within(&mut self, key: &str, id: &str) -> Result<(), CatalogError> {
        self.seek_place(key.as_bytes(), &[id.as_bytes(), b"\0"].concat())
    }

    fn next(&mut self, prefix: &str) -> Result<Option<(String, String)>, CatalogError> {
        let Some(next) = self.range.as_mut().and_then(Iterator::next) else {
            return Ok(None);
        };
        let place = next?;
        let (bucket, key, id) = place.key();
        if bucket != self.bucket.as_bytes() || !key.starts_with(prefix.as_bytes()) {
            return Ok(None);
        }
        Ok(Some((text(key)?, text(id)?)))
    }
}
