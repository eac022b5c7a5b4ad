use super::{
    cached::Cached,
    direct,
    folder::{self, FileSystem, Patience},
    leftover::{self, Dead, Writer},
    marker::{self, MARKER, NodeMark, Standing},
    name::{folder_of, last_byte},
    place::{Folder, is_file, len, nothing_there},
    settings::{DirectorySettings, PutDurability},
};
use crate::{Leftovers, Listed, NodeError};
use bytes::Bytes;
use ripstop_block::Blocks;
use ripstop_model::FragmentId;
use rustix::{
    fs::{Access, AtFlags, Stat},
    io::Errno,
};
use std::{
    fs::File,
    io::{self, ErrorKind, Write},
    ops::Range,
    path::{Path, PathBuf},
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::sync::mpsc;

/// A [`super::Directory`]'s operations, each of which may block.
#[derive(Debug)]
pub(super) struct Root {
    path: PathBuf,
    durability: PutDurability,
    /// What the marker in the folder is to say; without it, any folder will do.
    mark: Option<NodeMark>,
    /// The folder that was last found to be marked so.
    known: Mutex<Option<Identity>>,
    /// Whether the root was a mount point when it was first seen.
    mounted: OnceLock<bool>,
    cached: Cached,
    /// Per subfolder: its entry in the root is known to be on the disk.
    synced: [AtomicBool; 256],
    writer: Writer,
    written: AtomicU64,
}

/// Which folder, and when a name in it changed last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Identity {
    device: u64,
    inode: u64,
    changed_s: i64,
    changed_ns: u64,
}

/// Why a node's folder cannot be used.
#[derive(Debug)]
pub(super) enum Unfit {
    /// It is another node's, or nobody's: what was found.
    Foreign(String),
    /// Anything else.
    Node(NodeError),
}

impl From<NodeError> for Unfit {
    fn from(error: NodeError) -> Self {
        Self::Node(error)
    }
}

impl From<Unfit> for NodeError {
    fn from(unfit: Unfit) -> Self {
        match unfit {
            Unfit::Foreign(found) => {
                Self::Unavailable { reason: format!("the folder is not this node's: {found}") }
            }
            Unfit::Node(error) => error,
        }
    }
}

impl Root {
    pub(super) fn new(path: PathBuf, settings: DirectorySettings) -> Self {
        Self {
            path,
            durability: settings.durability,
            mark: settings.mark,
            known: Mutex::default(),
            mounted: OnceLock::new(),
            cached: Cached::new(),
            synced: std::array::from_fn(|_| AtomicBool::new(false)),
            writer: Writer(ripstop_host::random_u64()),
            written: AtomicU64::new(0),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The root, if it is there, and which folder it is.
    fn open(&self) -> Result<(Folder, Identity), NodeError> {
        let absent = |reason: &str| {
            Err(NodeError::Unavailable { reason: format!("the node's folder {reason}") })
        };
        let root = match Folder::open(&self.path) {
            Ok(root) => root,
            Err(Errno::NOENT) => return absent("is missing"),
            Err(Errno::NOTDIR) => return absent("is not a folder"),
            Err(error) => return Err(failed("opening the node's folder", error)),
        };
        let here = root.stat().map_err(|error| failed("stat of the node's folder", error))?;
        let above = rustix::fs::statat(&root, "..", AtFlags::empty())
            .map_err(|error| failed("stat above the node's folder", error))?;
        let mounted = here.st_dev != above.st_dev;
        if *self.mounted.get_or_init(|| mounted) && !mounted {
            return absent("is no longer mounted");
        }
        self.cached.learn(&root, here.st_dev);
        Ok((root, Identity::of(&here)))
    }

    /// The root, if it is there and ours as far as that can be told without writing.
    fn usable(&self) -> Result<Folder, Unfit> {
        let (root, identity) = self.open()?;
        self.recognise(&root, identity)?;
        Ok(root)
    }

    /// The root, marked as ours.
    fn marked(&self) -> Result<Folder, Unfit> {
        let (root, identity) = self.open()?;
        if !self.recognise(&root, identity)? {
            self.write_marker(&root)?;
            let (_, identity) = self.open()?;
            self.recognise(&root, identity)?;
        }
        Ok(root)
    }

    /// Whether the folder is marked as ours; an error if it is not for us to mark. One that is seen
    /// for the first time is cleared of what dead writers left: nobody else writes where our mark
    /// is.
    fn recognise(&self, root: &Folder, now: Identity) -> Result<bool, Unfit> {
        let Some(mark) = &self.mark else { return Ok(true) };
        let looking = |error| failed("looking at the node's folder", error);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if *known == Some(now) {
            return Ok(true);
        }
        match marker::look(root).map_err(looking)? {
            Standing::Marked(found) if found == *mark => {}
            // Ours, and to be marked again.
            Standing::MarkedBefore(found) if found == *mark => return Ok(false),
            Standing::Marked(found) | Standing::MarkedBefore(found) => {
                return Err(Unfit::Foreign(misfit(&found, mark)));
            }
            Standing::Foreign(found) => return Err(Unfit::Foreign(found)),
            Standing::Free => return Ok(false),
        }
        if known.is_none_or(|known| !known.is_same_folder(now)) {
            let dead = Dead { others_than: Some(self.writer), age: Duration::MAX };
            // What cannot be removed now is counted by checks, and tried again by sweeps.
            let _ = leftover::sweep(root, dead, true);
        }
        *known = Some(now);
        Ok(true)
    }

    fn write_marker(&self, root: &Folder) -> Result<(), NodeError> {
        let Some(mark) = &self.mark else { return Ok(()) };
        let marking = |error| failed("writing the marker", error);
        let unfinished = root.within_or_made(leftover::FOLDER, || ()).map_err(marking)?;
        let temporary = self.temporary();
        let written = unfinished.create(&temporary).and_then(|mut file| {
            file.write_all(mark.text().as_bytes())
                .and_then(|()| file.sync_all())
                .map_err(|error| errno(&error))?;
            unfinished.rename(&temporary, root, MARKER)?;
            root.sync()
        });
        if written.is_err() {
            let _ = unfinished.remove(&temporary);
        }
        written.map_err(marking)
    }

    /// What the folder's marker says, whatever that is; `None` without one.
    pub(super) fn mark(&self) -> Result<Option<NodeMark>, NodeError> {
        let (root, _) = self.open()?;
        match marker::look(&root) {
            Ok(Standing::Marked(mark) | Standing::MarkedBefore(mark)) => Ok(Some(mark)),
            Ok(Standing::Free | Standing::Foreign(_)) => Ok(None),
            Err(error) => Err(failed("looking at the node's folder", error)),
        }
    }

    pub(super) fn admit(&self) -> Result<(), Unfit> {
        self.marked().map(drop)
    }

    pub(super) fn health(&self) -> Result<(), NodeError> {
        let root = self.usable()?;
        let access = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
        rustix::fs::accessat(&root, ".", access, AtFlags::empty())
            .map_err(|error| failed("access to the node's folder", error))
    }

    pub(super) fn put(
        &self,
        name: FragmentId,
        fragment: &[Bytes],
        blocks: &Blocks,
    ) -> Result<(), NodeError> {
        let root = self.marked()?;
        let unfinished = root
            .within_or_made(leftover::FOLDER, || ())
            .map_err(|error| failed("opening the folder of temporary files", error))?;
        let temporary = self.temporary();
        let written = self.fill(&unfinished, &temporary, fragment, blocks);
        let written =
            written.and_then(|file| self.name(&root, &unfinished, &temporary, name, &file));
        if written.is_err() {
            // Best effort: what stays is swept when it has aged.
            let _ = unfinished.remove(&temporary);
        }
        written
    }

    /// A new file with the fragment in it, large ones written past the page cache where that can
    /// be.
    fn fill(
        &self,
        unfinished: &Folder,
        temporary: &str,
        fragment: &[Bytes],
        blocks: &Blocks,
    ) -> Result<File, NodeError> {
        let creating = |error| failed("creating a file", error);
        let writing = |error: io::Error| failed_io("writing", &error);
        let len: usize = fragment.iter().map(Bytes::len).sum();
        if self.durability == PutDurability::Full && len >= direct::LEN_MIN {
            let created = unfinished.create_direct(temporary);
            if let Some(file) = created.map_err(creating)? {
                direct::write_all(&file, fragment, blocks).map_err(writing)?;
                return Ok(file);
            }
        }
        let mut file = unfinished.create(temporary).map_err(creating)?;
        folder::write_all(&mut file, fragment).map_err(writing)?;
        Ok(file)
    }

    /// Gives a file that is filled the fragment's name, as durably as the settings say.
    fn name(
        &self,
        root: &Folder,
        unfinished: &Folder,
        temporary: &str,
        name: FragmentId,
        file: &File,
    ) -> Result<(), NodeError> {
        let sync = || file.sync_all().map_err(|error| failed_io("syncing a file", &error));
        let full = self.durability == PutDurability::Full;
        // There the rename lasts once the file it renamed is synced: one sync makes both last.
        let with_name = full && FileSystem::of(file).is_ok_and(FileSystem::syncs_names);
        if full && !with_name {
            sync()?;
        }
        let byte = last_byte(name);
        let synced = &self.synced[usize::from(byte)];
        // Before the folder is there, or a put that finds it would trust the old folder's flag.
        let forget = || synced.store(false, Ordering::SeqCst);
        let folder = root
            .within_or_made(&folder_of(byte), forget)
            .map_err(|error| failed("opening a folder", error))?;
        unfinished
            .rename(temporary, &folder, &name.to_string())
            .map_err(|error| failed("renaming a file", error))?;
        if with_name {
            return sync();
        }
        if full {
            let syncing = |error| failed("syncing a folder", error);
            folder.sync().map_err(syncing)?;
            // That the folder was found does not mean that its maker lived to sync the root.
            if !synced.load(Ordering::SeqCst) {
                root.sync().map_err(syncing)?;
                synced.store(true, Ordering::SeqCst);
            }
        }
        Ok(())
    }

    /// The same as [`Root::get_pieces`], of what is in memory, without waiting for the disk: `None`
    /// where that cannot be.
    pub(super) fn get_cached(
        &self,
        name: FragmentId,
        start: u64,
        lens: &[u32],
        blocks: &Blocks,
    ) -> Option<Vec<Bytes>> {
        self.cached.pieces(&self.path, name, start, lens, blocks)
    }

    pub(super) fn get(&self, name: FragmentId, range: Range<u64>) -> Result<Bytes, NodeError> {
        let asked = range.end.max(range.start);
        let file = self.fragment(name, asked)?;
        let bytes = folder::read(&file, range.start, (asked - range.start) as usize);
        let bytes = bytes.map_err(|error| failed_io("reading", &error))?;
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
        let file = self.fragment(name, asked)?;
        let read = folder::read_pieces(&file, start, lens, blocks, Patience::Disk);
        let (pieces, len) = read.map_err(|error| failed_io("reading", &error))?;
        short(start + len, asked)?;
        Ok(pieces)
    }

    /// A fragment's file, if it has the bytes before `asked`: known before anything is allocated
    /// for a range that cannot be served.
    fn fragment(&self, name: FragmentId, asked: u64) -> Result<File, NodeError> {
        let opened = match Folder::open_itself(&self.folder(name)) {
            Ok(folder) => folder.file(&name.to_string()),
            Err(error) if nothing_there(error) => Ok(None),
            Err(error) => Err(error),
        };
        let Some((file, len)) = opened.map_err(|error| failed("opening a file", error))? else {
            self.usable()?;
            return Err(NodeError::Missing);
        };
        short(len, asked)?;
        Ok(file)
    }

    pub(super) fn delete(&self, name: FragmentId) -> Result<(), NodeError> {
        let folder = Folder::open_itself(&self.folder(name));
        match folder.and_then(|folder| folder.remove(&name.to_string())) {
            Ok(()) => Ok(()),
            Err(error) if nothing_there(error) => {
                self.usable()?;
                Ok(())
            }
            Err(error) => Err(failed("removing a file", error)),
        }
    }

    /// Sends every fragment, then `None`; or the error that ended the listing.
    pub(super) fn list(&self, listed: &mpsc::Sender<Result<Option<Listed>, NodeError>>) {
        let ended = self.list_folders(listed).map(|()| None);
        // The caller may have gone.
        let _ = listed.blocking_send(ended);
    }

    fn list_folders(
        &self,
        listed: &mpsc::Sender<Result<Option<Listed>, NodeError>>,
    ) -> Result<(), NodeError> {
        let listing = |error| failed("listing a folder", error);
        let (root, before) = self.open()?;
        self.recognise(&root, before)?;
        for byte in 0..=255 {
            match root.within(&folder_of(byte)) {
                Ok(folder) => list_folder(&folder, byte, listed)?,
                Err(error) if nothing_there(error) => {}
                Err(error) => return Err(listing(error)),
            }
            if listed.is_closed() {
                return Ok(());
            }
        }
        // What was listed is all that there is only if it still is the node's folder.
        let (_, after) = self.open()?;
        if before.is_same_folder(after) {
            return Ok(());
        }
        Err(NodeError::Unavailable { reason: "the folder was replaced while listed".into() })
    }

    /// Counts the files that writes left which never ended and which are `age` old, or older than
    /// this process where nobody else may write; removes them if told to.
    pub(super) fn leftovers(&self, age: Duration, remove: bool) -> Result<Leftovers, NodeError> {
        let root = self.usable()?;
        let others_than = self.mark.is_some().then_some(self.writer);
        leftover::sweep(&root, Dead { others_than, age }, remove)
            .map_err(|error| failed("listing temporary files", error))
    }

    fn temporary(&self) -> String {
        self.writer.name(self.written.fetch_add(1, Ordering::Relaxed))
    }

    fn folder(&self, name: FragmentId) -> PathBuf {
        self.path.join(folder_of(last_byte(name)))
    }
}

impl Identity {
    fn of(stat: &Stat) -> Self {
        Self {
            device: stat.st_dev,
            inode: stat.st_ino,
            changed_s: stat.st_ctime,
            changed_ns: stat.st_ctime_nsec,
        }
    }

    fn is_same_folder(self, other: Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

/// Why a folder with this marker is not the one that was looked for.
fn misfit(found: &NodeMark, wanted: &NodeMark) -> String {
    let hint = if found.store == wanted.store {
        "are two nodes' folders swapped?"
    } else {
        "is the path, or the data folder, another store's?"
    };
    format!(
        "it is marked as {found}, and this is {wanted}: {hint} If it is meant to be this node's, \
             remove {MARKER:?} from it"
    )
}

/// Sends the fragments in the subfolder of `byte`.
fn list_folder(
    folder: &Folder,
    byte: u8,
    listed: &mpsc::Sender<Result<Option<Listed>, NodeError>>,
) -> Result<(), NodeError> {
    let listing = |error| failed("listing a folder", error);
    for file in folder.names().map_err(listing)? {
        let file = file.map_err(listing)?;
        let name = file.parse::<FragmentId>().ok().filter(|&name| last_byte(name) == byte);
        let Some(name) = name else { continue };
        let stat = match folder.stat_of(&file) {
            Ok(stat) => stat,
            // Deleted since the folder was read.
            Err(Errno::NOENT) => continue,
            Err(error) => return Err(failed("stat of a file", error)),
        };
        if !is_file(&stat) {
            continue;
        }
        let fragment = Listed { name, len: len(&stat), modified: leftover::modified(&stat) };
        if listed.blocking_send(Ok(Some(fragment))).is_err() {
            return Ok(());
        }
    }
    Ok(())
}

/// Whether `len` bytes are as many as were asked for.
const fn short(len: u64, asked: u64) -> Result<(), NodeError> {
    if asked > len { Err(NodeError::Short { len, asked }) } else { Ok(()) }
}

fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

fn failed(what: &str, error: Errno) -> NodeError {
    failed_io(what, &error.into())
}

/// What the caller can do about a failed system call.
pub(super) fn failed_io(what: &str, error: &io::Error) -> NodeError {
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
