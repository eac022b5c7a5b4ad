//! What waits to be written to a server: bytes, and who waits for which answer.

use crate::{fault::LinkFault, wire};
use bytes::{Buf as _, Bytes, BytesMut};
use std::{
    collections::VecDeque,
    io::IoSlice,
    mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::sync::Notify;

/// Bytes of a value up to which it is copied behind its request: a piece of its own costs more.
const COPIED_MAX: usize = 1024;
/// Bytes of requests that are one piece, at least.
const PIECE_LEN: usize = 16 << 10;
/// Pieces that are written at once, at most.
pub(crate) const PIECES_MAX: usize = 32;
/// Bytes that a request without a value counts as.
const REQUEST_LEN: usize = 64;

/// What is asked of a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Asked {
    Get,
    Set,
    Add,
    Delete,
    /// Without an answer of its own if the item was there.
    DeleteQuietly,
    Fence,
}

impl Asked {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Get => "mg",
            Self::Set | Self::Add => "ms",
            Self::Delete | Self::DeleteQuietly => "md",
            Self::Fence => "mn",
        }
    }
}

/// An item that is to be stored: what is before the value, and the value.
#[derive(Clone, Debug)]
pub(crate) struct Payload<'a> {
    pub(crate) head: &'a [u8],
    pub(crate) body: &'a Bytes,
}

/// A request that was written down, and who is told of its answer.
#[derive(Debug)]
pub(crate) struct Awaited<T> {
    pub(crate) opaque: u32,
    pub(crate) asked: Asked,
    pub(crate) len: usize,
    pub(crate) ticket: Option<T>,
}

/// Bytes of requests in pieces.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    pieces: VecDeque<Bytes>,
    tail: BytesMut,
}

impl Outgoing {
    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty() && self.tail.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.pieces.clear();
        self.tail.clear();
    }

    /// Where the next request is written down.
    pub(crate) fn tail(&mut self) -> &mut BytesMut {
        self.tail.reserve(PIECE_LEN);
        &mut self.tail
    }

    fn put_body(&mut self, body: &Bytes) {
        if body.len() <= COPIED_MAX {
            self.tail.extend_from_slice(body);
        } else {
            self.pieces.push_back(self.tail.split().freeze());
            self.pieces.push_back(body.clone());
        }
    }

    /// The first pieces.
    pub(crate) fn slices<'a>(&'a self, slices: &mut [IoSlice<'a>; PIECES_MAX]) -> usize {
        let tail = (!self.tail.is_empty()).then_some(&self.tail[..]);
        let pieces = self.pieces.iter().map(|piece| &piece[..]).chain(tail);
        let mut count = 0;
        for (slice, piece) in slices.iter_mut().zip(pieces) {
            *slice = IoSlice::new(piece);
            count += 1;
        }
        count
    }

    /// That many bytes are written.
    pub(crate) fn advance(&mut self, written: usize) {
        let mut left = written;
        while let Some(first) = self.pieces.front_mut() {
            if left < first.len() {
                first.advance(left);
                return;
            }
            left -= first.len();
            self.pieces.pop_front();
        }
        self.tail.advance(left);
    }
}

/// Why no request is taken.
#[derive(Clone, Debug)]
pub(crate) enum Shut {
    /// The server is not there.
    Down(Arc<LinkFault>),
    /// As much is outstanding as may be.
    Full,
}

#[derive(Debug)]
struct Waiting<T> {
    out: Outgoing,
    awaited: VecDeque<Awaited<T>>,
    /// Never begins again at a new connection, so an answer of an old one names nothing.
    next_opaque: u32,
    /// Whoever writes it knows that something waits.
    is_told: bool,
    down: Option<Arc<LinkFault>>,
}

/// What waits for a connection of one server.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    waiting: Mutex<Waiting<T>>,
    requests: AtomicUsize,
    bytes: AtomicUsize,
    requests_max: usize,
    bytes_max: usize,
    came: Notify,
}

impl<T> Queue<T> {
    pub(crate) fn new(requests_max: usize, bytes_max: usize) -> Self {
        let (out, awaited) = (Outgoing::default(), VecDeque::new());
        Self {
            waiting: Mutex::new(Waiting {
                out,
                awaited,
                next_opaque: 1,
                is_told: false,
                down: None,
            }),
            requests: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            requests_max,
            bytes_max,
            came: Notify::new(),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting<T>> {
        // Nothing that can panic is done under it.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, key: &[u8], ticket: T) -> Result<(), (Shut, T)> {
        self.add(Asked::Get, 0, ticket, |out, opaque| {
            wire::put_get(out.tail(), key, opaque);
        })
    }

    pub(crate) fn set(
        &self,
        key: &[u8],
        payload: &Payload<'_>,
        is_add: bool,
        ticket: T,
    ) -> Result<(), (Shut, T)> {
        let len = payload.head.len() + payload.body.len();
        let asked = if is_add { Asked::Add } else { Asked::Set };
        self.add(asked, len, ticket, |out, opaque| {
            let tail = out.tail();
            wire::put_set(tail, key, len, is_add, opaque);
            tail.extend_from_slice(payload.head);
            out.put_body(payload.body);
            out.tail().extend_from_slice(b"\r\n");
        })
    }

    pub(crate) fn delete(&self, key: &[u8], ticket: T) -> Result<(), (Shut, T)> {
        self.add(Asked::Delete, 0, ticket, |out, opaque| {
            wire::put_delete(out.tail(), key, false, opaque);
        })
    }

    /// Is answered when something behind it is. It leaves with the next request, or a little
    /// later.
    pub(crate) fn delete_quietly(&self, key: &[u8], ticket: T) -> Result<(), (Shut, T)> {
        self.add(Asked::DeleteQuietly, 0, ticket, |out, opaque| {
            wire::put_delete(out.tail(), key, true, opaque);
        })
    }

    /// Is answered when everything before it was done.
    pub(crate) fn fence(&self, ticket: T) -> Result<(), (Shut, T)> {
        self.add(Asked::Fence, 0, ticket, |out, _| wire::put_fence(out.tail()))
    }

    fn add(
        &self,
        asked: Asked,
        len: usize,
        ticket: T,
        put: impl FnOnce(&mut Outgoing, u32),
    ) -> Result<(), (Shut, T)> {
        let len = len + REQUEST_LEN;
        let mut waiting = self.waiting();
        if let Some(down) = &waiting.down {
            return Err((Shut::Down(down.clone()), ticket));
        }
        let is_full = self.requests.load(Ordering::Relaxed) >= self.requests_max
            || self.bytes.load(Ordering::Relaxed) + len > self.bytes_max;
        if is_full {
            return Err((Shut::Full, ticket));
        }
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(len, Ordering::Relaxed);
        let opaque = waiting.next_opaque;
        waiting.next_opaque = opaque.wrapping_add(1);
        put(&mut waiting.out, opaque);
        let ticket = Some(ticket);
        waiting.awaited.push_back(Awaited { opaque, asked, len, ticket });
        Ok(())
    }

    /// What was asked for leaves. Apart from asking, so that it is not done under others' locks:
    /// waking whoever writes can take a call of the system.
    pub(crate) fn wake(&self) {
        let mut waiting = self.waiting();
        let is_needed = !waiting.is_told && !waiting.awaited.is_empty();
        waiting.is_told |= is_needed;
        drop(waiting);
        if is_needed {
            self.came.notify_one();
        }
    }

    /// Waits until something is to be taken.
    pub(crate) async fn woken(&self) {
        self.came.notified().await;
    }

    /// Takes all that waits; `out` must be empty.
    pub(crate) fn take(&self, out: &mut Outgoing, awaited: &mut VecDeque<Awaited<T>>) -> usize {
        let mut waiting = self.waiting();
        waiting.is_told = false;
        if waiting.awaited.is_empty() {
            return 0;
        }
        mem::swap(&mut waiting.out, out);
        let mut taken = waiting.awaited.len();
        let last = waiting.awaited.back().map(|last| last.asked);
        awaited.append(&mut waiting.awaited);
        // What is quiet is known to be done only by an answer behind it.
        if last == Some(Asked::DeleteQuietly) {
            wire::put_fence(out.tail());
            let fence = Awaited { opaque: 0, asked: Asked::Fence, len: 0, ticket: None };
            awaited.push_back(fence);
            self.requests.fetch_add(1, Ordering::Relaxed);
            taken += 1;
        }
        taken
    }

    /// Bounds count what was answered no more.
    pub(crate) fn release(&self, requests: usize, bytes: usize) {
        self.requests.fetch_sub(requests, Ordering::Relaxed);
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Takes no more requests, for this reason. Returns those that wait.
    pub(crate) fn shut(&self, fault: Arc<LinkFault>) -> VecDeque<Awaited<T>> {
        let mut waiting = self.waiting();
        waiting.down = Some(fault);
        waiting.out.clear();
        mem::take(&mut waiting.awaited)
    }

    /// Takes requests again.
    pub(crate) fn open(&self) {
        self.waiting().down = None;
    }

    /// Requests that are outstanding, and their bytes.
    pub(crate) fn outstanding(&self) -> (usize, usize) {
        (self.requests.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }
}
