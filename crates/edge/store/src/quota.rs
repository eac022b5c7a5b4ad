//! How much each bucket may hold.

use ripstop_catalog::Quota;
use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

/// How much each bucket may hold.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Quotas {
    /// Of buckets by name, whether they are there or not.
    pub named: BTreeMap<String, Quota>,
    /// Of each of the others.
    pub others: Quota,
}

impl Quotas {
    /// A bucket's.
    pub fn of(&self, bucket: &str) -> Quota {
        self.named.get(bucket).copied().unwrap_or(self.others)
    }
}

/// Those in force.
#[derive(Debug, Default)]
pub(crate) struct InForce(RwLock<Arc<Quotas>>);

impl InForce {
    pub(crate) fn set(&self, quotas: Quotas) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(quotas);
    }

    pub(crate) fn now(&self) -> Arc<Quotas> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
