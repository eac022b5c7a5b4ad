//! Connections: who may come in, how long they may be silent, and how much they may take.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

use ripstop_kv::{KvDoor, KvSettings, KvUsers, LocalShelf};
use ripstop_listen::{Pinned, Tls};
use std::{fs, net::SocketAddr, os::unix::fs::PermissionsExt as _, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

const SOON: Duration = Duration::from_secs(10);
const STALL: Duration = Duration::from_millis(400);
const MIB: usize = 1 << 20;

/// A door that is served.
struct Served {
    at: SocketAddr,
    stop: CancellationToken,
    end: JoinHandle<()>,
}

async fn serve(settings: KvSettings) -> Served {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let door = KvDoor::new(LocalShelf::new(256 * MIB), settings);
    Served { at, stop: stop.clone(), end: tokio::spawn(door.serve(listener, stop)) }
}

impl Served {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.at).await.unwrap()
    }
}

/// What is answered to commands, up to the end of `until`.
async fn ask<S>(stream: &mut S, commands: &str, until: &str) -> String
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    stream.write_all(commands.as_bytes()).await.unwrap();
    let mut got = Vec::new();
    while !got.ends_with(until.as_bytes()) {
        let read = timeout(SOON, stream.read_buf(&mut got)).await;
        let len = read.unwrap_or_else(|_| panic!("{commands}: {}", got.escape_ascii())).unwrap();
        assert!(len > 0, "{commands}: closed after {}", got.escape_ascii());
    }
    String::from_utf8(got).unwrap()
}

/// Waits until the other end closes; what came until then.
async fn closed(stream: &mut TcpStream) -> usize {
    let mut got = vec![0; MIB];
    let mut all = 0;
    loop {
        match timeout(SOON, stream.read(&mut got)).await.expect("it is closed soon") {
            Ok(0) | Err(_) => return all,
            Ok(len) => all += len,
        }
    }
}

/// The value of a row of the statistics.
async fn stat(served: &Served, name: &str) -> u64 {
    let mut stream = served.connect().await;
    let rows = ask(&mut stream, "stats\r\n", "END\r\n").await;
    let row = rows.lines().find_map(|row| row.strip_prefix(&format!("STAT {name} ")));
    row.unwrap_or_else(|| panic!("no {name} in {rows}")).parse().unwrap()
}

#[tokio::test]
async fn nobody_gets_anything_before_they_have_come_in() {
    let users = Some(KvUsers::parse("ann:secret\n").unwrap());
    let served = serve(KvSettings { users, ..KvSettings::default() }).await;
    let mut stream = served.connect().await;
    let said = ask(&mut stream, "get a\r\n", "\r\n").await;
    assert_eq!(said, "CLIENT_ERROR unauthenticated\r\n");
    let said = ask(&mut stream, "set x 0 0 9\r\nann wrong\r\n", "\r\n").await;
    assert_eq!(said, "CLIENT_ERROR authentication failure\r\n");
    let said = ask(&mut stream, "set x 0 0 10\r\nann secret\r\nget a\r\n", "END\r\n").await;
    assert_eq!(said, "STORED\r\nEND\r\n");
    let rows = ask(&mut stream, "stats\r\n", "END\r\n").await;
    assert!(rows.contains("STAT auth_cmds 2\r\n") && rows.contains("STAT auth_errors 1\r\n"));
}

#[tokio::test]
async fn who_does_not_finish_a_command_is_left_and_who_says_nothing_is_not() {
    let settings = KvSettings { stall_timeout: STALL, ..KvSettings::default() };
    let served = serve(settings).await;
    let mut quiet = served.connect().await;
    ask(&mut quiet, "version\r\n", "\r\n").await;
    for begun in ["get a", "set a 0 0 10\r\n12345", "set a 0 0 9999999\r\n12345"] {
        let mut stream = served.connect().await;
        stream.write_all(begun.as_bytes()).await.unwrap();
        let told = closed(&mut stream).await;
        assert_eq!(told > 0, begun.contains("9999999"), "{begun}");
    }
    assert_eq!(ask(&mut quiet, "get a\r\n", "\r\n").await, "END\r\n");
    assert_eq!(stat(&served, "idle_kicks").await, 3);
}

#[tokio::test]
async fn who_is_idle_longer_than_configured_is_left() {
    let settings = KvSettings { idle_timeout: Some(STALL), ..KvSettings::default() };
    let served = serve(settings).await;
    let mut stream = served.connect().await;
    ask(&mut stream, "version\r\n", "\r\n").await;
    assert_eq!(closed(&mut stream).await, 0);
    assert_eq!(stat(&served, "idle_kicks").await, 1);
}

#[tokio::test]
async fn who_takes_no_answers_is_left_and_others_go_on() {
    let settings = KvSettings { stall_timeout: STALL, ..KvSettings::default() };
    let served = serve(settings).await;
    let mut stream = served.connect().await;
    let value = "x".repeat(MIB / 2);
    let set = format!("set big 0 0 {}\r\n{value}\r\n", value.len());
    ask(&mut stream, &set, "STORED\r\n").await;
    let mut greedy = served.connect().await;
    let keys = " big".repeat(2000);
    greedy.write_all(format!("get{keys}\r\n").as_bytes()).await.unwrap();
    tokio::time::sleep(STALL * 4).await;
    // What the system's buffers held, and no more.
    let got = closed(&mut greedy).await;
    assert!(got < 64 * MIB, "{got}");
    ask(&mut stream, "mn\r\n", "MN\r\n").await;
}

#[tokio::test]
async fn values_on_their_way_in_are_bounded_together_and_the_rest_is_passed_over() {
    let settings = KvSettings { incoming_max: 2 * MIB, ..KvSettings::default() };
    let served = serve(settings).await;
    let len = MIB - 1000;
    let head = format!("set k 0 0 {len}\r\n");
    let (most, rest) = ("x".repeat(len - 10), "x".repeat(10) + "\r\n");
    let mut streams = Vec::new();
    for _ in 0..4 {
        let mut stream = served.connect().await;
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(most.as_bytes()).await.unwrap();
        streams.push(stream);
    }
    // All have come as far as they do.
    tokio::time::sleep(STALL).await;
    let (mut stored, mut refused) = (0, 0);
    for mut stream in streams {
        match ask(&mut stream, &format!("{rest}mn\r\n"), "MN\r\n").await.as_str() {
            "STORED\r\nMN\r\n" => stored += 1,
            "SERVER_ERROR out of memory storing object\r\nMN\r\n" => refused += 1,
            other => panic!("{other}"),
        }
    }
    assert_eq!((stored, refused), (2, 2));
    let mut stream = served.connect().await;
    ask(&mut stream, &format!("{head}{most}{rest}"), "STORED\r\n").await;
    assert_eq!(stat(&served, "store_no_memory").await, 2);
}

#[tokio::test]
async fn what_has_begun_ends_and_who_is_idle_goes_when_it_stops() {
    let served = serve(KvSettings::default()).await;
    let (mut idle, mut busy) = (served.connect().await, served.connect().await);
    ask(&mut idle, "version\r\n", "\r\n").await;
    ask(&mut busy, "version\r\n", "\r\n").await;
    busy.write_all(b"set a 0 0 5\r\n12").await.unwrap();
    tokio::time::sleep(STALL).await;
    served.stop.cancel();
    assert_eq!(closed(&mut idle).await, 0);
    assert_eq!(ask(&mut busy, "345\r\n", "\r\n").await, "STORED\r\n");
    assert_eq!(closed(&mut busy).await, 0);
    timeout(SOON, served.end).await.expect("it stops").unwrap();
}

#[tokio::test]
async fn the_quiet_give_way_where_places_are_few() {
    let settings = KvSettings {
        connections_max: 2,
        connections_per_address_max: Some(2),
        ..KvSettings::default()
    };
    let served = serve(settings).await;
    let (mut first, mut second) = (served.connect().await, served.connect().await);
    for stream in [&mut first, &mut second] {
        ask(stream, "version\r\n", "\r\n").await;
    }
    let mut third = served.connect().await;
    ask(&mut third, "version\r\n", "\r\n").await;
    assert_eq!(closed(&mut first).await, 0);
    ask(&mut second, "version\r\n", "\r\n").await;
}

#[tokio::test]
async fn it_speaks_tls() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = (folder.path().join("certificate"), folder.path().join("key"));
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    fs::write(&certificate, made.cert.pem()).unwrap();
    fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let tls = Some(Tls::load_nameless(&certificate, &key).unwrap());
    let served = serve(KvSettings { tls, ..KvSettings::default() }).await;
    let pinned = Pinned::load(&certificate).unwrap();
    let mut stream = pinned.connect(served.connect().await, "localhost").await.unwrap();
    let value = "x".repeat(100_000);
    ask(&mut stream, &format!("set a 0 0 100000\r\n{value}\r\n"), "STORED\r\n").await;
    let got = ask(&mut stream, "get a\r\n", "END\r\n").await;
    assert_eq!(got, format!("VALUE a 0 100000\r\n{value}\r\nEND\r\n"));
}

#[tokio::test]
async fn increments_of_many_connections_all_count() {
    let served = serve(KvSettings::default()).await;
    ask(&mut served.connect().await, "set n 0 0 1\r\n0\r\n", "\r\n").await;
    let mut counting = Vec::new();
    for _ in 0..8 {
        let mut stream = served.connect().await;
        counting.push(tokio::spawn(async move {
            let commands = "incr n 1 noreply\r\n".repeat(500) + "mn\r\n";
            ask(&mut stream, &commands, "MN\r\n").await;
        }));
    }
    for each in counting {
        each.await.unwrap();
    }
    let said = ask(&mut served.connect().await, "get n\r\n", "END\r\n").await;
    assert_eq!(said, "VALUE n 0 4\r\n4000\r\nEND\r\n");
}
