//! What machines tell the recorder's thread.

use crate::{
    buffer::{BLOCK_LEN, Buffer},
    format::{Beginning, Entry},
};
use ripstop_gateway::{Action, Event};
use ripstop_model::Timestamp;
use ripstop_runtime::Witness;
use std::{
    mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc::{SyncSender, TrySendError},
    },
};

/// Some records of one pool, or of none: then it is the last block.
#[derive(Debug)]
pub(crate) struct Block {
    pub pool: u16,
    pub records: Vec<u8>,
}

/// What the thread, the recorder and the pools share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Nothing more is recorded.
    pub stopped: AtomicBool,
    /// A queue was full.
    pub behind: AtomicBool,
    pub pools: Mutex<Vec<Arc<PoolRecorder>>>,
}

/// Records one machine.
#[derive(Debug)]
pub struct PoolRecorder {
    number: u16,
    pub(crate) buffer: Mutex<Buffer>,
    shared: Weak<Shared>,
    to: SyncSender<Block>,
}

impl PoolRecorder {
    /// A recorder that begins with what made the machine.
    pub(crate) fn new(
        number: u16,
        beginning: &Beginning,
        shared: &Arc<Shared>,
        to: SyncSender<Block>,
    ) -> Self {
        let mut buffer = Buffer::new();
        buffer.push(&Entry::Began(beginning));
        Self { number, buffer: Mutex::new(buffer), shared: Arc::downgrade(shared), to }
    }

    /// Nothing more is recorded; what was not handed over yet.
    pub(crate) fn end(&self) -> Option<Block> {
        let mut buffer = lock(&self.buffer);
        let (records, was_open) = (buffer.take(), mem::replace(&mut buffer.open, false));
        (was_open && !records.is_empty()).then_some(Block { pool: self.number, records })
    }

    /// Hands over what is in the buffer, if there is room for it.
    pub(crate) fn flush(&self) {
        let mut buffer = lock(&self.buffer);
        if buffer.len() > 0 && buffer.open {
            self.send(&mut buffer);
        }
    }

    fn send(&self, buffer: &mut Buffer) {
        let block = Block { pool: self.number, records: buffer.take() };
        match self.to.try_send(block) {
            Ok(()) => {}
            Err(error) => {
                if let (TrySendError::Full(_), Some(shared)) = (error, self.shared.upgrade()) {
                    shared.behind.store(true, Relaxed);
                    shared.stopped.store(true, Relaxed);
                }
                buffer.close();
            }
        }
    }

    fn record(&self, add: impl FnOnce(&mut Buffer)) {
        let mut buffer = lock(&self.buffer);
        if !buffer.open {
            return;
        }
        add(&mut buffer);
        if buffer.len() < BLOCK_LEN {
            return;
        }
        if self.shared.upgrade().is_none_or(|shared| shared.stopped.load(Relaxed)) {
            buffer.close();
        } else {
            self.send(&mut buffer);
        }
    }
}

impl Witness for PoolRecorder {
    fn told(&self, now: Timestamp, event: &Event) {
        self.record(|buffer| buffer.told(now, event));
    }

    fn said(&self, actions: &[Action]) {
        self.record(|buffer| buffer.said(actions));
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The thread that panicked left a buffer of whole records, or one that the replay finds cut
    // off.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
