use serde::Deserialize;
use std::{fmt, net::SocketAddr, path::PathBuf, str::FromStr};

/// Where the admin port is.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(try_from = "String")]
pub(crate) enum AdminAddress {
    /// On the network: `127.0.0.1:9001`.
    Network(SocketAddr),
    /// A socket in the file system, for its owner alone: `unix:/run/ripstop/admin`.
    Unix(PathBuf),
}

impl FromStr for AdminAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            return Ok(Self::Unix(path.into()));
        }
        let address = text.parse();
        address.map(Self::Network).map_err(|_| {
            format!("{text:?} is neither an address such as 127.0.0.1:9001 nor unix:/path")
        })
    }
}

impl TryFrom<String> for AdminAddress {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl fmt::Display for AdminAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl AdminAddress {
    /// Whether others than this machine's users reach it.
    pub(crate) fn is_reached_from_outside(&self) -> bool {
        match self {
            Self::Network(address) => !address.ip().is_loopback(),
            Self::Unix(_) => false,
        }
    }
}
