//! The gateway under test: this program itself, serving from a folder that goes with it.

use super::{GRANTED, LANES, PRESET, Promises, TENANTS};
use crate::bench::{Client, Url, noise, presigner};
use anyhow::{Context as _, Result, bail};
use bytes::Bytes;
use object_store::{aws::AmazonS3, path::Path, signer::Signer as _};
use std::{fmt::Write as _, net::SocketAddr, os::unix::fs::OpenOptionsExt as _, time::Duration};
use tokio::process::{Child, Command};

const BUCKET: &str = "promises";
const SECRET: &str = "promises-secret";
/// Objects that are read: enough that no two requests of a moment want the same.
const OBJECTS: usize = 64;
/// How long it may take to serve, and to stop.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) struct Server {
    pub address: SocketAddr,
    child: Child,
    _folder: tempfile::TempDir,
}

impl Server {
    /// Starts it and stores the objects.
    pub(super) async fn start(arguments: &Promises, shaped: bool) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let address = free_address()?;
        let (config, credentials) =
            (folder.path().join("ripstop.toml"), folder.path().join("keys"));
        std::fs::write(&config, configuration(arguments, shaped, folder.path(), address))?;
        write_credentials(&credentials)?;
        let child = Command::new(std::env::current_exe()?)
            .arg("serve")
            .arg("--config")
            .arg(&config)
            .stderr(std::process::Stdio::inherit())
            .kill_on_drop(true)
            .spawn()?;
        let server = Self { address, child, _folder: folder };
        server.fill(arguments.size).await?;
        Ok(server)
    }

    /// Signs what a tenant asks for.
    fn signer(&self, tenant: &str) -> Result<AmazonS3> {
        presigner(self.address, BUCKET, tenant, SECRET)
    }

    async fn fill(&self, size: u32) -> Result<()> {
        let mut client = self.connect().await?;
        let signer = self.signer(TENANTS[0])?;
        client.put(&url(&signer, http::Method::PUT, "").await?, Bytes::new()).await?;
        for object in 0..OBJECTS {
            let url = url(&signer, http::Method::PUT, &object.to_string()).await?;
            client.put(&url, Bytes::from(noise(size as usize))).await?;
        }
        Ok(())
    }

    async fn connect(&self) -> Result<Client> {
        let end = tokio::time::Instant::now() + PATIENCE;
        loop {
            match Client::connect(self.address).await {
                Ok(client) => return Ok(client),
                Err(error) if tokio::time::Instant::now() > end => {
                    return Err(error.context("the gateway does not serve"));
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    }

    /// Addresses by which a tenant reads the objects.
    pub(super) async fn urls(&self, tenant: &str) -> Result<Vec<Url>> {
        let signer = self.signer(tenant)?;
        let mut urls = Vec::with_capacity(OBJECTS);
        for object in 0..OBJECTS {
            urls.push(url(&signer, http::Method::GET, &object.to_string()).await?);
        }
        Ok(urls)
    }

    /// Has it stop, and waits until it has.
    pub(super) async fn stop(mut self) -> Result<()> {
        if let Some(id) = self.child.id() {
            let id = i32::try_from(id).context("process ids are small")?;
            let id = rustix::process::Pid::from_raw(id).context("a process has an id above 0")?;
            rustix::process::kill_process(id, rustix::process::Signal::TERM)?;
        }
        match tokio::time::timeout(PATIENCE, self.child.wait()).await {
            Ok(status) if status.as_ref().is_ok_and(std::process::ExitStatus::success) => Ok(()),
            other => bail!("the gateway did not stop well: {other:?}"),
        }
    }
}

fn free_address() -> Result<SocketAddr> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

async fn url(signer: &AmazonS3, method: http::Method, key: &str) -> Result<Url> {
    let url = signer.signed_url(method, &Path::from(key), Duration::from_hours(1)).await?;
    let query = url.query().context("a presigned address has a query")?;
    Ok(format!("{}?{query}", url.path()))
}

fn configuration(
    arguments: &Promises,
    shaped: bool,
    folder: &std::path::Path,
    address: SocketAddr,
) -> String {
    let folder = folder.display();
    let mut text = format!(
        "[gateway]\nlisten = \"{address}\"\nadmin = \"127.0.0.1:0\"\ndata = \"{folder}/data\"\n\
         credentials = \"{folder}/keys\"\nlog_filter = \"error\"\n\
         [store]\nmemory_max = \"512 MiB\"\n\
         [[pool]]\nname = \"slow\"\nlayout = \"shared\"\nrecombination = \"{}\"\n\
         [[node]]\nname = \"s3\"\nkind = \"memory\"\nlanes = {LANES}\ndelay = \"{}\"\nseed = {}\n",
        arguments.recombination,
        PRESET.name(),
        arguments.seed,
    );
    for tenant in TENANTS.iter().filter(|_| shaped) {
        let bound = arguments.bound_ms;
        write!(
            text,
            "[[tenant]]\nname = \"{tenant}\"\naccess_keys = [\"{tenant}\"]\n\
             promise = \"0.95:{bound}ms,1:{}ms\"\ncapacity = {GRANTED:.1}\n",
            10 * bound
        )
        .expect("a string takes all that is written to it");
    }
    text
}

fn write_credentials(path: &std::path::Path) -> Result<()> {
    use std::io::Write as _;
    let mut file =
        std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    writeln!(file, "access_key = \"{}\"\nsecret_key = \"{SECRET}\"\n[more]", TENANTS[0])?;
    for tenant in &TENANTS[1..] {
        writeln!(file, "{tenant} = \"{SECRET}\"")?;
    }
    Ok(())
}
