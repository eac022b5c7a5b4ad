use crate::{
    buffer::{Buffer, alone},
    format::{Beginning, FILE_HEAD_LEN, MAGIC, Record, VERSION},
    writer::{self, Block, Queue},
};
use ripstop_gateway::{Action, Event};
use ripstop_model::Timestamp;
use ripstop_runtime::Witness;
use std::{
    fs::OpenOptions,
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc::{self, SyncSender, TrySendError},
    },
    thread::JoinHandle,
};

/// Bytes of records from which on a block is written.
pub(crate) const BLOCK_LEN: usize = 64 << 10;

/// A recorder's named limits. [`Default`] gives the documented values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecorderSettings {
    /// Most bytes that the file may have; what follows is not recorded. 4 GiB.
    pub file_max: u64,
    /// Most blocks, each of 64 KiB or a little more, that wait for the disk; beyond that recording
    /// ends. 1024.
    pub blocks_waiting_max: usize,
}

impl Default for RecorderSettings {
    fn default() -> Self {
        Self { file_max: 4 << 30, blocks_waiting_max: 1024 }
    }
}

/// Keeps what machines are told and say in a file, until it is told to finish or cannot go on.
///
/// Encoding is done where the machine is; writing on a thread of its own.
#[derive(Debug)]
pub struct Recorder {
    shared: Arc<Shared>,
    to: SyncSender<Block>,
    thread: Mutex<Option<JoinHandle<()>>>,
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
    buffer: Mutex<Buffer>,
    shared: std::sync::Weak<Shared>,
    to: SyncSender<Block>,
}

impl Recorder {
    /// Records into a new file; one that is there already is an error.
    pub fn create(path: &Path, settings: RecorderSettings) -> io::Result<Self> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(&MAGIC)?;
        file.write_all(&VERSION.to_le_bytes())?;
        let shared = Arc::<Shared>::default();
        let (to, blocks) = mpsc::sync_channel(settings.blocks_waiting_max.max(1));
        let queue = Queue { blocks, shared: shared.clone(), to: to.clone() };
        let (path, written) = (path.to_owned(), FILE_HEAD_LEN as u64);
        let thread = ripstop_host::thread("recorder", move || {
            writer::run(file, &path, written, settings.file_max, &queue);
        })?;
        Ok(Self { shared, to, thread: Mutex::new(Some(thread)) })
    }

    /// The witness of a machine that is made so, and was told nothing yet.
    pub fn pool(&self, beginning: &Beginning) -> Arc<PoolRecorder> {
        let mut pools = lock(&self.shared.pools);
        let pool = Arc::new(PoolRecorder {
            number: pools.len() as u16,
            buffer: Mutex::new(Buffer::new()),
            shared: Arc::downgrade(&self.shared),
            to: self.to.clone(),
        });
        lock(&pool.buffer).push(&Record::Began(beginning));
        pools.push(pool.clone());
        pool
    }

    /// Writes what was recorded so far, says in the file that it is whole, and waits for the disk. What
    /// machines are told after this is not recorded.
    pub fn finish(&self) {
        let pools = lock(&self.shared.pools).clone();
        for pool in pools {
            let (records, was_open) = {
                let mut buffer = lock(&pool.buffer);
                (buffer.take(), std::mem::replace(&mut buffer.open, false))
            };
            // Sent without the lock: the thread may be waiting for it, and makes the room.
            if was_open && !records.is_empty() {
                // Fails only where the thread has ended, which it has said.
                let _ = self.to.send(Block { pool: pool.number, records });
            }
        }
        let _ = self.to.send(Block { pool: u16::MAX, records: alone(&Record::Finished) });
        let thread = lock(&self.thread).take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the recorder's thread panicked");
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.finish();
    }
}

impl PoolRecorder {
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
    // Whoever panicked left a buffer of whole records, or one that the replay finds cut off.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
