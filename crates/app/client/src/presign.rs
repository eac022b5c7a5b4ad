use crate::client::Url;
use anyhow::{Context as _, Result};
use hyper::Method;
use object_store::{
    aws::{AmazonS3, AmazonS3Builder},
    path::Path,
    signer::Signer as _,
};
use std::{net::SocketAddr, time::Duration};

/// How long an address is valid.
const VALID: Duration = Duration::from_hours(1);

/// Signs addresses in one bucket of the server at one address.
#[derive(Debug)]
pub struct Presigner(AmazonS3);

impl Presigner {
    /// Signs with this access key.
    pub fn new(address: SocketAddr, bucket: &str, access_key: &str, secret: &str) -> Result<Self> {
        let builder = AmazonS3Builder::new()
            .with_endpoint(format!("http://{address}"))
            .with_allow_http(true)
            .with_region("us-east-1")
            .with_bucket_name(bucket)
            .with_access_key_id(access_key)
            .with_secret_access_key(secret);
        Ok(Self(builder.with_http_connector(NoConnector).build()?))
    }

    /// Path and query of an object, or of the bucket if `key` is empty.
    pub async fn url(&self, method: Method, key: &str) -> Result<Url> {
        let url = self.0.signed_url(method, &Path::from(key), VALID).await?;
        let query = url.query().context("a presigned address has a query")?;
        Ok(format!("{}?{query}", url.path()))
    }
}

/// The signer never connects.
#[derive(Debug)]
struct NoConnector;

impl object_store::client::HttpConnector for NoConnector {
    fn connect(
        &self,
        _: &object_store::ClientOptions,
    ) -> object_store::Result<object_store::client::HttpClient> {
        Ok(object_store::client::HttpClient::new(NoConnector))
    }
}

#[async_trait::async_trait]
impl object_store::client::HttpService for NoConnector {
    async fn call(
        &self,
        _: object_store::client::HttpRequest,
    ) -> Result<object_store::client::HttpResponse, object_store::client::HttpError> {
        let refusal = std::io::Error::from(std::io::ErrorKind::NotConnected);
        Err(object_store::client::HttpError::new(
            object_store::client::HttpErrorKind::Connect,
            refusal,
        ))
    }
}
