use crate::{
    command::{cargo, run, watch},
    tally::Tally,
};
use anyhow::Result;
use std::time::Duration;

const STEP_MAX: Duration = Duration::from_mins(30);

/// Formatting, lints, structure, documentation: each is tried, whether or not the one before
/// passed.
pub(crate) fn check() -> Result<Tally> {
    let mut tally = Tally::default();
    tally.step("formatting", run(cargo(&["fmt", "--all", "--check"])?, STEP_MAX));
    let clippy = ["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"];
    tally.step("lints", run(cargo(&clippy)?, STEP_MAX));
    tally.runner("structure", watch(cargo(&["test", "--quiet", "-p", "xtask"])?, STEP_MAX));
    let mut doc = cargo(&["doc", "--no-deps", "--workspace", "--quiet"])?;
    doc.env("RUSTDOCFLAGS", "-D warnings");
    tally.step("documentation", run(doc, STEP_MAX));
    Ok(tally)
}
