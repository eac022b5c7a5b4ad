use super::{Durability, direct, folder};
use crate::{Listed, NodeError};
use bytes::Bytes;
use ripstop_block::Blocks;
use ripstop_model::FragmentId;
use rustix::fs::Access;
use std::{
    fmt::Write,
    fs::{self, DirBuilder, DirEntry, File, OpenOptions},
    io::{self, ErrorKind},
    ops::Range,
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{
        OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::sync::mpsc;

/// Folder, below the root, of what is being written.
pub(super) const TEMPORARY: &str = "tmp";

/// A temporary file this old has no writer left.
const TEMPORARY_AGE_MAX: Duration = Duration::from_hours(1);

/// Fragments hold what is stored as it is: only the owner reads them, whatever the umask.
const FILE_MODE: u32 = 0o600;
pub(super) const FOLDER_MODE: u32 = 0o700;

/// A [`super::Directory`]'s operations, each of which may block.
#[derive(Debug)]
pub(super) struct Root {
    path: PathBuf,
    durability: Durability,
    /// Whether the root was a mount point when it was first seen.
    mounted: OnceLock<bool>,
    /// Per subfolder: its entry in the root is known to be on the disk.
    synced: [AtomicBool; 256],
    /// Keeps temporary names apart from those of every other process and node.
    writer: u64,
    written: AtomicU64,
}

impl Root {
    pub(super) fn new(path: PathBuf, durability: Durability) -> Self {
        Self {
            path,
            durability,
            mounted: OnceLock::new(),
            synced: std::array::from_fn(|_| AtomicBool::new(false)),
            writer: getrandom::u64().expect("the operating system gives random bytes"),
            written: AtomicU64::new(0),
        }
    }

    /// Whether the root is there, as far as that can be told without writing.
    pub(super) fn present(&self) -> Result<(), NodeError> {
        let absent = |reason: &str| {
            Err(NodeError::Unavailable { reason: format!("the node's folder {reason}") })
        };
        let root = match fs::metadata(&self.path) {
            Ok(root) => root,
            Err(error) if error.kind() == ErrorKind::NotFound => return absent("is missing"),
            Err(error) => return Err(failed("stat of the node's folder", &error)),
        };
        if !root.is_dir() {
            return absent("is not a folder");
        }
        let parent = fs::metadata(self.path.join(".."))
            .map_err(|error| failed("stat above the node's folder", &error))?;
        let mounted = root.dev() != parent.dev();
        if *self.mounted.get_or_init(|| mounted) && !mounted {
            return absent("is no longer mounted");
        }
        Ok(())
    }

    pub(super) fn health(&self) -> Result<(), NodeError> {
        self.present()?;
        rustix::fs::access(&self.path, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK)
            .map_err(|error| failed("access to the node's folder", &error.into()))
    }

    pub(super) fn put(
        &self,
        name: FragmentId,
        fragment: &[Bytes],
        blocks: &Blocks,
    ) -> Result<(), NodeError> {
        self.present()?;
        let path = self.temporary();
        let written = self.write(&path, name, fragment, blocks);
        if written.is_err() {
            // Best effort: what stays is swept when it has aged.
            let _ = fs::remove_file(&path);
        }
        written
    }

    fn write(
        &self,
        temporary: &Path,
        name: FragmentId,
        fragment: &[Bytes],
        blocks: &Blocks,
    ) -> Result<(), NodeError> {
        let file = self.fill(temporary, fragment, blocks)?;
        let full = self.durability == Durability::Full;
        // There the rename lasts once the file it renamed is synced: one sync makes both last.
        let with_name = full && folder::syncs_names(&file);
        if full && !with_name {
            file.sync_all().map_err(|error| failed("syncing a file", &error))?;
        }
        let path = self.path_of(name);
        self.within(&path, || fs::rename(temporary, &path))
            .map_err(|error| failed("renaming a file", &error))?;
        if with_name {
            file.sync_all().map_err(|error| failed("syncing a file", &error))?;
        } else if full {
            self.sync(name).map_err(|error| failed("syncing a folder", &error))?;
        }
        Ok(())
    }

    /// A new file with the fragment in it, large ones written past the page cache where that can be.
    fn fill(
        &self,
        temporary: &Path,
        fragment: &[Bytes],
        blocks: &Blocks,
    ) -> Result<File, NodeError> {
        let creating = |error: io::Error| failed("creating a file", &error);
        let writing = |error: io::Error| failed("writing", &error);
        let len: usize = fragment.iter().map(Bytes::len).sum();
        if self.durability == Durability::Full && len >= direct::LEN_MIN {
            let created = self.within(temporary, || direct::create(temporary));
            if let Some(file) = created.map_err(creating)? {
                direct::write_all(&file, fragment, blocks).map_err(writing)?;
                return Ok(file);
            }
        }
        let created = self.within(temporary, || create(temporary));
        let mut file = created.map_err(creating)?;
        folder::write_all(&mut file, fragment).map_err(writing)?;
        Ok(file)
    }

    /// Runs what puts a file at `path`, in a subfolder that is created if it is missing; the root
    /// never is.
    fn within<T>(&self, path: &Path, put: impl Fn() -> io::Result<T>) -> io::Result<T> {
        let first = put();
        if !matches!(&first, Err(error) if error.kind() == ErrorKind::NotFound) {
            return first;
        }
        let folder = path.parent().expect("every path is below the root");
        if let Some(byte) = folder::byte_of(folder) {
            // Before the folder is there, or a put that finds it would trust the old folder's flag.
            self.synced[usize::from(byte)].store(false, Ordering::SeqCst);
        }
        match DirBuilder::new().mode(FOLDER_MODE).create(folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
            _ => put(),
        }
    }

    /// Makes the entry of a fragment last, and that of its subfolder.
    fn sync(&self, name: FragmentId) -> io::Result<()> {
        File::open(self.folder_of(name))?.sync_all()?;
        // That the folder was found does not mean that whoever made it lived to sync the root.
        let synced = &self.synced[usize::from(last_byte(name))];
        if !synced.load(Ordering::SeqCst) {
            File::open(&self.path)?.sync_all()?;
            synced.store(true, Ordering::SeqCst);
        }
        Ok(())
    }

    pub(super) fn get(&self, name: FragmentId, range: Range<u64>) -> Result<Bytes, NodeError> {
        let asked = range.end.max(range.start);
        let file = self.open(name, asked)?;
        let bytes = folder::read(&file, range.start, (asked - range.start) as usize);
        let bytes = bytes.map_err(|error| failed("reading", &error))?;
        short(range.start + bytes.len() as u64, asked)?;
        Ok(bytes.into())
    }

    pub(super) fn get_pieces(
        &self,
        name: FragmentId,
        start: u64,
        lens: &[u32],
        blocks: &Blocks,
    ) -> Result<Vec<Bytes>, NodeError> {
        let asked = start + lens.iter().copied().map(u64::from).sum::<u64>();
        let file = self.open(name, asked)?;
        let read = folder::read_pieces(&file, start, lens, blocks);
        let (pieces, len) = read.map_err(|error| failed("reading", &error))?;
        short(start + len, asked)?;
        Ok(pieces)
    }

    /// A fragment's file, if it has the bytes before `asked`: known before anything is allocated for a
    /// range that cannot be served.
    fn open(&self, name: FragmentId, asked: u64) -> Result<File, NodeError> {
        let file = match File::open(self.path_of(name)) {
            Ok(file) => file,
            Err(error) if nothing_there(&error) => {
                return Err(self.present().err().unwrap_or(NodeError::Missing));
            }
            Err(error) => return Err(failed("opening a file", &error)),
        };
        let metadata = file.metadata().map_err(|error| failed("reading", &error))?;
        short(metadata.len(), asked)?;
        Ok(file)
    }

    pub(super) fn delete(&self, name: FragmentId) -> Result<(), NodeError> {
        match fs::remove_file(self.path_of(name)) {
            Ok(()) => Ok(()),
            Err(error) if nothing_there(&error) => self.present(),
            Err(error) => Err(failed("removing a file", &error)),
        }
    }

    /// Sends every fragment, then `None`; or the error that ended the listing.
    pub(super) fn list(&self, listed: &mpsc::Sender<Result<Option<Listed>, NodeError>>) {
        self.sweep();
        for byte in 0..=255 {
            if let Err(error) = self.list_folder(byte, listed) {
                let _ = listed.blocking_send(Err(error));
                return;
            }
            if listed.is_closed() {
                return;
            }
        }
        let _ = listed.blocking_send(Ok(None));
    }

    fn list_folder(
        &self,
        byte: u8,
        listed: &mpsc::Sender<Result<Option<Listed>, NodeError>>,
    ) -> Result<(), NodeError> {
        let entries = match fs::read_dir(self.path.join(format!("{byte:02x}"))) {
            Ok(entries) => entries,
            Err(error) if nothing_there(&error) => return self.present(),
            Err(error) => return Err(failed("listing a folder", &error)),
        };
        for entry in entries {
            let entry = entry.map_err(|error| failed("listing a folder", &error))?;
            let fragment = fragment_at(&entry, byte)?;
            if let Some(fragment) = fragment
                && listed.blocking_send(Ok(Some(fragment))).is_err()
            {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Removes temporary files whose writer must have died.
    pub(super) fn sweep(&self) {
        let Ok(entries) = fs::read_dir(self.path.join(TEMPORARY)) else { return };
        for entry in entries.flatten() {
            let modified = entry.metadata().and_then(|metadata| metadata.modified());
            let age = modified.ok().and_then(|modified| modified.elapsed().ok());
            if age > Some(TEMPORARY_AGE_MAX) {
                // Another sweep may have been faster; if the disk refuses, the next one tries again.
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    fn temporary(&self) -> PathBuf {
        let (process, count) = (std::process::id(), self.written.fetch_add(1, Ordering::Relaxed));
        self.path.join(TEMPORARY).join(format!("{process}-{:016x}-{count}", self.writer))
    }

    fn folder_of(&self, name: FragmentId) -> PathBuf {
        self.path.join(format!("{:02x}", last_byte(name)))
    }

    fn path_of(&self, name: FragmentId) -> PathBuf {
        let mut below = String::with_capacity(64);
        write!(below, "{:02x}/{name}", last_byte(name)).expect("a string takes what is written");
        self.path.join(below)
    }
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path)
}

/// Whether `len` bytes are as many as were asked for.
const fn short(len: u64, asked: u64) -> Result<(), NodeError> {
    if asked > len { Err(NodeError::Short { len, asked }) } else { Ok(()) }
}

const fn last_byte(name: FragmentId) -> u8 {
    name.stripe.0 as u8
}

/// The fragment that an entry of the subfolder `byte` is, if it is one.
fn fragment_at(entry: &DirEntry, byte: u8) -> Result<Option<Listed>, NodeError> {
    let name = entry.file_name().to_str().and_then(|name| name.parse::<FragmentId>().ok());
    let Some(name) = name.filter(|&name| last_byte(name) == byte) else { return Ok(None) };
    let metadata = match entry.metadata() {
        Ok(metadata) => metadata,
        // Deleted since the folder was read.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("stat of a file", &error)),
    };
    if !metadata.is_file() {
        return Ok(None);
    }
    let modified = metadata.modified().map_err(|error| failed("stat of a file", &error))?;
    Ok(Some(Listed { name, len: metadata.len(), modified }))
}

fn nothing_there(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// What the caller can do about a failed system call.
pub(super) fn failed(what: &str, error: &io::Error) -> NodeError {
    let reason = format!("{what}: {error}");
    let refused = matches!(
        error.kind(),
        ErrorKind::StorageFull
            | ErrorKind::QuotaExceeded
            | ErrorKind::PermissionDenied
            | ErrorKind::ReadOnlyFilesystem
    );
    if refused { NodeError::Refused { reason } } else { NodeError::Unavailable { reason } }
}
