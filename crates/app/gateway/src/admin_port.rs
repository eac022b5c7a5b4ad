//! The admin port, from outside.

use crate::{
    config::{AdminAddress, Config},
    data_folder::ADMIN_FILE,
    owner_only,
    users::{UserAnswer, UserCommand},
};
use anyhow::{Context as _, Result, anyhow, bail, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{
    Method, Request, Response,
    body::Incoming,
    client::conn::http1::{SendRequest, handshake},
    header::{AUTHORIZATION, HOST},
};
use hyper_util::rt::TokioIo;
use ripstop_catalog::{Extracted, HEADER_LEN};
use ripstop_keeper::{CheckOptions, CheckReport};
use ripstop_listen::Pinned;
use ripstop_telemetry::Checked;
use serde::Deserialize;
use std::path::Path;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, UnixStream},
    task::JoinHandle,
};

/// The most that an answer may have.
const ANSWER_MAX: usize = 1 << 30;
/// Who is asked on a Unix socket.
const UNIX_HOST: &str = "localhost";

/// Where a gateway's admin port is, and how to be let in.
pub struct AdminPort {
    place: Place,
    /// Speaks TLS, with this server alone.
    pinned: Option<Pinned>,
    token: Option<String>,
}

enum Place {
    /// Host and port.
    Network(String),
    Unix(std::path::PathBuf),
}

impl AdminPort {
    /// The admin port of the gateway that runs with this configuration. `told` is what it wrote of
    /// where it listens.
    fn of(config: &Config, told: Option<AdminAddress>) -> Result<Self> {
        let place = match told.unwrap_or_else(|| config.admin.clone()) {
            AdminAddress::Network(address) => Place::Network(address.to_string()),
            AdminAddress::Unix(path) => Place::Unix(path),
        };
        let pair = config.admin_tls.as_ref();
        let pinned = pair.map(|pair| Pinned::load(&pair.certificate)).transpose()?;
        let token = config.admin_token.as_deref().map(owner_only::token).transpose()?;
        Ok(Self { place, pinned, token })
    }

    /// The admin port of the gateway that has the data folder.
    pub fn of_folder(config: &Config) -> Result<Self> {
        let told = std::fs::read_to_string(config.data.join(ADMIN_FILE)).ok();
        Self::of(config, told.and_then(|text| text.trim().parse().ok()))
    }

    /// The admin port at a URL such as `http://127.0.0.1:9001` (or without `http://`), `https://…`,
    /// for which the server's certificate must be given, or `unix:/path`.
    pub fn at(url: &str, token: Option<&Path>, certificate: Option<&Path>) -> Result<Self> {
        let token = token.map(owner_only::token).transpose()?;
        if let Some(path) = url.strip_prefix("unix:") {
            return Ok(Self { place: Place::Unix(path.into()), pinned: None, token });
        }
        let address = url.trim_end_matches('/');
        let (address, secure) = match address.strip_prefix("https://") {
            Some(address) => (address, true),
            None => (address.strip_prefix("http://").unwrap_or(address), false),
        };
        ensure!(
            !address.is_empty() && !address.contains('/'),
            "{url:?} is not an admin port such as http://127.0.0.1:9001 or unix:/run/ripstop/admin"
        );
        let pinned = match (secure, certificate) {
            (false, _) => None,
            (true, Some(certificate)) => Some(Pinned::load(certificate)?),
            (true, None) => bail!("{url}: the certificate of an admin port with TLS must be given"),
        };
        Ok(Self { place: Place::Network(address.to_owned()), pinned, token })
    }

    async fn send(&self, method: Method, path: &str) -> Result<Response<Incoming>> {
        self.send_with(method, path, Bytes::new()).await
    }

    async fn send_with(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<Response<Incoming>> {
        let silent = |place: String| move || format!("the admin port {place} does not answer");
        let (mut sender, host) = match &self.place {
            Place::Unix(path) => {
                let stream = UnixStream::connect(path).await;
                let stream = stream.with_context(silent(path.display().to_string()))?;
                (spoken(stream).await?, UNIX_HOST)
            }
            Place::Network(address) => {
                let stream = TcpStream::connect(address.as_str()).await;
                let stream = stream.with_context(silent(address.clone()))?;
                let sender = match &self.pinned {
                    None => spoken(stream).await?,
                    Some(pinned) => {
                        let host = address.rsplit_once(':').map_or(&**address, |(host, _)| host);
                        let host = host.trim_start_matches('[').trim_end_matches(']');
                        let stream = pinned.connect(stream, host).await.with_context(|| {
                            format!(
                                "the admin port {address} does not show the certificate expected"
                            )
                        })?;
                        spoken(stream).await?
                    }
                };
                (sender, &**address)
            }
        };
        let mut request = Request::builder().method(method).uri(path).header(HOST, host);
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        Ok(sender.send_request(request.body(Full::new(body))?).await?)
    }

    /// What it answers to a path.
    pub async fn ask(&self, method: Method, path: &str) -> Result<String> {
        self.answer(path, self.send(method, path).await?).await
    }

    /// Has the gateway change its users, or say what they are.
    pub async fn tell_users(&self, command: &UserCommand) -> Result<UserAnswer> {
        let path = "/users";
        let body = Bytes::from(serde_json::to_vec(command)?);
        let answer = self.answer(path, self.send_with(Method::POST, path, body).await?).await?;
        serde_json::from_str(&answer).context("the gateway's answer")
    }

    /// Has the gateway give a bucket to an account; none is the store's own.
    pub async fn give_bucket(&self, bucket: &str, account: Option<&str>) -> Result<()> {
        for name in [Some(bucket), account].into_iter().flatten() {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            ensure!(!name.is_empty() && name.bytes().all(is_plain), "{name:?} cannot be a name");
        }
        let account = account.unwrap_or_default();
        self.ask(Method::POST, &format!("/buckets/{bucket}/owner?account={account}")).await?;
        Ok(())
    }

    async fn answer(&self, path: &str, response: Response<Incoming>) -> Result<String> {
        let status = response.status();
        let body = Limited::new(response.into_body(), ANSWER_MAX).collect().await;
        let body = body.map_err(|error| anyhow::anyhow!("{path}: {error}"))?.to_bytes();
        let text = String::from_utf8_lossy(&body).into_owned();
        ensure!(status.is_success(), "{path}: {status}: {}", text.trim());
        Ok(text)
    }

    /// Has the gateway keep a state of its catalog for as long as the lines are read.
    pub async fn snapshot(&self) -> Result<(Extracted, Lines)> {
        let response = self.send(Method::POST, "/snapshot").await;
        let response = response.context("a gateway uses the data folder, so it must be asked")?;
        let status = response.status();
        let mut lines = Lines { body: response.into_body(), text: Vec::new() };
        let first = lines.next().await?;
        let Some(first) = first.filter(|_| status.is_success()) else {
            bail!(
                "the gateway's admin port answers {status}: {}",
                String::from_utf8_lossy(&lines.text)
            );
        };
        match serde_json::from_slice(&first).context("the gateway's answer")? {
            SnapshotLine::Snapshot { header, len } => {
                let mut header = hex::decode(header).context("the gateway's answer")?;
                ensure!(header.len() <= HEADER_LEN, "the gateway's answer has too long a header");
                header.resize(HEADER_LEN, 0);
                Ok((Extracted { header, len }, lines))
            }
            SnapshotLine::Kept(_) => bail!("the gateway's answer does not begin with a snapshot"),
            SnapshotLine::Error(reason) => bail!("the gateway: {reason}"),
        }
    }

    /// Has the gateway check its store.
    pub async fn check(
        &self,
        options: CheckOptions,
        progress: impl Fn(Checked),
    ) -> Result<CheckReport> {
        let path = format!("/check?repair={}", options.repair);
        let response = self.send(Method::POST, &path).await;
        let response = response.context("a gateway uses the data folder, so it must be asked")?;
        let status = response.status();
        let mut body = response.into_body();
        let mut text = Vec::new();
        while let Some(frame) = body.frame().await {
            let Ok(bytes) = frame?.into_data() else { continue };
            text.extend_from_slice(&bytes);
            while status.is_success()
                && let Some(end) = text.iter().position(|&byte| byte == b'\n')
            {
                let line: Vec<u8> = text.drain(..=end).collect();
                match serde_json::from_slice(&line).context("the gateway's answer")? {
                    Line::Progress(checked) => progress(checked),
                    Line::Report(report) => return Ok(report),
                    Line::Error(reason) => bail!("the gateway could not check: {reason}"),
                }
            }
        }
        ensure!(status.is_success(), "{status}: {}", String::from_utf8_lossy(&text).trim());
        bail!("the gateway stopped before the check was done")
    }
}

/// HTTP on a connection.
async fn spoken(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> Result<SendRequest<Full<Bytes>>> {
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    ripstop_host::spawn(connection);
    Ok(sender)
}

/// One line of what the admin port says of a snapshot.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum SnapshotLine {
    Snapshot { header: String, len: u64 },
    Kept(#[expect(dead_code, reason = "that the line comes says enough")] bool),
    Error(String),
}

/// The lines of an answer.
pub struct Lines {
    body: Incoming,
    text: Vec<u8>,
}

impl Lines {
    async fn next(&mut self) -> Result<Option<Vec<u8>>> {
        loop {
            if let Some(end) = self.text.iter().position(|&byte| byte == b'\n') {
                return Ok(Some(self.text.drain(..=end).collect()));
            }
            ensure!(self.text.len() <= LINE_MAX, "the gateway's answer has a line without an end");
            let Some(frame) = self.body.frame().await else { return Ok(None) };
            if let Ok(bytes) = frame?.into_data() {
                self.text.extend_from_slice(&bytes);
            }
        }
    }
}

/// The most that a line about a snapshot may have.
const LINE_MAX: usize = 64 << 10;

/// A state of a running gateway's catalog that is kept in its file.
pub struct Kept {
    /// Where.
    pub extracted: Extracted,
    /// Answers why it is no longer kept.
    watching: JoinHandle<anyhow::Error>,
}

impl Kept {
    /// Watches whether the gateway goes on keeping it.
    pub fn ask((extracted, mut lines): (Extracted, Lines)) -> Self {
        let watching = ripstop_host::spawn(async move {
            loop {
                match lines.next().await {
                    Ok(None) => return anyhow!("the gateway stopped before the copy was done"),
                    Err(error) => return error,
                    Ok(Some(line)) => match serde_json::from_slice(&line) {
                        Ok(SnapshotLine::Snapshot { .. } | SnapshotLine::Kept(_)) => {}
                        Ok(SnapshotLine::Error(reason)) => return anyhow!("the gateway: {reason}"),
                        Err(error) => return error.into(),
                    },
                }
            }
        });
        Self { extracted, watching }
    }

    /// Lets go of it; fails if it was not kept until now.
    pub fn release(self) -> Result<()> {
        ensure!(
            !self.watching.is_finished(),
            "the gateway did not keep what was being copied: try again"
        );
        self.watching.abort();
        Ok(())
    }
}

/// One line of what the admin port says of a check.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    Progress(Checked),
    Report(CheckReport),
    Error(String),
}
