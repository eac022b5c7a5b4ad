//! Buckets whose access was read, kept for as long as no bucket changes.

use super::BucketAccess;
use crate::error::Outcome;
use ripstop_catalog::{Bucket, CatalogError, Located, Refusal};
use ripstop_store::{Store, StoreError};
use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

/// Most buckets that are kept: then all are read again as they are asked for.
const KEPT_MAX: usize = 1024;

/// What buckets say of who may do what, as far as it was asked for.
#[derive(Debug, Default)]
pub(crate) struct KnownAccess(RwLock<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// How often buckets had changed when these were read.
    changes: u64,
    buckets: HashMap<String, Arc<BucketAccess>>,
}

impl KnownAccess {
    /// What a bucket says; `None` if there is no such bucket.
    pub(crate) async fn access(
        &self,
        store: &Store,
        bucket: &str,
        store_account: &str,
    ) -> Outcome<Option<Arc<BucketAccess>>> {
        // Before the bucket is read: what changes meanwhile is read again.
        let changes = store.bucket_changes();
        if let Some(known) = changes.and_then(|changes| self.known(bucket, changes)) {
            return Ok(Some(known));
        }
        let Some(found) = if_any(store.bucket(bucket).await)? else { return Ok(None) };
        let access = access_of(&found, store_account);
        if let Some(changes) = changes {
            self.keep(bucket, changes, access.clone());
        }
        Ok(Some(access))
    }

    /// The same, with the object that a key stands for where the bucket has to be asked for each
    /// time: then both take as long as one.
    pub(crate) async fn access_with(
        &self,
        store: &Store,
        (bucket, key): (&str, &str),
        store_account: &str,
    ) -> Outcome<(Option<Arc<BucketAccess>>, Option<Arc<Located>>)> {
        if store.bucket_changes().is_some() {
            return Ok((self.access(store, bucket, store_account).await?, None));
        }
        let found = if_any(store.bucket_with(bucket, key).await)?;
        let Some((found, object)) = found else { return Ok((None, None)) };
        Ok((Some(access_of(&found, store_account)), object))
    }

    fn known(&self, bucket: &str, changes: u64) -> Option<Arc<BucketAccess>> {
        let kept = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let is_so = kept.changes == changes;
        kept.buckets.get(bucket).filter(|_| is_so).cloned()
    }

    fn keep(&self, bucket: &str, changes: u64, access: Arc<BucketAccess>) {
        let mut kept = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if kept.changes > changes {
            return;
        }
        if kept.changes < changes || kept.buckets.len() >= KEPT_MAX {
            kept.buckets.clear();
            kept.changes = changes;
        }
        kept.buckets.insert(bucket.to_owned(), access);
    }
}

/// What was found, if there is such a bucket.
fn if_any<T>(found: Result<T, StoreError>) -> Outcome<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(StoreError::Catalog(CatalogError::Refused(Refusal::NoSuchBucket))) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn access_of(bucket: &Bucket, store_account: &str) -> Arc<BucketAccess> {
    let access = BucketAccess::of(bucket, store_account);
    if access.is_unreadable {
        let bucket = &*bucket.name;
        tracing::error!(bucket, "the bucket's policy cannot be read: nobody is let in");
    }
    Arc::new(access)
}
