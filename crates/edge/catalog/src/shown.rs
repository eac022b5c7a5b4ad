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
        let last = versions.last().map(|last| (last.key.clone(), last.version.to_string()));
        let end = End { is_truncated: self.is_truncated, with_prefix: self.ends_with_prefix };
        Ok(end.told(last, Listing { versions, prefixes: self.prefixes, ..Listing::default() }))
    }

    /// A listing of uploads, which `found` finds.
    pub fn of_uploads(
        self,
        found: impl Fn(T) -> Result<Upload, CatalogError>,
    ) -> Result<Listing, CatalogError> {
        let uploads = self.items.into_iter().map(|(_, item)| Ok(ListedUpload::of(&found(item)?)));
        let uploads = uploads.collect::<Result<Vec<_>, CatalogError>>()?;
        let last = uploads.last().map(|last| (last.key.clone(), last.id.clone()));
        let end = End { is_truncated: self.is_truncated, with_prefix: self.ends_with_prefix };
        Ok(end.told(last, Listing { uploads, prefixes: self.prefixes, ..Listing::default() }))
    }
}

/// How a page ends whose items have an id beside their key.
struct End {
    is_truncated: bool,
    with_prefix: bool,
}

impl End {
    /// The listing with where the next page begins: after the last prefix, or after the `last` item
    /// by its key and id.
    fn told(self, last: Option<(String, String)>, listing: Listing) -> Listing {
        let (next, next_upload) = match (self.is_truncated, self.with_prefix) {
            (false, _) => (None, None),
            (true, true) => (listing.prefixes.last().cloned(), None),
            (true, false) => last.unzip(),
        };
        Listing { next, next_upload, ..listing }
    }
}
