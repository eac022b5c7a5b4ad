//! `ripstop rotate-key`: a new key for what is encrypted from now on.

use crate::common::Common;
use anyhow::Result;
use clap::Args;
use ripstop_assembly::{config::Config, rotate_ring};
use std::process::ExitCode;

#[derive(Args, Debug)]
pub(crate) struct RotateKey {
    #[command(flatten)]
    pub common: Common,
    /// The name that clients give as the key of `aws:kms`; without it, the gateway's own key gets
    /// a successor.
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
}

/// Adds the key to the file, before those of its kind that are there.
pub(crate) fn run(config: &Config, name: Option<&str>) -> Result<ExitCode> {
    let path = config.object_keys_file();
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let ring = rotate_ring(&path, name)?;
    say_line!(
        "{}: {} keys. A gateway that serves takes the new one when it is told to reload (SIGHUP, or \
         POST /reload); copy the file first",
        path.display(),
        ring.ids().count()
    )?;
    Ok(ExitCode::SUCCESS)
}
