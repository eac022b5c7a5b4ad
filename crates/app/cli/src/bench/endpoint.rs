//! `ripstop bench --endpoint`: clients in a closed loop against any S3 server.

mod content;
mod cpu;
mod load;
mod request;

use crate::args::{Bench, BenchOperation};
use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use content::Content;
use hyper::{Method, StatusCode, Uri};
use load::{Load, Phase};
use object_store::aws::AwsCredential;
use request::Signer;
use ripstop_client::{Client, Refused};
use serde::Serialize;
use std::{
    net::SocketAddr,
    process::ExitCode,
    sync::Arc,
    time::{Duration, SystemTime},
};

/// Most that one measurement puts, so that a server's memory can hold it for the reads.
const PUT_BYTES_MAX: usize = 2 << 30;
/// Most objects a second that are made ready to be put.
const PUT_RATE_MAX: f64 = 32_768.0;
/// What is read: this many bytes, and at least and at most this many objects. The same for every
/// server, however much it was given before.
const GET_BYTES: usize = 512 << 20;
const GET_OBJECTS: (usize, usize) = (64, 4096);
/// Clients run for so long before they are measured, as a share of the measurement, up to `WARM_MAX`.
const WARM_SHARE: f64 = 0.25;
const WARM_MAX: Duration = Duration::from_millis(500);

/// What one measurement found.
#[derive(Clone, PartialEq, Serialize, Debug)]
struct Measured {
    operation: String,
    bytes: usize,
    clients: usize,
    seconds: f64,
    requests: usize,
    requests_per_s: f64,
    mib_per_s: f64,
    mean_ms: f64,
    p50_ms: f64,
    p99_ms: f64,
    /// Processors that were busy with this program, and with the server.
    loader_cpus: Option<f64>,
    server_cpus: Option<f64>,
    /// Reads that were compared with what was put; the length of every one is.
    compared: usize,
}

#[expect(clippy::print_stdout, reason = "what the command is for")]
pub(super) async fn run(arguments: &Bench, url: &str) -> Result<ExitCode> {
    ensure!(
        arguments.seconds > 0.0 && arguments.seconds <= 3600.0,
        "--seconds must be more than 0 and at most 3600, and is {}",
        arguments.seconds
    );
    ensure!(arguments.clients.iter().all(|&clients| clients > 0), "--clients must be more than 0");
    ensure!(
        arguments.sizes.iter().all(|&size| size <= PUT_BYTES_MAX / GET_OBJECTS.0),
        "--sizes must be at most {}",
        PUT_BYTES_MAX / GET_OBJECTS.0
    );
    let target = Target::of(arguments, url).await?;
    target.make_bucket().await?;
    if !arguments.elsewhere.json {
        let hash = if arguments.elsewhere.unsigned_payload { "unsigned" } else { "signed" };
        println!("{url}, payloads {hash}; processors: this program's and the server's");
        println!("{}", head());
    }
    for &bytes in &arguments.sizes {
        for &clients in &arguments.clients {
            for measured in target.measure(arguments, bytes, clients).await? {
                if arguments.elsewhere.json {
                    println!("{}", serde_json::to_string(&measured)?);
                } else {
                    println!("{}", row(&measured));
                }
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Where the load goes.
struct Target {
    address: SocketAddr,
    host: String,
    signer: Arc<Signer>,
}

impl Target {
    async fn of(arguments: &Bench, url: &str) -> Result<Self> {
        let uri: Uri = url.parse().with_context(|| format!("--endpoint {url:?}"))?;
        ensure!(uri.scheme_str() == Some("http"), "--endpoint {url:?} must begin with http://");
        ensure!(uri.path() == "/" && uri.query().is_none(), "--endpoint {url:?} has a path");
        let authority =
            uri.authority().with_context(|| format!("--endpoint {url:?} has no host"))?;
        let host = authority.to_string();
        ensure!(!host.contains('@'), "credentials go into --access-key and --secret-key");
        let port = authority.port_u16().unwrap_or(80);
        let mut addresses = tokio::net::lookup_host((authority.host(), port)).await?;
        let address = addresses.next().with_context(|| format!("{host} has no address"))?;
        let given = &arguments.elsewhere;
        let credential = AwsCredential {
            key_id: given.access_key.clone().context("--access-key is missing")?,
            secret_key: given.secret_key.clone().context("--secret-key is missing")?,
            token: None,
        };
        let began = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
        let signer = Signer {
            endpoint: format!("http://{host}"),
            bucket: given.bucket.clone(),
            prefix: format!("{:x}-{:x}", began.as_millis(), std::process::id()),
            credential,
            payload: !given.unsigned_payload,
        };
        Ok(Self { address, host, signer: Arc::new(signer) })
    }

    async fn connect(&self) -> Result<Client> {
        let client = Client::connect_as(self.address, self.host.clone()).await;
        client.with_context(|| format!("no connection to {}", self.host))
    }

    async fn make_bucket(&self) -> Result<()> {
        let request = self.signer.bucket(&Method::PUT)?.request(&Method::PUT, Bytes::new());
        match self.connect().await?.exchange(request, |_| {}).await.map(drop) {
            // It is there.
            Err(error)
                if error
                    .downcast_ref::<Refused>()
                    .is_some_and(|refused| refused.status == StatusCode::CONFLICT) =>
            {
                Ok(())
            }
            other => other.with_context(|| format!("making bucket {:?}", self.signer.bucket)),
        }
    }

    /// Puts new objects, reads them, and deletes them: what was found of those operations asked for.
    async fn measure(
        &self,
        arguments: &Bench,
        bytes: usize,
        clients: usize,
    ) -> Result<Vec<Measured>> {
        let asked = |operation| arguments.operations.contains(&operation);
        let span = Duration::from_secs_f64(arguments.seconds);
        let warm = span.mul_f64(WARM_SHARE).min(WARM_MAX);
        let read = (GET_BYTES / bytes.max(1)).clamp(GET_OBJECTS.0, GET_OBJECTS.1);
        let put = if asked(BenchOperation::Put) { objects(bytes, warm + span, read) } else { read };
        let content = Arc::new(Content::new(bytes));
        let signer = &self.signer;
        let puts = Arc::new(signer.objects(&Method::PUT, &content, put).await?);
        let server = arguments.elsewhere.server_pid;
        let load = |method: Method, requests, phase| Load {
            method,
            requests,
            content: content.clone(),
            clients,
            phase,
            server,
        };
        let mut found = Vec::new();
        let phase = if asked(BenchOperation::Put) {
            Phase::Each { warm, span, at_least: read }
        } else {
            Phase::All
        };
        let driven = load(Method::PUT, puts, phase).drive(self).await?;
        found.extend(driven.measured);
        if asked(BenchOperation::Get) {
            let gets = Arc::new(signer.objects(&Method::GET, &content, read).await?);
            // Once before they are measured: a server that writes past the page cache would else be
            // the only one that is measured reading from the disk.
            load(Method::GET, gets.clone(), Phase::All).drive(self).await?;
            let driven = load(Method::GET, gets, Phase::Any { warm, span }).drive(self).await?;
            found.extend(driven.measured);
        }
        if !arguments.elsewhere.keep {
            let deletes = signer.objects(&Method::DELETE, &content, driven.begun).await?;
            load(Method::DELETE, Arc::new(deletes), Phase::All).drive(self).await?;
        }
        Ok(found)
    }
}

/// How many objects are made ready for a measurement so long.
fn objects(bytes: usize, time: Duration, at_least: usize) -> usize {
    let by_rate = (PUT_RATE_MAX * time.as_secs_f64()) as usize;
    let most = (PUT_BYTES_MAX / bytes.max(1)).min(Content::OBJECTS_MAX);
    by_rate.min(most).max(at_least)
}

fn head() -> String {
    format!(
        "{:>4} {:>9} {:>8} {:>9} {:>9} {:>9} {:>9} {:>9} {:>6} {:>6} {:>8}",
        "op",
        "bytes",
        "clients",
        "MiB/s",
        "req/s",
        "mean ms",
        "p50 ms",
        "p99 ms",
        "bench",
        "server",
        "compared"
    )
}

fn row(measured: &Measured) -> String {
    let cpus = |cpus: Option<f64>| cpus.map_or_else(|| "-".into(), |cpus| format!("{cpus:.2}"));
    format!(
        "{:>4} {:>9} {:>8} {:>9.1} {:>9.0} {:>9.3} {:>9.3} {:>9.3} {:>6} {:>6} {:>8}",
        measured.operation,
        measured.bytes,
        measured.clients,
        measured.mib_per_s,
        measured.requests_per_s,
        measured.mean_ms,
        measured.p50_ms,
        measured.p99_ms,
        cpus(measured.loader_cpus),
        cpus(measured.server_cpus),
        measured.compared,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        args::{Arguments, Command},
        bench::gateway::Gateway,
    };
    use clap::Parser as _;
    use ripstop_model::Code;

    fn arguments(url: &str, secret: &str, more: &[&str]) -> Bench {
        let words = ["ripstop", "bench", "--endpoint", url, "--access-key", "bench"];
        let values = ["--secret-key", secret, "--seconds", "0.2"];
        let parsed = Arguments::parse_from(words.iter().chain(&values).chain(more)).command;
        let Command::Bench(bench) = parsed else { panic!("{parsed:?}") };
        bench
    }

    async fn listed(target: &Target) -> String {
        let list = target.signer.bucket(&Method::GET).unwrap();
        let list = list.request(&Method::GET, Bytes::new());
        let mut page = Vec::new();
        let mut client = target.connect().await.unwrap();
        client.exchange(list, |piece| page.extend_from_slice(piece)).await.unwrap();
        String::from_utf8(page).unwrap()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn objects_are_put_read_back_compared_and_deleted() {
        let gateway = Gateway::start(Code::new(3, 2).unwrap(), "fixed", None, false).await.unwrap();
        let url = format!("http://{}", gateway.address);
        for unsigned in [&["--keep"][..], &["--unsigned-payload"][..]] {
            let arguments = arguments(&url, "bench-secret", unsigned);
            let target = Target::of(&arguments, &url).await.unwrap();
            target.make_bucket().await.unwrap();
            let found = target.measure(&arguments, 4096, 16).await.unwrap();
            let [put, get] = &found[..] else { panic!("{found:?}") };
            assert_eq!((&*put.operation, &*get.operation), ("put", "get"));
            assert!(put.requests > 0 && put.compared == 0, "{put:?}");
            assert!(get.requests > 0 && get.compared > 0, "{get:?}");
            assert!(get.p50_ms <= get.p99_ms, "{get:?}");
            assert!((get.mib_per_s - get.requests_per_s / 256.0).abs() < 1e-6, "{get:?}");
            let kept = listed(&target).await.contains(&target.signer.prefix);
            assert_eq!(kept, arguments.elsewhere.keep);
        }
        gateway.stop().await;
    }

    #[tokio::test]
    async fn a_wrong_secret_and_a_bad_address_are_told() {
        let gateway = Gateway::start(Code::new(1, 1).unwrap(), "fixed", None, false).await.unwrap();
        let url = format!("http://{}", gateway.address);
        let refused = run(&arguments(&url, "another", &[]), &url).await.unwrap_err();
        assert!(format!("{refused:#}").contains("SignatureDoesNotMatch"), "{refused:#}");
        for bad in ["https://127.0.0.1:1", "http://127.0.0.1:1/path", "127.0.0.1:1", "http://a@b:1"]
        {
            assert!(Target::of(&arguments(bad, "x", &[]), bad).await.is_err(), "{bad} was taken");
        }
        gateway.stop().await;
    }
}
