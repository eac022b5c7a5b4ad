//! A disk in memory whose power can be cut.

use redb::StorageBackend;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a disk writes whole or not at all.
const SECTOR: usize = 512;

/// Shared with the backend that redb owns, so that it can be looked at afterwards.
#[derive(Clone, Debug)]
pub struct PowerCutDisk(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    /// What reads see.
    seen: Vec<u8>,
    /// What is safe.
    synced: Vec<u8>,
    since_sync: Vec<Write>,
    operations: usize,
    /// The power is cut instead of this operation.
    cut_at: usize,
    /// Bytes that may be written: more, and the disk is full.
    room: usize,
    /// Whether syncs fail.
    syncs_fail: bool,
    /// Whether reads fail.
    reads_fail: bool,
}

#[derive(Debug)]
enum Write {
    Bytes { offset: usize, bytes: Vec<u8> },
    Len(usize),
}

impl PowerCutDisk {
    /// A disk that holds this, whose power is cut instead of its operation number `cut_at`.
    pub fn new(content: Vec<u8>, cut_at: usize) -> Self {
        Self(Arc::new(Mutex::new(State {
            synced: content.clone(),
            seen: content,
            since_sync: vec![],
            operations: 0,
            cut_at,
            room: usize::MAX,
            syncs_fail: false,
            reads_fail: false,
        })))
    }

    /// Writes, changes of length and syncs so far.
    pub fn operations(&self) -> usize {
        self.state().operations
    }

    /// From now on `bytes` may be written where nothing was.
    pub fn set_room(&self, bytes: usize) {
        self.state().room = bytes;
    }

    /// The power is cut now.
    pub fn cut(&self) {
        self.state().cut_at = 0;
    }

    /// Whether an operation came, or would come, after the power was cut.
    pub fn is_cut(&self) -> bool {
        let state = self.state();
        state.operations >= state.cut_at
    }

    /// What reads see: what is there after a kill that leaves the power on.
    pub fn seen(&self) -> Vec<u8> {
        self.state().seen.clone()
    }

    /// Whether syncs fail from now on.
    pub fn fail_syncs(&self, fail: bool) {
        self.state().syncs_fail = fail;
    }

    /// Whether reads fail from now on.
    pub fn fail_reads(&self, fail: bool) {
        self.state().reads_fail = fail;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn operate(&self) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.state();
        if state.operations >= state.cut_at {
            return Err(io::Error::other("the power is cut"));
        }
        state.operations += 1;
        Ok(state)
    }

    /// What is on the disk when the power comes back: all that was synced and, of what was written
    /// since, those sectors (and changes of length) for which `survives` says so.
    pub fn after_the_cut(&self, mut survives: impl FnMut() -> bool) -> Vec<u8> {
        let state = self.state();
        let mut content = state.synced.clone();
        for write in &state.since_sync {
            match write {
                Write::Len(len) if survives() => content.resize(*len, 0),
                Write::Len(_) => {}
                Write::Bytes { offset, bytes } => {
                    let mut at = 0;
                    while at < bytes.len() {
                        let place = offset + at;
                        let len = (SECTOR - place % SECTOR).min(bytes.len() - at);
                        if survives() {
                            if content.len() < place + len {
                                content.resize(place + len, 0);
                            }
                            content[place..place + len].copy_from_slice(&bytes[at..at + len]);
                        }
                        at += len;
                    }
                }
            }
        }
        content
    }
}

impl StorageBackend for PowerCutDisk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.state().seen.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.state();
        if state.reads_fail {
            return Err(io::Error::other("the sector cannot be read"));
        }
        let found = state.seen.get(offset as usize..offset as usize + out.len());
        out.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.operate()?;
        state.seen.resize(len as usize, 0);
        state.since_sync.push(Write::Len(len as usize));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.operate()?;
        if state.syncs_fail {
            return Err(io::Error::other("the disk is gone"));
        }
        // A file of megabytes is not copied for each change of a few pages.
        let State { synced, since_sync, .. } = &mut *state;
        for write in since_sync.drain(..) {
            match write {
                Write::Len(len) => synced.resize(len, 0),
                Write::Bytes { offset, bytes } => {
                    synced[offset..offset + bytes.len()].copy_from_slice(&bytes);
                }
            }
        }
        debug_assert_eq!(state.synced.len(), state.seen.len(), "all that was written is safe");
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut state = self.operate()?;
        let (offset, end) = (offset as usize, offset as usize + data.len());
        if state.seen.len() < end {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // As file systems do, what has been written may be written over.
        let is_new = state.seen[offset..end].iter().all(|&byte| byte == 0);
        if is_new {
            state.room = state.room.checked_sub(data.len()).ok_or(io::ErrorKind::StorageFull)?;
        }
        state.seen[offset..end].copy_from_slice(data);
        state.since_sync.push(Write::Bytes { offset, bytes: data.to_vec() });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_keeps_what_was_synced_and_tears_the_rest_by_sectors() {
        let disk = PowerCutDisk::new(vec![], 4);
        disk.set_len(2048).unwrap();
        disk.write(0, &[1; 1024]).unwrap();
        disk.sync_data().unwrap();
        disk.write(256, &[2; 1024]).unwrap();
        assert!(disk.write(0, &[3; 8]).is_err() && disk.sync_data().is_err());
        let mut turn = 0;
        let content = disk.after_the_cut(|| {
            turn += 1;
            turn == 2
        });
        let expected = [vec![1; 512], vec![2; 512], vec![0; 1024]].concat();
        assert_eq!((turn, content == expected), (3, true));
    }
}
