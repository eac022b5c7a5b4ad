use std::{env, fmt, fs, io, path::Path, path::PathBuf};
use thiserror::Error;

/// Who signs a bucket's requests. Never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The public half.
    pub access_key: String,
    /// The secret half.
    pub secret_key: String,
    /// Goes with keys that expire.
    pub token: Option<String>,
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

impl Credentials {
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
            secret_key: variable("SECRET_ACCESS_KEY")?,
            token: variable("SESSION_TOKEN").ok(),
        })
    }

    /// Those of one profile in a file of AWS's shared form: a line `[profile]`, then lines
    /// `aws_access_key_id = …`, `aws_secret_access_key = …`, `aws_session_token = …`.
    pub fn from_file(path: &Path, profile: &str) -> Result<Self, CredentialsError> {
        let text = fs::read_to_string(path)
            .map_err(|error| CredentialsError::File(path.to_owned(), error))?;
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
            secret_key: required("aws_secret_access_key")?,
            token: required("aws_session_token").ok(),
        })
    }
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

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(not shown)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# keys\n[default]\naws_access_key_id = A\naws_secret_access_key=S/+=\n\n\
        [ backup ]\r\naws_access_key_id=B\r\naws_session_token = T\r\n";

    #[test]
    fn a_profile_is_found_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("credentials");
        fs::write(&path, FILE).unwrap();
        let found = Credentials::from_file(&path, "default").unwrap();
        let (access_key, secret_key) = ("A".to_owned(), "S/+=".to_owned());
        assert!(found == Credentials { access_key, secret_key, token: None });
        assert_eq!(value(FILE, "backup", "aws_session_token"), Some("T"));
        let lacking = Credentials::from_file(&path, "backup").unwrap_err().to_string();
        assert!(lacking.ends_with("has no aws_secret_access_key in profile [backup]"), "{lacking}");
        assert!(Credentials::from_file(&folder.path().join("none"), "default").is_err());
    }

    #[test]
    fn secrets_are_not_printed() {
        let (access_key, secret_key) = ("ACCESS".to_owned(), "SECRET".to_owned());
        let credentials = Credentials { access_key, secret_key, token: Some("TOKEN".into()) };
        assert_eq!(format!("{credentials:?}"), "Credentials(not shown)");
    }
}
