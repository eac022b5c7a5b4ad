use std::{
    env, fmt,
    fs::File,
    io::{self, Read as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};
use thiserror::Error;
use zeroize::Zeroizing;

/// What anybody but the owner of a file may do with it.
const OTHERS: u32 = 0o077;

/// Most bytes of a credentials file.
const FILE_LEN_MAX: u64 = 1 << 20;

/// Who signs a bucket's requests. Never printed, and the secret parts wiped from memory as they are
/// dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct BucketCredentials {
    /// The public half.
    pub access_key: String,
    /// The secret half.
    pub secret_key: Zeroizing<String>,
    /// Goes with keys that expire.
    pub token: Option<Zeroizing<String>>,
}

/// Why there are no credentials. Never holds any part of them.
#[derive(Debug, Error)]
pub enum CredentialsError {
    /// An environment variable is not there, empty, or not text.
    #[error("environment variable {0} is not set")]
    Variable(String),
    /// The file cannot be read.
    #[error("cannot read {}", .0.display())]
    File(PathBuf, #[source] io::Error),
    /// Others than its owner can open the file.
    #[error("{} can be opened by users other than its owner (mode {mode:o}): chmod 600", .path.display())]
    Exposed {
        /// Which file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// The file has no such profile, or the profile lacks a key.
    #[error("{} has no {key} in profile [{profile}]", .path.display())]
    Profile {
        /// Which file.
        path: PathBuf,
        /// Which profile.
        profile: String,
        /// Which key.
        key: &'static str,
    },
}

impl BucketCredentials {
    /// Those in the variables `<prefix>_ACCESS_KEY_ID`, `<prefix>_SECRET_ACCESS_KEY` and, where it
    /// is set, `<prefix>_SESSION_TOKEN`; the customary prefix is `AWS`.
    pub fn from_environment(prefix: &str) -> Result<Self, CredentialsError> {
        let variable = |name: &str| {
            let name = format!("{prefix}_{name}");
            let value = env::var(&name).ok().filter(|value| !value.is_empty());
            value.ok_or(CredentialsError::Variable(name))
        };
        Ok(Self {
            access_key: variable("ACCESS_KEY_ID")?,
            secret_key: Zeroizing::new(variable("SECRET_ACCESS_KEY")?),
            token: variable("SESSION_TOKEN").ok().map(Zeroizing::new),
        })
    }

    /// Those of one profile in a file of AWS's shared form: a line `[profile]`, then lines
    /// `aws_access_key_id = …`, `aws_secret_access_key = …`, `aws_session_token = …`. Nobody but
    /// the owner may be able to open it.
    pub fn from_file(path: &Path, profile: &str) -> Result<Self, CredentialsError> {
        let text = read(path)?;
        let required = |key: &'static str| {
            let value = value(&text, profile, key).map(str::to_owned);
            value.ok_or_else(|| CredentialsError::Profile {
                path: path.to_owned(),
                profile: profile.to_owned(),
                key,
            })
        };
        Ok(Self {
            access_key: required("aws_access_key_id")?,
            secret_key: Zeroizing::new(required("aws_secret_access_key")?),
            token: required("aws_session_token").ok().map(Zeroizing::new),
        })
    }
}

/// The text of a file that is its owner's alone.
fn read(path: &Path) -> Result<Zeroizing<String>, CredentialsError> {
    let failed = |error| CredentialsError::File(path.to_owned(), error);
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    let mode = metadata.permissions().mode() & 0o777;
    if mode & OTHERS != 0 {
        return Err(CredentialsError::Exposed { path: path.to_owned(), mode });
    }
    // Room for all of it from the start: a text that moves as it grows leaves copies behind.
    let len = metadata.len().min(FILE_LEN_MAX);
    let mut text = Zeroizing::new(String::with_capacity(len as usize + 1));
    file.take(FILE_LEN_MAX).read_to_string(&mut text).map_err(failed)?;
    Ok(text)
}

/// The value of a key in a profile; of the last line, if several name it.
fn value<'a>(text: &'a str, profile: &str, key: &str) -> Option<&'a str> {
    let mut within = false;
    let mut found = None;
    for line in text.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            within = header.trim() == profile;
        } else if within && let Some((name, value)) = line.split_once('=') {
            let value = value.trim();
            if name.trim() == key && !value.is_empty() {
                found = Some(value);
            }
        }
    }
    found
}

impl fmt::Debug for BucketCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(not shown)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};

    const FILE: &str = "# keys\n[default]\naws_access_key_id = A\naws_secret_access_key=S/+=\n\n\
        [ backup ]\r\naws_access_key_id=B\r\naws_session_token = T\r\n";

    #[test]
    fn a_profile_is_found_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("credentials");
        fs::write(&path, FILE).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let found = BucketCredentials::from_file(&path, "default").unwrap();
        let (access_key, secret_key) = ("A".to_owned(), "S/+=".to_owned().into());
        assert!(found == BucketCredentials { access_key, secret_key, token: None });
        assert_eq!(value(FILE, "backup", "aws_session_token"), Some("T"));
        let lacking = BucketCredentials::from_file(&path, "backup").unwrap_err().to_string();
        assert!(lacking.ends_with("has no aws_secret_access_key in profile [backup]"), "{lacking}");
        assert!(BucketCredentials::from_file(&folder.path().join("none"), "default").is_err());
    }

    #[test]
    fn a_file_that_others_can_open_is_refused_with_its_mode_and_without_its_secret() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("credentials");
        fs::write(&path, FILE).unwrap();
        for mode in [0o644, 0o640, 0o604, 0o660, 0o601] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let refused = BucketCredentials::from_file(&path, "default").unwrap_err().to_string();
            let wanted = format!("(mode {mode:o}): chmod 600");
            assert!(refused.ends_with(&wanted) && !refused.contains("S/+="), "{refused}");
        }
        for mode in [0o600, 0o400] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            assert!(BucketCredentials::from_file(&path, "default").is_ok());
        }
    }

    #[test]
    fn secrets_are_not_printed() {
        let (access_key, secret_key) = ("ACCESS".to_owned(), "SECRET".to_owned().into());
        let token = Some("TOKEN".to_owned().into());
        let credentials = BucketCredentials { access_key, secret_key, token };
        assert_eq!(format!("{credentials:?}"), "Credentials(not shown)");
    }
}
