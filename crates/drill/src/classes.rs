//! Objects are in the pool of their class of storage.

use crate::actor::{BUCKETS, COLD};
use ripstop_assembly::Assembly;
use ripstop_catalog::{Catalog, CatalogError, ListingRequest, Place};

/// More versions than a drill has.
const ALL: usize = 1000;

/// Complains of an object that is elsewhere; nothing if there is none.
pub(crate) async fn elsewhere(
    assembly: &Assembly,
    catalog: &dyn Catalog,
) -> Result<Option<String>, CatalogError> {
    let [(_, usual), (_, cold)] = &assembly.pools[..] else { return Ok(None) };
    for bucket in BUCKETS {
        let request = ListingRequest { bucket: bucket.into(), max: ALL, ..Default::default() };
        for listed in catalog.versions(&request).await?.versions {
            let place = Place::of_version(bucket, &listed.key, listed.version);
            let Some(found) = catalog.object(&place.bucket, &place.key).await? else { continue };
            let class = &found.object.attributes.storage_class;
            let pool = if class == COLD { cold.id() } else { usual.id() };
            let is_elsewhere = |(_, stripe): &(_, ripstop_catalog::Stripe)| stripe.pool() != pool;
            if found.stripes.iter().any(is_elsewhere) {
                let key = &listed.key;
                return Ok(Some(format!(
                    "{bucket}/{key} of class {class:?} is elsewhere: {found:?}"
                )));
            }
        }
    }
    Ok(None)
}
