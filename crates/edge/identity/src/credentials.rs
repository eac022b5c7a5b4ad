use crate::{Principal, Rights, RightsError};
use ripstop_model::TenantId;
use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    sync::Arc,
};
use zeroize::Zeroizing;

/// Who may come in, and what they may do there: access keys, each with its secret, its tenant and
/// its rights, and what requests without a signature may. Printing them shows no secret, and
/// dropping them wipes the secrets from memory.
#[derive(Clone, Default)]
pub struct Credentials {
    keys: HashMap<Arc<str>, Key>,
    /// Users who may have no key.
    users: BTreeSet<Arc<str>>,
    unsigned: Arc<Rights>,
}

#[derive(Clone)]
struct Key {
    secret: Zeroizing<String>,
    /// Of the user whom it belongs to.
    name: Arc<str>,
    tenant: TenantId,
    rights: Arc<Rights>,
}

/// Signed against where the access key is unknown, so that the work is the same.
const NOBODY: &str = "0000000000000000000000000000000000000000";

impl Credentials {
    /// Nobody yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets `access_key` in with `secret`, to do everything until [`Self::grant`] says otherwise;
    /// replaces its former secret.
    pub fn insert(&mut self, access_key: impl AsRef<str>, secret: impl Into<Zeroizing<String>>) {
        let secret = secret.into();
        if let Some(key) = self.keys.get_mut(access_key.as_ref()) {
            key.secret = secret;
            return;
        }
        let rights = Arc::new(Rights::administrator());
        let access_key: Arc<str> = access_key.as_ref().into();
        let key = Key { secret, name: access_key.clone(), tenant: TenantId::ANYBODY, rights };
        self.keys.insert(access_key, key);
    }

    /// What the user is called whom `access_key` belongs to: like the key itself if this is never
    /// said. Several keys may be one user's. Whether it is known.
    pub fn call(&mut self, access_key: impl AsRef<str>, name: &str) -> bool {
        let key = self.keys.get_mut(access_key.as_ref());
        key.map(|key| key.name = name.into()).is_some()
    }

    /// Says that there is a user of this name, who may have no key.
    pub fn name_user(&mut self, name: &str) {
        self.users.insert(name.into());
    }

    /// Whose requests those signed with `access_key` are; anybody's if this is never said. Whether
    /// it is known.
    pub fn assign(&mut self, access_key: impl AsRef<str>, tenant: TenantId) -> bool {
        let key = self.keys.get_mut(access_key.as_ref());
        key.map(|key| key.tenant = tenant).is_some()
    }

    /// What `access_key` may do. Whether it is known.
    pub fn grant(&mut self, access_key: impl AsRef<str>, rights: Rights) -> bool {
        let key = self.keys.get_mut(access_key.as_ref());
        key.map(|key| key.rights = Arc::new(rights)).is_some()
    }

    /// What requests without a signature may do; nothing if this is never said. They own nothing.
    pub fn grant_unsigned(&mut self, rights: Rights) -> Result<(), RightsError> {
        rights.check_unsigned()?;
        self.unsigned = Arc::new(rights);
        Ok(())
    }

    /// The owner of `access_key`; `None` if the key is unknown.
    pub fn principal(&self, access_key: &str) -> Option<Principal> {
        let (access_key, key) = self.keys.get_key_value(access_key)?;
        let Key { name, tenant, rights, .. } = key;
        Some(Principal::of_key(access_key.clone(), name.clone(), *tenant, rights.clone()))
    }

    /// The sender of a request without a signature.
    pub fn unsigned(&self) -> Principal {
        Principal::unsigned(self.unsigned.clone())
    }

    /// Everybody who may come in, in the order of their access keys.
    pub fn principals(&self) -> Vec<Principal> {
        let mut names: Vec<_> = self.keys.keys().collect();
        names.sort_unstable();
        names.into_iter().filter_map(|name| self.principal(name)).collect()
    }

    /// Whether everybody may do the same by these as by `other`.
    pub fn grant_the_same_as(&self, other: &Self) -> bool {
        let rights = |credentials: &Self| -> Vec<_> {
            let of_key = |name: &Arc<str>| {
                credentials.keys.get(name).map(|key| (key.rights.clone(), key.name.clone()))
            };
            let mut names: Vec<_> = credentials.keys.keys().cloned().collect();
            names.sort_unstable();
            names.into_iter().map(|name| (of_key(&name), name)).collect()
        };
        self.unsigned == other.unsigned
            && self.users == other.users
            && rights(self) == rights(other)
    }

    /// Whether an access key may come in.
    pub fn knows(&self, access_key: &str) -> bool {
        self.keys.contains_key(access_key)
    }

    /// Whether an access key is called so, or a user whom one belongs to.
    pub fn know_user(&self, name: &str) -> bool {
        self.knows(name)
            || self.users.contains(name)
            || self.keys.values().any(|key| &*key.name == name)
    }

    /// Whether a user with an account of its own is called so.
    pub fn have_account(&self, name: &str) -> bool {
        self.keys.values().any(|key| key.rights.is_user() && &*key.name == name)
    }

    /// Whether any user has an account of its own.
    pub fn have_accounts(&self) -> bool {
        self.keys.values().any(|key| key.rights.is_user())
    }

    /// Whether nobody may come in.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The secret to verify with, and whether the access key is known at all: verify in either
    /// case, so that the time taken does not tell.
    pub fn secret(&self, access_key: &str) -> (&str, bool) {
        match self.keys.get(access_key) {
            Some(key) => (&key.secret, true),
            None => (NOBODY, false),
        }
    }
}

impl<K: AsRef<str>, S: Into<String>> FromIterator<(K, S)> for Credentials {
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
        let mut keys: Vec<_> = self.keys.keys().collect();
        keys.sort_unstable();
        f.debug_struct("Credentials").field("access_keys", &keys).finish_non_exhaustive()
    }
}
