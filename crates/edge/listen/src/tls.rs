use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem, pem::PemObject as _},
};
use std::{
    fmt, fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};
use thiserror::Error;

/// A certificate and its key, which can be read again while connections go on.
#[derive(Clone)]
pub struct Tls {
    protocols: Arc<[&'static str]>,
    config: Arc<RwLock<Arc<ServerConfig>>>,
}

/// Why there is no TLS.
#[derive(Debug, Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("{path}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The key's file is not only its owner's.
    #[error("key {path} can be read by users other than its owner (mode {mode:o}): chmod 600")]
    Mode {
        /// Which file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// A file does not hold what it should.
    #[error("{path} holds no {what} in PEM form")]
    Pem {
        /// Which file.
        path: PathBuf,
        /// What it should hold.
        what: &'static str,
        /// What is wrong with it.
        #[source]
        source: pem::Error,
    },
    /// A certificate cannot be used.
    #[error("certificate {path} cannot be used")]
    Certificate {
        /// Its file.
        path: PathBuf,
        /// Why.
        #[source]
        source: rustls::Error,
    },
    /// Certificate and key cannot be used, or do not belong together.
    #[error("certificate {certificate} and key {key} cannot be used")]
    Pair {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// Why.
        #[source]
        source: rustls::Error,
    },
}

impl Tls {
    /// Offers HTTP/2 and HTTP/1.1 with the certificate (with those that vouch for it behind it) and
    /// key of these files.
    pub fn load(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        Self::offering(&["h2", "http/1.1"], certificate, key)
    }

    /// Offers HTTP/1.1 alone.
    pub fn load_http1(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        Self::offering(&["http/1.1"], certificate, key)
    }

    /// Offers no protocol by name: for what is not HTTP.
    pub fn load_nameless(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        Self::offering(&[], certificate, key)
    }

    fn offering(
        protocols: &[&'static str],
        certificate: &Path,
        key: &Path,
    ) -> Result<Self, TlsError> {
        let config = config(protocols, certificate, key)?;
        Ok(Self { protocols: protocols.into(), config: Arc::new(RwLock::new(config)) })
    }

    /// Reads another pair, which new connections get once it is adopted.
    pub fn renewal(&self, certificate: &Path, key: &Path) -> Result<NewPair, TlsError> {
        let config = config(&self.protocols, certificate, key)?;
        Ok(NewPair { of: self.clone(), config })
    }

    pub(crate) fn now(&self) -> Arc<ServerConfig> {
        self.config.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A pair that was read and is not in force yet.
#[derive(Debug)]
pub struct NewPair {
    of: Tls,
    config: Arc<ServerConfig>,
}

impl NewPair {
    /// Puts it into force; connections that are there go on with the former one.
    pub fn adopt(self) {
        *self.of.config.write().unwrap_or_else(PoisonError::into_inner) = self.config;
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("protocols", &self.protocols).finish_non_exhaustive()
    }
}

/// Certificates of a file, at least one.
pub(crate) fn chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let text = fs::read(path).map_err(|error| file(path, error))?;
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&text)
        .collect::<Result<_, _>>()
        .map_err(|error| pem(path, "certificate", error))?;
    if chain.is_empty() {
        return Err(pem(path, "certificate", pem::Error::NoItemsFound));
    }
    Ok(chain)
}

fn file(path: &Path, source: io::Error) -> TlsError {
    TlsError::File { path: path.to_owned(), source }
}

fn pem(path: &Path, what: &'static str, source: pem::Error) -> TlsError {
    TlsError::Pem { path: path.to_owned(), what, source }
}

fn config(
    protocols: &[&'static str],
    certificate: &Path,
    key: &Path,
) -> Result<Arc<ServerConfig>, TlsError> {
    let mode = fs::metadata(key).map_err(|error| file(key, error))?.mode();
    if mode & 0o077 != 0 {
        return Err(TlsError::Mode { path: key.to_owned(), mode: mode & 0o777 });
    }
    let chain = chain(certificate)?;
    let secret = fs::read(key).map_err(|error| file(key, error))?;
    let secret =
        PrivateKeyDer::from_pem_slice(&secret).map_err(|error| pem(key, "private key", error))?;
    let unusable = |source| TlsError::Pair {
        certificate: certificate.to_owned(),
        key: key.to_owned(),
        source,
    };
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(unusable)?;
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    Ok(Arc::new(config))
}
