use crate::{
    command::{command, run},
    root::root,
    tool,
};
use anyhow::{Context, Result, bail, ensure};
use std::{fs, time::Duration};

/// What building a target may take beside its run.
const BUILD_MAX: Duration = Duration::from_mins(30);

/// What to fuzz.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A file in fuzz/targets, without its extension; if none is given, they are listed.
    target: Option<String>,
    /// Seconds to run.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
}

/// Runs one target for a while; fails with what it found.
pub(crate) fn fuzz(arguments: &Arguments) -> Result<()> {
    let targets = targets()?;
    let known = targets.join(", ");
    let Some(target) = &arguments.target else { bail!("targets are {known}") };
    ensure!(targets.contains(target), "{target:?} is not a target; there are {known}");
    ensure!(
        tool::find("cargo-fuzz").is_some() && tool::find("rustup").is_some(),
        "fuzzing needs cargo-fuzz (`cargo install cargo-fuzz`) and a nightly compiler from rustup"
    );
    let seconds = format!("-max_total_time={}", arguments.seconds);
    let words = ["run", "nightly", "cargo", "fuzz", "run", target, "--", &seconds];
    let mut fuzz = command("rustup", words)?;
    // This toolchain's own variables would have the stable compiler build it.
    fuzz.env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN").env_remove("RUSTC");
    run(fuzz, BUILD_MAX + Duration::from_secs(arguments.seconds))
}

/// Names of all targets.
fn targets() -> Result<Vec<String>> {
    let folder = root()?.join("fuzz/targets");
    let mut targets = Vec::new();
    for entry in fs::read_dir(&folder).context("fuzz/targets")? {
        let path = entry.context("fuzz/targets")?.path();
        targets.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
    }
    targets.sort();
    Ok(targets)
}
