//! The gateways over the catalog of one that runs.

use crate::common::Common;
use anyhow::{Context as _, Result};
use clap::Args;
use hyper::Method;
use ripstop_assembly::AdminPort;
use ripstop_telemetry::GatewayStatus;
use std::process::ExitCode;

#[derive(Args, Debug)]
pub(crate) struct Gateways {
    #[command(flatten)]
    common: Common,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(gateways: &Gateways) -> Result<ExitCode> {
    let admin = AdminPort::of_folder(&gateways.common.resolve()?)?;
    let text = admin.ask(Method::GET, "/gateways").await?;
    if gateways.json {
        say_line!("{}", text.trim_end())?;
        return Ok(ExitCode::SUCCESS);
    }
    let shown: Vec<GatewayStatus> = serde_json::from_str(&text).context("the gateway's answer")?;
    shown.iter().try_for_each(print)?;
    Ok(ExitCode::SUCCESS)
}

fn print(status: &GatewayStatus) -> Result<()> {
    let GatewayStatus { id, epoch, state, silent_ms, address, version, session, .. } = status;
    let this = if status.is_this { ", this one" } else { "" };
    let writes = match &status.watermark {
        Some(least) => format!("writes from {least} on"),
        None => "writes nothing".into(),
    };
    let silent = *silent_ms as f64 / 1000.0;
    say_line!("gateway {id} at {address}: {state}{this}, last heard of {silent:.1} s ago")?;
    say_line!("  ripstop {version}, life {epoch}, session {session}, {writes}")?;
    Ok(())
}
