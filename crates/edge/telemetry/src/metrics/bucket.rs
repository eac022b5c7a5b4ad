use super::{family as of, sheet::Sheet};
use ripstop_catalog::{Quota, Usage};
use ripstop_store::{Store, StoreError};
use std::{
    collections::BTreeSet,
    fmt,
    sync::{Mutex, PoisonError},
};

/// Most buckets whose figures are on the page: those with quotas of their own first, then others by
/// name.
pub const BUCKETS_SHOWN_MAX: usize = 100;

/// What buckets held when they were last looked at.
#[derive(Debug, Default)]
pub(crate) struct BucketFigures(Mutex<Vec<Figures>>);

#[derive(Clone, Debug)]
struct Figures {
    name: String,
    usage: Usage,
    quota: Quota,
}

/// What of a bucket is in a family, if anything.
type Value = fn(&Figures) -> Option<u64>;

impl BucketFigures {
    /// Looks at them again; while the catalog cannot tell, none are shown.
    pub(crate) async fn look(&self, store: &Store) {
        let figures = figures(store).await.unwrap_or_default();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = figures;
    }

    pub(crate) fn encode(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let figures = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let held: [(_, Value); 4] = [
            (&of::BUCKET_BYTES, |of| Some(of.usage.bytes)),
            (&of::BUCKET_OBJECTS, |of| Some(of.usage.objects)),
            (&of::BUCKET_QUOTA_BYTES, |of| of.quota.bytes),
            (&of::BUCKET_QUOTA_OBJECTS, |of| of.quota.objects),
        ];
        for (family, value) in held {
            let mut rows = sheet.family(family)?;
            for bucket in &figures {
                if let Some(value) = value(bucket) {
                    rows.gauge(&[("bucket", &bucket.name)], value as f64)?;
                }
            }
        }
        Ok(())
    }
}

async fn figures(store: &Store) -> Result<Vec<Figures>, StoreError> {
    let quotas = store.quotas();
    let named: BTreeSet<&str> =
        quotas.named.keys().map(String::as_str).take(BUCKETS_SHOWN_MAX).collect();
    let mut figures = Vec::with_capacity(BUCKETS_SHOWN_MAX);
    for name in &named {
        let (name, usage) = ((*name).to_owned(), store.usage(name).await?);
        figures.push(Figures { quota: quotas.of(&name), name, usage });
    }
    // As many of these as are shown already may be among them.
    let others = store.usages("", BUCKETS_SHOWN_MAX + named.len()).await?.into_iter();
    let others = others.filter(|(name, _)| !named.contains(name.as_str()));
    let others = others.map(|(name, usage)| Figures { quota: quotas.of(&name), name, usage });
    figures.extend(others.take(BUCKETS_SHOWN_MAX - named.len()));
    Ok(figures)
}
