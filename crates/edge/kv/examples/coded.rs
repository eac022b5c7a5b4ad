//! Commands a second of the door over five memcached servers, coded and uncoded, and of nutcracker
//! where it is there, each a process of its own with five servers of its own, under the same load:
//! `cargo run -p ripstop-kv --example coded`.

#![allow(clippy::print_stdout, reason = "the numbers are what it is for")]
#![allow(clippy::unwrap_used, reason = "it ends where anything fails")]

#[path = "../../memory/tests/support/mod.rs"]
mod support;

use ripstop_kv::{CodedShelf, KvDoor, KvSettings};
use ripstop_memory::{CodedMemory, LinkSettings};
use ripstop_model::Code;
use std::{
    env, fs,
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};
use support::Server;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    runtime::Builder,
};
use tokio_util::sync::CancellationToken;

/// Has this program be a door: K, and then its servers, a ring each.
const DOOR: &str = "--door";
const SERVERS: usize = 5;
const KEYS: u64 = 50_000;
const MEASURED: Duration = Duration::from_secs(2);
/// How often each is measured, in turns; the best counts.
const TURNS: usize = 3;
const CONNECTIONS: u64 = 16;
/// Commands that a connection sends at once.
const DEPTH: u64 = 16;

/// What is measured; it ends with this.
struct Target {
    name: &'static str,
    at: SocketAddr,
    child: Child,
    _servers: Vec<Server>,
}

impl Drop for Target {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == DOOR) {
        return be_a_door(&arguments[1..]);
    }
    let mut targets = vec![door("coded (5,3)", 3), door("uncoded (5,5)", 5)];
    targets.extend(nutcracker());
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    for target in &targets {
        runtime.block_on(fill(target.at, 64));
    }
    for value_len in [64, 256, 1024] {
        for sets in [100, 50, 5] {
            let mut best = vec![0.0_f64; targets.len()];
            for _ in 0..TURNS {
                for (best, target) in best.iter_mut().zip(&targets) {
                    runtime.block_on(fill(target.at, value_len));
                    *best = best.max(runtime.block_on(rate(target.at, sets, value_len)));
                }
            }
            let named = targets.iter().zip(&best);
            let of_first = named
                .map(|(target, rate)| format!("{} {rate:.0} ({:.2})", target.name, best[0] / rate));
            let told: Vec<String> = of_first.collect();
            println!("{value_len} bytes, {sets} % sets: {}", told.join(", "));
        }
    }
}

fn servers() -> Vec<Server> {
    (0..SERVERS).map(|_| Server::start()).collect()
}

fn door(name: &'static str, k: usize) -> Target {
    let servers = servers();
    let mut child = Command::new(env::current_exe().unwrap())
        .args([DOOR, &k.to_string()])
        .args(servers.iter().map(|server| server.at().to_string()))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    Target { name, at: line.trim().parse().unwrap(), child, _servers: servers }
}

fn be_a_door(arguments: &[String]) {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let mut settings = support::settings((SERVERS, arguments[0].parse().unwrap()), &[]);
        settings.rings = arguments[1..].iter().map(|at| vec![at.parse().unwrap()]).collect();
        settings.code = Code::new(SERVERS, arguments[0].parse().unwrap()).unwrap();
        settings.link = LinkSettings::default();
        let memory = CodedMemory::recover(settings, &support::key()).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("{}", listener.local_addr().unwrap());
        let door = KvDoor::new(CodedShelf::new(memory), KvSettings::default());
        door.serve(listener, CancellationToken::new()).await;
    });
}

/// None where it is not installed.
fn nutcracker() -> Option<Target> {
    let servers = servers();
    let [at, stats] = [0; 2].map(|port| {
        let free = std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
        free.local_addr().unwrap()
    });
    let named: Vec<String> =
        servers.iter().map(|server| format!("   - {}:1\n", server.at())).collect();
    let named = named.concat();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("nutcracker.yml");
    let text = format!(
        "all:\n  listen: {at}\n  hash: fnv1a_64\n  distribution: ketama\n  servers:\n{named}"
    );
    fs::write(&file, text).unwrap();
    let child = Command::new("nutcracker")
        .args(["-s", &stats.port().to_string(), "-a", "127.0.0.1", "-c"])
        .arg(&file)
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let begun = Instant::now();
    while std::net::TcpStream::connect(at).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(10), "nutcracker does not listen");
        thread::sleep(Duration::from_millis(10));
    }
    Some(Target { name: "nutcracker", at, child, _servers: servers })
}

fn key(number: u64) -> String {
    format!("key-{number:016}")
}

fn set(number: u64, len: usize) -> String {
    format!("set {} 0 0 {len}\r\n{}\r\n", key(number), "x".repeat(len))
}

/// Gives all keys values of this length.
async fn fill(at: SocketAddr, len: usize) {
    let mut stream = TcpStream::connect(at).await.unwrap();
    for first in (0..KEYS).step_by(100) {
        let sets: String = (first..first + 100).map(|number| set(number, len)).collect();
        stream.write_all(sets.as_bytes()).await.unwrap();
        let mut stored = vec![0; 100 * "STORED\r\n".len()];
        stream.read_exact(&mut stored).await.unwrap();
        assert!(stored.starts_with(b"STORED"), "{}", stored.escape_ascii());
    }
}

/// Commands a second.
async fn rate(at: SocketAddr, sets: u64, len: usize) -> f64 {
    let begun = Instant::now();
    let clients: Vec<_> = (0..CONNECTIONS)
        .map(|number| tokio::spawn(client(at, (sets, len), number, begun)))
        .collect();
    let mut commands = 0;
    for client in clients {
        commands += client.await.unwrap();
    }
    commands as f64 / begun.elapsed().as_secs_f64()
}

/// Sends commands until the time is over; how many.
async fn client(at: SocketAddr, (sets, len): (u64, usize), number: u64, begun: Instant) -> u64 {
    let mut stream = TcpStream::connect(at).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let hit = format!("VALUE {} 0 {len}\r\n\r\nEND\r\n", key(0)).len();
    let mut dice = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let (mut commands, mut answers) = (0, Vec::new());
    while begun.elapsed() < MEASURED {
        let (mut sent, mut awaited) = (String::new(), 0);
        for _ in 0..DEPTH {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            if (dice >> 40) % 100 < sets {
                sent += &set(dice % KEYS, len);
                awaited += "STORED\r\n".len();
            } else {
                sent.extend(["get ", &key(dice % KEYS), "\r\n"]);
                awaited += hit + len;
            }
        }
        stream.write_all(sent.as_bytes()).await.unwrap();
        answers.resize(awaited, 0);
        stream.read_exact(&mut answers).await.unwrap();
        commands += DEPTH;
    }
    commands
}
