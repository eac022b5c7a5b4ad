//! One connection, from its first byte to its end.

use crate::{
    count::{Count, Tally},
    door::Door,
    incoming::Incoming,
    outbox::Outbox,
    reader::{Parsed, Reader},
    request::{Command, Get, Request},
    roll::Present,
    settings::{KvSettings, TAKEN_PER_S_MIN},
    shelf::Shelf,
    turn::Turn,
    wave,
};
use bytes::{Buf as _, BytesMut};
use ripstop_listen::{Peer, Wire};
use std::{
    io,
    time::{Duration, Instant},
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_util::sync::CancellationToken;

/// Bytes that are read at once: at first, and at most.
const READ_LEN: usize = 2 << 10;
const READ_LEN_MAX: usize = 64 << 10;
/// Bytes of a value for which memory is there without asking.
const VALUE_LEN_FREE: usize = READ_LEN_MAX;
/// Bytes of answers that wait for the last of those that were asked for at once. With more, those
/// are sent first.
const ANSWERS_LEN_MAX: usize = 256 << 10;
/// Keys of one command that are asked for at once.
const KEYS_AT_ONCE: usize = 16;

/// Why a connection ends.
enum End {
    /// The client is gone, or wants to go, or we do.
    Done,
    /// It was idle for too long, or did not finish what it began.
    Silent,
    /// It broke.
    Broken(io::Error),
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> Self {
        Self::Broken(error)
    }
}

/// Answers a client until one of both ends it.
pub(crate) async fn converse<S: Shelf>(
    door: &Door<S>,
    wire: Wire,
    peer: &Peer,
    shutdown: &CancellationToken,
) {
    let settings = &door.settings;
    let mut talk = Talk {
        door,
        wire,
        inbox: BytesMut::new(),
        reader: Reader::new(settings.item_max, settings.users.clone()),
        out: Outbox::default(),
        tally: Tally::default(),
        incoming: Incoming::new(&door.incoming, settings.incoming_max),
        read_len: READ_LEN,
        need: 1,
        begun: None,
    };
    talk.tally.one(Count::Connection);
    let present = door.roll.enter(peer.address(), door.clock.now());
    let end = talk.run(peer, &present, shutdown).await;
    match end {
        End::Done => {}
        End::Silent => talk.tally.one(Count::IdleKick),
        End::Broken(error) => tracing::debug!(%error, "a connection broke"),
    }
    door.counts.take(&mut talk.tally);
}

struct Talk<'a, S> {
    door: &'a Door<S>,
    wire: Wire,
    inbox: BytesMut,
    reader: Reader,
    out: Outbox,
    tally: Tally,
    incoming: Incoming<'a>,
    read_len: usize,
    /// Bytes that are to be there before there is another request.
    need: usize,
    /// When the command at hand began, and its bytes as far as they are known.
    begun: Option<(Instant, usize)>,
}

impl<S: Shelf> Talk<'_, S> {
    async fn run(
        &mut self,
        peer: &Peer,
        present: &Present<'_>,
        shutdown: &CancellationToken,
    ) -> End {
        loop {
            if let Err(end) = self.read(shutdown).await {
                return end;
            }
            let busy = peer.begin();
            present.hear(self.door.clock.now());
            let answered = self.answer(peer).await;
            let sent = self.send().await;
            drop(busy);
            present.rest();
            self.door.counts.take(&mut self.tally);
            // Only now may the connection give way to another.
            let flushed = self.wire.flush().await;
            match (answered, sent, flushed) {
                (true, Ok(()), Ok(())) => {}
                (_, Err(error), _) | (_, Ok(()), Err(error)) => return End::Broken(error),
                (false, Ok(()), Ok(())) => {
                    // Whether it ends well is nobody's concern.
                    let _ = self.wire.shutdown().await;
                    return End::Done;
                }
            }
        }
    }

    /// Reads what comes next.
    async fn read(&mut self, shutdown: &CancellationToken) -> Result<(), End> {
        let is_between = self.reader.is_between() && self.inbox.is_empty();
        let wait = self.patience(is_between);
        self.make_room().await?;
        let read = within(wait, self.wire.read_buf(&mut self.inbox));
        let read = if is_between {
            tokio::select! {
                // What has not been read has not begun.
                biased;
                () = shutdown.cancelled() => return Err(End::Done),
                read = read => read,
            }
        } else {
            read.await
        };
        let len = match read {
            None => return Err(End::Silent),
            Some(Ok(0)) => return Err(End::Done),
            Some(read) => read?,
        };
        self.tally.add(Count::BytesRead, len as u64);
        // Who sends much gets more read at once.
        if len >= self.read_len {
            self.read_len = (self.read_len * 2).min(READ_LEN_MAX);
        } else if len < self.read_len / 4 {
            self.read_len = (self.read_len / 2).max(READ_LEN);
        }
        Ok(())
    }

    /// How long the next bytes may take: a command has to come at a least pace.
    fn patience(&mut self, is_between: bool) -> Option<Duration> {
        let KvSettings { idle_timeout, stall_timeout, .. } = self.door.settings;
        if is_between && !self.reader.is_strange() {
            self.begun = None;
            return idle_timeout;
        }
        let (begun, need) = self.begun.get_or_insert_with(|| (ripstop_host::now(), 0));
        *need = self.need.max(*need);
        let whole = Duration::from_secs(*need as u64 / TAKEN_PER_S_MIN);
        let left = (stall_timeout + whole).saturating_sub(ripstop_host::since(*begun));
        Some(left.min(stall_timeout))
    }

    /// Makes room for the next bytes. A long value gets it as it comes, so that nobody holds memory
    /// by announcing one; if there is none, the value is not stored.
    async fn make_room(&mut self) -> Result<(), End> {
        let len = self.inbox.len();
        let room = if self.need > VALUE_LEN_FREE {
            self.need.min((len * 2).max(len + self.read_len))
        } else {
            self.need.max(len + self.read_len)
        };
        if self.need <= VALUE_LEN_FREE || len <= VALUE_LEN_FREE {
            if self.incoming.is_held() {
                // What is left does not keep the memory of the long value before it.
                self.inbox = BytesMut::from(&self.inbox[..]);
                self.incoming.hold(0);
            }
            self.inbox.reserve(room - len);
            return Ok(());
        }
        if self.incoming.hold(room) {
            self.inbox.reserve(room - len);
            return Ok(());
        }
        self.tally.one(Count::NoMemory);
        let refused = self.reader.refuse(len);
        self.incoming.hold(0);
        self.inbox = BytesMut::with_capacity(self.read_len);
        self.need = 1;
        match refused {
            Some(Request { command: Command::Say(line), is_quiet: false }) => self.out.line(line),
            Some(_) => {}
            None => {
                self.out.line("SERVER_ERROR out of memory reading request");
                self.send().await?;
                return Err(End::Done);
            }
        }
        Ok(())
    }

    /// Carries out all commands that have come; whether there may be more.
    async fn answer(&mut self, peer: &Peer) -> bool {
        let now_s = self.door.clock.now();
        let mut wave = wave::Wave::default();
        loop {
            let request = match self.reader.next(&mut self.inbox) {
                Parsed::Request(request) => {
                    self.begun = None;
                    request
                }
                Parsed::More(need) => {
                    self.need = need;
                    return self.carry_out_wave(&mut wave, now_s).await;
                }
                Parsed::Close(line) => {
                    let goes_on = self.carry_out_wave(&mut wave, now_s).await;
                    if goes_on && !line.is_empty() {
                        self.out.line(line);
                    }
                    return false;
                }
            };
            if let Command::Enter { is_known: true } = request.command {
                peer.vouch();
            }
            if self.door.shelf.waits() {
                let Some(request) = wave.join(request) else { continue };
                if !self.carry_out_wave(&mut wave, now_s).await {
                    return false;
                }
                if let Some(alone) = wave.join(request)
                    && !self.carry_out(alone, now_s).await
                {
                    return false;
                }
            } else if !self.carry_out(request, now_s).await {
                return false;
            }
        }
    }

    /// Carries out what is worth asking at once.
    async fn carry_out_wave(&mut self, wave: &mut wave::Wave, now_s: u32) -> bool {
        wave.carry_out(self.door, &mut self.out, &mut self.tally, now_s).await;
        self.send_many().await
    }

    /// Carries out one command; whether there may be more.
    async fn carry_out(&mut self, request: Request, now_s: u32) -> bool {
        if request.command == Command::Quit {
            return false;
        }
        if let Command::Get(get) = &request.command {
            return self.get(get, now_s).await;
        }
        self.turn(now_s).carry_out(&request).await;
        self.send_many().await
    }

    /// Gets items, some at once.
    async fn get(&mut self, get: &Get, now_s: u32) -> bool {
        for keys in get.keys.chunks(KEYS_AT_ONCE) {
            if !self.turn(now_s).get(get, keys).await {
                // The line that says why is the last.
                return true;
            }
            if !self.send_many().await {
                return false;
            }
        }
        self.out.line("END");
        true
    }

    fn turn(&mut self, now_s: u32) -> Turn<'_, S> {
        Turn { door: self.door, out: &mut self.out, tally: &mut self.tally, now_s }
    }

    /// Sends answers if they are many; whether the client takes them.
    async fn send_many(&mut self) -> bool {
        self.out.remaining() < ANSWERS_LEN_MAX || self.send().await.is_ok()
    }

    async fn send(&mut self) -> io::Result<()> {
        self.tally.add(Count::BytesWritten, self.out.remaining() as u64);
        self.wire.write_all_buf(&mut self.out).await
    }
}

/// What comes within a time, if there is one.
async fn within<T>(wait: Option<Duration>, read: impl Future<Output = T>) -> Option<T> {
    match wait {
        None => Some(read.await),
        Some(wait) => tokio::time::timeout(wait, read).await.ok(),
    }
}
