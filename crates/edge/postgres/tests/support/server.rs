use std::fs;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio_postgres::SimpleQueryMessage;

/// How long a server may take to start or to end.
const STARTING_MAX: Duration = Duration::from_mins(1);

/// A server with a folder of its own, on loopback; ended when it is dropped.
pub(crate) struct Server {
    folder: TempDir,
    bin: PathBuf,
    pub(crate) port: u16,
    settings: Vec<String>,
    /// Whether its processes are a group, so that all can be killed at once.
    is_group: bool,
    child: Mutex<Option<Child>>,
}

static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());
static SCHEMAS: AtomicU64 = AtomicU64::new(0);

/// Where `initdb` and `postgres` are: where `RIPSTOP_POSTGRES` says, on PATH, or where Debian puts
/// them.
fn programs() -> Result<PathBuf, String> {
    let has = |folder: &Path| folder.join("initdb").is_file() && folder.join("postgres").is_file();
    if let Some(folder) = std::env::var_os("RIPSTOP_POSTGRES").map(PathBuf::from) {
        let missing =
            || format!("RIPSTOP_POSTGRES: no initdb and postgres in {}", folder.display());
        return if has(&folder) { Ok(folder) } else { Err(missing()) };
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    if let Ok(versions) = fs::read_dir("/usr/lib/postgresql") {
        folders.extend(versions.flatten().map(|version| version.path().join("bin")));
    }
    folders.into_iter().find(|folder| has(folder)).ok_or_else(|| {
        "no PostgreSQL server: neither on PATH nor in /usr/lib/postgresql".to_owned()
    })
}

/// Whom the server runs as: it refuses to be root.
pub(crate) fn user() -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let mut fields = users.lines().find(|line| line.starts_with("postgres:"))?.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    if let Some((user, group)) = user() {
        command.uid(user).gid(group);
    }
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null());
    command
}

impl Server {
    /// One for all tests that run at the same time.
    pub(crate) fn shared() -> Result<Arc<Self>, String> {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = shared.upgrade() {
            return Ok(server);
        }
        let server = Arc::new(Self::start(&[])?);
        *shared = Arc::downgrade(&server);
        Ok(server)
    }

    /// One of its own, with these settings (`name=value`).
    pub(crate) fn start(settings: &[&str]) -> Result<Self, String> {
        let bin = programs()?;
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        if let Some((user, group)) = user() {
            chown(folder.path(), Some(user), Some(group)).map_err(|error| error.to_string())?;
        }
        let data = folder.path().join("data");
        let made = command(&bin.join("initdb"))
            .args(["--auth=trust", "--username=ripstop", "--no-sync", "--encoding=UTF8"])
            .args(["--locale=C", "--pgdata"])
            .arg(&data)
            .stderr(Stdio::piped())
            .output()
            .map_err(|error| format!("initdb: {error}"))?;
        if !made.status.success() {
            return Err(format!("initdb: {}", String::from_utf8_lossy(&made.stderr)));
        }
        let port = free_port().map_err(|error| error.to_string())?;
        let settings = settings.iter().map(ToString::to_string).collect();
        let (is_group, child) = (false, Mutex::default());
        let server = Self { folder, bin, port, settings, is_group, child };
        server.run();
        Ok(server)
    }

    /// The same, whose processes can be killed at once.
    pub(crate) fn start_group() -> Result<Self, String> {
        let mut server = Self::start(&[])?;
        server.kill();
        server.is_group = true;
        server.run();
        Ok(server)
    }

    /// A standby of this one, which follows it from now on; at a port of its own, or at this.
    pub(crate) fn standby(&self, port: Option<u16>) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        if let Some((user, group)) = user() {
            chown(folder.path(), Some(user), Some(group)).map_err(|error| error.to_string())?;
        }
        // Beside the server's programs, or on PATH.
        let beside = self.bin.join("pg_basebackup");
        let copy = if beside.is_file() { beside } else { "pg_basebackup".into() };
        let copied = command(&copy)
            .args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-U", "ripstop", "--no-sync"])
            .args(["--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "-D"])
            .arg(folder.path().join("data"))
            .stderr(Stdio::piped())
            .output()
            .map_err(|error| format!("pg_basebackup: {error}"))?;
        if !copied.status.success() {
            return Err(format!("pg_basebackup: {}", String::from_utf8_lossy(&copied.stderr)));
        }
        let port = match port {
            Some(port) => port,
            None => free_port().map_err(|error| error.to_string())?,
        };
        let (bin, settings) = (self.bin.clone(), self.settings.clone());
        let child = Mutex::default();
        let server = Self { folder, bin, port, settings, is_group: true, child };
        server.run();
        Ok(server)
    }

    /// Kills all its processes at once, so that nothing of it can say anything more.
    pub(crate) fn kill_group(&self) {
        assert!(self.is_group);
        let child = self.child.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut child) = child else { return };
        let group = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
        child.wait().unwrap();
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Starts it, or starts it again.
    pub(crate) fn run(&self) {
        let mut postgres = command(&self.bin.join("postgres"));
        postgres.arg("-D").arg(self.data()).args(["-p", &self.port.to_string()]);
        let log = fs::File::create(self.folder.path().join("log")).unwrap();
        postgres.stderr(log);
        let fixed = [
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            "fsync=off",
            "max_connections=300",
            "shared_buffers=32MB",
        ];
        for setting in fixed.iter().copied().chain(self.settings.iter().map(String::as_str)) {
            postgres.args(["-c", setting]);
        }
        if self.is_group {
            postgres.process_group(0);
        }
        let child = postgres.spawn().unwrap();
        *self.child.lock().unwrap_or_else(PoisonError::into_inner) = Some(child);
        let until = Instant::now() + STARTING_MAX;
        while !self.is_ready() {
            let log = || fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            assert!(Instant::now() < until, "the server does not start: {}", log());
            sleep(Duration::from_millis(20));
        }
    }

    /// Whether it takes connections: it answers that it knows no TLS, and then a query.
    fn is_ready(&self) -> bool {
        if TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            return false;
        }
        let url = self.url();
        // On a thread of its own: who asks may be within a runtime.
        let asking = std::thread::spawn(move || {
            super::run(async move {
                let connected = tokio_postgres::connect(&url, tokio_postgres::NoTls).await;
                let Ok((client, connection)) = connected else { return false };
                tokio::spawn(connection);
                client.simple_query("SELECT 1").await.is_ok()
            })
        });
        asking.join().unwrap()
    }

    /// Ends it at once, as a crash would.
    pub(crate) fn kill(&self) {
        let child = self.child.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut child) = child else { return };
        let pid = rustix::process::Pid::from_child(&child);
        // Ends its processes too, and writes nothing.
        rustix::process::kill_process(pid, rustix::process::Signal::QUIT).ok();
        let until = Instant::now() + STARTING_MAX;
        while child.try_wait().unwrap().is_none() {
            if Instant::now() > until {
                drop(child.kill());
            }
            sleep(Duration::from_millis(5));
        }
    }

    /// Its first database.
    pub(crate) fn url(&self) -> String {
        format!("postgres://ripstop@127.0.0.1:{}/postgres", self.port)
    }

    /// A schema of its own.
    pub(crate) async fn fresh_url(&self) -> String {
        let name = format!("s{}", SCHEMAS.fetch_add(1, Ordering::Relaxed));
        self.simple(&format!("CREATE SCHEMA {name}")).await;
        self.url_of(&name)
    }

    /// Removes a schema of `fresh_url` with all that is in it: thousands would slow the others
    /// down.
    pub(crate) async fn forget(&self, url: &str) {
        let name = url.rsplit("%3D").next().expect("it ends with the schema");
        self.simple(&format!("DROP SCHEMA {name} CASCADE")).await;
    }

    pub(crate) fn url_of(&self, schema: &str) -> String {
        format!("{}?options=-csearch_path%3D{schema}", self.url())
    }

    /// Has its owner say something to it; answers with the first column of its answer.
    pub(crate) async fn simple(&self, text: &str) -> Vec<String> {
        let (client, connection) =
            tokio_postgres::connect(&self.url(), tokio_postgres::NoTls).await.unwrap();
        let connection = tokio::spawn(connection);
        let answers = client.simple_query(text).await.unwrap();
        connection.abort();
        let value = |answer: &SimpleQueryMessage| {
            let SimpleQueryMessage::Row(row) = answer else { return None };
            row.get(0).map(str::to_owned)
        };
        answers.iter().filter_map(value).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

pub(crate) fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
