//! Giving a bucket to another account.

use super::bucket::ACL;
use ripstop_catalog::Bucket;
use ripstop_store::{Store, StoreError};

/// Has an account own a bucket from now on; an empty name is that of the store's own account. What
/// the account before it granted by the bucket's access list is taken back, its own grant among
/// it; the bucket's policy and all other settings stay. Objects without an owner of their own go
/// along.
///
/// # Errors
///
/// If there is no such bucket, or the store cannot take the change.
pub async fn give_bucket(store: &Store, bucket: &str, account: &str) -> Result<(), StoreError> {
    let given = |old: Bucket| {
        if old.owner == account {
            return Ok(old);
        }
        let guards = old.guards.with(ACL, None);
        Ok(Bucket { owner: account.to_owned(), guards, ..old })
    };
    store.change_bucket(bucket, given).await
}
