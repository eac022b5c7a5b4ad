//! Real memcached servers on loopback ports.

#![allow(dead_code, reason = "no test uses all of it")]
#![allow(clippy::print_stderr, reason = "who leaves tests out is told")]

use ripstop_memory::{CodedMemory, CodedMemorySettings, LinkSettings};
use ripstop_model::Code;
use ripstop_seal::StoreKey;
use rustix::process::{Pid, Signal, kill_process};
use std::{
    env, fs,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Names the program, or is empty where tests of it are to be left out.
const VARIABLE: &str = "RIPSTOP_MEMCACHED";
/// Longest that a server takes to listen.
const START_MAX: Duration = Duration::from_secs(10);

/// Whether the tests can run. They are left out only where somebody said so.
pub(crate) fn is_there() -> bool {
    let is_left_out = env::var_os(VARIABLE).is_some_and(|path| path.is_empty());
    if is_left_out {
        eprintln!("left out: {VARIABLE} is empty, so there is no memcached to test with");
    }
    !is_left_out
}

fn program() -> PathBuf {
    let named = env::var_os(VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
    let on_path = || {
        let folders = env::var_os("PATH").unwrap_or_default();
        let found = env::split_paths(&folders).map(|folder| folder.join("memcached"));
        found.into_iter().find(|path| path.is_file())
    };
    named.or_else(on_path).unwrap_or_else(|| {
        panic!(
            "memcached is not on PATH: `apt-get install memcached`, or set {VARIABLE} to the \
             program, or to nothing to leave these tests out"
        )
    })
}

/// A memcached server, which ends with this.
#[derive(Debug)]
pub(crate) struct Server {
    child: Option<Child>,
    port: u16,
    /// Arguments beside those that all have.
    more: &'static [&'static str],
}

impl Server {
    /// A server on a free port.
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// The same with these arguments.
    pub(crate) fn start_with(more: &'static [&'static str]) -> Self {
        let mut server = Self { child: None, port: 0, more };
        server.run();
        server
    }

    fn run(&mut self) {
        let folder = tempfile::tempdir().expect("a folder for a port's number");
        let file = folder.path().join("port");
        // The server gives up root's rights first, and writes there then.
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(folder.path(), open).expect("it is ours");
        let port = if self.port == 0 { "-1".to_owned() } else { self.port.to_string() };
        let child = Command::new(program())
            .args(["-M", "-l", "127.0.0.1", "-U", "0", "-t", "1", "-m", "1024", "-u", "nobody"])
            .args(["-p", &port])
            .args(self.more)
            .env("MEMCACHED_PORT_FILENAME", &file)
            .stdin(Stdio::null())
            .spawn()
            .expect("memcached starts");
        self.child = Some(child);
        let begun = Instant::now();
        while begun.elapsed() < START_MAX {
            // The file is there as a whole or not at all.
            let text = fs::read_to_string(&file).unwrap_or_default();
            if let Some((_, port)) = text.trim().rsplit_once(':') {
                self.port = port.trim().parse().expect("memcached writes its port");
                return;
            }
            thread::sleep(Duration::from_millis(2));
        }
        panic!("memcached does not listen after {START_MAX:?}");
    }

    /// Where it is.
    pub(crate) fn at(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    fn signal(&self, signal: Signal) {
        let child = self.child.as_ref().expect("it runs");
        let process = Pid::from_child(child);
        kill_process(process, signal).expect("it is our child");
    }

    /// It answers nothing, and keeps its connections.
    pub(crate) fn stop(&self) {
        self.signal(Signal::STOP);
        let begun = Instant::now();
        while !self.is_stopped() {
            assert!(begun.elapsed() < START_MAX, "memcached does not stop");
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Whether it was not killed.
    pub(crate) const fn is_running(&self) -> bool {
        self.child.is_some()
    }

    /// Whether each of its threads is.
    fn is_stopped(&self) -> bool {
        let id = self.child.as_ref().expect("it runs").id();
        let threads = fs::read_dir(format!("/proc/{id}/task")).expect("it is our child");
        threads.flatten().all(|thread| {
            let text = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
            text.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
        })
    }

    /// It goes on.
    pub(crate) fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    /// It ends at once.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("it is our child");
            child.wait().expect("it is our child");
        }
    }

    /// It ends, and another one begins on its port, empty.
    pub(crate) fn restart(&mut self) {
        self.kill();
        self.run();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Timeouts for tests, which do not want to wait.
pub(crate) fn link() -> LinkSettings {
    LinkSettings {
        connect_timeout: Duration::from_millis(300),
        answer_timeout: Duration::from_millis(300),
        backoff_min: Duration::from_millis(5),
        backoff_max: Duration::from_millis(50),
        ..LinkSettings::default()
    }
}

/// Settings of a memory over servers: ring after ring takes as many as come to it.
pub(crate) fn settings(code: (usize, usize), servers: &[Server]) -> CodedMemorySettings {
    let code = Code::new(code.0, code.1).expect("it is a code");
    let mut rings = vec![Vec::new(); code.n()];
    for (at, server) in servers.iter().enumerate() {
        rings[at % code.n()].push(server.at());
    }
    CodedMemorySettings {
        name: "tests".to_owned(),
        code,
        rings,
        is_shared: false,
        link: link(),
        bytes_max: 64 << 20,
    }
}

/// Servers, and a memory over them.
pub(crate) fn memory(code: (usize, usize), count: usize) -> (Vec<Server>, CodedMemory) {
    let servers: Vec<Server> = (0..count).map(|_| Server::start()).collect();
    let memory = over(code, &servers);
    (servers, memory)
}

/// A memory over servers.
pub(crate) fn over(code: (usize, usize), servers: &[Server]) -> CodedMemory {
    CodedMemory::new(settings(code, servers), &key()).expect("these are settings")
}

/// The key of tests.
pub(crate) fn key() -> StoreKey {
    StoreKey::from_bytes([7; 32])
}
