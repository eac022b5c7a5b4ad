//! One connection: what was written on it, and what is awaited from it.

use crate::{
    fault::LinkFault,
    queue::{Asked, Awaited, Outgoing, PIECES_MAX, Queue},
    wire::{self, Answer, Nonsense, Parsed, Said},
};
use bytes::{Bytes, BytesMut};
use std::{
    collections::VecDeque,
    io::{self, IoSlice},
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task, time,
};

/// Bytes that there is room for before the socket is read.
const READ_LEN: usize = 64 << 10;
/// Room below which more is made.
const ROOM_MIN: usize = 8 << 10;
/// An answer that takes too long is noticed this part of the timeout later, at most.
const TICKS: u32 = 8;

/// How a request ended.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// The item's bytes.
    Value(Bytes),
    /// There is no such item, or none to delete.
    Missing,
    /// The item is not as it was stored.
    Damaged,
    /// It is done.
    Done,
    /// The item was there, so it was not added.
    NotStored,
    /// The server could not, with its words.
    Refused(String),
    /// No answer came; whether it was done is not known.
    Lost(Arc<LinkFault>),
}

/// Answers to requests, in their order.
pub(crate) type Replies<T> = Vec<(T, Reply)>;

/// A connection to a server.
#[derive(Debug)]
pub(crate) struct Connection<T> {
    at: SocketAddr,
    stream: TcpStream,
    input: BytesMut,
    output: Outgoing,
    in_flight: VecDeque<Awaited<T>>,
    /// How many of these were taken at which time.
    taken: VecDeque<(usize, Instant)>,
    answer_timeout: Duration,
}

impl<T> Connection<T> {
    pub(crate) async fn connect(
        at: SocketAddr,
        answer_timeout: Duration,
    ) -> Result<Self, LinkFault> {
        let refused = |source| LinkFault::Connect { at, source };
        let stream = TcpStream::connect(at).await.map_err(refused)?;
        // Without it a small request waits for the acknowledgement of the one before.
        stream.set_nodelay(true).map_err(refused)?;
        Ok(Self {
            at,
            stream,
            input: BytesMut::with_capacity(READ_LEN),
            output: Outgoing::default(),
            in_flight: VecDeque::new(),
            taken: VecDeque::new(),
            answer_timeout,
        })
    }

    /// Asks before anybody else does, and waits for the answer.
    pub(crate) async fn ask(
        &mut self,
        asked: Asked,
        put: impl FnOnce(&mut BytesMut),
    ) -> Result<Reply, LinkFault> {
        put(self.output.tail());
        while !self.output.is_empty() {
            let written = write(&mut self.stream, &self.output).await;
            self.output.advance(self.unbroken(written)?);
        }
        loop {
            match wire::parse(&mut self.input).map_err(|source| self.nonsense(source))? {
                Parsed::Said(said) => return self.reply(asked, said.answer),
                Parsed::Partly(more) => {
                    self.input.reserve(more);
                    let read = self.stream.read_buf(&mut self.input).await;
                    self.unbroken(read)?;
                }
            }
        }
    }

    /// Writes what waits and tells of answers, until the connection ends; why it did.
    pub(crate) async fn run(
        &mut self,
        queue: &Queue<T>,
        mut tell: impl FnMut(&mut Replies<T>) -> bool,
    ) -> LinkFault {
        let mut replies = Vec::new();
        let mut tick = time::interval(self.answer_timeout / TICKS);
        tick.set_missed_tick_behavior(time::MissedTickBehavior::Delay);
        loop {
            if self.output.is_empty() {
                // Whoever was told of answers, or is about to ask, asks first: what leaves
                // together costs one call of the system.
                task::yield_now().await;
                self.take(queue);
            }
            let step = self.step(queue, &mut tick).await;
            let answered = step.and_then(|()| self.answers(queue, &mut replies));
            let goes_on = tell(&mut replies);
            match answered {
                Err(fault) => return fault,
                Ok(()) if !goes_on => return LinkFault::Closed { at: self.at },
                Ok(()) => {}
            }
        }
    }

    fn take(&mut self, queue: &Queue<T>) {
        let count = queue.take(&mut self.output, &mut self.in_flight);
        if count > 0 {
            self.taken.push_back((count, ripstop_host::now()));
        }
    }

    /// Waits for something to happen.
    async fn step(&mut self, queue: &Queue<T>, tick: &mut time::Interval) -> Result<(), LinkFault> {
        if self.input.capacity() - self.input.len() < ROOM_MIN {
            self.input.reserve(READ_LEN);
        }
        let (mut reader, mut writer) = self.stream.split();
        let is_writing = !self.output.is_empty();
        tokio::select! {
            biased;
            written = write(&mut writer, &self.output), if is_writing => {
                self.output.advance(self.unbroken(written)?);
            }
            read = reader.read_buf(&mut self.input) => {
                self.unbroken(read)?;
            }
            () = queue.woken(), if !is_writing => {}
            _ = tick.tick() => self.check_age()?,
        }
        Ok(())
    }

    fn check_age(&self) -> Result<(), LinkFault> {
        let waited =
            self.taken.front().map_or(Duration::ZERO, |taken| ripstop_host::since(taken.1));
        if waited > self.answer_timeout {
            return Err(LinkFault::Silent { at: self.at, waited: self.answer_timeout });
        }
        Ok(())
    }

    /// Takes answers out of what was read.
    fn answers(&mut self, queue: &Queue<T>, replies: &mut Replies<T>) -> Result<(), LinkFault> {
        let before = (self.in_flight.len(), 0);
        let mut bytes = 0;
        let ended = self.parse_all(replies, &mut bytes);
        let requests = before.0 - self.in_flight.len();
        queue.release(requests, bytes);
        self.forget_taken(requests);
        ended
    }

    fn parse_all(&mut self, replies: &mut Replies<T>, bytes: &mut usize) -> Result<(), LinkFault> {
        while !self.input.is_empty() {
            match wire::parse(&mut self.input).map_err(|source| self.nonsense(source))? {
                Parsed::Said(said) => self.said(said, replies, bytes)?,
                Parsed::Partly(more) => {
                    self.input.reserve(more);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Gives an answer to the request that is next, or to the first behind quiet ones.
    fn said(
        &mut self,
        said: Said,
        replies: &mut Replies<T>,
        bytes: &mut usize,
    ) -> Result<(), LinkFault> {
        let Said { answer, opaque } = said;
        let is_fence = answer == Answer::Fence;
        // The only answer without a number; what is quiet has no such answer.
        let is_refusal = matches!(answer, Answer::Refused(_));
        loop {
            let Some(next) = self.in_flight.front() else {
                return Err(self.out_of_turn(opaque, "no request"));
            };
            let is_meant = match next.asked {
                Asked::Fence => is_fence,
                Asked::DeleteQuietly => opaque == Some(next.opaque),
                Asked::Get | Asked::Set | Asked::Add | Asked::Delete => {
                    is_refusal || opaque == Some(next.opaque)
                }
            };
            if !is_meant && next.asked != Asked::DeleteQuietly {
                return Err(self.out_of_turn(opaque, &format!("{:x}", next.opaque)));
            }
            // Before it is taken out: who asked is told also if this is no answer to it.
            let reply = if is_meant { Some(self.reply(next.asked, answer.clone())?) } else { None };
            let next = self.in_flight.pop_front().expect("it was looked at");
            *bytes += next.len;
            // What was quiet and is behind us was done.
            let is_over = reply.is_some();
            let reply = reply.unwrap_or(Reply::Done);
            replies.extend(next.ticket.map(|ticket| (ticket, reply)));
            if is_over {
                return Ok(());
            }
        }
    }

    /// What an answer says to a request.
    fn reply(&self, asked: Asked, answer: Answer) -> Result<Reply, LinkFault> {
        let reply = match (asked, answer) {
            (Asked::Get, Answer::Value(bytes)) => Reply::Value(bytes),
            (Asked::Get, Answer::Missing)
            | (Asked::Delete | Asked::DeleteQuietly, Answer::NotFound) => Reply::Missing,
            (Asked::Set | Asked::Add | Asked::Delete, Answer::Done)
            | (Asked::Fence, Answer::Fence) => Reply::Done,
            (Asked::Add, Answer::NotStored) => Reply::NotStored,
            (_, Answer::Refused(words)) => Reply::Refused(words),
            (asked, said) => return Err(self.mismatch(asked, &said)),
        };
        Ok(reply)
    }

    fn mismatch(&self, asked: Asked, said: &Answer) -> LinkFault {
        let said = match said {
            Answer::Value(bytes) => format!("a value of {} bytes", bytes.len()),
            Answer::Done => "HD".to_owned(),
            Answer::Missing => "EN".to_owned(),
            Answer::NotFound => "NF".to_owned(),
            Answer::NotStored => "NS".to_owned(),
            Answer::Fence => "MN".to_owned(),
            Answer::Okay => "OK".to_owned(),
            Answer::Refused(words) => format!("SERVER_ERROR {words}"),
        };
        LinkFault::Mismatch { at: self.at, said, asked: asked.name() }
    }

    fn out_of_turn(&self, said: Option<u32>, awaited: &str) -> LinkFault {
        let said = said.map_or_else(|| "of no number".to_owned(), |said| format!("{said:x}"));
        self.nonsense(Nonsense::Order { said, awaited: awaited.to_owned() })
    }

    fn forget_taken(&mut self, answered: usize) {
        let mut left = answered;
        while let Some(first) = self.taken.front_mut() {
            if left < first.0 {
                first.0 -= left;
                return;
            }
            left -= first.0;
            self.taken.pop_front();
        }
    }

    /// What was written and not answered.
    pub(crate) fn into_unanswered(self) -> VecDeque<Awaited<T>> {
        self.in_flight
    }

    fn nonsense(&self, source: Nonsense) -> LinkFault {
        LinkFault::Nonsense { at: self.at, source }
    }

    /// No bytes are the end of the connection.
    fn unbroken(&self, count: io::Result<usize>) -> Result<usize, LinkFault> {
        let ended = || Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        let count = count.and_then(|count| if count == 0 { ended() } else { Ok(count) });
        count.map_err(|source| LinkFault::Broken { at: self.at, source })
    }
}

async fn write(
    writer: &mut (impl tokio::io::AsyncWrite + Unpin),
    output: &Outgoing,
) -> io::Result<usize> {
    let mut slices = [IoSlice::new(&[]); PIECES_MAX];
    let count = output.slices(&mut slices);
    writer.write_vectored(&slices[..count]).await
}
