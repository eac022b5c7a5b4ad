//! `ripstop check-config`: whether a configuration is good, and what it comes to.

use anyhow::Result;
use ripstop_assembly::config::{Config, describe};
use std::process::ExitCode;

pub(crate) fn run(config: &Config) -> Result<ExitCode> {
    config.fits_machine()?;
    describe(config).iter().try_for_each(|line| say_line!("{line}"))?;
    Ok(ExitCode::SUCCESS)
}
