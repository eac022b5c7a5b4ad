//! Giving buckets to other accounts, as the admin port asks for it.

use crate::reload::Reload;
use ripstop_catalog::{CatalogError, Refusal};
use ripstop_s3::{FrontSettings, give_bucket};
use ripstop_store::{Store, StoreError};
use ripstop_telemetry::{GiveBucket, NotGiven};
use std::sync::Arc;

/// What the admin port calls to have a bucket given away.
pub(crate) fn giving(store: Store, reload: Arc<Reload>) -> GiveBucket {
    Arc::new(move |bucket, account| {
        let (store, reload) = (store.clone(), reload.clone());
        Box::pin(async move {
            let is_stores = account.is_empty() || account == FrontSettings::default().owner;
            if !is_stores && !reload.keyring().credentials().have_account(&account) {
                return Err(NotGiven::NoAccount);
            }
            let owner = if is_stores { "" } else { &*account };
            let given = give_bucket(&store, &bucket, owner).await;
            given.map_err(|error| {
                let missing = Refusal::NoSuchBucket;
                if matches!(&error, StoreError::Catalog(CatalogError::Refused(of)) if *of == missing)
                {
                    return NotGiven::NoBucket;
                }
                tracing::error!(error = &error as &dyn std::error::Error, bucket, "not given");
                NotGiven::Unable
            })?;
            tracing::info!(bucket, account, "the bucket is given to an account");
            Ok(())
        })
    })
}
