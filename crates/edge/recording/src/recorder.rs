use crate::{
    buffer::alone,
    format::{Beginning, Entry, FILE_HEAD_LEN, MAGIC, VERSION},
    pool::{Block, PoolRecorder, Shared, lock},
    writer::{self, Queue},
};
use std::{
    fs::OpenOptions,
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    sync::{
        Arc, Mutex,
        mpsc::{self, SyncSender},
    },
    thread::JoinHandle,
};

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
        let number = pools.len() as u16;
        let pool = PoolRecorder::new(number, beginning, &self.shared, self.to.clone());
        let pool = Arc::new(pool);
        pools.push(pool.clone());
        pool
    }

    /// Writes what was recorded so far, says in the file that it is whole, and waits for the disk.
    /// What machines are told after this is not recorded.
    pub fn finish(&self) {
        let pools = lock(&self.shared.pools).clone();
        for pool in pools {
            // Sent without the pool's lock: the thread may be waiting for it, and makes the room.
            if let Some(block) = pool.end() {
                // Fails only where the thread has ended, which it has said.
                let _ = self.to.send(block);
            }
        }
        let _ = self.to.send(Block { pool: u16::MAX, records: alone(&Entry::Finished) });
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

#[cfg(test)]
mod tests;
