use crate::Slot;
use alloc::{collections::BTreeSet, vec::Vec};
use ripstop_model::Timestamp;

/// Timeouts each with a span of its own, by slot. Dearer than [`crate::Timeouts`], which a list
/// suffices for.
#[derive(Clone, Debug)]
pub struct Alarms<S> {
    order: BTreeSet<(Timestamp, S)>,
    /// By slot, to be found again in the order.
    due: Vec<Option<Timestamp>>,
}

impl<S: Slot + Ord> Default for Alarms<S> {
    fn default() -> Self {
        Self { order: BTreeSet::new(), due: Vec::new() }
    }
}

impl<S: Slot + Ord> Alarms<S> {
    /// Sets when a slot is due; what it was due at before is forgotten.
    pub fn set(&mut self, due: Timestamp, slot: S) {
        self.stop(slot);
        let at = slot.number() as usize;
        if self.due.len() <= at {
            self.due.resize(at + 1, None);
        }
        self.due[at] = Some(due);
        self.order.insert((due, slot));
    }

    /// A slot is not due any more, if it was.
    pub fn stop(&mut self, slot: S) {
        let due = self.due.get_mut(slot.number() as usize);
        if let Some(due) = due.and_then(Option::take) {
            self.order.remove(&(due, slot));
        }
    }

    /// When the next slot is due.
    pub fn earliest(&self) -> Option<Timestamp> {
        self.order.first().map(|&(due, _)| due)
    }

    /// Takes out the slot that was due first, if it is due by `now`; of several the least.
    pub fn expire(&mut self, now: Timestamp) -> Option<S> {
        let &(_, slot) = self.order.first().filter(|&&(due, _)| due <= now)?;
        self.stop(slot);
        Some(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TaskSlot;

    #[test]
    fn the_first_due_comes_first_and_a_slot_is_due_once() {
        let (at, slot) = (Timestamp::from_nanos, TaskSlot::of);
        let mut alarms = Alarms::default();
        for (due, number) in [(9, 1), (4, 2), (7, 3), (4, 0), (5, 1)] {
            alarms.set(at(due), slot(number));
        }
        alarms.stop(slot(3));
        alarms.stop(slot(8));
        assert_eq!(alarms.earliest(), Some(at(4)));
        assert_eq!(alarms.expire(at(3)), None);
        let order = [0, 1, 2].map(|_| alarms.expire(at(10)));
        assert_eq!(order, [0, 2, 1].map(|number| Some(slot(number))));
        assert_eq!((alarms.expire(at(10)), alarms.earliest()), (None, None));
    }
}
