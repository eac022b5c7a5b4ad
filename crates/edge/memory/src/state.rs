//! What is under way, and how what the tier says is carried out.

use crate::{
    answer::{CodedMemoryError, Done, StoredValue},
    coder::{Coder, Strips},
    connection::Reply,
    gather::{Gather, Purpose},
    link::Link,
    name::{CHECK_LEN, KeyDigest, Names, SEAL_LEN},
    open::OpenChunks,
    queue::Payload,
    slab::Slab,
    status::CodedMemoryStatus,
};
use bytes::{Buf as _, Bytes, BytesMut};
use ripstop_model::Timestamp;
use ripstop_tier::{
    ChunkId, FetchEnd, Fragment, ItemName, ItemSource, MemoryTier, Presence, ReadPlan, SealId,
    ServerId, TierAction, TierAnswer, TierEvent, TierTask, TierTicket, TierWrite,
};
use std::{
    collections::{BTreeMap, VecDeque},
    mem,
};
use tokio::sync::oneshot;

/// Bytes of a chunk; a value with what is coded before it is no longer.
pub(crate) const CHUNK_LEN: usize = 4096;
/// Bytes before an object's value at a server.
const HEAD_LEN: usize = SEAL_LEN + CHECK_LEN;
/// Bytes that a request counts as, besides its value.
const CALL_LEN: usize = 256;

/// Who waits for how a request ended.
pub(crate) type Waiter = oneshot::Sender<Result<Done, CodedMemoryError>>;

/// What an answer of a server is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Errand {
    /// An item that is stored.
    Store(TierTask),
    /// A whole value.
    Whole { task: TierTask, ticket: TierTicket, name: ItemName, len: u16, is_again: bool },
    /// A part of several that are fetched together.
    Part { gather: u64, at: u16, name: ItemName, is_again: bool },
}

impl Errand {
    pub(crate) const fn name(&self) -> Option<ItemName> {
        match self {
            Self::Store(_) => None,
            Self::Whole { name, .. } | Self::Part { name, .. } => Some(*name),
        }
    }
}

/// A caller's request.
#[derive(Debug)]
struct Call {
    check: [u8; CHECK_LEN],
    /// What is written.
    value: Bytes,
    /// What is stored before it, once it has a name.
    head: Option<(ItemName, [u8; HEAD_LEN])>,
    /// What was read: the digest of a key, and a value.
    fetched: Option<Bytes>,
    /// Bytes that it counts as.
    held: usize,
    waiter: Waiter,
}

/// What is done once the lock is released: waking others can take calls of the system.
#[derive(Default)]
pub(crate) struct After {
    pub(crate) answers: Vec<(Waiter, Result<Done, CodedMemoryError>)>,
    /// Servers that were asked for something.
    pub(crate) asked: Vec<u16>,
}

/// Parity that was encoded and is not stored everywhere yet.
#[derive(Debug, Default)]
struct Encoded {
    parity: Vec<([u8; SEAL_LEN], Bytes)>,
    chunks: Vec<ChunkId>,
}

/// Servers, and what items are called there.
#[derive(Debug)]
pub(crate) struct Servers {
    pub(crate) links: Vec<Link<Errand>>,
    pub(crate) names: Names,
}

impl Servers {
    pub(crate) fn link(&self, server: ServerId) -> &Link<Errand> {
        &self.links[usize::from(server.0)]
    }
}

/// A tier, and what is under way.
pub(crate) struct State {
    tier: MemoryTier,
    coder: Coder,
    calls: Slab<Call>,
    gathers: Slab<Gather>,
    encoded: BTreeMap<SealId, Encoded>,
    open: OpenChunks,
    /// Bytes of calls.
    held: usize,
    bytes_max: usize,
    decoded: u64,
    refused: u64,
    // What follows is empty between steps.
    pub(crate) after: After,
    pub(crate) events: VecDeque<TierEvent>,
    actions: Vec<TierAction>,
    key: BytesMut,
}

/// What a caller asks for.
#[derive(Debug)]
pub(crate) enum Wish {
    Get,
    Put(Bytes, Presence),
    Delete(Presence),
}

impl After {
    fn note(&mut self, server: ServerId) {
        if !self.asked.contains(&server.0) {
            self.asked.push(server.0);
        }
    }
}

impl State {
    pub(crate) fn new(tier: MemoryTier, coder: Coder, bytes_max: usize) -> Self {
        Self {
            tier,
            coder,
            calls: Slab::new(),
            gathers: Slab::new(),
            encoded: BTreeMap::new(),
            open: OpenChunks::default(),
            held: 0,
            bytes_max,
            decoded: 0,
            refused: 0,
            after: After::default(),
            events: VecDeque::new(),
            actions: Vec::new(),
            key: BytesMut::new(),
        }
    }

    /// What it did and has; damage is found elsewhere.
    pub(crate) fn status(&self) -> CodedMemoryStatus {
        let (chunk_bytes, dead_bytes) = self.tier.chunk_bytes();
        CodedMemoryStatus {
            keys: self.tier.len(),
            metadata_bytes: self.tier.metadata_bytes(),
            chunk_bytes,
            dead_bytes,
            sealed_stripes: self.tier.sealed_stripes(),
            calls: self.calls.len(),
            held_bytes: self.held,
            decoded: self.decoded,
            damaged: 0,
            refused: self.refused,
        }
    }

    /// Begins a request of a caller.
    pub(crate) fn ask(&mut self, key: KeyDigest, wish: Wish, waiter: Waiter) {
        let (value, held) = match &wish {
            // A value of any length may come.
            Wish::Get => (Bytes::new(), CHUNK_LEN),
            Wish::Put(value, _) => {
                (value.clone(), (value.len() + HEAD_LEN) * (1 + self.coder.code().parity()))
            }
            Wish::Delete(_) => (Bytes::new(), 0),
        };
        let held = held + CALL_LEN;
        if self.held + held > self.bytes_max {
            self.after.answers.push((waiter, Err(CodedMemoryError::Busy)));
            return;
        }
        self.held += held;
        let call = Call { check: key.check, value, head: None, fetched: None, held, waiter };
        let (ticket, key) = (TierTicket(self.calls.insert(call)), key.hash);
        self.events.push_back(match wish {
            Wish::Get => TierEvent::ReadArrived { ticket, key },
            Wish::Put(value, presence) => {
                let len = (CHECK_LEN + value.len()) as u32;
                TierEvent::WriteArrived { ticket, key, write: TierWrite::Put { len }, presence }
            }
            Wish::Delete(presence) => {
                TierEvent::WriteArrived { ticket, key, write: TierWrite::Delete, presence }
            }
        });
    }

    /// Tells the tier everything that happened, and carries out what it says.
    pub(crate) fn run(&mut self, servers: &Servers, now: Timestamp) {
        let mut actions = mem::take(&mut self.actions);
        while let Some(event) = self.events.pop_front() {
            self.tier.handle(now, event, &mut actions);
            for action in actions.drain(..) {
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

    fn act(&mut self, servers: &Servers, action: TierAction) {
        match action {
            TierAction::Store { task, server, name, source } => {
                self.store(servers, task, server, name, source);
            }
            TierAction::Fetch { task, ticket, plan: ReadPlan::Whole(whole) } => {
                let Fragment { server, name, len, .. } = whole;
                let errand = Errand::Whole { task, ticket, name, len, is_again: false };
                self.fetch(servers, server, name, errand);
            }
            TierAction::Fetch { task, ticket, plan } => {
                self.fetch_parts(servers, task, ticket, plan);
            }
            TierAction::Encode { task, stripe, fragments } => {
                self.encode(servers, task, stripe, fragments);
            }
            TierAction::Forget(stripe) => {
                let encoded = self.encoded.remove(&stripe).unwrap_or_default();
                encoded.chunks.into_iter().for_each(|chunk| self.open.forget(chunk));
            }
            TierAction::Delete { server, name } => {
                servers.link(server).delete_quietly(self.key(servers, name));
            }
            TierAction::Expel(server) => servers.link(server).expel(),
            TierAction::Answer(ticket, answer) => self.answer(ticket, answer),
        }
    }

    /// What the item is called at servers.
    fn key(&mut self, servers: &Servers, name: ItemName) -> &[u8] {
        self.key.clear();
        servers.names.put_name(&mut self.key, name);
        &self.key
    }

    fn store(
        &mut self,
        servers: &Servers,
        task: TierTask,
        server: ServerId,
        name: ItemName,
        source: ItemSource,
    ) {
        self.key(servers, name);
        let link = servers.link(server);
        let stored = match source {
            ItemSource::Write(ticket) => {
                let call = self.calls.get_mut(ticket.0).expect("a write waits for its items");
                let is_coded = self.coder.code().parity() > 0;
                let open = is_coded.then_some(&mut self.open);
                let head = *seal_once(call, servers, name, open);
                let payload = Payload { head: &head, body: &call.value };
                link.set(&self.key, &payload, false, Errand::Store(task))
            }
            ItemSource::Parity(stripe) => {
                let ItemName::Parity { strip, .. } = name else { unreachable!("it is parity") };
                let encoded = self.encoded.get(&stripe).expect("it is kept until it is stored");
                let at = usize::from(strip) - self.coder.code().k();
                let (seal, body) = &encoded.parity[at];
                let payload = Payload { head: seal, body };
                link.set(&self.key, &payload, false, Errand::Store(task))
            }
        };
        self.after.note(server);
        if stored.is_err() {
            self.events.push_back(TierEvent::StoreFailed(task));
        }
    }

    fn fetch(&mut self, servers: &Servers, server: ServerId, name: ItemName, errand: Errand) {
        let fetched = servers.link(server).get(self.key(servers, name), errand);
        self.after.note(server);
        if let Err((_, errand)) = fetched {
            self.fetch_failed(errand, FetchEnd::Silent { server });
        }
    }

    fn fetch_parts(
        &mut self,
        servers: &Servers,
        task: TierTask,
        ticket: TierTicket,
        plan: ReadPlan,
    ) {
        let ReadPlan::Decode { wanted, sources, len, fragments } = plan else {
            unreachable!("the other plan has no parts")
        };
        let strips = Strips::new(self.coder.code().n(), len.into());
        let purpose = Purpose::Read { ticket, wanted, sources };
        self.decoded += 1;
        self.gather(servers, Gather { task, purpose, strips, waiting: fragments.len(), fragments });
    }

    /// Fetches fragments; without any the purpose is fulfilled at once.
    fn gather(&mut self, servers: &Servers, gather: Gather) {
        if gather.waiting == 0 {
            return self.gathered(servers, gather);
        }
        let fragments = gather.fragments.clone();
        let gather = self.gathers.insert(gather);
        for (at, Fragment { server, name, .. }) in (0u16..).zip(fragments) {
            let errand = Errand::Part { gather, at, name, is_again: false };
            self.fetch(servers, server, name, errand);
        }
    }

    fn encode(
        &mut self,
        servers: &Servers,
        task: TierTask,
        stripe: SealId,
        fragments: Vec<Fragment>,
    ) {
        let code = self.coder.code();
        let mut strips = Strips::new(code.k(), CHUNK_LEN);
        // Without parity there is nothing to encode.
        let mut fetched = fragments;
        let encoded = self.encoded.entry(stripe).or_default();
        fetched.retain(|fragment| {
            if let ItemName::Object { chunk, .. } = fragment.name
                && encoded.chunks.last() != Some(&chunk)
            {
                encoded.chunks.push(chunk);
            }
            let kept = self.open.fragment(fragment);
            if let Some(bytes) = kept {
                strips.put(fragment, bytes);
            }
            code.parity() > 0 && kept.is_none()
        });
        let purpose = Purpose::Seal(stripe);
        let waiting = fetched.len();
        self.gather(servers, Gather { task, purpose, strips, fragments: fetched, waiting });
    }

    /// All fragments came.
    fn gathered(&mut self, servers: &Servers, gather: Gather) {
        let Gather { task, purpose, strips, .. } = gather;
        match purpose {
            Purpose::Read { ticket, wanted, sources } => {
                let value = self.coder.decode(&strips, &sources, wanted);
                if let Some(call) = self.calls.get_mut(ticket.0) {
                    call.fetched = Some(value);
                }
            }
            Purpose::Seal(stripe) => {
                let parity = self.coder.encode(&strips);
                let sealed = (self.coder.code().k() as u8..).zip(parity).map(|(strip, bytes)| {
                    (servers.names.seal(ItemName::Parity { stripe, strip }, [&bytes]), bytes)
                });
                self.encoded.entry(stripe).or_default().parity = sealed.collect();
            }
        }
        self.events.push_back(TierEvent::FetchEnded(task, FetchEnd::Done));
    }

    /// A server answered, or will not.
    pub(crate) fn replied(
        &mut self,
        servers: &Servers,
        server: ServerId,
        errand: Errand,
        reply: Reply,
    ) {
        match (errand, reply) {
            (Errand::Store(task), Reply::Done) => {
                self.events.push_back(TierEvent::ItemStored(task));
            }
            (Errand::Store(task), reply) => {
                self.refused += u64::from(matches!(reply, Reply::Refused(_)));
                self.events.push_back(TierEvent::StoreFailed(task));
            }
            (Errand::Whole { task, ticket, len, .. }, Reply::Value(coded))
                if coded.len() == usize::from(len) =>
            {
                if let Some(call) = self.calls.get_mut(ticket.0) {
                    call.fetched = Some(coded);
                }
                self.events.push_back(TierEvent::FetchEnded(task, FetchEnd::Done));
            }
            (Errand::Part { gather, at, .. }, Reply::Value(coded))
                if self.gathers.get_mut(gather).is_none_or(|gather| gather.put(at, &coded)) =>
            {
                if self.gathers.get_mut(gather).is_some_and(|gather| gather.waiting == 0)
                    && let Some(gather) = self.gathers.remove(gather)
                {
                    self.gathered(servers, gather);
                }
            }
            // What is as long as it was not is not there, like what is damaged.
            (
                Errand::Whole { name, .. } | Errand::Part { name, .. },
                Reply::Value(_) | Reply::Missing,
            ) => self.fetch_failed(errand, FetchEnd::Missing { server, name }),
            (Errand::Whole { .. } | Errand::Part { .. }, Reply::Lost(_)) => {
                self.ask_again(servers, server, errand);
            }
            (
                Errand::Whole { .. } | Errand::Part { .. },
                Reply::Refused(_) | Reply::Done | Reply::NotStored,
            ) => self.fetch_failed(errand, FetchEnd::Silent { server }),
        }
    }

    /// A connection that broke says nothing of the server: the next one is asked once.
    fn ask_again(&mut self, servers: &Servers, server: ServerId, errand: Errand) {
        let again = match errand {
            Errand::Whole { task, ticket, name, len, is_again: false } => {
                (name, Errand::Whole { task, ticket, name, len, is_again: true })
            }
            Errand::Part { gather, at, name, is_again: false } => {
                (name, Errand::Part { gather, at, name, is_again: true })
            }
            Errand::Whole { .. } | Errand::Part { .. } | Errand::Store(_) => {
                return self.fetch_failed(errand, FetchEnd::Silent { server });
            }
        };
        self.fetch(servers, server, again.0, again.1);
    }

    fn fetch_failed(&mut self, errand: Errand, end: FetchEnd) {
        let task = match errand {
            Errand::Whole { task, .. } => Some(task),
            // The others that are fetched with it are of no use.
            Errand::Part { gather, .. } => self.gathers.remove(gather).map(|gather| gather.task),
            Errand::Store(_) => None,
        };
        self.events.extend(task.map(|task| TierEvent::FetchEnded(task, end)));
    }

    fn answer(&mut self, ticket: TierTicket, answer: TierAnswer) {
        let Some(call) = self.calls.remove(ticket.0) else { return };
        self.held -= call.held;
        let done = match answer {
            TierAnswer::Value(version) => {
                // The value of another key of this hash is none of this key's.
                let mut coded = call.fetched.unwrap_or_default();
                let is_its = coded.get(..CHECK_LEN) == Some(&call.check);
                coded.advance(CHECK_LEN.min(coded.len()));
                Ok(Done::Value(is_its.then_some(StoredValue { bytes: coded, version })))
            }
            TierAnswer::Nothing => Ok(Done::Nothing),
            TierAnswer::Written(version) => Ok(Done::Written(version)),
            TierAnswer::Deleted => Ok(Done::Deleted),
            TierAnswer::Refused(refusal) => Err(refusal.into()),
        };
        self.after.answers.push((call.waiter, done));
    }
}

/// What is stored before a call's value. Its copies have its name, and so the same.
fn seal_once<'a>(
    call: &'a mut Call,
    servers: &Servers,
    name: ItemName,
    open: Option<&mut OpenChunks>,
) -> &'a [u8; HEAD_LEN] {
    let Call { head, check, value, .. } = call;
    if head.is_none_or(|head| head.0 != name) {
        let mut bytes = [0; HEAD_LEN];
        bytes[..SEAL_LEN].copy_from_slice(&servers.names.seal(name, [&check[..], &value[..]]));
        bytes[SEAL_LEN..].copy_from_slice(check);
        *head = Some((name, bytes));
        if let (Some(open), ItemName::Object { chunk, slot }) = (open, name) {
            open.put(chunk, slot, [check, value]);
        }
    }
    &head.as_ref().expect("it was just made").1
}
