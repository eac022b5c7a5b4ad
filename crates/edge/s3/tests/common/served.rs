//! A face that is served, with a bucket.

use crate::common::store;
use ripstop_s3::{Credentials, FrontSettings, Unobserved, serve};
use ripstop_store::StoreSettings;
use std::{net::SocketAddr, sync::Arc};
use tokio_util::sync::CancellationToken;

/// A face with a bucket `bkt` whose parts may be short; gone with the folder.
pub(crate) async fn face() -> (SocketAddr, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("there is room");
    let (store, _nodes) = store(folder.path(), StoreSettings::default());
    store.create_bucket("bkt").await.expect("it is new");
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = listener.local_addr().expect("it listens");
    let credentials: Credentials = [("test", "testtest")].into_iter().collect();
    let settings = FrontSettings { part_len_min: 1000, ..FrontSettings::default() };
    let shutdown = CancellationToken::new();
    tokio::spawn(serve(listener, store, credentials, settings, Arc::new(Unobserved), shutdown));
    (address, folder)
}
