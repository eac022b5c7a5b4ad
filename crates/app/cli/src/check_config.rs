//! `ripstop check-config`: whether a configuration is good, and what it comes to.

use anyhow::Result;
use ripstop_assembly::{
    check_kms,
    config::{Config, describe},
};
use std::process::ExitCode;

pub(crate) fn run(config: &Config) -> Result<ExitCode> {
    config.fits_machine()?;
    check_kms(config)?;
    describe(config).iter().try_for_each(|line| say_line!("{line}"))?;
    Ok(ExitCode::SUCCESS)
}
