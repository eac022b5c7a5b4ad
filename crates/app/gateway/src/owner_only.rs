//! Files that nobody but their owner may read.

use anyhow::{Context as _, Result, bail, ensure};
use ripstop_kv::KvUsers;
use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};
use zeroize::Zeroizing;

/// Fewest characters of a token: 16 random ones cannot be guessed.
const TOKEN_LEN_MIN: usize = 16;
/// Most of them.
const TOKEN_LEN_MAX: usize = 1024;

/// Most bytes of a list of names and passwords.
const LIST_LEN_MAX: u64 = 64 << 10;

/// The admin port's token: the one line of this file.
pub(crate) fn token(file: &Path) -> Result<String> {
    let at = || format!("token {}", file.display());
    let text = text(file, &at)?;
    let token = text.trim();
    // Not shown: it may be the better part of the right one.
    ensure!(
        (TOKEN_LEN_MIN..=TOKEN_LEN_MAX).contains(&token.len())
            && token.bytes().all(|byte| byte.is_ascii_graphic()),
        "{} must be one line of {TOKEN_LEN_MIN} to {TOKEN_LEN_MAX} characters without blanks",
        at()
    );
    Ok(token.to_owned())
}

/// Who may come in at the door that speaks memcached: a line `name:password` for each.
pub(crate) fn users(file: &Path) -> Result<KvUsers> {
    let at = || format!("users {}", file.display());
    let len = fs::metadata(file).with_context(at)?.len();
    ensure!(len <= LIST_LEN_MAX, "{}: {len} bytes, at most {LIST_LEN_MAX} are read", at());
    KvUsers::parse(&text(file, &at)?).with_context(at)
}

/// What a file holds that nobody but its owner may read.
fn text(file: &Path, at: &impl Fn() -> String) -> Result<Zeroizing<String>> {
    let mode = fs::metadata(file).with_context(at)?.permissions().mode();
    if mode & 0o077 != 0 {
        bail!(
            "{} can be read by users other than its owner (mode {:o}): chmod 600",
            at(),
            mode & 0o777
        );
    }
    Ok(Zeroizing::new(fs::read_to_string(file).with_context(at)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_its_owners_alone_long_enough_and_never_shown() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        let with = |text: &str, mode| {
            fs::write(&file, text).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            token(&file).map_err(|error| format!("{error:#}"))
        };
        assert_eq!(with("0123456789abcdef\n", 0o600).unwrap(), "0123456789abcdef");
        assert!(with("0123456789abcdef\n", 0o640).unwrap_err().contains("mode 640"));
        for short in ["", "0123456789abcde", "0123456789 abcdef", "0123456789\nabcdef"] {
            let told = with(short, 0o600).unwrap_err();
            assert!(told.contains("16 to 1024") && !told.contains("012345"), "{told}");
        }
        fs::remove_file(&file).unwrap();
        assert!(format!("{:#}", token(&file).unwrap_err()).contains("token"));
    }
    #[test]
    fn a_list_of_users_is_its_owners_alone_and_no_password_is_shown() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("users");
        let with = |text: &str, mode| {
            fs::write(&file, text).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            users(&file).map(drop).map_err(|error| format!("{error:#}"))
        };
        with("ann:secret\n", 0o600).unwrap();
        assert!(with("ann:secret\n", 0o604).unwrap_err().contains("mode 604"));
        let told = with("ann:secret\nbobsecret\n", 0o600).unwrap_err();
        assert!(told.contains("line 2") && !told.contains("secret"), "{told}");
        assert!(with(&"#".repeat(70_000), 0o600).unwrap_err().contains("70000 bytes"));
    }
}
