use anyhow::{Context, Result};
use cargo_metadata::{Metadata, MetadataCommand};
use std::path::PathBuf;

/// The workspace's packages, root and target folder, as cargo sees them; no other package's.
pub(crate) fn metadata() -> Result<Metadata> {
    MetadataCommand::new()
        .manifest_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml"))
        .no_deps()
        .exec()
        .context("cargo metadata")
}

/// All packages that the program and its tests are made of on this machine, as they were fetched.
#[cfg(test)]
pub(crate) fn dependencies() -> Result<Metadata> {
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    MetadataCommand::new()
        .manifest_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml"))
        .other_options(["--offline", "--filter-platform", &platform].map(str::to_owned))
        .exec()
        .context("cargo metadata")
}

/// The folder that the root `Cargo.toml` is in.
pub(crate) fn root() -> Result<PathBuf> {
    Ok(metadata()?.workspace_root.into_std_path_buf())
}

/// Where cargo builds.
pub(crate) fn target() -> Result<PathBuf> {
    Ok(metadata()?.target_directory.into_std_path_buf())
}
