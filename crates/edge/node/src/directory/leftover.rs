use super::place::{Folder, is_file, len};
use crate::Leftovers;
use rustix::io::{Errno, Result};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Name of the folder, below the root, of what is being written.
pub(super) const FOLDER: &str = ".ripstop-tmp";
/// What versions before called it: who shares a folder with others cannot be sure of that name.
pub(super) const FOLDER_BEFORE: &str = "tmp";

/// Tells the files of one writer from those of every other process and node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Writer(pub u64);

impl Writer {
    /// The name of its `count`th file.
    pub(super) fn name(self, count: u64) -> String {
        format!("{}-{:016x}-{count}", std::process::id(), self.0)
    }
}

/// Who writes the file of this name, if it is of the form that writers give.
pub(super) fn writer_of(name: &str) -> Option<Writer> {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|at| at.is_ascii_digit());
    let mut parts = name.split('-');
    let (process, writer, count) = (parts.next()?, parts.next()?, parts.next()?);
    let is_hex = writer.len() == 16 && writer.bytes().all(|at| at.is_ascii_hexdigit());
    let is_ours = parts.next().is_none() && is_number(process) && is_hex && is_number(count);
    u64::from_str_radix(writer, 16).ok().filter(|_| is_ours).map(Writer)
}

/// Which temporary files have no writer left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dead {
    /// Those of everybody but this one.
    pub others_than: Option<Writer>,
    /// Those this old, no matter who writes them.
    pub age: Duration,
}

/// Counts the files that writes left which never ended; removes them if told to. What has not the
/// form of our names stays, and no link is followed.
pub(super) fn sweep(root: &Folder, dead: Dead, remove: bool) -> Result<Leftovers> {
    let mut found = Leftovers::default();
    for name in [FOLDER, FOLDER_BEFORE] {
        let folder = match root.within(name) {
            Ok(folder) => folder,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
            Err(error) => return Err(error),
        };
        sweep_folder(&folder, dead, remove, &mut found)?;
        if remove && name == FOLDER_BEFORE {
            // It stays if anything is in it that is not ours.
            let _ = root.remove_folder(name);
        }
    }
    Ok(found)
}

fn sweep_folder(folder: &Folder, dead: Dead, remove: bool, found: &mut Leftovers) -> Result<()> {
    for name in folder.names()? {
        let name = name?;
        let Some(writer) = writer_of(&name) else { continue };
        // It may have got its own name, or been removed, since the folder was read.
        let Ok(stat) = folder.stat_of(&name) else { continue };
        let others = dead.others_than.is_some_and(|living| living != writer);
        if !is_file(&stat) || !(others || is_aged(&stat, dead.age)) {
            continue;
        }
        found.files += 1;
        found.bytes += len(&stat);
        if remove && folder.remove(&name).is_ok() {
            found.freed += 1;
        }
    }
    Ok(())
}

fn is_aged(stat: &rustix::fs::Stat, age: Duration) -> bool {
    ripstop_host::wall().duration_since(modified(stat)).is_ok_and(|since| since >= age)
}

/// When a file was written last.
pub(super) fn modified(stat: &rustix::fs::Stat) -> SystemTime {
    let seconds = u64::try_from(stat.st_mtime).unwrap_or(0);
    UNIX_EPOCH + Duration::new(seconds, u32::try_from(stat.st_mtime_nsec).unwrap_or(0))
}
