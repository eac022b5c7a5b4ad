//! Commands a second of memcached and of the door, each in a process of its own, under the same
//! load: `cargo run --release -p ripstop-kv --example throughput`.

#![allow(clippy::print_stdout, reason = "the numbers are what it is for")]
#![allow(clippy::unwrap_used, reason = "it ends where anything fails")]

#[path = "../../memory/tests/support/mod.rs"]
mod support;

use ripstop_kv::{KvDoor, KvSettings, LocalShelf};
use std::{
    env,
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};
use support::Server;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    runtime::Builder,
};
use tokio_util::sync::CancellationToken;

/// Has this program be the door.
const DOOR: &str = "--door";
const KEYS: usize = 100_000;
const MEASURED: Duration = Duration::from_secs(2);
/// How often each is measured, in turns; the best counts.
const TURNS: usize = 3;
/// Threads of each server.
const THREADS: usize = 2;

/// A load.
#[derive(Clone, Copy)]
struct Load {
    connections: usize,
    /// Commands that a connection sends at once.
    depth: usize,
    /// Of a hundred commands.
    sets: usize,
    value_len: usize,
}

fn main() {
    if env::args().any(|argument| argument == DOOR) {
        return be_the_door();
    }
    let memcached = Server::start_with(&["-t", "2"]);
    let mut door =
        Command::new(env::current_exe().unwrap()).arg(DOOR).stdout(Stdio::piped()).spawn().unwrap();
    let at = address(&mut door);
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    println!("| connections × depth | sets of 100 | value | memcached | door | ratio |");
    println!("|---|--:|--:|--:|--:|--:|");
    for value_len in [100, 4096] {
        for sets in [0, 5, 100] {
            for (connections, depth) in [(1, 1), (16, 1), (16, 16)] {
                let load = Load { connections, depth, sets, value_len };
                let mut best = [0.0_f64; 2];
                for _ in 0..TURNS {
                    for (best, at) in best.iter_mut().zip([memcached.at(), at]) {
                        *best = best.max(runtime.block_on(rate(load, at)));
                    }
                }
                let [theirs, ours] = best;
                let ratio = ours / theirs;
                println!(
                    "| {connections} × {depth} | {sets} | {value_len} | {theirs:.0} | {ours:.0} | {ratio:.2} |"
                );
            }
        }
    }
    door.kill().unwrap();
    door.wait().unwrap();
}

fn be_the_door() {
    let runtime = Builder::new_multi_thread().worker_threads(THREADS).enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("{}", listener.local_addr().unwrap());
        let door = KvDoor::new(LocalShelf::new(1 << 30), KvSettings::default());
        door.serve(listener, CancellationToken::new()).await;
    });
}

fn address(door: &mut Child) -> SocketAddr {
    let mut line = String::new();
    BufReader::new(door.stdout.take().unwrap()).read_line(&mut line).unwrap();
    line.trim().parse().unwrap()
}

/// Commands a second.
async fn rate(load: Load, at: SocketAddr) -> f64 {
    fill(load, at).await;
    let begun = Instant::now();
    let clients: Vec<_> =
        (0..load.connections).map(|number| tokio::spawn(client(load, at, number, begun))).collect();
    let mut commands = 0;
    for client in clients {
        commands += client.await.unwrap();
    }
    commands as f64 / begun.elapsed().as_secs_f64()
}

fn key(number: usize) -> String {
    format!("key-{number:016}")
}

fn set(load: Load, number: usize) -> String {
    let (key, len) = (key(number), load.value_len);
    format!("set {key} 0 0 {len}\r\n{}\r\n", "x".repeat(len))
}

/// Gives all keys values of the load's length.
async fn fill(load: Load, at: SocketAddr) {
    let mut stream = TcpStream::connect(at).await.unwrap();
    for numbers in (0..KEYS).collect::<Vec<_>>().chunks(100) {
        let sets: String = numbers.iter().map(|&number| set(load, number)).collect();
        stream.write_all(sets.as_bytes()).await.unwrap();
        stream.read_exact(&mut vec![0; numbers.len() * "STORED\r\n".len()]).await.unwrap();
    }
}

/// Sends commands until the time is over; how many.
async fn client(load: Load, at: SocketAddr, number: usize, begun: Instant) -> u64 {
    let mut stream = TcpStream::connect(at).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let hit = format!("VALUE {} 0 {}\r\n\r\nEND\r\n", key(0), load.value_len).len();
    let mut dice = number as u64 * 0x9e37_79b9_7f4a_7c15 + 1;
    let (mut commands, mut answers) = (0, Vec::new());
    while begun.elapsed() < MEASURED {
        let (mut sent, mut awaited) = (String::new(), 0);
        for _ in 0..load.depth {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            let number = dice as usize % KEYS;
            if (dice >> 40) as usize % 100 < load.sets {
                sent += &set(load, number);
                awaited += "STORED\r\n".len();
            } else {
                sent.extend(["get ", &key(number), "\r\n"]);
                awaited += hit + load.value_len;
            }
        }
        stream.write_all(sent.as_bytes()).await.unwrap();
        answers.resize(awaited, 0);
        stream.read_exact(&mut answers).await.unwrap();
        commands += load.depth as u64;
    }
    commands
}
