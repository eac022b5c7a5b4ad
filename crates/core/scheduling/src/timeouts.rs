use crate::{Links, List, Slot};
use alloc::vec::Vec;
use core::{marker::PhantomData, time::Duration};
use ripstop_model::Timestamp;

/// Timeouts of one constant span, by slot: those started first are due first, so a list suffices.
#[derive(Clone, Debug)]
pub struct Timeouts<S> {
    span: Duration,
    links: Links,
    list: List,
    due: Vec<Timestamp>,
    named: PhantomData<S>,
}

impl<S: Slot> Timeouts<S> {
    /// Timeouts that are due `span` after they were started.
    pub fn new(span: Duration) -> Self {
        let (links, list) = (Links::default(), List::default());
        Self { span, links, list, due: Vec::new(), named: PhantomData }
    }

    /// Starts the timeout of a slot that has none under way. `now` never decreases.
    pub fn start(&mut self, now: Timestamp, slot: S) {
        let at = slot.number() as usize;
        if self.due.len() <= at {
            self.due.resize(at + 1, Timestamp::ZERO);
        }
        self.due[at] = now + self.span;
        self.list.push(&mut self.links, slot.number());
    }

    /// Stops the timeout of a slot, if it has one.
    pub fn stop(&mut self, slot: S) {
        if self.links.contains(slot.number()) {
            self.list.remove(&mut self.links, slot.number());
        }
    }

    /// Whether the slot has a timeout under way.
    pub fn contains(&self, slot: S) -> bool {
        self.links.contains(slot.number())
    }

    /// The slot whose timeout is due next.
    pub fn first(&self) -> Option<S> {
        self.list.front().map(S::of)
    }

    /// When the next timeout is due.
    pub fn earliest(&self) -> Option<Timestamp> {
        self.list.front().map(|slot| self.due[slot as usize])
    }

    /// Takes out the slot whose timeout was due first, if it is due by `now`.
    pub fn expire(&mut self, now: Timestamp) -> Option<S> {
        let slot = self.list.front().filter(|&slot| self.due[slot as usize] <= now)?;
        self.list.remove(&mut self.links, slot);
        Some(S::of(slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TaskSlot;

    #[test]
    fn timeouts_expire_in_the_order_they_started_unless_stopped() {
        let at = Timestamp::from_nanos;
        let mut timeouts = Timeouts::new(Duration::from_nanos(10));
        for (now, slot) in [(0, 4), (1, 2), (5, 9)] {
            timeouts.start(at(now), TaskSlot::of(slot));
        }
        assert_eq!(timeouts.expire(at(9)), None);
        timeouts.stop(TaskSlot::of(4));
        timeouts.stop(TaskSlot::of(4));
        assert_eq!(timeouts.earliest(), Some(at(11)));
        assert_eq!(timeouts.first(), Some(TaskSlot::of(2)));
        assert_eq!(timeouts.expire(at(15)), Some(TaskSlot::of(2)));
        timeouts.start(at(15), TaskSlot::of(4));
        assert_eq!(timeouts.expire(at(15)), Some(TaskSlot::of(9)));
        assert_eq!(timeouts.expire(at(15)), None);
        assert!(timeouts.contains(TaskSlot::of(4)) && !timeouts.contains(TaskSlot::of(9)));
    }
}
