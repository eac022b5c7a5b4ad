//! What is under way, and how what the tier says is carried out.

use crate::{
    answer::{CodedMemoryError, Done},
    call::{Call, Waiter, Wish},
    coder::Coder,
    connection::Reply,
    copies::Copies,
    gather::Gather,
    label,
    link::Link,
    name::{KeyDigest, Names, SEAL_LEN, StoredKey},
    open::OpenChunks,
    queue::Payload,
    slab::Slab,
    status::CodedMemoryStatus,
};
use bytes::{Bytes, BytesMut};
use ripstop_model::Timestamp;
use ripstop_tier::{
    ChunkId, ItemLabel, ItemName, ItemSource, MemoryTier, SealId, ServerId, TierAction, TierAnswer,
    TierEvent, TierTask, TierTicket,
};
use std::{
    collections::{BTreeMap, VecDeque},
    mem,
    sync::OnceLock,
};

/// First of the tier's own tickets: callers' are below.
pub(crate) const OWN_TICKETS: u64 = 1 << 63;

/// What an answer of a server is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Errand {
    /// An item that is stored.
    Store(TierTask),
    /// An item that is deleted.
    Delete(TierTask),
    /// A sign of life.
    Probe,
    /// An item that another server gets.
    Copy { task: TierTask, to: ServerId, name: ItemName },
    /// A whole value.
    Whole { task: TierTask, ticket: TierTicket, name: ItemName, len: u32, is_again: bool },
    /// A part of several that are fetched together.
    Part { gather: u64, at: u16, name: ItemName, is_again: bool },
}

impl Errand {
    /// Which item is fetched.
    pub(crate) const fn name(&self) -> Option<ItemName> {
        match self {
            Self::Store(_) | Self::Delete(_) | Self::Probe => None,
            Self::Copy { name, .. } | Self::Whole { name, .. } | Self::Part { name, .. } => {
                Some(*name)
            }
        }
    }
}

/// What is done once the lock is released: waking others can take calls of the system.
#[derive(Default)]
pub(crate) struct After {
    pub(crate) answers: Vec<(Waiter, Result<Done, CodedMemoryError>)>,
    /// Servers that were asked for something.
    pub(crate) asked: Vec<u16>,
}

impl After {
    pub(crate) fn note(&mut self, server: ServerId) {
        if !self.asked.contains(&server.0) {
            self.asked.push(server.0);
        }
    }
}

/// Parity that was encoded and is not stored everywhere yet.
#[derive(Debug, Default)]
pub(crate) struct Encoded {
    /// Each with its seal, and with the list behind it.
    pub(crate) parity: Vec<([u8; SEAL_LEN], Bytes)>,
    pub(crate) chunks: Vec<ChunkId>,
    /// What parity says of the stripe.
    pub(crate) list: Bytes,
}

/// Servers, and what items are called there.
#[derive(Debug)]
pub(crate) struct Servers {
    /// Those that there are, and room for those that come.
    pub(crate) links: Vec<OnceLock<Link<Errand>>>,
    pub(crate) names: Names,
}

impl Servers {
    pub(crate) fn link(&self, server: ServerId) -> &Link<Errand> {
        self.links[usize::from(server.0)].get().expect("the tier knows servers that there are")
    }
}

/// A tier, and what is under way.
pub(crate) struct State {
    tier: MemoryTier,
    pub(crate) coder: Coder,
    pub(crate) calls: Slab<Call>,
    /// What was fetched for the tier itself.
    pub(crate) own: BTreeMap<TierTicket, Bytes>,
    pub(crate) gathers: Slab<Gather>,
    pub(crate) encoded: BTreeMap<SealId, Encoded>,
    pub(crate) open: OpenChunks,
    pub(crate) copies: Copies,
    now: Timestamp,
    /// Bytes of calls.
    held: usize,
    bytes_max: usize,
    pub(crate) decoded: u64,
    /// Servers that left.
    pub(crate) dismissed: Vec<ServerId>,
    refused: u64,
    // What follows is empty between steps.
    pub(crate) after: After,
    pub(crate) events: VecDeque<TierEvent>,
    actions: Vec<TierAction>,
    key: BytesMut,
}

impl State {
    pub(crate) fn new(tier: MemoryTier, coder: Coder, bytes_max: usize) -> Self {
        Self {
            tier,
            coder,
            calls: Slab::new(),
            own: BTreeMap::new(),
            gathers: Slab::new(),
            encoded: BTreeMap::new(),
            open: OpenChunks::default(),
            copies: Copies::default(),
            now: Timestamp::ZERO,
            held: 0,
            bytes_max,
            decoded: 0,
            dismissed: Vec::new(),
            refused: 0,
            after: After::default(),
            events: VecDeque::new(),
            actions: Vec::new(),
            key: BytesMut::new(),
        }
    }

    pub(crate) const fn limit_memory(&mut self, bytes_max: u64) {
        self.tier.limit_memory(bytes_max);
    }

    /// What it did and has; damage is found elsewhere.
    pub(crate) fn status(&self) -> CodedMemoryStatus {
        let (chunk_bytes, dead_bytes) = self.tier.chunk_bytes();
        CodedMemoryStatus {
            keys: self.tier.len(),
            metadata_bytes: self.tier.metadata_bytes(),
            stored_bytes: self.tier.stored_bytes(),
            chunk_bytes,
            dead_bytes,
            sealed_stripes: self.tier.sealed_stripes(),
            wounds: self.tier.wounds(),
            points_left: self.tier.points_left(),
            calls: self.calls.len(),
            held_bytes: self.held,
            decoded: self.decoded,
            damaged: 0,
            refused: self.refused,
        }
    }

    pub(crate) fn is_lost(&self, server: u16) -> bool {
        self.tier.is_lost(ServerId(server))
    }

    /// Begins a request of a caller.
    pub(crate) fn ask(&mut self, key: KeyDigest, wish: Wish, waiter: Waiter) {
        let held = wish.held(&self.coder);
        if wish.is_too_long(&self.coder) {
            return self.after.answers.push((waiter, Err(CodedMemoryError::TooLong)));
        }
        if self.held + held > self.bytes_max {
            return self.after.answers.push((waiter, Err(CodedMemoryError::Busy)));
        }
        self.held += held;
        // The value is the call's, and the event has its length.
        let ticket = TierTicket(self.calls.next());
        self.events.push_back(wish.event(ticket, key.hash));
        self.calls.insert(Call::new(key, wish, held, waiter));
    }

    /// The request turns out to be of more bytes.
    pub(crate) fn hold_more(&mut self, ticket: TierTicket, more: usize) {
        if let Some(call) = self.calls.get_mut(ticket.0) {
            call.held += more;
            self.held += more;
        }
    }

    /// Tells the tier everything that happened, and carries out what it says.
    pub(crate) fn run(&mut self, servers: &Servers, now: Timestamp) {
        self.now = now;
        loop {
            self.tell(servers, now);
            // A flush, and a server that leaves, wait for all deletions.
            let tier = &self.tier;
            let is_to_be_empty = |server| tier.is_flushing() || tier.is_leaving(server);
            let due = self.copies.take_due(now, is_to_be_empty);
            if due.is_empty() && self.events.is_empty() {
                return;
            }
            for (server, place, task) in due {
                self.key.clear();
                servers.names.put_place(&mut self.key, place);
                self.delete(servers, server, task);
            }
        }
    }

    fn tell(&mut self, servers: &Servers, now: Timestamp) {
        let mut actions = mem::take(&mut self.actions);
        while let Some(event) = self.events.pop_front() {
            self.tier.handle(now, event, &mut actions);
            for action in actions.drain(..) {
                if let TierAction::Expel(server) | TierAction::Dismiss(server) = action {
                    self.copies.forget(server);
                }
                let is_known = match (&event, &action) {
                    // Its link said so, and is about to empty it.
                    (TierEvent::ServerLost(lost), TierAction::Expel(server)) => lost == server,
                    _ => false,
                };
                if !is_known {
                    self.act(servers, action);
                }
            }
        }
        self.actions = actions;
    }

    /// Carries out what the tier said, where these copies were found.
    pub(crate) fn begin(&mut self, servers: &Servers, actions: Vec<TierAction>, copies: Copies) {
        self.copies = copies;
        for action in actions {
            // Links of servers that are lost know it.
            if !matches!(action, TierAction::Expel(_)) {
                self.act(servers, action);
            }
        }
    }

    /// Deletes what has the key that was put together.
    fn delete(&mut self, servers: &Servers, server: ServerId, task: TierTask) {
        if servers.link(server).delete_quietly(&self.key, Errand::Delete(task)).is_err() {
            self.copies.deleted(task, false);
            self.events.push_back(TierEvent::DeleteFailed(task));
        }
    }

    pub(crate) fn is_mending(&self) -> bool {
        self.tier.is_mending()
    }

    /// When it wants to be told that time passed.
    pub(crate) fn deadline(&self) -> Option<Timestamp> {
        self.tier.deadline().into_iter().chain(self.copies.deadline()).min()
    }

    fn act(&mut self, servers: &Servers, action: TierAction) {
        match action {
            TierAction::Store { task, server, name, source, label } => {
                self.store(servers, (task, server, name), source, label);
            }
            TierAction::Fetch { task, ticket, plan } => {
                self.fetch_plan(servers, task, ticket, plan);
            }
            TierAction::Encode { task, stripe, chunks, fragments, labels } => {
                let encoded = self.encoded.entry(stripe).or_default();
                encoded.list = label::list(&chunks, &labels);
                encoded.chunks = chunks;
                self.encode(servers, task, stripe, fragments);
            }
            TierAction::Forget(stripe) => {
                let encoded = self.encoded.remove(&stripe).unwrap_or_default();
                encoded.chunks.into_iter().for_each(|chunk| self.open.forget(chunk));
            }
            TierAction::Delete { task, server, name } => {
                if !self.copies.leave(self.now, task, server, name) {
                    self.key(servers, server, name);
                    self.delete(servers, server, task);
                }
            }
            TierAction::Release(ticket) => {
                self.own.remove(&ticket);
            }
            TierAction::Probe(server) => {
                self.after.note(server);
                if servers.link(server).fence(Errand::Probe).is_err() {
                    self.events.push_back(TierEvent::ServerSilent(server));
                }
            }
            TierAction::Copy { task, from, to, name } => {
                self.fetch(servers, from, name, Errand::Copy { task, to, name });
            }
            TierAction::Expel(server) => servers.link(server).expel(),
            TierAction::Dismiss(server) => {
                servers.link(server).close();
                self.dismissed.push(server);
            }
            TierAction::Answer(ticket, answer) => self.answer(ticket, answer),
        }
    }

    /// The item's key at a server: what it is called, or a copy's place.
    pub(crate) fn key(&mut self, servers: &Servers, server: ServerId, name: ItemName) -> &[u8] {
        self.key.clear();
        let place = self.copies.place(server, name);
        let key = place.map_or(StoredKey::Named(name), StoredKey::Place);
        servers.names.put_key(&mut self.key, key);
        &self.key
    }

    fn store(
        &mut self,
        servers: &Servers,
        (task, server, name): (TierTask, ServerId, ItemName),
        source: ItemSource,
        label: Option<ItemLabel>,
    ) {
        let is_copy = label.is_some_and(|label| self.tier.is_copy(server, &label));
        if is_copy {
            self.copies.give(task, server, name);
        }
        self.key(servers, server, name);
        let (names, link) = (&servers.names, servers.link(server));
        let is_coded = self.coder.code().parity() > 0;
        let sent = |head: &[u8], body: &Bytes| {
            link.set(&self.key, &Payload { head, body }, false, Errand::Store(task)).is_ok()
        };
        let label = || label.expect("all but parity has one");
        let labelled =
            |body: &Bytes| sent(&label::head(names, (&label(), is_copy), [&[], body]), body);
        let is_sent = match source {
            ItemSource::Write(ticket) if ticket.0 >= OWN_TICKETS => {
                let coded = &self.own[&ticket];
                if let (true, ItemName::Object { chunk, slot }) = (is_coded, name) {
                    self.open.put(chunk, slot, [coded, &[]]);
                }
                labelled(coded)
            }
            ItemSource::Write(ticket) => {
                let call = self.calls.get_mut(ticket.0).expect("a write waits for its items");
                let open = is_coded.then_some(&mut self.open);
                sent(&call.head_once(names, (&label(), is_copy), open), &call.value)
            }
            ItemSource::Strip { ticket, strip } if ticket.0 >= OWN_TICKETS => {
                labelled(&self.coder.strips([&self.own[&ticket], &[]])[usize::from(strip)])
            }
            ItemSource::Strip { ticket, strip } => {
                let call = self.calls.get_mut(ticket.0).expect("a write waits for its items");
                labelled(&call.strip(&self.coder, strip))
            }
            ItemSource::Tombstone => labelled(&Bytes::new()),
            ItemSource::Parity(stripe) => {
                let ItemName::Parity { strip, .. } = name else { unreachable!("it is parity") };
                let encoded = self.encoded.get(&stripe).expect("it is kept until it is stored");
                let at = usize::from(strip) - self.coder.code().k();
                let (seal, body) = &encoded.parity[at];
                sent(seal, body)
            }
        };
        self.after.note(server);
        if !is_sent {
            self.store_over(task, false);
        }
    }

    /// A store is done, or is not known to be. What it overwrote is deleted.
    pub(crate) fn store_over(&mut self, task: TierTask, is_done: bool) {
        let deleted = self.copies.stored(task, is_done).map(TierEvent::ItemDeleted);
        self.events.extend(deleted);
        let event = if is_done { TierEvent::ItemStored } else { TierEvent::StoreFailed };
        self.events.push_back(event(task));
    }

    /// A server answered, or will not.
    pub(crate) fn replied(
        &mut self,
        servers: &Servers,
        server: ServerId,
        errand: Errand,
        reply: Reply,
    ) {
        let event = match (errand, reply) {
            (Errand::Store(task), reply) => {
                self.refused += u64::from(matches!(reply, Reply::Refused(_)));
                return self.store_over(task, matches!(reply, Reply::Done));
            }
            (Errand::Delete(task), Reply::Done | Reply::Missing) => {
                self.copies.deleted(task, true);
                TierEvent::ItemDeleted(task)
            }
            (Errand::Delete(task), _) => {
                self.copies.deleted(task, false);
                TierEvent::DeleteFailed(task)
            }
            (Errand::Probe, Reply::Lost(_)) => TierEvent::ServerSilent(server),
            (Errand::Probe, _) => TierEvent::ServerAnswered(server),
            (Errand::Copy { .. } | Errand::Whole { .. } | Errand::Part { .. }, reply) => {
                return self.fetch_replied(servers, server, errand, reply);
            }
        };
        self.events.push_back(event);
    }

    fn answer(&mut self, ticket: TierTicket, answer: TierAnswer) {
        if let Some(call) = self.calls.remove(ticket.0) {
            self.held -= call.held;
            self.after.answers.push(call.answer(answer));
        }
    }
}
