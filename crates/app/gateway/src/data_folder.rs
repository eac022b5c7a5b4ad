//! The data folder: made, locked, and kept for its owner alone.

use crate::{
    config::{Config, NodePlace, PoolConfig},
    folder_format::{self, FORMAT_FILE, Known},
};
use rustix::{fs::Mode, process::umask};
use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError},
    io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

/// Name of the catalog's file in the data folder.
pub const CATALOG_FILE: &str = "catalog.redb";
/// Name of the file that says where the admin port of the gateway that runs is.
pub const ADMIN_FILE: &str = "admin";
/// Name of the file that says under which number the gateway goes among others.
pub(crate) const GATEWAY_FILE: &str = "gateway";
const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;
/// What anybody but the owner may do.
const OTHERS: u32 = 0o077;
/// Others may put files in.
const OTHERS_WRITE: u32 = 0o022;
const LOCK_FILE: &str = "lock";
/// Folder of the default nodes.
const NODES_FOLDER: &str = "nodes";

/// The data folder, locked against other processes for as long as this lives.
#[derive(Debug)]
pub struct DataFolder {
    _lock: File,
}

/// Why the data folder was not opened.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// This program does not know its format. Nothing in it was touched.
    #[error("data folder {path} {reason}")]
    Format {
        /// Which.
        path: String,
        /// What it says.
        reason: String,
    },
    /// Another process has it.
    #[error("data folder {0} is in use by another process")]
    InUse(String),
    /// The file system says no.
    #[error("data folder {path}")]
    Io {
        /// Which.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl DataFolder {
    /// Opens the folder; makes it, with the default nodes' folders, if it is not there.
    pub fn create(config: &Config) -> Result<Self, FolderError> {
        must_be_known(config)?;
        let is_new = !config.data.exists();
        let io = |source| FolderError::Io { path: config.data.display().to_string(), source };
        make(&config.data).map_err(io)?;
        let folder = Self::open(config)?;
        folder_format::note(&config.data).map_err(io)?;
        // Only at the very first start: a folder that is missing later is a disk that is missing.
        let is_there = |name| config.data.join(name).exists();
        if is_new || !is_there(CATALOG_FILE) && !is_there(NODES_FOLDER) {
            for node in config.pools.iter().flat_map(|pool| &pool.nodes) {
                if let NodePlace::Directory { path, ours: true, .. } = &node.place {
                    make(path).map_err(io)?;
                }
            }
        }
        Ok(folder)
    }

    /// Opens the folder, which must be there. What this process makes from now on is its owner's
    /// alone, and so is what is in the folder already and ours.
    pub fn open(config: &Config) -> Result<Self, FolderError> {
        let path = || config.data.display().to_string();
        let io = |source| FolderError::Io { path: path(), source };
        must_be_known(config)?;
        // The catalog's library and others name no modes.
        umask(Mode::RWXG | Mode::RWXO);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(FILE_MODE);
        let lock = options.open(config.data.join(LOCK_FILE)).map_err(io)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(FolderError::InUse(path())),
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
        // Who had it until now may have been a newer program.
        must_be_known(config)?;
        close(config);
        Ok(Self { _lock: lock })
    }
}

fn must_be_known(config: &Config) -> Result<(), FolderError> {
    let path = || config.data.display().to_string();
    match folder_format::look(&config.data) {
        Ok(Known::Yes) => Ok(()),
        Ok(Known::No(reason)) => Err(FolderError::Format { path: path(), reason }),
        Err(source) => Err(FolderError::Io { path: path(), source }),
    }
}

/// Where the plan of a pool that plans itself is kept.
pub fn plan_file(data: &Path, pool: &str) -> PathBuf {
    data.join(format!("plan-{pool}.toml"))
}

fn make(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder)
}

/// Takes from everybody else what can be opened by them in the data folder and is ours. An
/// operator's own files in it, and what links lead to, stay as they are.
fn close(config: &Config) {
    let data = &config.data;
    let plan = |pool: &PoolConfig| plan_file(data, &pool.name);
    let ours = [LOCK_FILE, FORMAT_FILE, CATALOG_FILE, ADMIN_FILE, NODES_FOLDER];
    let ours = ours.map(|name| data.join(name));
    for path in ours.into_iter().chain(config.pools.iter().map(plan)) {
        let Ok(found) = fs::symlink_metadata(&path) else { continue };
        let mode = found.permissions().mode() & 0o7777;
        if mode & OTHERS == 0 || found.is_symlink() {
            continue;
        }
        let closed = if found.is_dir() { FOLDER_MODE } else { FILE_MODE };
        let done = fs::set_permissions(&path, Permissions::from_mode(closed));
        let (path, mode) = (path.display(), format!("{mode:o}"));
        match done {
            Ok(()) => {
                tracing::info!(%path, mode, "it was open to other users and is closed to them now");
            }
            Err(error) => tracing::warn!(%path, mode, %error, "it is open to other users"),
        }
    }
    let mode = fs::metadata(data).map_or(0, |found| found.permissions().mode() & 0o7777);
    if mode & OTHERS_WRITE != 0 {
        let (path, mode) = (data.display(), format!("{mode:o}"));
        tracing::warn!(%path, mode, "other users can put files into the data folder: chmod 700");
    }
}
