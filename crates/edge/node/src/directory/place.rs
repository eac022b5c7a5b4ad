use rustix::{
    fs::{AtFlags, Dir, DirEntry, FileType, Mode, OFlags, Stat},
    io::{Errno, Result},
};
use std::{
    fs::File,
    os::fd::{AsFd, OwnedFd},
    path::Path,
};

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// What is no regular file neither blocks an open nor leads elsewhere.
pub(super) const FILE: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
/// For the gateway's account alone.
const FOLDER_MODE: Mode = Mode::RWXU;
const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);

/// A folder that is open: what is done in it is done there, wherever its path leads meanwhile, and
/// no link in it is followed.
#[derive(Debug)]
pub(super) struct Folder(OwnedFd);

impl Folder {
    /// The folder that a path leads to, by links too: the path is the operator's.
    pub(super) fn open(path: &Path) -> Result<Self> {
        rustix::fs::open(path, FOLDER, Mode::empty()).map(Self)
    }

    /// The folder at a path, whose last name must not be a link.
    pub(super) fn open_itself(path: &Path) -> Result<Self> {
        rustix::fs::open(path, FOLDER | OFlags::NOFOLLOW, Mode::empty()).map(Self)
    }

    /// A folder in this one.
    pub(super) fn within(&self, name: &str) -> Result<Self> {
        rustix::fs::openat(&self.0, name, FOLDER | OFlags::NOFOLLOW, Mode::empty()).map(Self)
    }

    /// The same; makes it, telling so before, if it is not there.
    pub(super) fn within_or_made(&self, name: &str, making: impl FnOnce()) -> Result<Self> {
        match self.within(name) {
            Err(Errno::NOENT) => {}
            there => return there,
        }
        making();
        match rustix::fs::mkdirat(&self.0, name, FOLDER_MODE) {
            Ok(()) | Err(Errno::EXIST) => self.within(name),
            Err(error) => Err(error),
        }
    }

    /// A regular file in this folder, and its length; `None` if there is none of this name.
    pub(super) fn file(&self, name: &str) -> Result<Option<(File, u64)>> {
        let open = |flags| rustix::fs::openat(&self.0, name, flags, Mode::empty());
        let flags = FILE | OFlags::RDONLY;
        // When a fragment was read last is nobody's question, and noting it costs a write. Only a
        // file's owner may ask for that.
        let file = match open(flags | OFlags::NOATIME) {
            Err(Errno::PERM) => open(flags),
            opened => opened,
        };
        let file = match file {
            Ok(file) => file,
            Err(error) if nothing_there(error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let stat = rustix::fs::fstat(&file)?;
        Ok(is_file(&stat).then(|| (file.into(), len(&stat))))
    }

    /// A new file in this folder.
    pub(super) fn create(&self, name: &str) -> Result<File> {
        let flags = FILE | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        rustix::fs::openat(&self.0, name, flags, FILE_MODE).map(File::from)
    }

    /// A new file in this folder for writing past the page cache; `None` where the file system has
    /// no such thing.
    pub(super) fn create_direct(&self, name: &str) -> Result<Option<File>> {
        let flags = FILE | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::DIRECT;
        match rustix::fs::openat(&self.0, name, flags, FILE_MODE) {
            Ok(file) => Ok(Some(file.into())),
            Err(Errno::INVAL) => match self.remove(name) {
                // Some file systems create the file and then refuse the flag.
                Ok(()) | Err(Errno::NOENT) => Ok(None),
                Err(error) => Err(error),
            },
            Err(error) => Err(error),
        }
    }

    /// Gives a file in this folder another name, in another folder, in place of what is called so
    /// there.
    pub(super) fn rename(&self, name: &str, to: &Self, new: &str) -> Result<()> {
        rustix::fs::renameat(&self.0, name, &to.0, new)
    }

    /// Removes a file, or a link itself.
    pub(super) fn remove(&self, name: &str) -> Result<()> {
        rustix::fs::unlinkat(&self.0, name, AtFlags::empty())
    }

    /// Removes an empty folder.
    pub(super) fn remove_folder(&self, name: &str) -> Result<()> {
        rustix::fs::unlinkat(&self.0, name, AtFlags::REMOVEDIR)
    }

    pub(super) fn stat(&self) -> Result<Stat> {
        rustix::fs::fstat(&self.0)
    }

    /// What is called so in this folder, links not followed.
    pub(super) fn stat_of(&self, name: &str) -> Result<Stat> {
        rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Has what is called how in this folder survive a power failure.
    pub(super) fn sync(&self) -> Result<()> {
        rustix::fs::fsync(&self.0)
    }

    /// Everything in this folder, itself and the one above left out.
    pub(super) fn entries(&self) -> Result<impl Iterator<Item = Result<DirEntry>>> {
        let is_within = |entry: &Result<DirEntry>| !matches!(entry, Ok(entry) if matches!(entry.file_name().to_bytes(), b"." | b".."));
        Ok(Dir::read_from(self.as_fd())?.filter(is_within))
    }

    /// Everything in this folder that has a name of a form that is ours: such names are text.
    pub(super) fn names(&self) -> Result<impl Iterator<Item = Result<String>>> {
        let name = |entry: DirEntry| Some(entry.file_name().to_str().ok()?.to_owned());
        let named = move |entry: Result<DirEntry>| entry.map(name).transpose();
        Ok(self.entries()?.filter_map(named))
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Whether an error says that a name leads to no file or folder of ours: none, a link, a socket, a
/// file in place of a folder.
pub(super) fn nothing_there(error: Errno) -> bool {
    matches!(error, Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NXIO)
}

pub(super) fn is_file(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

pub(super) fn len(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}
