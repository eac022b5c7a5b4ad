//! Of some records only what is wanted is read. Of an object's, for listings, headers, metadata
//! and tags are passed over, however long they are, and what comes after: parts, extents.

use super::rows::{Bytes, Entry, unreadable};
use crate::{Bucket, CatalogError, Garbage, ListedObject, Object, Versioning};
use ripstop_form::{checksum_algorithm, scan};

/// What a listing shows of an object.
pub(super) fn listed(entry: &Entry<'_, Bytes, Object>) -> Result<ListedObject, CatalogError> {
    if entry.older().is_some() {
        return Ok(ListedObject::of(&entry.read()?));
    }
    let (etag, storage_class) = (String::new(), String::new());
    let mut listed = ListedObject { len: 0, modified_ms: 0, etag, checksum: None, storage_class };
    let seen = scan(entry.fields()?, |field, found| {
        match field {
            1 => listed.len = found.number()?,
            2 => listed.modified_ms = found.number()?,
            3 => found.scan(|field, found| {
                match field {
                    1 => listed.etag = found.text()?.into(),
                    5 => listed.checksum = Some((checksum_algorithm(found)?, false)),
                    7 => {
                        if let Some((_, composite)) = &mut listed.checksum {
                            *composite = found.truth()?;
                        }
                    }
                    22 => listed.storage_class = found.text()?.into(),
                    _ => return Ok(false),
                }
                Ok(true)
            })?,
            _ => return Ok(None),
        }
        Ok(Some(true))
    });
    seen.map_err(|why| unreadable(&why))?;
    Ok(listed)
}

/// Whether an object is a delete marker.
pub(super) fn is_marker(entry: &Entry<'_, Bytes, Object>) -> Result<bool, CatalogError> {
    if entry.older().is_some() {
        return Ok(false);
    }
    let mut is_marker = false;
    let seen = scan(entry.fields()?, |field, found| {
        let is_it = field == 10;
        if is_it {
            is_marker = found.truth()?;
        }
        Ok(Some(is_it))
    });
    seen.map_err(|why| unreadable(&why))?;
    Ok(is_marker)
}

/// How a bucket keeps versions.
pub(super) fn versioning(entry: &Entry<'_, Bytes, Bucket>) -> Result<Versioning, CatalogError> {
    if entry.older().is_some() {
        return Ok(Versioning::Never);
    }
    let mut versioning = Versioning::Never;
    let seen = scan(entry.fields()?, |field, found| {
        let is_it = field == 8;
        if is_it {
            versioning = ripstop_form::versioning(found)?;
        }
        Ok(Some(is_it))
    });
    seen.map_err(|why| unreadable(&why))?;
    Ok(versioning)
}

/// Since when a stripe is garbage.
pub(super) fn garbage_since(entry: &Entry<'_, u128, Garbage>) -> Result<u64, CatalogError> {
    if entry.older().is_some() {
        return Ok(entry.read()?.since_ms);
    }
    let mut since_ms = 0;
    let seen = scan(entry.fields()?, |field, found| {
        Ok(if field == 1 {
            since_ms = found.number()?;
            Some(true)
        } else {
            None
        })
    });
    seen.map_err(|why| unreadable(&why))?;
    Ok(since_ms)
}
