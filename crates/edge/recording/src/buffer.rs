use crate::numbered::{Borrowed, Writing};
use ripstop_gateway::{Action, Event};
use ripstop_model::Timestamp;
use std::mem;

/// Bytes of records from which on a block is written.
pub(crate) const BLOCK_LEN: usize = 64 << 10;

/// Most bytes that a buffer holds without growing.
const ROOM: usize = BLOCK_LEN + (8 << 10);

/// Records of one pool that are not written yet.
#[derive(Debug)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    writing: Writing,
    /// Whether more may come.
    pub open: bool,
}

impl Buffer {
    pub(crate) fn new() -> Self {
        Self { bytes: Vec::with_capacity(ROOM), writing: Writing::default(), open: true }
    }

    pub(crate) fn push(&mut self, record: &Borrowed<'_>) {
        let bytes = mem::take(&mut self.bytes);
        self.bytes = self.writing.append(bytes, record);
    }

    pub(crate) fn told(&mut self, now: Timestamp, event: &Event) {
        let bytes = mem::take(&mut self.bytes);
        self.bytes = self.writing.told(bytes, now, event);
    }

    pub(crate) fn said(&mut self, actions: &[Action]) {
        let bytes = mem::take(&mut self.bytes);
        self.bytes = self.writing.said(bytes, actions);
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// What is in it; it is empty then.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.writing.begin();
        mem::replace(&mut self.bytes, Vec::with_capacity(ROOM))
    }

    /// Nothing more comes, and what is in it is dropped.
    pub(crate) fn close(&mut self) {
        *self = Self { bytes: Vec::new(), writing: Writing::default(), open: false };
    }
}

/// The bytes of a record that stands alone in its block.
pub(crate) fn alone(record: &Borrowed<'_>) -> Vec<u8> {
    Writing::default().append(Vec::new(), record)
}
