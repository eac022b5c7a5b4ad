//! Buckets that the gateway is asked to put something into.

use super::{Desk, Outcome};
use crate::{
    error::Failure,
    gate::{BucketAccess, Need},
};
use ripstop_access::S3Action;
use ripstop_catalog::{CatalogError, Refusal};
use ripstop_identity::Privilege;
use ripstop_store::StoreError;

/// Refuses a bucket that is not there, with `none`, or to which who asks may not write under such a
/// key: what is put there is put for them. Who may not know is not told whether it is there.
pub(super) async fn check_target(
    desk: &Desk,
    (bucket, key): (&str, &str),
    none: Failure,
) -> Outcome<()> {
    let need = Need {
        actions: S3Action::named("PutObject").into_iter().collect(),
        privilege: Privilege::Write,
        bucket: bucket.to_owned(),
        key: Some(key.to_owned()),
        looks: false,
    };
    match desk.store.bucket(bucket).await {
        Ok(found) => {
            let access = BucketAccess::of(&found, &desk.settings.owner);
            desk.gate.check_at(&access, &need)
        }
        Err(StoreError::Catalog(CatalogError::Refused(Refusal::NoSuchBucket))) => {
            desk.gate.check_absent(&need)?;
            Err(none)
        }
        Err(error) => Err(error.into()),
    }
}
