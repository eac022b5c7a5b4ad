//! Where the program is that is measured.

use anyhow::{Context as _, Result, ensure};
use std::{env, path::PathBuf};

/// Names another program.
const VARIABLE: &str = "RIPSTOP_BIN";

/// `ripstop` as the environment names it, or beside this program.
pub(crate) fn ripstop() -> Result<PathBuf> {
    let program = match env::var_os(VARIABLE) {
        Some(program) => program.into(),
        None => env::current_exe()?.parent().context("a program has a folder")?.join("ripstop"),
    };
    ensure!(
        program.is_file(),
        "there is no {} to measure: `cargo build --release -p ripstop` makes it, {VARIABLE} names another",
        program.display()
    );
    Ok(program)
}
