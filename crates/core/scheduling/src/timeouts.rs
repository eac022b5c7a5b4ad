use crate::{Links, List};
use alloc::vec::Vec;
use core::time::Duration;
use ripstop_model::Timestamp;

/// Timeouts of one constant span, by slot: those started first are due first, so a list suffices.
#[derive(Clone, Debug)]
pub struct Timeouts {
    span: Duration,
    links: Links,
    list: List,
    due: Vec<Timestamp>,
}

impl Timeouts {
    /// Timeouts that are due `span` after they were started.
    pub fn new(span: Duration) -> Self {
        Self { span, links: Links::default(), list: List::default(), due: Vec::new() }
    }

    /// Starts the timeout of a slot that has none under way. `now` never decreases.
    pub fn start(&mut self, now: Timestamp, slot: u32) {
        let at = slot as usize;
        if self.due.len() <= at {
            self.due.resize(at + 1, Timestamp::ZERO);
        }
        self.due[at] = now + self.span;
        self.list.push(&mut self.links, slot);
    }

    /// Stops the timeout of a slot, if it has one.
    pub fn stop(&mut self, slot: u32) {
        if self.links.contains(slot) {
            self.list.remove(&mut self.links, slot);
        }
    }

    /// Whether the slot has a timeout under way.
    pub fn contains(&self, slot: u32) -> bool {
        self.links.contains(slot)
    }

    /// When the next timeout is due.
    pub fn earliest(&self) -> Option<Timestamp> {
        self.list.front().map(|slot| self.due[slot as usize])
    }

    /// Takes out the slot whose timeout was due first, if it is due by `now`.
    pub fn expire(&mut self, now: Timestamp) -> Option<u32> {
        let slot = self.list.front().filter(|&slot| self.due[slot as usize] <= now)?;
        self.list.remove(&mut self.links, slot);
        Some(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_expire_in_the_order_they_started_unless_stopped() {
        let at = Timestamp::from_nanos;
        let mut timeouts = Timeouts::new(Duration::from_nanos(10));
        for (now, slot) in [(0, 4), (1, 2), (5, 9)] {
            timeouts.start(at(now), slot);
        }
        assert_eq!(timeouts.expire(at(9)), None);
        timeouts.stop(4);
        timeouts.stop(4);
        assert_eq!(timeouts.earliest(), Some(at(11)));
        assert_eq!(timeouts.expire(at(15)), Some(2));
        timeouts.start(at(15), 4);
        assert_eq!(timeouts.expire(at(15)), Some(9));
        assert_eq!(timeouts.expire(at(15)), None);
        assert!(timeouts.contains(4) && !timeouts.contains(9));
    }
}
