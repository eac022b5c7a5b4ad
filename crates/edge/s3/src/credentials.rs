use ripstop_model::TenantId;
use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, PoisonError, RwLock},
};
use zeroize::Zeroizing;

/// Who may speak to the face: access keys and their secrets. Printing it shows no secret, and dropping it
/// wipes them from memory.
#[derive(Clone, Default)]
pub struct Credentials {
    secrets: HashMap<String, Zeroizing<String>>,
    /// Of access keys that belong to a tenant.
    tenants: HashMap<String, TenantId>,
}

/// Signed against where the access key is unknown, so that the work is the same.
const NOBODY: &str = "0000000000000000000000000000000000000000";

impl Credentials {
    /// Nobody yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets `access_key` in with `secret`; replaces its former secret.
    pub fn insert(&mut self, access_key: impl Into<String>, secret: impl Into<Zeroizing<String>>) {
        self.secrets.insert(access_key.into(), secret.into());
    }

    /// Whose requests those signed with `access_key` are; anybody's if this is never said.
    pub fn assign(&mut self, access_key: impl Into<String>, tenant: TenantId) {
        self.tenants.insert(access_key.into(), tenant);
    }

    /// The tenant that an access key belongs to.
    pub(crate) fn tenant(&self, access_key: &str) -> TenantId {
        self.tenants.get(access_key).copied().unwrap_or(TenantId::ANYBODY)
    }

    /// Whether an access key may come in.
    pub fn knows(&self, access_key: &str) -> bool {
        self.secrets.contains_key(access_key)
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
        let mut credentials = Self::new();
        for (access_key, secret) in pairs {
            let secret: String = secret.into();
            credentials.insert(access_key, secret);
        }
        credentials
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut keys: Vec<_> = self.secrets.keys().collect();
        keys.sort_unstable();
        f.debug_struct("Credentials").field("access_keys", &keys).finish_non_exhaustive()
    }
}

/// Credentials that can be exchanged while the face serves. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Keyring(Arc<RwLock<Arc<Credentials>>>);

impl Keyring {
    /// From the next request on these are the credentials.
    pub fn replace(&self, credentials: Credentials) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(credentials);
    }

    /// The credentials now.
    pub fn credentials(&self) -> Arc<Credentials> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl From<Credentials> for Keyring {
    fn from(credentials: Credentials) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(credentials))))
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
