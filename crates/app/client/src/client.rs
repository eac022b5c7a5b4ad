use anyhow::Result;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{
    Method, Request, StatusCode,
    client::conn::http1::{SendRequest, handshake},
    header::{HOST, HeaderValue},
};
use hyper_util::rt::TokioIo;
use std::net::SocketAddr;
use tokio::net::TcpStream;

/// A presigned address: path and query.
pub type Url = String;

/// Most bytes that are kept of an answer that is none, give or take a piece.
const SAID_MAX: usize = 16 << 10;

/// An answer that is not a success.
#[derive(Debug, thiserror::Error)]
#[error("{status}: {said}")]
pub struct Refused {
    /// What it began with.
    pub status: StatusCode,
    said: String,
}

/// One connection, one request at a time.
#[derive(Debug)]
pub struct Client {
    host: String,
    sender: SendRequest<Full<Bytes>>,
}

impl Client {
    /// Connects to the server at this address.
    pub async fn connect(address: SocketAddr) -> Result<Self> {
        Self::connect_as(address, address.to_string()).await
    }

    /// Connects to a server that goes by this name.
    pub async fn connect_as(address: SocketAddr, host: String) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        ripstop_host::spawn(connection);
        Ok(Self { host, sender })
    }

    /// Whether a request can be sent.
    pub fn is_open(&self) -> bool {
        !self.sender.is_closed()
    }

    /// Stores an object.
    pub async fn put(&mut self, url: &Url, body: Bytes) -> Result<()> {
        self.send(Method::PUT, url, body).await.map(drop)
    }

    /// Reads an object to its end; answers its length.
    pub async fn get(&mut self, url: &Url) -> Result<u64> {
        self.send(Method::GET, url, Bytes::new()).await
    }

    async fn send(&mut self, method: Method, url: &Url, body: Bytes) -> Result<u64> {
        let request = Request::builder().method(method).uri(url).body(Full::new(body))?;
        self.exchange(request, |_| {}).await
    }

    /// Sends a request and shows each piece of a good answer; answers its length.
    pub async fn exchange(
        &mut self,
        mut request: Request<Full<Bytes>>,
        mut each: impl FnMut(&[u8]),
    ) -> Result<u64> {
        request.headers_mut().insert(HOST, HeaderValue::from_str(&self.host)?);
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        let status = response.status();
        let mut body = response.into_body();
        let mut len = 0;
        let mut said = Vec::new();
        while let Some(frame) = body.frame().await {
            if let Ok(bytes) = frame?.into_data() {
                len += bytes.len() as u64;
                if status.is_success() {
                    each(&bytes);
                } else if said.len() < SAID_MAX {
                    said.extend_from_slice(&bytes);
                }
            }
        }
        if !status.is_success() {
            return Err(
                Refused { status, said: String::from_utf8_lossy(&said).into_owned() }.into()
            );
        }
        Ok(len)
    }
}
