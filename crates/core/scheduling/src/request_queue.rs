use crate::{Links, List};

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
    pub fn push(&mut self, slot: u32) -> bool {
        if self.list.len() >= self.max {
            return false;
        }
        self.list.push(&mut self.links, slot);
        true
    }

    /// Takes a request out wherever it stands; false if it was not there.
    pub fn remove(&mut self, slot: u32) -> bool {
        let there = self.links.contains(slot);
        if there {
            self.list.remove(&mut self.links, slot);
        }
        there
    }

    /// The head of line.
    pub fn front(&self) -> Option<u32> {
        self.list.front()
    }

    /// The request behind this one.
    pub fn after(&self, slot: u32) -> Option<u32> {
        self.links.after(slot)
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
