//! The file, and how it is changed: by one at a time, and whole.

use super::{UserAnswer, UserCommand, document::UsersDocument};
use crate::{config::Config, credentials, secret_file};
use anyhow::{Context as _, Result, bail, ensure};
use ripstop_identity::Credentials;
use std::{
    fs::{self, File, OpenOptions, TryLockError},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};
use zeroize::Zeroizing;

/// Its name in the data folder.
const USERS_FILE: &str = "users.json";
/// Held by whoever changes it.
const LOCK_FILE: &str = "users.lock";
/// Most bytes of it.
const FILE_LEN_MAX: u64 = 16 << 20;
/// How often its lock is tried for while somebody else has it …
const LOCK_TRIES: u32 = 250;
/// … and how long apart.
const LOCK_PAUSE: Duration = Duration::from_millis(20);
/// Room for a key in a file of keys, bytes.
const PROFILE_LEN: usize = 512;

/// Users, keys and policies that are managed by commands.
#[derive(Clone, Debug)]
pub struct UsersFile {
    path: PathBuf,
    lock: PathBuf,
    credentials: PathBuf,
}

/// Differs once the file is another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stamp {
    inode: u64,
    len: u64,
    changed_s: i64,
    changed_ns: i64,
}

impl UsersFile {
    /// That of the gateway with this configuration.
    pub fn of(config: &Config) -> Self {
        let (path, lock) = (config.data.join(USERS_FILE), config.data.join(LOCK_FILE));
        Self { path, lock, credentials: config.credentials.clone() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it holds; nothing if it is not there.
    pub(crate) fn read(&self) -> Result<UsersDocument> {
        match secret_file::read_up_to(&self.path, FILE_LEN_MAX)? {
            None => Ok(UsersDocument::default()),
            Some(text) => UsersDocument::read(&text).with_context(|| self.shown()),
        }
    }

    /// What it is now; nothing if it is not there.
    pub(crate) fn stamp(&self) -> Option<Stamp> {
        let found = fs::metadata(&self.path).ok()?;
        Some(Stamp {
            inode: found.ino(),
            len: found.len(),
            changed_s: found.mtime(),
            changed_ns: found.mtime_nsec(),
        })
    }

    /// Carries a command out. After an error nothing is changed.
    pub fn carry_out(&self, command: UserCommand) -> Result<UserAnswer> {
        if !command.changes() {
            return self.read()?.apply(command);
        }
        let _lock = self.lock()?;
        let mut document = self.read()?;
        let answer = document.apply(command)?;
        document.let_in(&mut self.others()?)?;
        let text = document.to_text()?;
        let len = text.len() as u64;
        ensure!(
            len <= FILE_LEN_MAX,
            "{}: {len} bytes, at most {FILE_LEN_MAX} can be",
            self.shown()
        );
        secret_file::replace(&self.path, text.as_bytes())?;
        Ok(answer)
    }

    /// Whom the credentials' own file lets in.
    fn others(&self) -> Result<Credentials> {
        if !self.credentials.exists() {
            return Ok(Credentials::new());
        }
        credentials::reload(&self.credentials)
    }

    fn lock(&self) -> Result<File> {
        let at = || format!("lock {}", self.lock.display());
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(&self.lock).with_context(at)?;
        for _ in 0..LOCK_TRIES {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
                Err(TryLockError::Error(error)) => return Err(error).with_context(at),
            }
        }
        bail!("{}: somebody else has held it for seconds", at())
    }

    fn shown(&self) -> String {
        format!("users {}", self.path.display())
    }
}

/// The secret that is the one line of a file which nobody but its owner may read.
pub fn read_secret(path: &Path) -> Result<Zeroizing<String>> {
    let text =
        secret_file::read(path)?.with_context(|| format!("there is no {}", path.display()))?;
    Ok(Zeroizing::new(text.trim().to_owned()))
}

/// Writes keys to a new file for its owner alone, as AWS's credentials files have them: profile,
/// access key and secret of each.
pub fn write_keys(path: &Path, keys: &[(&str, &str, &str)]) -> Result<()> {
    let mut text = Zeroizing::new(String::with_capacity(keys.len() * PROFILE_LEN));
    for (profile, access_key, secret_key) in keys {
        for part in ["[", profile, "]\naws_access_key_id = ", access_key] {
            text.push_str(part);
        }
        for part in ["\naws_secret_access_key = ", secret_key, "\n"] {
            text.push_str(part);
        }
    }
    secret_file::create(path, text.as_bytes())
}
