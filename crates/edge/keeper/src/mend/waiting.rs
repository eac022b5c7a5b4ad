use ripstop_model::StripeId;
use std::{
    collections::BTreeSet,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// Most stripes that wait to be mended; what is beyond them waits for the next survey.
const WAITING_MAX: usize = 100_000;

/// Stripes in force that lack fragments: written while nodes were down or slow, or answered and
/// left. What is not taken any more is counted and told the log; the catalog knows what it lacks.
#[derive(Debug, Default)]
pub(crate) struct Mends {
    waiting: Mutex<BTreeSet<StripeId>>,
    overlooked: AtomicU64,
}

impl Mends {
    fn waiting(&self) -> MutexGuard<'_, BTreeSet<StripeId>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for a stripe to be mended soon.
    pub(crate) fn add(&self, id: StripeId) {
        let mut waiting = self.waiting();
        if waiting.len() < WAITING_MAX {
            waiting.insert(id);
        } else if !waiting.contains(&id) {
            let overlooked = self.overlooked.fetch_add(1, Ordering::Relaxed) + 1;
            if overlooked.is_power_of_two() {
                tracing::warn!(
                    stripe = %id, overlooked,
                    "too many stripes wait to be mended: the next survey finds the others"
                );
            }
        }
    }

    pub(crate) fn after(&self, id: StripeId) -> Option<StripeId> {
        self.waiting().range(StripeId(id.0.saturating_add(1))..).next().copied()
    }

    pub(crate) fn remove(&self, id: StripeId) {
        self.waiting().remove(&id);
    }

    pub(crate) fn clear(&self) {
        self.waiting().clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_to_be_mended_is_bounded_and_what_is_beyond_is_counted() {
        let mends = Mends::default();
        for id in 0..WAITING_MAX as u128 + 3 {
            mends.add(StripeId(id));
        }
        // One that waits already is not overlooked.
        mends.add(StripeId(0));
        assert_eq!(mends.len(), WAITING_MAX);
        assert_eq!(mends.overlooked.load(Ordering::Relaxed), 3);
        mends.remove(StripeId(7));
        mends.add(StripeId(u128::MAX));
        assert_eq!(mends.after(StripeId(WAITING_MAX as u128)), Some(StripeId(u128::MAX)));
    }
}
