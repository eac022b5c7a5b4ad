use anyhow::{Context as _, Result, bail, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper::{Request, client::conn::http1::handshake, header::HOST};
use hyper_util::rt::TokioIo;
use ripstop_store::{CheckOptions, CheckReport};
use serde::Deserialize;
use std::net::SocketAddr;
use tokio::net::TcpStream;

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
