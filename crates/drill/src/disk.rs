//! The catalog's disk, watched: what is written is traced, and its end is the gateway's.

use crate::{life::Life, world::World};
use redb::StorageBackend;
use ripstop_catalog::PowerCutDisk;
use std::{fmt, io, sync::Arc};

/// A disk whose operations are counted against a life.
#[derive(Clone)]
pub(crate) struct WatchedDisk {
    pub(crate) disk: PowerCutDisk,
    pub(crate) world: Arc<World>,
    pub(crate) life: Arc<Life>,
}

impl fmt::Debug for WatchedDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchedDisk").finish_non_exhaustive()
    }
}

impl WatchedDisk {
    fn wrote(&self, what: fmt::Arguments<'_>, done: io::Result<()>) -> io::Result<()> {
        if self.life.is_over() {
            // The gateway is gone: what its remains do reaches nothing.
            return done;
        }
        self.world.trace.note(format_args!("disk {what}: {}", done.is_ok()));
        if done.is_err() && self.disk.is_cut() {
            self.life.end();
        }
        done
    }
}

impl StorageBackend for WatchedDisk {
    fn len(&self) -> io::Result<u64> {
        self.disk.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.disk.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.wrote(format_args!("len {len}"), self.disk.set_len(len))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.wrote(format_args!("sync"), self.disk.sync_data())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let done = self.disk.write(offset, data);
        let sum = twox_hash::XxHash3_64::oneshot(data);
        self.wrote(format_args!("write {offset} {} {sum:x}", data.len()), done)
    }
}
