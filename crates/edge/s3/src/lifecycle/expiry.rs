//! When objects expire, for whom they are shown to.

use super::document::{DOCUMENT, stored};
use crate::date;
use ripstop_catalog::{Bucket, Object};
use ripstop_lifecycle::{Day, Rules, Standing, View};
use ripstop_store::Store;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// How long a bucket's rules are believed to be as they were. What another gateway is told is shown
/// here that much later; what is done by the rules does not depend on it.
const FRESH: Duration = Duration::from_secs(10);
/// Most buckets whose rules are remembered; beyond, all are forgotten.
const BUCKETS_MAX: usize = 4096;

/// What of an object decides when it expires.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    len: u64,
    modified_ms: u64,
    tags: Vec<(String, String)>,
}

impl Facts {
    pub(crate) fn of(object: &Object) -> Self {
        let Object { len, modified_ms, attributes, .. } = object;
        Self { len: *len, modified_ms: *modified_ms, tags: attributes.tags.clone() }
    }
}

/// The rules of buckets as they were last read, so that an answer costs no look at its bucket.
#[derive(Debug, Default)]
pub(crate) struct Expiries(Mutex<BTreeMap<String, Known>>);

#[derive(Clone, Debug)]
struct Known {
    rules: Option<Arc<Rules>>,
    since: Instant,
}

impl Expiries {
    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A bucket's rules may be others from now on.
    pub(crate) fn forget(&self, bucket: &str) {
        self.known().remove(bucket);
    }

    /// The rules of a bucket, if it has any.
    pub(crate) async fn rules(&self, store: &Store, bucket: &str) -> Option<Arc<Rules>> {
        let now = ripstop_host::now();
        let known = self.known().get(bucket).cloned();
        if let Some(known) = known
            && now.saturating_duration_since(known.since) < FRESH
        {
            return known.rules;
        }
        let rules = store.bucket(bucket).await.ok().as_ref().and_then(rules_of).map(Arc::new);
        let mut all = self.known();
        if all.len() >= BUCKETS_MAX {
            all.clear();
        }
        all.insert(bucket.to_owned(), Known { rules: rules.clone(), since: now });
        rules
    }
}

fn rules_of(bucket: &Bucket) -> Option<Rules> {
    stored(bucket.documents.get(DOCUMENT)?)
}

/// What the header says of an object, if a rule makes it expire.
pub(crate) fn expiry(rules: &Rules, key: &str, facts: &Facts) -> Option<String> {
    let Facts { len, modified_ms, ref tags } = *facts;
    let standing = Standing::Latest;
    let view = View { key, len, tags: Some(tags), modified_ms, standing };
    let removal = rules.removal(&view, Day::STANDARD)?;
    let date = date::http(removal.at_ms);
    // As in a URL, so that any name can be told.
    let rule = crate::uri::encode(removal.rule, b"");
    Some(format!("expiry-date=\"{date}\", rule-id=\"{rule}\""))
}
