//! TLS to a database, whose certificate and name are always checked.

use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, InvalidDnsNameError, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::{TlsConnector, client};

/// Why no certificate could be checked.
#[derive(Debug, Error)]
pub(crate) enum TlsError {
    #[error("the system has no certificates of authorities; name a file with sslrootcert")]
    None,
    #[error("certificates of authorities in {path}")]
    File { path: PathBuf, source: pem::Error },
    #[error("{path} has no certificate")]
    Empty { path: PathBuf },
    #[error("TLS cannot be set up")]
    Protocol(#[from] rustls::Error),
}

/// Makes connections over TLS.
#[derive(Clone)]
pub(crate) struct Tls(Arc<ClientConfig>);

impl Tls {
    /// Trusts whom the system trusts.
    pub(crate) fn by_the_system() -> Result<Self, TlsError> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() { Err(TlsError::None) } else { Self::by(roots) }
    }

    /// Trusts the authorities whose certificates are in a file.
    pub(crate) fn by_file(path: &Path) -> Result<Self, TlsError> {
        let failed = |source| TlsError::File { path: path.to_owned(), source };
        let found = CertificateDer::pem_file_iter(path).map_err(failed)?;
        let found = found.collect::<Result<Vec<_>, _>>().map_err(failed)?;
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(found);
        if roots.is_empty() {
            return Err(TlsError::Empty { path: path.to_owned() });
        }
        Self::by(roots)
    }

    fn by(roots: RootCertStore) -> Result<Self, TlsError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self(Arc::new(config)))
    }
}

impl MakeTlsConnect<tokio_postgres::Socket> for Tls {
    type Stream = Encrypted;
    type TlsConnect = Connecting;
    type Error = InvalidDnsNameError;

    fn make_tls_connect(&mut self, host: &str) -> Result<Connecting, InvalidDnsNameError> {
        let name = ServerName::try_from(host.to_owned())?;
        Ok(Connecting { config: Arc::clone(&self.0), name })
    }
}

/// A connection about to be encrypted.
pub(crate) struct Connecting {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl TlsConnect<tokio_postgres::Socket> for Connecting {
    type Stream = Encrypted;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted>> + Send>>;

    fn connect(self, socket: tokio_postgres::Socket) -> Self::Future {
        let connecting = TlsConnector::from(self.config).connect(self.name, socket);
        Box::pin(async move { Ok(Encrypted(Box::new(connecting.await?))) })
    }
}

/// An encrypted connection.
pub(crate) struct Encrypted<S = tokio_postgres::Socket>(Box<client::TlsStream<S>>);

impl TlsStream for Encrypted {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Encrypted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, to)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Encrypted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
