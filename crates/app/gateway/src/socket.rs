//! What every port needs.

use crate::config::TlsFiles;
use anyhow::{Context as _, Result};
use ripstop_listen::{Tls, TlsError};
use std::{net::SocketAddr, path::Path};
use tokio::net::TcpListener;

/// What is spoken TLS with, if files are configured for that.
pub(crate) fn load(
    files: Option<&TlsFiles>,
    with: fn(&Path, &Path) -> Result<Tls, TlsError>,
) -> Result<Option<Tls>, TlsError> {
    files.map(|files| with(&files.certificate, &files.key)).transpose()
}

/// A port on the network; an error names the key that it was configured by.
pub(crate) async fn bind(address: SocketAddr, key: &str) -> Result<TcpListener> {
    let listener = TcpListener::bind(address).await;
    listener.with_context(|| format!("{key} = \"{address}\" cannot be listened on"))
}
