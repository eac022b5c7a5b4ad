//! What works on the catalog's file, and not on one in a database.

use anyhow::{Result, bail};
use ripstop_assembly::config::Config;

/// Refuses `what` where the catalog is in a database.
pub(crate) fn must_be_in_a_file(config: &Config, what: &str, instead: &str) -> Result<()> {
    if let Some(url) = &config.catalog {
        bail!(
            "the catalog is in a database ({url}), and {what} works on a catalog's file: {instead}"
        );
    }
    Ok(())
}
