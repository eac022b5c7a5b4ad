use anyhow::{Context, Result, bail};
use std::{
    env,
    ffi::OsString,
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// How long a server may take to serve.
const START_MAX: Duration = Duration::from_mins(1);
/// How long one answer may take while it starts.
const ANSWER_MAX: Duration = Duration::from_secs(2);
/// What it is given once it serves, so that it need not start and be measured at once.
const SETTLE: Duration = Duration::from_millis(500);
/// Bytes of its log that are shown where it does not serve.
const LOG_SHOWN: usize = 2000;

/// Starts a server and waits until its own input is closed, which the system does when this program
/// ends, however it does; then ends the server by its process id.
const GUARD: &str = r#"
folder=$1; shift
"$@" >"$folder/log" 2>&1 </dev/null &
server=$!
echo "$server"
cat >/dev/null
kill "$server" 2>/dev/null
left=50
while [ "$left" -gt 0 ] && kill -0 "$server" 2>/dev/null; do sleep 0.1; left=$((left - 1)); done
kill -9 "$server" 2>/dev/null
wait "$server" 2>/dev/null
"#;

/// How a server is started.
pub(super) struct Start<'a> {
    pub(super) program: &'a Path,
    pub(super) words: Vec<OsString>,
    pub(super) variables: Vec<(&'static str, &'static str)>,
    /// Folders it wants to find.
    pub(super) folders: &'a [&'a str],
    pub(super) address: SocketAddr,
    /// What it answers once it serves.
    pub(super) ready: &'a str,
}

/// A server that runs. Ended when dropped and when this program dies.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    /// Its process.
    pub(super) id: u32,
    guard: Child,
}

impl Server {
    pub(super) const ACCESS_KEY: &str = "ripstop-bench";
    pub(super) const SECRET_KEY: &str = "secret-of-a-bench-on-loopback";

    /// An address that nobody listens on.
    pub(super) fn free_address() -> Result<SocketAddr> {
        let listener = TcpListener::bind("127.0.0.1:0").context("looking for a free port")?;
        listener.local_addr().context("looking for a free port")
    }

    /// Starts it on a folder that is not there, and waits until it serves.
    pub(super) fn start(name: &str, folder: &Path, start: Start<'_>) -> Result<Self> {
        fs::create_dir(folder).with_context(|| format!("making {}", folder.display()))?;
        for inner in start.folders {
            fs::create_dir(folder.join(inner)).context("making its folders")?;
        }
        let mut guard = Command::new("sh");
        guard.args(["-c", GUARD, "sh"]).arg(folder).arg(start.program).args(start.words);
        // Nothing that somebody's shell happens to set changes what is measured.
        guard.env_clear().envs(start.variables).env("HOME", folder);
        guard.env("PATH", env::var_os("PATH").unwrap_or_default());
        guard.stdin(Stdio::piped()).stdout(Stdio::piped());
        // Ctrl-C reaches this program alone; the guard then tidies up.
        let mut guard = guard.process_group(0).spawn().context("starting sh")?;
        let mut line = String::new();
        let output = guard.stdout.take().context("its output was to be piped")?;
        BufReader::new(output).read_line(&mut line).context("its process id")?;
        let id = line.trim().parse().with_context(|| format!("process id {line:?}"))?;
        let server = Self { address: start.address, id, guard };
        let begun = Instant::now();
        while !answers(server.address, start.ready) {
            if begun.elapsed() > START_MAX {
                bail!("{name} does not serve; its log ends with:\n{}", end_of(&folder.join("log")));
            }
            thread::sleep(Duration::from_millis(50));
        }
        thread::sleep(SETTLE);
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        // Nothing can be done about a guard that is gone already.
        let _ = self.guard.wait();
    }
}

/// Whether a server answers, and not that it is unavailable.
fn answers(address: SocketAddr, path: &str) -> bool {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect_timeout(&address, ANSWER_MAX)?;
        stream.set_read_timeout(Some(ANSWER_MAX))?;
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes())?;
        let mut line = String::new();
        BufReader::new(stream.take(1024)).read_line(&mut line)?;
        Ok(line)
    };
    ask().is_ok_and(|line| line.starts_with("HTTP/1.") && !line.contains(" 503 "))
}

fn end_of(log: &PathBuf) -> String {
    let log = fs::read(log).unwrap_or_default();
    String::from_utf8_lossy(&log[log.len().saturating_sub(LOG_SHOWN)..]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_dropped_is_ended() {
        let base = env::temp_dir().join(format!("rivals-{}", std::process::id()));
        fs::create_dir_all(&base).unwrap();
        let folder = base.join("server");
        // A listener of the test's stands in for the port: what is started only has to run.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let answering = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(b"HTTP/1.1 403 Forbidden\r\n\r\n").unwrap();
        });
        let start = Start {
            program: Path::new("sleep"),
            words: vec!["60".into()],
            variables: Vec::new(),
            folders: &["d1"],
            address,
            ready: "/",
        };
        let server = Server::start("sleep", &folder, start).unwrap();
        answering.join().unwrap();
        let process = PathBuf::from(format!("/proc/{}", server.id));
        assert!(process.exists() && folder.join("d1").exists());
        drop(server);
        assert!(!process.exists());
        fs::remove_dir_all(&base).unwrap();
    }
}
