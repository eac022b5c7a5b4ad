//! Serves S3 over three memory nodes: `over_memory [address]`, access key `test`, secret
//! `testtest`.

#[path = "../tests/common/mod.rs"]
mod common;

use ripstop_s3::{Credentials, FrontSettings, Unobserved, serve};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:9000".to_owned());
    let folder = tempfile::tempdir()?;
    let (store, _nodes) = common::store(folder.path(), ripstop_store::StoreSettings::default());
    let listener = tokio::net::TcpListener::bind(address).await?;
    let credentials: Credentials = [("test", "testtest")].into_iter().collect();
    let shutdown = CancellationToken::new();
    let stop = shutdown.clone();
    tokio::spawn(async move {
        let _ = tokio::signal::ctrl_c().await;
        stop.cancel();
    });
    let settings = FrontSettings::default();
    let served = serve(listener, store, credentials, settings, Arc::new(Unobserved), shutdown);
    Box::pin(served).await;
    Ok(())
}
