use ripstop_model::StripeId;
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

/// Stripes that are being written, or whose fragments are being moved or mended: no sweep may take
/// their fragments for abandoned.
#[derive(Clone, Default, Debug)]
pub struct Pins(Arc<Mutex<BTreeSet<StripeId>>>);

/// Keeps one stripe pinned until it is dropped.
#[derive(Debug)]
pub struct Pin {
    id: StripeId,
    pins: Pins,
}

impl Pins {
    /// Pins a stripe that nobody else has pinned.
    pub(crate) fn pin(&self, id: StripeId) -> Pin {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
        Pin { id, pins: self.clone() }
    }

    /// Pins a stripe, unless somebody has it pinned.
    pub fn try_pin(&self, id: StripeId) -> Option<Pin> {
        let is_new = self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
        is_new.then(|| Pin { id, pins: self.clone() })
    }

    /// Whether the stripe is pinned. To be asked before the catalog: once a stripe is no longer
    /// pinned, the catalog knows what became of it.
    pub fn contains(&self, id: StripeId) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(&id)
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.pins.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}
