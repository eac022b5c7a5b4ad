use super::{answer::Answer, error::BucketError};
use async_trait::async_trait;
use http_body_util::{BodyExt, Collected, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{
        Client,
        connect::{Connect, HttpConnector as TcpConnector},
    },
    rt::{TokioExecutor, TokioTimer},
};
use object_store::{
    ClientOptions,
    client::{
        HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody,
        HttpResponse, HttpResponseBody, HttpService,
    },
};
use std::{fmt, time::Duration};

/// A server that takes longer than this to accept a connection counts as unreachable.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Idle connections are closed before servers do it, which would fail the next request.
const IDLE_TIMEOUT: Duration = Duration::from_secs(15);

/// Bytes of an error document that are read.
const ERROR_BODY_MAX: usize = 16 << 10;

/// Makes the S3 client speak HTTP/1.1 through hyper.
#[derive(Clone, Debug)]
pub(super) struct Connector(HttpClient);

impl Connector {
    /// Connects with TLS, trusting the system's certificates.
    pub(super) fn https() -> Result<Self, BucketError> {
        let tls = HttpsConnectorBuilder::new()
            .with_provider_and_native_roots(rustls::crypto::ring::default_provider())
            .map_err(BucketError::Certificates)?;
        let mut tcp = tcp();
        tcp.enforce_http(false);
        let connector: HttpsConnector<TcpConnector> =
            tls.https_only().enable_http1().wrap_connector(tcp);
        Ok(Self(client(connector)))
    }

    /// Connects without TLS.
    pub(super) fn http() -> Self {
        Self(client(tcp()))
    }
}

fn tcp() -> TcpConnector {
    let mut tcp = TcpConnector::new();
    // Without it small requests wait for the server's delayed acknowledgement.
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
    tcp.set_keepalive(Some(IDLE_TIMEOUT));
    tcp
}

fn client<C: Connect + Clone + Send + Sync + 'static>(connector: C) -> HttpClient {
    let client = Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_TIMEOUT)
        .build(connector);
    HttpClient::new(Service { client })
}

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(self.0.clone())
    }
}

struct Service<C> {
    client: Client<C, HttpRequestBody>,
}

impl<C> fmt::Debug for Service<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").finish_non_exhaustive()
    }
}

#[async_trait]
impl<C: Connect + Clone + Send + Sync + 'static> HttpService for Service<C> {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let response = self.client.request(request).await.map_err(|error| {
            let connect = error.is_connect();
            let kind = if connect { HttpErrorKind::Connect } else { HttpErrorKind::Unknown };
            HttpError::new(kind, error)
        })?;
        let (parts, body) = response.into_parts();
        let cut = |error| HttpError::new(HttpErrorKind::Interrupted, error);
        if parts.status.is_success() {
            let body = HttpResponseBody::new(body.map_err(cut));
            return Ok(HttpResponse::from_parts(parts, body));
        }
        // The status means more than a document that is too long or breaks off.
        let document = Limited::new(body, ERROR_BODY_MAX).collect().await;
        let document = document.map(Collected::to_bytes).unwrap_or_default();
        let answer = Answer::new(parts.status, &parts.headers, &document);
        Err(HttpError::new(HttpErrorKind::Unknown, answer))
    }
}
