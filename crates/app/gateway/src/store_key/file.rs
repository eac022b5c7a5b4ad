use crate::secret_file;
use anyhow::{Context as _, Result, ensure};
use ripstop_runtime::Seals;
use ripstop_seal::{KeyId, StoreKey};
use std::{fs, path::Path};
use zeroize::Zeroizing;

/// The line that says since when the store seals, milliseconds since 1970.
const SINCE: &str = "sealed-since-ms ";
const FIRST_LINE: &str =
    "# The key of a Ripstop store, which is secret: keep a copy of this file elsewhere.";

/// The keys of a store: the first seals, all are for reading.
#[derive(Debug)]
pub struct KeyFile {
    keys: Vec<StoreKey>,
    since_ms: u64,
}

impl KeyFile {
    /// The file at `path`, if there is one.
    pub fn read(path: &Path) -> Result<Option<Self>> {
        let Some(text) = secret_file::read(path)? else { return Ok(None) };
        Self::parse(&text).with_context(|| format!("key {}", path.display())).map(Some)
    }

    fn parse(text: &str) -> Result<Self> {
        let (mut keys, mut since_ms) = (Vec::new(), None);
        let lines = text.lines().map(str::trim);
        for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(since) = line.strip_prefix(SINCE) {
                let since: u64 = since.trim().parse().context("the line sealed-since-ms")?;
                ensure!(since_ms.replace(since).is_none(), "two lines sealed-since-ms");
            } else {
                keys.push(StoreKey::from_text(line)?);
            }
        }
        ensure!(!keys.is_empty(), "there is no key in it");
        // A key that somebody typed in: what it seals cannot be told from what was there before.
        Ok(Self { keys, since_ms: since_ms.unwrap_or(u64::MAX) })
    }

    /// A new key in a new file, of a store that seals from this time on.
    pub fn create(path: &Path, since_ms: u64) -> Result<Self> {
        let made = Self { keys: vec![StoreKey::generate()], since_ms };
        let key = made.keys[0].to_text();
        let text = Zeroizing::new(format!("{FIRST_LINE}\n{}\n{SINCE}{since_ms}\n", *key));
        secret_file::create(path, text.as_bytes())?;
        Ok(made)
    }

    /// The ids of its keys.
    pub fn ids(&self) -> impl Iterator<Item = KeyId> {
        self.keys.iter().map(StoreKey::id)
    }

    /// What seals and verifies with them.
    pub fn seals(&self) -> Seals {
        let seals = self.keys.iter().fold(Seals::default(), |seals, key| seals.knowing(key));
        seals.since(self.since_ms)
    }
}

/// Copies a key's file, which is looked at before, to a place where there is none.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    KeyFile::read(from)?.with_context(|| format!("there is no key {}", from.display()))?;
    let bytes = Zeroizing::new(fs::read(from)?);
    secret_file::create(to, &bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::KEY_FILE;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_key_is_made_once_for_its_owner_and_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(KEY_FILE);
        assert!(KeyFile::read(&path).unwrap().is_none());
        let made = KeyFile::create(&path, 7).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let read = KeyFile::read(&path).unwrap().unwrap();
        assert!(read.ids().eq(made.ids()) && read.since_ms == 7);
        assert!(KeyFile::create(&path, 7).is_err(), "a key is never overwritten");
        let copied = folder.path().join("copy");
        copy(&path, &copied).unwrap();
        assert_eq!(fs::metadata(&copied).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(KeyFile::read(&copied).unwrap().unwrap().ids().eq(made.ids()));
        assert!(copy(&path, &copied).is_err());
    }

    #[test]
    fn a_key_that_others_can_read_or_that_is_none_is_refused_and_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(KEY_FILE);
        KeyFile::create(&path, 0).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let secret = text.lines().nth(1).unwrap().rsplit(':').next().unwrap();
        let told = |text: &str, mode| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let told = format!("{:#}", KeyFile::read(&path).unwrap_err());
            assert!(told.contains("store.key") && !told.contains(&secret[..8]), "{told}");
            told
        };
        assert!(told(&text, 0o640).contains("mode 640"));
        assert!(told(&text.replace(SINCE, "since"), 0o600).contains("not a store's key"));
        assert!(
            told(&text.replacen("ripstop-key-1:", "ripstop-key-1:0", 1), 0o600)
                .contains("one line")
        );
        assert!(told("# nothing\n", 0o600).contains("no key in it"));
        let twice = format!("{text}{SINCE}9\n");
        assert!(told(&twice, 0o600).contains("two lines"));
    }

    #[test]
    fn of_several_keys_the_first_seals() {
        let [one, other] = [StoreKey::generate(), StoreKey::generate()];
        let text = format!("{}\n\n{}\n", *one.to_text(), *other.to_text());
        let seals = KeyFile::parse(&text).unwrap().seals();
        assert_eq!(seals.key(), Some(one.id()));
        assert!(seals.knows(other.id()));
    }
}
