//! Pages of keys as listings.

use crate::{CatalogError, ListedObject, ListedUpload, ListedVersion, Listing, Page, Upload};

impl<T> Page<T> {
    /// A listing of objects, of which `shown` makes what it shows.
    pub fn of_objects(
        self,
        shown: impl Fn(T) -> Result<ListedObject, CatalogError>,
    ) -> Result<Listing, CatalogError> {
        let objects = self.items.into_iter().map(|(key, item)| Ok((key, shown(item)?)));
        let objects = objects.collect::<Result<Vec<_>, CatalogError>>()?;
        let last_key = objects.last().map(|(key, _)| key);
        let last = if self.ends_with_prefix { self.prefixes.last() } else { last_key };
        let next = self.stopped_at.or_else(|| last.filter(|_| self.is_truncated).cloned());
        Ok(Listing { objects, prefixes: self.prefixes, next, ..Listing::default() })
    }

    /// A listing of versions, of which `shown` makes what it shows.
    pub fn of_versions(
        self,
        shown: impl Fn(&str, T) -> Result<ListedVersion, CatalogError>,
    ) -> Result<Listing, CatalogError> {
        let versions = self.items.into_iter().map(|(key, item)| shown(&key, item));
        let versions = versions.collect::<Result<Vec<_>, CatalogError>>()?;
        let mut listing = Listing { versions, prefixes: self.prefixes, ..Listing::default() };
        if self.is_truncated && self.ends_with_prefix {
            listing.next = listing.prefixes.last().cloned();
        } else if self.is_truncated {
            listing.next = listing.versions.last().map(|last| last.key.clone());
            listing.next_upload = listing.versions.last().map(|last| last.version.to_string());
        }
        Ok(listing)
    }

    /// A listing of uploads, which `found` finds.
    pub fn of_uploads(
        self,
        found: impl Fn(T) -> Result<Upload, CatalogError>,
    ) -> Result<Listing, CatalogError> {
        let uploads = self.items.into_iter().map(|(_, item)| Ok(ListedUpload::of(&found(item)?)));
        let uploads = uploads.collect::<Result<Vec<_>, CatalogError>>()?;
        let mut listing = Listing { uploads, prefixes: self.prefixes, ..Listing::default() };
        if self.is_truncated && self.ends_with_prefix {
            listing.next = listing.prefixes.last().cloned();
        } else if self.is_truncated {
            listing.next = listing.uploads.last().map(|upload| upload.key.clone());
            listing.next_upload = listing.uploads.last().map(|upload| upload.id.clone());
        }
        Ok(listing)
    }
}
