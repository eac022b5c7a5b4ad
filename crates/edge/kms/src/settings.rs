use std::{fmt, io, sync::Arc, time::Duration};
use thiserror::Error;
use zeroize::Zeroizing;

/// Where a key service is, and how it is asked.
#[derive(Clone, Debug)]
pub struct KmsSettings {
    /// The server: `http` or `https`, a host, and no path.
    pub url: http::Uri,
    /// Where its transit engine is mounted. Default `transit`.
    pub mount: String,
    /// The namespace there, if the server has any.
    pub namespace: Option<String>,
    /// The key that is meant where a request or a bucket names none.
    pub default_key: Option<String>,
    /// Who the gateway is there.
    pub login: KmsLogin,
    /// Whom it trusts, and with what it shows itself.
    pub tls: KmsTls,
    /// Longest that one call may take; it is tried three times. Default 2 s.
    pub timeout: Duration,
    /// Calls at once; further ones wait, not longer than `timeout`. Default 32.
    pub calls_max: usize,
    /// How long an opened key is kept in memory, and how long one is shared by what is written into
    /// a bucket. Default 5 min.
    pub cached_for: Duration,
    /// Opened keys that are kept; beyond, the oldest go. Default 4096.
    pub cached_max: usize,
}

/// Who a gateway is at the key service.
#[derive(Clone, Debug)]
pub enum KmsLogin {
    /// Who has this token.
    Token(KmsSecret),
    /// A role with a secret id.
    AppRole {
        /// Where the method is mounted. Default `approle`.
        mount: String,
        /// The id of the role.
        role_id: String,
        /// Its secret id.
        secret_id: KmsSecret,
    },
    /// Who has the certificate that it shows.
    Certificate {
        /// Where the method is mounted. Default `cert`.
        mount: String,
        /// The role; without it the first that fits.
        role: Option<String>,
    },
}

/// A secret that is read each time it is needed, for its file may change.
#[derive(Clone)]
pub struct KmsSecret(Arc<dyn Fn() -> io::Result<Zeroizing<String>> + Send + Sync>);

impl KmsSecret {
    /// What this reads. It may block.
    pub fn new(read: impl Fn() -> io::Result<Zeroizing<String>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    pub(crate) fn read(&self) -> io::Result<Zeroizing<String>> {
        (self.0)()
    }
}

impl fmt::Debug for KmsSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KmsSecret").finish_non_exhaustive()
    }
}

/// Certificates in PEM form.
#[derive(Clone, Default)]
pub struct KmsTls {
    /// The authorities that vouch for the server; without them, those that the system trusts.
    pub authorities: Option<Vec<u8>>,
    /// The certificate that the gateway shows (with those that vouch for it behind it), and its
    /// key.
    pub identity: Option<(Vec<u8>, Zeroizing<Vec<u8>>)>,
}

impl fmt::Debug for KmsTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KmsTls").finish_non_exhaustive()
    }
}

/// Why a key service cannot be asked.
#[derive(Debug, Error)]
pub enum KmsError {
    /// Certificates cannot be read or used.
    #[error("{what}")]
    Certificates {
        /// Which.
        what: &'static str,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A secret cannot be read.
    #[error("the secret to log in with")]
    Secret(#[source] io::Error),
    /// What is to be sent in a header or a path cannot be.
    #[error("{0} cannot be sent")]
    Unsendable(&'static str),
}
