use ripstop_model::StripeId;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Stripes that are being written, or whose fragments are being moved or mended: no sweep may take
/// their fragments for abandoned.
#[derive(Clone, Default, Debug)]
pub struct Pins(Arc<Mutex<BTreeMap<StripeId, u32>>>);

/// Keeps one stripe pinned until it is dropped.
#[derive(Debug)]
pub struct Pin {
    id: StripeId,
    pins: Pins,
}

impl Pins {
    fn held(&self) -> MutexGuard<'_, BTreeMap<StripeId, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Pins a stripe, even if others have it pinned.
    pub fn pin(&self, id: StripeId) -> Pin {
        *self.held().entry(id).or_default() += 1;
        Pin { id, pins: self.clone() }
    }

    /// Pins a stripe, unless somebody has it pinned.
    pub fn try_pin(&self, id: StripeId) -> Option<Pin> {
        let mut held = self.held();
        if held.contains_key(&id) {
            return None;
        }
        held.insert(id, 1);
        Some(Pin { id, pins: self.clone() })
    }

    /// Whether the stripe is pinned. To be asked before the catalog: once a stripe is no longer
    /// pinned, the catalog knows what became of it.
    pub fn contains(&self, id: StripeId) -> bool {
        self.held().contains_key(&id)
    }

    /// The least pinned stripe of those that are meant.
    pub fn least(&self, is_meant: impl Fn(StripeId) -> bool) -> Option<StripeId> {
        self.held().keys().copied().find(|id| is_meant(*id))
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        let mut held = self.pins.held();
        if let Some(pins) = held.get_mut(&self.id) {
            *pins -= 1;
            if *pins == 0 {
                held.remove(&self.id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stripe_is_pinned_until_the_last_pin_is_gone() {
        let (pins, id) = (Pins::default(), StripeId(7));
        let (one, two) = (pins.pin(id), pins.pin(id));
        assert!(pins.try_pin(id).is_none());
        drop(one);
        assert!(pins.contains(id));
        drop(two);
        assert!(!pins.contains(id));
        let alone = pins.try_pin(id).unwrap();
        assert!(pins.try_pin(id).is_none());
        drop(alone);
        assert!(pins.try_pin(id).is_some());
    }

    #[test]
    fn the_least_of_those_meant_is_found() {
        let pins = Pins::default();
        let held: Vec<Pin> = [9, 4, 5].map(|id| pins.pin(StripeId(id))).into();
        assert_eq!(pins.least(|id| id.0 != 4), Some(StripeId(5)));
        drop(held);
        assert_eq!(pins.least(|_| true), None);
    }
}
