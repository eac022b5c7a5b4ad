use anyhow::{Context as _, Result, bail};
use ripstop_listen::Network;
use serde::Deserialize;
use std::{fmt, net::SocketAddr, path::PathBuf, str::FromStr};

/// Where the admin port is.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(try_from = "String")]
pub enum AdminAddress {
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
    pub fn is_reached_from_outside(&self) -> bool {
        match self {
            Self::Network(address) => !address.ip().is_loopback(),
            Self::Unix(_) => false,
        }
    }
}

/// Files of a certificate and its key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TlsFiles {
    /// PEM, the whole chain.
    pub certificate: PathBuf,
    /// PEM, of its owner alone.
    pub key: PathBuf,
}

pub(super) fn tls_files(
    given: (Option<PathBuf>, Option<PathBuf>),
    keys: (&str, &str),
) -> Result<Option<TlsFiles>> {
    match given {
        (None, None) => Ok(None),
        (Some(certificate), Some(key)) => Ok(Some(TlsFiles { certificate, key })),
        (Some(_), None) => bail!("{} is given without {}", keys.0, keys.1),
        (None, Some(_)) => bail!("{} is given without {}", keys.1, keys.0),
    }
}

pub(super) fn networks(given: &[String]) -> Result<Vec<Network>> {
    let networks = given.iter().map(|network| network.parse::<Network>());
    networks.collect::<Result<Vec<_>, _>>().context("gateway.trusted_proxies")
}
