use crate::{TlsError, tls};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use std::{fmt, io, path::Path, sync::Arc};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::{TlsConnector, client::TlsStream};

/// A client that trusts the one server which shows a certificate that it has in a file. Names and
/// dates do not matter: who has the file has been told who is meant.
#[derive(Clone)]
pub struct Pinned(Arc<ClientConfig>);

impl Pinned {
    /// Trusts the server with the first certificate of this file, and speaks HTTP/1.1 with it.
    pub fn load(certificate: &Path) -> Result<Self, TlsError> {
        Self::speaking(b"http/1.1", certificate)
    }

    /// The same for HTTP/2.
    pub fn load_http2(certificate: &Path) -> Result<Self, TlsError> {
        Self::speaking(b"h2", certificate)
    }

    fn speaking(protocol: &[u8], certificate: &Path) -> Result<Self, TlsError> {
        let chain = tls::chain(certificate)?;
        let provider = Arc::new(ring::default_provider());
        let verifier = Verifier { certificate: chain[0].clone(), provider: provider.clone() };
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|source| TlsError::Certificate { path: certificate.to_owned(), source })?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        config.alpn_protocols = vec![protocol.to_vec()];
        Ok(Self(Arc::new(config)))
    }

    /// Speaks TLS on a connection to the server, which is called `host`.
    pub async fn connect<S>(&self, stream: S, host: &str) -> io::Result<TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        TlsConnector::from(self.0.clone()).connect(name, stream).await
    }
}

impl fmt::Debug for Pinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pinned").finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct Verifier {
    certificate: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if *end_entity == self.certificate {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
