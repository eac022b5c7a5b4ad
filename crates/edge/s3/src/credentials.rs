use std::{collections::HashMap, fmt};

/// Who may speak to the face: access keys and their secrets. Printing it shows no secret.
#[derive(Clone, Default)]
pub struct Credentials {
    secrets: HashMap<String, String>,
}

/// Signed against where the access key is unknown, so that the work is the same.
const NOBODY: &str = "0000000000000000000000000000000000000000";

impl Credentials {
    /// Nobody yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets `access_key` in with `secret`; replaces its former secret.
    pub fn insert(&mut self, access_key: impl Into<String>, secret: impl Into<String>) {
        self.secrets.insert(access_key.into(), secret.into());
    }

    /// Whether nobody may come in.
    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// The secret to verify with, and whether the access key is known at all.
    pub(crate) fn secret(&self, access_key: &str) -> (&str, bool) {
        match self.secrets.get(access_key) {
            Some(secret) => (secret, true),
            None => (NOBODY, false),
        }
    }
}

impl<K: Into<String>, S: Into<String>> FromIterator<(K, S)> for Credentials {
    fn from_iter<I: IntoIterator<Item = (K, S)>>(pairs: I) -> Self {
        Self {
            secrets: pairs.into_iter().map(|(key, secret)| (key.into(), secret.into())).collect(),
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut keys: Vec<_> = self.secrets.keys().collect();
        keys.sort_unstable();
        f.debug_struct("Credentials").field("access_keys", &keys).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printing_shows_access_keys_and_no_secret() {
        let credentials: Credentials = [("key", "hidden")].into_iter().collect();
        let printed = format!("{credentials:?}");
        assert!(printed.contains("key") && !printed.contains("hidden"), "{printed}");
    }
}
