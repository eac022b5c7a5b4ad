use anyhow::{Result, bail};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{
    Method, Request, StatusCode,
    client::conn::http1::{SendRequest, handshake},
    header::HOST,
};
use hyper_util::rt::TokioIo;
use std::net::SocketAddr;
use tokio::net::TcpStream;

/// A presigned address: path and query.
pub(crate) type Url = String;

/// One connection, one request at a time.
pub(crate) struct Client {
    host: String,
    sender: SendRequest<Full<Bytes>>,
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Self { host: address.to_string(), sender })
    }

    /// Whether a request can be sent.
    pub(crate) fn is_open(&self) -> bool {
        !self.sender.is_closed()
    }

    pub(crate) async fn put(&mut self, url: &Url, body: Bytes) -> Result<()> {
        self.send(Method::PUT, url, body).await.map(drop)
    }

    /// Reads an object to its end; answers its length.
    pub(crate) async fn get(&mut self, url: &Url) -> Result<u64> {
        self.send(Method::GET, url, Bytes::new()).await
    }

    async fn send(&mut self, method: Method, url: &Url, body: Bytes) -> Result<u64> {
        let request = Request::builder()
            .method(method)
            .uri(url)
            .header(HOST, &self.host)
            .body(Full::new(body))?;
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        let status = response.status();
        let mut body = response.into_body();
        let mut len = 0;
        let mut said = Vec::new();
        while let Some(frame) = body.frame().await {
            if let Ok(bytes) = frame?.into_data() {
                len += bytes.len() as u64;
                if status != StatusCode::OK {
                    said.extend_from_slice(&bytes);
                }
            }
        }
        if status != StatusCode::OK {
            bail!("{status}: {}", String::from_utf8_lossy(&said));
        }
        Ok(len)
    }
}
