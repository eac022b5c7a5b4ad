use crate::{format::Record, recorder::BLOCK_LEN};
use ripstop_gateway::{Action, Event};
use ripstop_model::Timestamp;
use serde::Serialize;
use std::mem;

/// Most bytes that a buffer holds without growing.
const ROOM: usize = BLOCK_LEN + (8 << 10);

/// Records of one pool that are not written yet.
#[derive(Debug)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    /// Whether more may come.
    pub open: bool,
}

/// A record that borrows what it holds.
pub(crate) type Borrowed<'a> = Record<&'a crate::Beginning, &'a Event, &'a [Action]>;

impl Buffer {
    pub(crate) fn new() -> Self {
        Self { bytes: Vec::with_capacity(ROOM), open: true }
    }

    pub(crate) fn push(&mut self, record: &Borrowed<'_>) {
        let bytes = mem::take(&mut self.bytes);
        self.bytes = encode(record, bytes);
    }

    pub(crate) fn told(&mut self, now: Timestamp, event: &Event) {
        self.push(&Record::Told { now, event });
    }

    pub(crate) fn said(&mut self, actions: &[Action]) {
        self.push(&Record::Said(actions));
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// What is in it; it is empty then.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        mem::replace(&mut self.bytes, Vec::with_capacity(ROOM))
    }

    /// Nothing more comes, and what is in it is dropped.
    pub(crate) fn close(&mut self) {
        *self = Self { bytes: Vec::new(), open: false };
    }
}

/// Adds a record to `bytes`.
pub(crate) fn encode(record: &impl Serialize, bytes: Vec<u8>) -> Vec<u8> {
    postcard::to_extend(record, bytes).expect("a vector takes everything, and lengths are known")
}
