//! A proxy that speaks enough of PostgreSQL's protocol to do what servers and networks do now and
//! then: a statement fails with 40001, a connection breaks before or after a COMMIT is carried out
//! and before it is answered, a server that shuts down says 57P01, answers stall.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

/// How often what happens, in a thousand messages of its kind.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Faults {
    /// A statement fails with 40001, which rolls its transaction back.
    pub(crate) conflicts: u64,
    /// The connection breaks before a COMMIT comes to the server.
    pub(crate) commits_lost: u64,
    /// The connection breaks after the server carried a COMMIT out, before its answer.
    pub(crate) answers_lost: u64,
    /// The server says that it shuts down, and the connection breaks.
    pub(crate) shutdowns: u64,
    /// A statement waits.
    pub(crate) stalls: u64,
}

/// How often each happened.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) conflicts: AtomicU64,
    pub(crate) commits_lost: AtomicU64,
    pub(crate) answers_lost: AtomicU64,
    pub(crate) shutdowns: AtomicU64,
    pub(crate) stalls: AtomicU64,
    /// Statements that were asked for, faults or not.
    pub(crate) statements: AtomicU64,
}

/// How long a statement stalls.
const STALL: Duration = Duration::from_millis(30);

struct Shared {
    faults: Faults,
    counts: Counts,
    dice: AtomicU64,
    is_on: AtomicBool,
}

impl Shared {
    /// Whether something happens that does so often.
    fn falls(&self, often: u64, count: &AtomicU64) -> bool {
        // SplitMix64.
        let mut dice = self.dice.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        dice = (dice ^ (dice >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        dice = (dice ^ (dice >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let falls = self.is_on.load(Ordering::Relaxed) && (dice ^ (dice >> 31)) % 1000 < often;
        count.fetch_add(u64::from(falls), Ordering::Relaxed);
        falls
    }
}

/// A proxy before a server on loopback; ends with its runtime.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    shared: Arc<Shared>,
}

/// The function that fails so, which the server has to have.
pub(crate) const CONFLICT: &str = "CREATE FUNCTION public.ripstop_conflict() RETURNS bigint \
    LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'injected' USING ERRCODE = '40001'; END $$";

impl Proxy {
    pub(crate) async fn start(server: u16, faults: Faults, seed: u64) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (counts, is_on) = (Counts::default(), AtomicBool::new(false));
        let shared = Arc::new(Shared { faults, counts, dice: AtomicU64::new(seed), is_on });
        let own = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let shared = Arc::clone(&own);
                tokio::spawn(async move { drop(between(client, server, shared).await) });
            }
        });
        Self { port, shared }
    }

    /// Begins to do what it is for, or ends.
    pub(crate) fn set(&self, is_on: bool) {
        self.shared.is_on.store(is_on, Ordering::Relaxed);
    }

    pub(crate) fn counts(&self) -> &Counts {
        &self.shared.counts
    }
}

/// What the server was sent that is answered in this order.
enum Sent {
    /// A statement to be prepared; whether the client knows of it.
    Parse(bool),
    Sync,
    /// A COMMIT whose answer is not passed on.
    LostCommit,
    Query,
}

type Line = Arc<Mutex<VecDeque<Sent>>>;

async fn between(client: TcpStream, server: u16, shared: Arc<Shared>) -> io::Result<()> {
    client.set_nodelay(true)?;
    let upstream = TcpStream::connect(("127.0.0.1", server)).await?;
    upstream.set_nodelay(true)?;
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = upstream.into_split();
    let line = Line::default();
    let to_client = Arc::new(tokio::sync::Mutex::new(to_client));
    let forward = forward(from_client, to_server, &to_client, &line, &shared);
    let back = back(from_server, &to_client, &line);
    // Whichever ends first breaks the connection.
    tokio::select! {
        result = forward => result,
        result = back => result,
    }
}

async fn message(from: &mut OwnedReadHalf) -> io::Result<(u8, Vec<u8>)> {
    let kind = from.read_u8().await?;
    let len = from.read_u32().await? as usize;
    let mut body = vec![0; len.saturating_sub(4)];
    from.read_exact(&mut body).await?;
    Ok((kind, body))
}

fn framed(kind: u8, body: &[u8]) -> Vec<u8> {
    let len = u32::try_from(body.len() + 4).unwrap();
    [&[kind][..], &len.to_be_bytes(), body].concat()
}

fn push(line: &Line, sent: Sent) {
    line.lock().unwrap_or_else(PoisonError::into_inner).push_back(sent);
}

async fn forward(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    to_client: &tokio::sync::Mutex<OwnedWriteHalf>,
    line: &Line,
    shared: &Shared,
) -> io::Result<()> {
    // What a client begins with has no kind.
    let len = from.read_u32().await?;
    let mut body = vec![0; len as usize - 4];
    from.read_exact(&mut body).await?;
    to.write_all(&[&len.to_be_bytes()[..], &body].concat()).await?;
    let Shared { faults, counts, .. } = shared;
    loop {
        let (kind, body) = message(&mut from).await?;
        counts.statements.fetch_add(u64::from(kind == b'B'), Ordering::Relaxed);
        let is_commit = kind == b'Q' && body == b"COMMIT\0";
        if matches!(kind, b'B' | b'Q') && shared.falls(faults.stalls, &counts.stalls) {
            tokio::time::sleep(STALL).await;
        }
        if kind == b'B' && shared.falls(faults.shutdowns, &counts.shutdowns) {
            let fields = b"SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0";
            to_client.lock().await.write_all(&framed(b'E', fields)).await?;
            return Ok(());
        }
        if is_commit && shared.falls(faults.commits_lost, &counts.commits_lost) {
            return Ok(());
        }
        let is_answer_lost = is_commit && shared.falls(faults.answers_lost, &counts.answers_lost);
        match kind {
            b'P' => push(line, Sent::Parse(true)),
            b'S' => push(line, Sent::Sync),
            b'Q' if is_answer_lost => push(line, Sent::LostCommit),
            b'Q' => push(line, Sent::Query),
            _ => {}
        }
        if kind == b'B' && shared.falls(faults.conflicts, &counts.conflicts) {
            // In the statement's place one that fails.
            push(line, Sent::Parse(false));
            let text = b"\0SELECT public.ripstop_conflict()\0\0\0";
            to.write_all(&framed(b'P', text)).await?;
            to.write_all(&framed(b'B', &[0; 8])).await?;
            continue;
        }
        to.write_all(&framed(kind, &body)).await?;
    }
}

async fn back(
    mut from: OwnedReadHalf,
    to: &tokio::sync::Mutex<OwnedWriteHalf>,
    line: &Line,
) -> io::Result<()> {
    loop {
        let (kind, body) = message(&mut from).await?;
        let is_known = {
            let mut line = line.lock().unwrap_or_else(PoisonError::into_inner);
            match kind {
                // A statement was prepared.
                b'1' => match line.pop_front() {
                    Some(Sent::Parse(is_known)) => is_known,
                    Some(_) | None => true,
                },
                // Ready for the next: what was skipped after an error is not answered.
                b'Z' => loop {
                    match line.pop_front() {
                        Some(Sent::Parse(_)) => {}
                        Some(Sent::LostCommit) => return Ok(()),
                        Some(Sent::Sync | Sent::Query) | None => break true,
                    }
                },
                b'C' if matches!(line.front(), Some(Sent::LostCommit)) => false,
                _ => true,
            }
        };
        if is_known {
            to.lock().await.write_all(&framed(kind, &body)).await?;
        }
    }
}
