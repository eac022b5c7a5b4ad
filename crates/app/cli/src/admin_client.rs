use anyhow::{Context as _, Result, bail, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::{Method, Request, client::conn::http1::handshake, header::HOST};
use hyper_util::rt::TokioIo;
use ripstop_store::{CheckOptions, CheckReport};
use serde::Deserialize;
use std::net::SocketAddr;
use tokio::net::TcpStream;

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
