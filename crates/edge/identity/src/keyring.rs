use crate::Credentials;
use std::sync::{Arc, PoisonError, RwLock};

/// Credentials that can be exchanged while requests run. Clones share them.
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
