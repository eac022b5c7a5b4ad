//! Reading what the page cache holds on the thread that asks: handing a read to another thread and
//! back costs more than a short read itself, and a part of a long one.
//!
//! Nothing here may wait for a disk. What is read is recognised by its device, names are resolved
//! from the kernel's cache of names alone (`RESOLVE_CACHED`), reads leave no access time behind,
//! and they answer with what is in memory or not at all (`RWF_NOWAIT`). Whatever else is found is
//! left to a thread that may wait.

use super::{
    folder::{self, FileSystem, Patience},
    name::{folder_of, last_byte},
    place::{FILE, is_file, len},
};
use bytes::Bytes;
use ripstop_block::Blocks;
use ripstop_model::FragmentId;
use rustix::{
    fs::{AtFlags, CWD, Dev, Mode, OFlags, ResolveFlags, StatxFlags, makedev},
    io::{Errno, Result},
};
use std::{
    fs::File,
    os::fd::{AsFd, OwnedFd},
    path::Path,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

/// Longest read that is copied on the asking thread: half a millisecond at most, less than threads
/// that take turns on a busy processor keep one another waiting.
const LEN_MAX: u64 = 4 << 20;

/// No file system has this device.
const NONE: u64 = u64::MAX;

/// Which file system may be read without a thread: one that is known to answer opens from memory.
/// Where a server stands behind it (FUSE, NFS), an open asks the server.
#[derive(Debug)]
pub(super) struct Cached {
    device: AtomicU64,
    /// What the device was found not to be, so that it is not asked for again.
    other: AtomicU64,
}

impl Cached {
    pub(super) const fn new() -> Self {
        Self { device: AtomicU64::new(NONE), other: AtomicU64::new(NONE) }
    }

    /// Notes what kind of file system the node's folder is on. May block.
    pub(super) fn learn(&self, root: impl AsFd, device: Dev) {
        if [&self.device, &self.other].iter().any(|known| known.load(Relaxed) == device) {
            return;
        }
        let suits = FileSystem::of(root).is_ok_and(FileSystem::opens_from_memory);
        let (is, is_not) = if suits { (device, NONE) } else { (NONE, device) };
        self.device.store(is, Relaxed);
        self.other.store(is_not, Relaxed);
    }

    /// The pieces of a fragment below the folder `root`, if all their bytes are in memory.
    pub(super) fn pieces(
        &self,
        root: &Path,
        name: FragmentId,
        start: u64,
        lens: &[u32],
        blocks: &Blocks,
    ) -> Option<Vec<Bytes>> {
        let asked = lens.iter().copied().map(u64::from).sum::<u64>();
        let device = self.device.load(Relaxed);
        if device == NONE || asked > LEN_MAX {
            return None;
        }
        let file = open(root, device, name).ok().flatten()?;
        let stat = rustix::fs::fstat(&file).ok()?;
        if stat.st_dev != device || !is_file(&stat) || start.checked_add(asked)? > len(&stat) {
            return None;
        }
        let (pieces, read) =
            folder::read_pieces(&file, start, lens, blocks, Patience::InMemory).ok()?;
        (read == asked).then_some(pieces)
    }
}

/// A fragment's file, if the kernel knows every name on the way to it; `None` if the folder is on
/// another device.
fn open(root: &Path, device: u64, name: FragmentId) -> Result<Option<File>> {
    let below = format!("{}/{name}", folder_of(last_byte(name)));
    let flags = FILE | OFlags::RDONLY | OFlags::NOATIME;
    // Usually no name on the way is a link, and one call does it. That the file is on the device
    // known is seen afterwards. Until the next operation or health check that takes a thread learns
    // another, a file system mounted over the folder is thus asked to open one.
    let unlinked = ResolveFlags::CACHED | ResolveFlags::NO_SYMLINKS;
    match rustix::fs::openat2(CWD, root.join(&below), flags, Mode::empty(), unlinked) {
        Ok(file) => Ok(Some(file.into())),
        Err(Errno::LOOP) => open_by_link(root, device, &below, flags),
        Err(error) => Err(error),
    }
}

/// The same where links lead to the folder, which is the operator's business; below it none is
/// followed.
fn open_by_link(root: &Path, device: u64, below: &str, flags: OFlags) -> Result<Option<File>> {
    let folder = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::openat2(CWD, root, folder, Mode::empty(), ResolveFlags::CACHED)?;
    if device_of(&root)? != device {
        return Ok(None);
    }
    let resolve = ResolveFlags::CACHED | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    rustix::fs::openat2(&root, below, flags, Mode::empty(), resolve).map(|file| Some(file.into()))
}

/// The device as it is known, the file system not being asked.
fn device_of(folder: &OwnedFd) -> Result<u64> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    let found = rustix::fs::statx(folder, "", flags, StatxFlags::empty())?;
    Ok(makedev(found.stx_dev_major, found.stx_dev_minor))
}
