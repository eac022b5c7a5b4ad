//! Files of keys: for their owner alone, and never overwritten by accident.

use anyhow::{Context as _, Result, bail};
use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{ErrorKind, Read as _, Write as _},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};
use zeroize::Zeroizing;

/// Most bytes of one.
const FILE_LEN_MAX: u64 = 64 << 10;

/// What is in it, if it is there.
pub(crate) fn read(path: &Path) -> Result<Option<Zeroizing<String>>> {
    read_up_to(path, FILE_LEN_MAX)
}

/// The same of one that may have up to `len_max` bytes.
pub(crate) fn read_up_to(path: &Path, len_max: u64) -> Result<Option<Zeroizing<String>>> {
    let at = || format!("key {}", path.display());
    let opened = match File::open(path) {
        Ok(opened) => opened,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(at),
    };
    let metadata = opened.metadata().with_context(at)?;
    let mode = metadata.permissions().mode();
    if mode & 0o077 != 0 {
        bail!(
            "{} can be read by users other than its owner (mode {:o}): chmod 600",
            at(),
            mode & 0o777
        );
    }
    if metadata.len() > len_max {
        bail!("{} is longer than {len_max} bytes", at());
    }
    // Room for all of it from the start: a text that moves as it grows leaves copies behind.
    let mut text = Zeroizing::new(String::with_capacity(metadata.len() as usize + 1));
    opened.take(len_max).read_to_string(&mut text).with_context(at)?;
    Ok(Some(text))
}

/// A new file of this, durable.
pub(crate) fn create(path: &Path, bytes: &[u8]) -> Result<()> {
    let at = || format!("key {}", path.display());
    let mut options = OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(0o600).open(path);
    let mut out = opened.with_context(at)?;
    out.write_all(bytes).and_then(|()| out.sync_all()).with_context(at)?;
    sync_folder(path).with_context(at)
}

/// The same in the place of what is there: a reader finds the one or the other.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut name = OsString::from(path);
    name.push(".new");
    let aside = PathBuf::from(name);
    if aside.exists() {
        fs::remove_file(&aside)
            .with_context(|| format!("what an earlier change left, {}", aside.display()))?;
    }
    create(&aside, bytes)?;
    fs::rename(&aside, path).with_context(|| format!("key {}", path.display()))?;
    Ok(sync_folder(path)?)
}

fn sync_folder(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}
