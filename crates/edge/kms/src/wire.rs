//! One HTTP request to the key service, and its answer.

use crate::settings::{KmsError, KmsSettings};
use ::http::{HeaderValue, Method, Request, header};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use std::{error::Error, sync::Arc, time::Duration};
use zeroize::Zeroizing;

/// Bytes of an answer that are read.
const ANSWER_MAX: usize = 64 << 10;
/// Idle connections are closed before servers do it.
const IDLE_TIMEOUT: Duration = Duration::from_secs(15);

type HttpClient = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// Speaks to one server.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    client: HttpClient,
    /// Scheme and host.
    server: String,
    namespace: Option<HeaderValue>,
    pub(crate) timeout: Duration,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Came {
    pub(crate) status: u16,
    pub(crate) body: Bytes,
}

fn failed<E: Into<Box<dyn Error + Send + Sync>>>(what: &'static str) -> impl Fn(E) -> KmsError {
    move |source| KmsError::Certificates { what, source: source.into() }
}

fn tls(settings: &KmsSettings) -> Result<ClientConfig, KmsError> {
    const AUTHORITIES: &str = "the authorities that vouch for the key service";
    const IDENTITY: &str = "the certificate that is shown to the key service, or its key";
    let mut roots = RootCertStore::empty();
    match &settings.tls.authorities {
        Some(pem) => {
            for found in CertificateDer::pem_slice_iter(pem) {
                let added = roots.add(found.map_err(failed(AUTHORITIES))?);
                added.map_err(failed(AUTHORITIES))?;
            }
        }
        None if settings.url.scheme_str() == Some("https") => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        None => {}
    }
    if roots.is_empty() && settings.url.scheme_str() == Some("https") {
        return Err(failed(AUTHORITIES)("there are none"));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(failed("TLS"))?
        .with_root_certificates(roots);
    let Some((certificates, key)) = &settings.tls.identity else {
        return Ok(config.with_no_client_auth());
    };
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificates).collect();
    let key = PrivateKeyDer::from_pem_slice(key).map_err(failed(IDENTITY))?;
    let shown = config.with_client_auth_cert(certificates.map_err(failed(IDENTITY))?, key);
    shown.map_err(failed(IDENTITY))
}

impl Wire {
    pub(crate) fn new(settings: &KmsSettings) -> Result<Self, KmsError> {
        let mut tcp = HttpConnector::new();
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(settings.timeout));
        tcp.enforce_http(false);
        let builder = HttpsConnectorBuilder::new().with_tls_config(tls(settings)?);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(settings.calls_max)
            .build(builder.https_or_http().enable_http1().wrap_connector(tcp));
        let scheme = settings.url.scheme_str().unwrap_or("https");
        let host = settings.url.authority().ok_or(KmsError::Unsendable("the URL"))?;
        let namespace = settings.namespace.as_deref().map(HeaderValue::from_str).transpose();
        Ok(Self {
            client,
            server: format!("{scheme}://{host}"),
            namespace: namespace.map_err(|_| KmsError::Unsendable("the namespace"))?,
            timeout: settings.timeout,
        })
    }

    /// What comes back within the time there is; else what was met. The path is below `/v1/`.
    pub(crate) async fn ask(
        &self,
        path: &str,
        token: Option<&str>,
        body: Option<Zeroizing<Vec<u8>>>,
    ) -> Result<Came, String> {
        let request = self.request(path, token, body)?;
        let asked = async {
            let answer = self.client.request(request).await.map_err(|error| chain(&error))?;
            let status = answer.status().as_u16();
            let body = Limited::new(answer.into_body(), ANSWER_MAX).collect().await;
            let body = body.map_err(|error| chain(&*error))?.to_bytes();
            Ok(Came { status, body })
        };
        let came = tokio::time::timeout(self.timeout, asked).await;
        came.unwrap_or_else(|_| Err(format!("no answer within {:?}", self.timeout)))
    }

    fn request(
        &self,
        path: &str,
        token: Option<&str>,
        body: Option<Zeroizing<Vec<u8>>>,
    ) -> Result<Request<Full<Bytes>>, String> {
        let method = if body.is_some() { Method::POST } else { Method::GET };
        let body = body.map_or_else(Bytes::new, Bytes::from_owner);
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        let uri = format!("{}/v1/{path}", self.server).parse();
        *request.uri_mut() = uri.map_err(|_| "its path is none".to_owned())?;
        let headers = request.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::USER_AGENT, HeaderValue::from_static("Ripstop"));
        headers.insert("x-vault-request", HeaderValue::from_static("true"));
        if let Some(namespace) = &self.namespace {
            headers.insert("x-vault-namespace", namespace.clone());
        }
        if let Some(token) = token {
            let value = HeaderValue::from_str(token);
            let mut value = value.map_err(|_| "its token is no header".to_owned())?;
            value.set_sensitive(true);
            headers.insert("x-vault-token", value);
        }
        Ok(request)
    }
}

/// An error with what caused it.
fn chain(error: &dyn Error) -> String {
    let mut told = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        told = format!("{told}: {error}");
        source = error.source();
    }
    told
}
