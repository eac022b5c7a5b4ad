use crate::{
    buffer::alone,
    format::{Entry, Stop},
    frame::{FRAME_LEN, frame},
    pool::{Block, Shared, lock},
};
use std::{
    fs::File,
    io::{self, Write as _},
    path::Path,
    sync::{
        Arc,
        atomic::Ordering::Relaxed,
        mpsc::{Receiver, RecvTimeoutError, SyncSender},
    },
    time::Duration,
};

/// How long a record waits at most until it is given to the system.
const FLUSH_EVERY: Duration = Duration::from_millis(100);

/// What waits for the disk.
#[derive(Debug)]
pub(crate) struct Queue {
    pub blocks: Receiver<Block>,
    pub shared: Arc<Shared>,
    /// Kept so that the queue does not end before it is told to.
    #[expect(dead_code, reason = "held, not used")]
    pub to: SyncSender<Block>,
}

/// The blocks of a file, one behind the other.
struct Blocks {
    file: File,
    number: u32,
    written: u64,
}

impl Blocks {
    fn write(&mut self, block: &Block) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(FRAME_LEN + block.records.len());
        bytes.extend_from_slice(&frame(self.number, block.pool, &block.records));
        bytes.extend_from_slice(&block.records);
        self.file.write_all(&bytes)?;
        self.number = self.number.wrapping_add(1);
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// Takes back what a failed write left, so that the note of it can be read.
    fn retreat(&mut self) {
        use std::io::Seek as _;
        let whole = self.file.set_len(self.written);
        if let Err(error) = whole.and_then(|()| self.file.seek(io::SeekFrom::Start(self.written))) {
            tracing::warn!(%error, "the recording has a broken end");
        }
    }
}

/// Writes what comes until it is told to finish or cannot go on.
pub(crate) fn run(file: File, path: &Path, written: u64, file_max: u64, queue: &Queue) {
    let mut blocks = Blocks { file, number: 0, written };
    let stop = write_all(&mut blocks, file_max, queue);
    queue.shared.stopped.store(true, Relaxed);
    if let Some(stop) = stop {
        tracing::error!(path = %path.display(), bytes = blocks.written, "recording ended: {stop}");
        blocks.retreat();
        let note = alone(&Entry::Stopped(stop));
        let noted = blocks.write(&Block { pool: u16::MAX, records: note });
        if let Err(error) = noted {
            tracing::warn!(%error, "the recording does not say why it ended");
            blocks.retreat();
        }
    }
    if let Err(error) = blocks.file.sync_all() {
        tracing::warn!(%error, path = %path.display(), "the recording may not be on the disk");
    }
}

/// Returns why it could not go on; nothing if it was told to finish.
fn write_all(blocks: &mut Blocks, file_max: u64, queue: &Queue) -> Option<Stop> {
    let mut flushed = ripstop_host::now();
    loop {
        match queue.blocks.recv_timeout(FLUSH_EVERY) {
            Ok(block) => {
                let last = block.pool == u16::MAX;
                // A queue that was full has lost something of a pool: the recording is not whole.
                if last && queue.shared.behind.load(Relaxed) {
                    return Some(Stop::Behind);
                }
                if blocks.written + block.records.len() as u64 > file_max {
                    return Some(Stop::Limit);
                }
                if let Err(error) = blocks.write(&block) {
                    return Some(Stop::Disk(error.to_string()));
                }
                if last {
                    return None;
                }
            }
            Err(RecvTimeoutError::Timeout) if queue.shared.behind.load(Relaxed) => {
                return Some(Stop::Behind);
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        if ripstop_host::since(flushed) >= FLUSH_EVERY {
            let pools = lock(&queue.shared.pools).clone();
            for pool in pools {
                pool.flush();
            }
            flushed = ripstop_host::now();
        }
    }
}
