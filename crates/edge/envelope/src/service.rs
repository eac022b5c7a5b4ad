use crate::data_key::DATA_KEY_LEN;
use async_trait::async_trait;
use std::fmt;
use thiserror::Error;
use zeroize::Zeroizing;

/// Wraps data keys, and is kept sealed by a service. Wiped from memory as it is dropped; never
/// printed.
#[derive(Clone)]
pub struct WrappingKey(Zeroizing<[u8; DATA_KEY_LEN]>);

impl WrappingKey {
    /// A new one, from the system's randomness.
    pub fn generate() -> Self {
        let mut key = Zeroizing::new([0; DATA_KEY_LEN]);
        ripstop_host::fill(&mut *key);
        Self(key)
    }

    /// The key of these bytes.
    pub fn from_bytes(bytes: &[u8; DATA_KEY_LEN]) -> Self {
        Self(Zeroizing::new(*bytes))
    }

    /// Its bytes, for who seals it.
    pub fn bytes(&self) -> &[u8; DATA_KEY_LEN] {
        &self.0
    }
}

impl fmt::Debug for WrappingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WrappingKey").finish_non_exhaustive()
    }
}

/// What a wrapping key is asked for.
#[derive(Clone, Copy, Debug)]
pub struct KeyUse<'a> {
    /// The name of the service's key that seals it.
    pub key: &'a str,
    /// What it is bound to: the ARN of an object, or of a bucket whose objects share it.
    pub arn: &'a str,
    /// What the client bound it to besides, as it said that.
    pub context: &'a str,
    /// Whether objects of a bucket may share it.
    pub is_shared: bool,
}

/// A service that has keys which never leave it.
#[async_trait]
pub trait KeyService: Send + Sync + fmt::Debug {
    /// The key that is meant where none is named, if there is one.
    fn default_key(&self) -> Option<String>;

    /// A wrapping key, and what opens to it: new, unless it is shared.
    async fn issue(&self, of: &KeyUse<'_>) -> Result<(WrappingKey, Vec<u8>), KeyFault>;

    /// The wrapping key that was issued as this, for the same use.
    async fn open(&self, of: &KeyUse<'_>, sealed: &[u8]) -> Result<WrappingKey, KeyFault>;
}

/// Why a data key cannot be wrapped or unwrapped. What a service said is in one line, and no secret
/// is in it.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum KeyFault {
    /// There is no such key.
    #[error("there is no key {key:?}")]
    Missing {
        /// Which: its name, its id, or nothing where it is any of the gateway's own.
        key: String,
    },
    /// There is, and what it should have wrapped it has not, or for something else.
    #[error("what key {key:?} should have wrapped was wrapped otherwise")]
    Mismatch {
        /// Which.
        key: String,
    },
    /// It may not be used now, or its version that was used before.
    #[error("key {key:?} is disabled: {said}")]
    Disabled {
        /// Which.
        key: String,
        /// What the service said.
        said: String,
    },
    /// It is of a kind that wraps no keys.
    #[error("key {key:?} cannot wrap keys: {said}")]
    Unfit {
        /// Which.
        key: String,
        /// What the service said.
        said: String,
    },
    /// The service does not let the gateway use it.
    #[error("the key service does not let the gateway use key {key:?}: {said}")]
    Refused {
        /// Which.
        key: String,
        /// What the service said.
        said: String,
    },
    /// The service does not answer, or not sensibly.
    #[error("the key service is not available: {said}")]
    Unavailable {
        /// What was met.
        said: String,
    },
    /// More is asked of the service than it may be asked at once.
    #[error("too much is asked of the key service")]
    Busy,
}
