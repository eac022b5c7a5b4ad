//! What every command that touches data takes.

use anyhow::Result;
use clap::Args;
use ripstop_assembly::config::{self, AdminAddress, Config};
use std::{net::SocketAddr, path::PathBuf};

/// What every command that touches data takes. A flag wins over the environment, and that over the
/// file.
#[derive(Args, Debug, Clone)]
pub(crate) struct Common {
    /// Configuration file (TOML).
    ///
    /// Each of its keys can also be set by an environment variable: `RIPSTOP_GATEWAY_LISTEN`,
    /// `RIPSTOP_STORE_GRACE`, `RIPSTOP_POOL_<NAME>_CODE`, `RIPSTOP_NODE_<NAME>_LANES` and so on.
    /// See docs/configuration.md.
    #[arg(long, env = "RIPSTOP_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Folder of the catalog, the credentials and, unless configured otherwise, the nodes
    /// [default: ripstop-data].
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Address that S3 is served on [default: 127.0.0.1:9000].
    #[arg(long, value_name = "ADDR:PORT")]
    pub listen: Option<SocketAddr>,
    /// Address of health, metrics and maintenance, or `unix:/path` for a socket that only its owner
    /// can open [default: 127.0.0.1:9001].
    #[arg(long, value_name = "ADDR:PORT")]
    pub admin: Option<AdminAddress>,
}

impl Common {
    /// The configuration with the command line laid over it.
    pub(crate) fn resolve(&self) -> Result<Config> {
        let flags = [
            (
                "RIPSTOP_GATEWAY_DATA",
                self.data.as_ref().map(|path| format!("'''{}'''", path.display())),
            ),
            ("RIPSTOP_GATEWAY_LISTEN", self.listen.map(|address| format!("\"{address}\""))),
            ("RIPSTOP_GATEWAY_ADMIN", self.admin.as_ref().map(|at| format!("'''{at}'''"))),
        ];
        let flags = flags.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        config::load(self.config.as_deref(), flags)
    }
}
