use crate::{Links, List, RequestSlot, Slot as _};

/// Requests that wait, first in first out, by slot; never more than its limit.
#[derive(Clone, Debug)]
pub struct RequestQueue {
    links: Links,
    list: List,
    max: usize,
}

impl RequestQueue {
    /// An empty queue for at most `max` requests.
    pub fn new(max: usize) -> Self {
        Self { links: Links::default(), list: List::default(), max }
    }

    /// Adds a request, which is not in the queue, at the end; false if the queue is full.
    pub fn push(&mut self, slot: RequestSlot) -> bool {
        if self.list.len() >= self.max {
            return false;
        }
        self.list.push(&mut self.links, slot.number());
        true
    }

    /// Takes a request out wherever it stands; false if it was not there.
    pub fn remove(&mut self, slot: RequestSlot) -> bool {
        let there = self.links.contains(slot.number());
        if there {
            self.list.remove(&mut self.links, slot.number());
        }
        there
    }

    /// The head of line.
    pub fn front(&self) -> Option<RequestSlot> {
        self.list.front().map(RequestSlot::of)
    }

    /// The request behind this one.
    pub fn after(&self, slot: RequestSlot) -> Option<RequestSlot> {
        self.links.after(slot.number()).map(RequestSlot::of)
    }

    /// Requests that wait.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}
