use super::request::Signer;
use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use hyper::{Method, StatusCode, Uri};
use object_store::aws::AwsCredential;
use ripstop_client::{Client, Refused};
use std::{net::SocketAddr, sync::Arc, time::SystemTime};

/// Where the load goes.
pub(super) struct Target {
    address: SocketAddr,
    host: String,
    pub(super) signer: Arc<Signer>,
}

impl Target {
    pub(super) async fn of(
        url: &str,
        bucket: &str,
        credential: AwsCredential,
        payload: bool,
    ) -> Result<Self> {
        let uri: Uri = url.parse().with_context(|| format!("--endpoint {url:?}"))?;
        ensure!(uri.scheme_str() == Some("http"), "--endpoint {url:?} must begin with http://");
        ensure!(uri.path() == "/" && uri.query().is_none(), "--endpoint {url:?} has a path");
        let authority =
            uri.authority().with_context(|| format!("--endpoint {url:?} has no host"))?;
        let host = authority.to_string();
        ensure!(!host.contains('@'), "credentials go into --access-key and --secret-key");
        let port = authority.port_u16().unwrap_or(80);
        let mut addresses = tokio::net::lookup_host((authority.host(), port)).await?;
        let address = addresses.next().with_context(|| format!("{host} has no address"))?;
        let began = ripstop_host::wall().duration_since(SystemTime::UNIX_EPOCH)?;
        let signer = Signer {
            endpoint: format!("http://{host}"),
            bucket: bucket.to_owned(),
            prefix: format!("{:x}-{:x}", began.as_millis(), std::process::id()),
            credential,
            payload,
        };
        Ok(Self { address, host, signer: Arc::new(signer) })
    }

    pub(super) async fn connect(&self) -> Result<Client> {
        let client = Client::connect_as(self.address, self.host.clone()).await;
        client.with_context(|| format!("no connection to {}", self.host))
    }

    pub(super) async fn make_bucket(&self) -> Result<()> {
        let request = self.signer.bucket(&Method::PUT)?.request(&Method::PUT, Bytes::new());
        match self.connect().await?.exchange(request, |_| {}).await.map(drop) {
            // It is there.
            Err(error)
                if error
                    .downcast_ref::<Refused>()
                    .is_some_and(|refused| refused.status == StatusCode::CONFLICT) =>
            {
                Ok(())
            }
            other => other.with_context(|| format!("making bucket {:?}", self.signer.bucket)),
        }
    }
}
