use crate::command::say;
use anyhow::{Context, Result};
use std::{
    fs,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

/// Free bytes of the disk below which folders are removed before the end: several times what one
/// turn writes.
const SPACE_MIN: u64 = 8 << 30;

/// Removes a folder once this program has ended, however it did. Servers that are being ended
/// meanwhile may still write to it for a few seconds.
const GUARD: &str = r#"
cat >/dev/null
left=10
while ! rm -rf -- "$1" 2>/dev/null && [ "$left" -gt 0 ]; do sleep 1; left=$((left - 1)); done
"#;

/// Where the servers' folders are: a new one for each turn, all removed together at the end.
///
/// ext4 gives no inode out again within minutes of its removal but looks past each of those
/// removed, one by one, whenever a file is made. Folders removed after each turn would have the
/// next server pay for the one before.
pub(super) struct Ground {
    folder: PathBuf,
    turns: usize,
    guard: Child,
}

impl Ground {
    /// A new folder in `parent`.
    pub(super) fn new(parent: &Path) -> Result<Self> {
        let folder = parent.join(format!("ripstop-rivals-{}", std::process::id()));
        fs::create_dir(&folder).with_context(|| format!("making {}", folder.display()))?;
        let mut guard = Command::new("sh");
        guard.args(["-c", GUARD, "sh"]).arg(&folder).stdin(Stdio::piped());
        // Ctrl-C reaches this program alone; the guard then tidies up.
        let guard = guard.process_group(0).spawn().context("starting sh")?;
        Ok(Self { folder, turns: 0, guard })
    }

    /// A folder for the next server: not there yet, on a disk that has written what it was given.
    pub(super) fn next(&mut self) -> Result<PathBuf> {
        let looking = || format!("looking at {}", self.folder.display());
        let system = rustix::fs::statvfs(&self.folder).with_context(looking)?;
        if system.f_bavail * system.f_frsize < SPACE_MIN {
            say("the disk is nearly full: folders are removed now, and the next figures suffer");
            self.clear()?;
        }
        let folder = fs::File::open(&self.folder).with_context(looking)?;
        rustix::fs::syncfs(folder).context("having the disk write what it was given")?;
        self.turns += 1;
        Ok(self.folder.join(format!("turn-{}", self.turns)))
    }

    fn clear(&self) -> Result<()> {
        for entry in fs::read_dir(&self.folder).context("listing the folders of earlier turns")? {
            fs::remove_dir_all(entry?.path()).context("removing the folder of an earlier turn")?;
        }
        Ok(())
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        // Nothing can be done about a guard that is gone already.
        let _ = self.guard.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_all_turns_are_kept_until_the_end_and_gone_after_it() {
        let base = std::env::temp_dir().join(format!("rivals-ground-{}", std::process::id()));
        fs::create_dir_all(&base).unwrap();
        let mut ground = Ground::new(&base).unwrap();
        let (first, second) = (ground.next().unwrap(), ground.next().unwrap());
        assert!(first != second && !first.exists() && !second.exists());
        fs::create_dir(&first).unwrap();
        fs::write(first.join("file"), "of a server").unwrap();
        assert!(ground.next().is_ok() && first.exists());
        drop(ground);
        assert_eq!(fs::read_dir(&base).unwrap().count(), 0);
        fs::remove_dir(&base).unwrap();
    }
}
