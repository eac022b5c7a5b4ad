//! A gateway under test: the program as it is shipped, serving from a folder that goes with it.

use crate::program;
use anyhow::{Context as _, Result, bail};
use bytes::Bytes;
use hyper::Method;
use ripstop_assembly::{ADMIN_FILE, AdminPort};
use ripstop_client::{Client, Presigner, Url, noise};
use std::{fs, io::Write as _, net::SocketAddr, os::unix::fs::OpenOptionsExt as _, time::Duration};
use tempfile::TempDir;
use tokio::process::{Child, Command};

const BUCKET: &str = "bench";
const SECRET: &str = "secret-of-a-bench";
/// Most memory for strips.
const MEMORY_MAX: &str = "512 MiB";
/// How long it may take to serve, and to stop.
const PATIENCE: Duration = Duration::from_secs(20);

/// A gateway on a port of its own.
pub(crate) struct Server {
    pub address: SocketAddr,
    /// Who may come in; the first stores the objects.
    access_keys: Vec<String>,
    child: Child,
    folder: TempDir,
}

impl Server {
    /// Starts it with this configuration, save for its own part, and waits until it serves.
    pub(crate) async fn start(access_keys: &[&str], configuration: &str) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let address = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let access_keys: Vec<String> = access_keys.iter().map(|&key| key.into()).collect();
        write_credentials(&folder.path().join("keys"), &access_keys)?;
        let config = folder.path().join("ripstop.toml");
        fs::write(&config, whole(configuration, &folder, address))?;
        let child = Command::new(program::ripstop()?)
            .arg("serve")
            .arg("--config")
            .arg(&config)
            .stderr(std::process::Stdio::inherit())
            .kill_on_drop(true)
            .spawn()?;
        let server = Self { address, access_keys, child, folder };
        server.connect().await?;
        Ok(server)
    }

    /// Has it read another configuration.
    pub(crate) async fn reconfigure(&self, configuration: &str) -> Result<()> {
        let config = self.folder.path().join("ripstop.toml");
        fs::write(config, whole(configuration, &self.folder, self.address))?;
        self.ask(Method::POST, "/reload").await.map(drop)
    }

    /// What its admin port answers.
    pub(crate) async fn ask(&self, method: Method, path: &str) -> Result<String> {
        let admin = fs::read_to_string(self.folder.path().join("data").join(ADMIN_FILE))?;
        AdminPort::at(admin.trim(), None, None)?.ask(method, path).await
    }

    /// Stores objects of this many bytes.
    pub(crate) async fn fill(&self, objects: usize, size: usize) -> Result<()> {
        let mut client = self.connect().await?;
        let signer = self.signer(&self.access_keys[0])?;
        client.put(&signer.url(Method::PUT, "").await?, Bytes::new()).await?;
        let body = Bytes::from(noise(size));
        for object in 0..objects {
            let url = signer.url(Method::PUT, &object.to_string()).await?;
            client.put(&url, body.clone()).await?;
        }
        Ok(())
    }

    /// Addresses by which a client with this access key reads the objects.
    pub(crate) async fn urls(&self, access_key: &str, objects: usize) -> Result<Vec<Url>> {
        let signer = self.signer(access_key)?;
        let mut urls = Vec::with_capacity(objects);
        for object in 0..objects {
            urls.push(signer.url(Method::GET, &object.to_string()).await?);
        }
        Ok(urls)
    }

    fn signer(&self, access_key: &str) -> Result<Presigner> {
        Presigner::new(self.address, BUCKET, access_key, SECRET)
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

    /// Has it stop, and waits until it has.
    pub(crate) async fn stop(mut self) -> Result<()> {
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

/// The configuration with the gateway's own part.
fn whole(configuration: &str, folder: &TempDir, address: SocketAddr) -> String {
    let folder = folder.path().display();
    format!(
        "[gateway]\nlisten = \"{address}\"\nadmin = \"127.0.0.1:0\"\ndata = \"{folder}/data\"\n\
         credentials = \"{folder}/keys\"\nlog_filter = \"error\"\n\
         [store]\nmemory_max = \"{MEMORY_MAX}\"\n{configuration}"
    )
}

fn write_credentials(path: &std::path::Path, access_keys: &[String]) -> Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    let (first, more) = access_keys.split_first().context("an access key is needed")?;
    writeln!(file, "access_key = \"{first}\"\nsecret_key = \"{SECRET}\"\n[more]")?;
    for key in more {
        writeln!(file, "{key} = \"{SECRET}\"")?;
    }
    Ok(())
}
