use anyhow::{Context as _, Result, anyhow, bail, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::{Method, Request, body::Incoming, client::conn::http1::handshake, header::HOST};
use hyper_util::rt::TokioIo;
use ripstop_catalog::{Extracted, HEADER_LEN};
use ripstop_store::{CheckOptions, CheckReport};
use serde::Deserialize;
use std::net::SocketAddr;
use tokio::{net::TcpStream, task::JoinHandle};

/// The most that an answer may have.
const ANSWER_MAX: usize = 1 << 30;

/// What the admin port at this address (with `http://` before it, or without) answers to a path.
pub(crate) async fn ask(admin: &str, method: Method, path: &str) -> Result<String> {
    let address = admin.trim_end_matches('/');
    let address = address.strip_prefix("http://").unwrap_or(address);
    ensure!(
        !address.is_empty() && !address.contains('/'),
        "{admin:?} is not an admin port such as http://127.0.0.1:9001"
    );
    let stream = TcpStream::connect(address)
        .await
        .with_context(|| format!("the admin port {address} does not answer"))?;
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let request = Request::builder().method(method).uri(path).header(HOST, address);
    let response = sender.send_request(request.body(Empty::<Bytes>::new())?).await?;
    let status = response.status();
    let body = Limited::new(response.into_body(), ANSWER_MAX).collect().await;
    let body = body.map_err(|error| anyhow::anyhow!("{path}: {error}"))?.to_bytes();
    let text = String::from_utf8_lossy(&body).into_owned();
    ensure!(status.is_success(), "{path}: {status}: {}", text.trim());
    Ok(text)
}

/// One line of what the admin port says of a check.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    Progress { stripes: u64 },
    Report(CheckReport),
    Error(String),
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
pub(crate) struct Lines {
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
pub(crate) struct Kept {
    /// Where.
    pub extracted: Extracted,
    /// Answers why it is no longer kept.
    watching: JoinHandle<anyhow::Error>,
}

impl Kept {
    /// Watches whether the gateway goes on keeping it.
    pub(crate) fn ask((extracted, mut lines): (Extracted, Lines)) -> Self {
        let watching = tokio::spawn(async move {
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
    pub(crate) fn release(self) -> Result<()> {
        ensure!(
            !self.watching.is_finished(),
            "the gateway no longer kept what was copied: try again"
        );
        self.watching.abort();
        Ok(())
    }
}

/// Has the gateway behind this admin port keep a state of its catalog for as long as the lines are read.
pub(crate) async fn snapshot(admin: SocketAddr) -> Result<(Extracted, Lines)> {
    let stream = TcpStream::connect(admin).await.with_context(|| {
        format!("a gateway has the data folder, but its admin port {admin} does not answer")
    })?;
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let request =
        Request::post("/snapshot").header(HOST, admin.to_string()).body(Empty::<Bytes>::new())?;
    let response = sender.send_request(request).await?;
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

/// Has the gateway behind this admin port check its store.
pub(crate) async fn check(
    admin: SocketAddr,
    options: CheckOptions,
    progress: impl Fn(u64),
) -> Result<CheckReport> {
    let stream = TcpStream::connect(admin).await.with_context(|| {
        format!("a gateway has the data folder, but its admin port {admin} does not answer")
    })?;
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let request = Request::post(format!("/check?repair={}", options.repair))
        .header(HOST, admin.to_string())
        .body(Empty::<Bytes>::new())?;
    let response = sender.send_request(request).await?;
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
                Line::Progress { stripes } => progress(stripes),
                Line::Report(report) => return Ok(report),
                Line::Error(reason) => bail!("the gateway could not check: {reason}"),
            }
        }
    }
    ensure!(status.is_success(), "{status}: {}", String::from_utf8_lossy(&text).trim());
    bail!("the gateway stopped before the check was done")
}
