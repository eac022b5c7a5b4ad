use anyhow::Result;
use hyper::Method;
use ripstop_assembly::{Assembly, DataFolder, Telemetry, assemble, config};
use ripstop_client::{Presigner, Url};
use ripstop_model::Code;
use ripstop_s3::Answered;
use ripstop_telemetry::Metrics;
use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;

const BUCKET: &str = "bench";
const SECRET: &str = "bench-secret";

/// A gateway on memory nodes, in this process.
pub(super) struct Served {
    pub(super) address: SocketAddr,
    assembly: Assembly,
    telemetry: Telemetry,
    hashing: Arc<Hashing>,
    stop: CancellationToken,
    serving: JoinHandle<()>,
    _folder: (tempfile::TempDir, DataFolder),
}

/// Nanoseconds that went into each part, over all requests.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub codec: u64,
    pub verify: u64,
    pub hashing: u64,
    pub catalog: u64,
    pub nodes: u64,
}

impl Totals {
    pub(super) fn since(&self, before: &Self) -> Self {
        Self {
            codec: self.codec - before.codec,
            verify: self.verify - before.verify,
            hashing: self.hashing - before.hashing,
            catalog: self.catalog - before.catalog,
            nodes: self.nodes - before.nodes,
        }
    }
}

#[derive(Debug, Default)]
struct Hashing(AtomicU64);

impl ripstop_s3::RequestObserver for Hashing {
    fn answered(&self, answered: &Answered) {
        self.0.fetch_add(answered.hashing.as_nanos() as u64, Relaxed);
    }
}

/// The pool that is measured.
pub(super) struct Pool<'a> {
    pub(super) code: Code,
    pub(super) policy: &'a str,
    pub(super) delay: Option<&'a str>,
    pub(super) encrypt: bool,
    pub(super) pack_below: Option<&'a str>,
}

fn configuration(data: &std::path::Path, pool: &Pool) -> String {
    let (data, n, k) = (data.display(), pool.code.n(), pool.code.k());
    let (policy, encrypt) = (pool.policy, pool.encrypt);
    let pack_below = pool.pack_below.map(|below| format!("pack_below = {below:?}\n"));
    let pack_below = pack_below.unwrap_or_default();
    let node = |node| {
        let delay = pool.delay.map(|delay| format!("delay = {delay:?}\nseed = {node}\n"));
        let memory = "kind = \"memory\"\nbytes_max = \"8 GiB\"\n";
        format!("[[node]]\nname = \"m{node}\"\n{memory}{}", delay.unwrap_or_default())
    };
    let nodes: String = (0..n).map(node).collect();
    format!(
        "[gateway]\ndata = \"{data}\"\n[store]\ngrace = \"1s\"\nsweep_every = \"1s\"\n\
         [[pool]]\nname = \"memory\"\ncode = [{n}, {k}]\npolicy = {policy:?}\nencrypt = {encrypt}\n{pack_below}{nodes}"
    )
}

impl Served {
    pub(super) async fn start(pool: Pool<'_>) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let text = configuration(folder.path(), &pool);
        let config = config::parse(&text, [])?;
        let data = DataFolder::create(&config)?;
        let telemetry = Telemetry::new(true, None);
        let assembly = assemble(&config, &telemetry).await?;
        assembly.store.create_bucket(BUCKET).await?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let credentials: ripstop_s3::Credentials = [(BUCKET, SECRET)].into_iter().collect();
        let (stop, hashing) = (CancellationToken::new(), Arc::new(Hashing::default()));
        let serving = tokio::spawn(ripstop_s3::serve(
            listener,
            assembly.store.clone(),
            credentials,
            ripstop_s3::FrontSettings::default(),
            hashing.clone(),
            stop.clone(),
        ));
        Ok(Self { address, assembly, telemetry, hashing, stop, serving, _folder: (folder, data) })
    }

    pub(super) fn totals(&self) -> Totals {
        let spent = &self.assembly.spent;
        let sum = |parts: &[&AtomicU64]| parts.iter().map(|part| part.load(Relaxed)).sum();
        Totals {
            codec: sum(&[&spent.encode, &spent.decode]),
            verify: sum(&[&spent.verify]),
            hashing: self.hashing.0.load(Relaxed),
            catalog: self.catalog_nanos(),
            nodes: sum(&[&spent.node_put, &spent.node_get]),
        }
    }

    /// What the metrics' page says of the catalog.
    fn catalog_nanos(&self) -> u64 {
        let page = self.telemetry.metrics.as_ref().map(Metrics::page).unwrap_or_default();
        let sums =
            page.lines().filter(|line| line.starts_with("ripstop_catalog_operation_seconds_sum"));
        let seconds = sums.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
        (seconds.sum::<f64>() * 1e9) as u64
    }

    /// Presigned addresses of this many keys: to put, and to get.
    pub(super) async fn urls(&self, keys: usize) -> Result<(Vec<Url>, Vec<Url>)> {
        let signer = Presigner::new(self.address, BUCKET, BUCKET, SECRET)?;
        let (mut puts, mut gets) = (Vec::with_capacity(keys), Vec::with_capacity(keys));
        for key in 0..keys {
            let key = format!("key-{key}");
            puts.push(signer.url(Method::PUT, &key).await?);
            gets.push(signer.url(Method::GET, &key).await?);
        }
        Ok((puts, gets))
    }

    pub(super) async fn stop(self) {
        self.stop.cancel();
        // It ends when its connections have; a panic in it has been printed.
        let _ = self.serving.await;
    }
}
