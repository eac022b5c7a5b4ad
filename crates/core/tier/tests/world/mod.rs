//! Memory servers with real bytes, which die, restart empty and lose answers, around a tier.

mod server;

use crate::linear::{self, Condition, Deed, Outcome};
use ripstop_codec::Codec;
use ripstop_model::{Code, Timestamp};
use ripstop_tier::{
    ChunkId, FoundItem, ItemLabel, ItemName, KeyHash, MemoryTier, Presence, SealId, ServerId,
    TierAction, TierAnswer, TierEvent, TierRefusal, TierTicket, TierWrite, Version,
};
use std::collections::BTreeMap;

/// A step of the world takes as long.
const STEP_NANOS: u64 = 10_000_000;

/// An item as a server has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Item {
    pub label: Option<ItemLabel>,
    /// Of parity: what its stripe has.
    pub chunks: Vec<ChunkId>,
    pub labels: Vec<ItemLabel>,
    pub bytes: Vec<u8>,
    /// Its seal does not hold.
    pub is_damaged: bool,
}

/// Parity that was encoded, with what it says.
#[derive(Clone, Debug)]
pub(crate) struct Encoded {
    pub parity: Vec<Vec<u8>>,
    pub chunks: Vec<ChunkId>,
    pub labels: Vec<ItemLabel>,
}

pub(crate) type Items = BTreeMap<ItemName, Item>;

/// What a client asked, and what it was answered.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub history: linear::Call,
    pub is_answered: bool,
}

pub(crate) struct World {
    pub tier: MemoryTier,
    codec: Codec,
    pub servers: BTreeMap<ServerId, Items>,
    pub dead: Vec<ServerId>,
    /// How many of a hundred requests to servers are lost before they act; as many are after.
    pub losses: u64,
    under_way: Vec<TierAction>,
    /// Stores whose failure was told and that take effect yet, before anything else that their
    /// server answers.
    late: Vec<(ServerId, ItemName, Item)>,
    pub calls: BTreeMap<TierTicket, Call>,
    sent: BTreeMap<TierTicket, Vec<u8>>,
    fetched: BTreeMap<TierTicket, Vec<u8>>,
    encoded: BTreeMap<SealId, Encoded>,
    rings: Vec<Vec<ServerId>>,
    /// Deletions of all keys that a flush consists of.
    flushes: BTreeMap<TierTicket, Vec<TierTicket>>,
    /// Servers that left.
    pub dismissed: Vec<ServerId>,
    /// Parity items that were stored, and items that were copied.
    pub parities: u64,
    pub copies: u64,
    /// Calls that have no answer since the tier was gone.
    pub crashed: usize,
    /// Calls so far.
    asked: u64,
    pub step: u64,
    pub decoded: u64,
    pub expelled: u64,
    seed: u64,
}

impl World {
    pub(crate) fn new(code: Code, servers_per_ring: u16, seed: u64) -> Self {
        let server = |ring: u16, at: u16| ServerId(ring * 100 + at);
        let rings: Vec<Vec<ServerId>> = (0..code.n() as u16)
            .map(|ring| (0..servers_per_ring).map(|at| server(ring, at)).collect())
            .collect();
        Self {
            tier: MemoryTier::new(code, &rings),
            codec: Codec::new(code),
            servers: rings.iter().flatten().copied().map(|id| (id, BTreeMap::new())).collect(),
            dead: Vec::new(),
            losses: 0,
            under_way: Vec::new(),
            late: Vec::new(),
            calls: BTreeMap::new(),
            sent: BTreeMap::new(),
            fetched: BTreeMap::new(),
            encoded: BTreeMap::new(),
            rings,
            flushes: BTreeMap::new(),
            dismissed: Vec::new(),
            parities: 0,
            copies: 0,
            crashed: 0,
            asked: 0,
            step: 0,
            decoded: 0,
            expelled: 0,
            seed,
        }
    }

    pub(crate) fn dice(&mut self, below: u64) -> u64 {
        self.seed =
            self.seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.seed >> 33) % below
    }

    pub(crate) fn key(number: u64) -> KeyHash {
        KeyHash(u128::from(number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))
    }

    pub(crate) fn read(&mut self, key: KeyHash) -> TierTicket {
        let ticket = self.call(key, Deed::Read);
        self.tell(TierEvent::ReadArrived { ticket, key });
        ticket
    }

    pub(crate) fn put(&mut self, key: KeyHash, len: usize, presence: Presence) -> TierTicket {
        self.put_until(key, len, presence, None)
    }

    /// Expires that number of steps from now.
    pub(crate) fn put_until(
        &mut self,
        key: KeyHash,
        len: usize,
        presence: Presence,
        steps: Option<u64>,
    ) -> TierTicket {
        let value = self.asked + 1;
        let expires = steps.map(|steps| self.step + steps);
        let condition = condition(presence);
        let ticket = self.call(key, Deed::Put { value, expires, condition });
        self.sent.insert(ticket, bytes(value, len));
        let write = TierWrite::Put { len: len as u32, expires: expires.map(time) };
        self.tell(TierEvent::WriteArrived { ticket, key, write, presence });
        ticket
    }

    pub(crate) fn delete(&mut self, key: KeyHash, presence: Presence) -> TierTicket {
        let ticket = self.call(key, Deed::Delete { condition: condition(presence) });
        let write = TierWrite::Delete;
        self.tell(TierEvent::WriteArrived { ticket, key, write, presence });
        ticket
    }

    /// Everything goes.
    pub(crate) fn flush(&mut self, keys: u64) {
        let delete = Deed::Delete { condition: Condition::Any };
        let calls = (0..keys).map(|number| self.call(Self::key(number), delete)).collect();
        self.asked += 1;
        let ticket = TierTicket(self.asked);
        self.flushes.insert(ticket, calls);
        self.tell(TierEvent::FlushArrived { ticket });
    }

    /// A ring gets a server.
    pub(crate) fn add(&mut self, ring: u8) -> ServerId {
        let at = (0..100).find(|at| {
            let server = ServerId(u16::from(ring) * 100 + at);
            !self.servers.contains_key(&server) && !self.dismissed.contains(&server)
        });
        let server = ServerId(u16::from(ring) * 100 + at.expect("there are enough numbers"));
        self.servers.insert(server, BTreeMap::new());
        self.rings[usize::from(ring)].push(server);
        self.tell(TierEvent::ServerAdded { ring, server });
        server
    }

    fn dismiss(&mut self, server: ServerId) {
        let items = self.servers.remove(&server).expect("it is a server");
        assert!(items.is_empty(), "{server:?} has {:?}", items.keys());
        self.dead.retain(|dead| *dead != server);
        for ring in &mut self.rings {
            ring.retain(|it| *it != server);
        }
        self.dismissed.push(server);
    }

    fn call(&mut self, key: KeyHash, deed: Deed) -> TierTicket {
        let ticket = TierTicket(self.asked + 1);
        self.asked += 1;
        let (asked, outcome) = (self.step + 1, Outcome::Unknown);
        let history = linear::Call { key: key.0, deed, outcome, asked, answered: u64::MAX };
        self.calls.insert(ticket, Call { history, is_answered: false });
        ticket
    }

    /// The server dies; the tier hears of it now, or finds out.
    pub(crate) fn kill(&mut self, server: ServerId, is_told: bool) {
        self.servers.get_mut(&server).expect("it is a server").clear();
        self.late.retain(|late| late.0 != server);
        self.dead.push(server);
        if is_told {
            self.tell(TierEvent::ServerLost(server));
        }
    }

    /// The server is there again, empty.
    pub(crate) fn restart(&mut self, server: ServerId) {
        self.dead.retain(|dead| *dead != server);
        // What sees that a server returned has seen that it was gone.
        self.tell(TierEvent::ServerLost(server));
        self.empty(server);
        self.tell(TierEvent::ServerReturned(server));
    }

    /// Flips bits of one item of the server, if it has any.
    pub(crate) fn damage(&mut self, server: ServerId) {
        let at = self.dice(1000) as usize;
        let items = self.servers.get_mut(&server).expect("it is a server");
        let count = items.len().max(1);
        if let Some(item) = items.values_mut().nth(at % count) {
            item.is_damaged = true;
        }
    }

    fn empty(&mut self, server: ServerId) {
        self.servers.get_mut(&server).expect("it is a server").clear();
        self.late.retain(|late| late.0 != server);
        // What was sent before does not reach it after.
        self.under_way.retain(|action| match action {
            TierAction::Store { server: to, .. }
            | TierAction::Copy { to, .. }
            | TierAction::Delete { server: to, .. } => *to != server,
            TierAction::Fetch { .. }
            | TierAction::Encode { .. }
            | TierAction::Probe(_)
            | TierAction::Forget(_)
            | TierAction::Release(_)
            | TierAction::Expel(_)
            | TierAction::Dismiss(_)
            | TierAction::Answer(..) => true,
        });
    }

    pub(crate) fn tell(&mut self, event: TierEvent) {
        self.step += 1;
        let mut actions = Vec::new();
        self.tier.handle(time(self.step), event, &mut actions);
        self.carry_out(actions);
    }

    fn carry_out(&mut self, actions: Vec<TierAction>) {
        for action in actions {
            match action {
                TierAction::Answer(ticket, answer) => self.answer(ticket, answer),
                TierAction::Forget(stripe) => {
                    self.encoded.remove(&stripe);
                }
                TierAction::Dismiss(server) => self.dismiss(server),
                TierAction::Release(ticket) => {
                    self.fetched.remove(&ticket);
                }
                TierAction::Expel(server) => {
                    self.expelled += 1;
                    self.empty(server);
                }
                TierAction::Store { .. }
                | TierAction::Copy { .. }
                | TierAction::Fetch { .. }
                | TierAction::Encode { .. }
                | TierAction::Probe(_)
                | TierAction::Delete { .. } => self.under_way.push(action),
            }
        }
    }

    fn answer(&mut self, ticket: TierTicket, answer: TierAnswer) {
        let outcome = match answer {
            TierAnswer::Value(version) => self.value(ticket, version),
            TierAnswer::Nothing => Outcome::Nothing,
            TierAnswer::Written(version) => Outcome::Written { version: version.0 },
            TierAnswer::Deleted => Outcome::Deleted,
            TierAnswer::Flushed => {
                for call in self.flushes.remove(&ticket).expect("it was asked") {
                    self.answered(call, Outcome::Flushed);
                }
                return;
            }
            TierAnswer::Refused(TierRefusal::Condition(version)) => {
                Outcome::Refused(version.map(|version| version.0))
            }
            TierAnswer::Refused(TierRefusal::Unavailable) => Outcome::Unknown,
            // Memory is full: it did not happen.
            TierAnswer::Refused(TierRefusal::Busy) => {
                self.calls.remove(&ticket);
                return;
            }
            TierAnswer::Refused(TierRefusal::TooLong) => unreachable!("it is not played"),
        };
        self.answered(ticket, outcome);
    }

    fn answered(&mut self, ticket: TierTicket, outcome: Outcome) {
        let call = self.calls.get_mut(&ticket).expect("it was asked");
        assert!(!call.is_answered, "answered twice");
        call.is_answered = true;
        call.history.answered = self.step;
        call.history.outcome = outcome;
    }

    /// Which write left the bytes that were fetched.
    fn value(&self, ticket: TierTicket, version: Version) -> Outcome {
        let (got, key) = (&self.fetched[&ticket], self.calls[&ticket].history.key);
        let is_it = |(by, sent): &(&TierTicket, &Vec<u8>)| {
            *sent == got && self.calls[by].history.key == key
        };
        let (by, _) = self.sent.iter().find(is_it).expect("no write of this key left these bytes");
        Outcome::Value { value: by.0, version: version.0 }
    }

    /// The tier is gone, with all that it had under way, and another is made from what servers
    /// have. What has no answer never gets one.
    pub(crate) fn crash(&mut self) {
        self.under_way.clear();
        self.late.clear();
        (self.fetched, self.encoded) = (BTreeMap::new(), BTreeMap::new());
        for call in self.calls.values_mut().filter(|call| !call.is_answered) {
            call.is_answered = true;
            call.history.answered = self.step;
            self.crashed += 1;
        }
        let mut items = Vec::new();
        for (server, of_server) in &self.servers {
            for (name, item) in of_server {
                let found = match item.label {
                    Some(label) => FoundItem::Value(label),
                    None => FoundItem::Parity {
                        name: *name,
                        chunks: item.chunks.clone(),
                        labels: item.labels.clone(),
                    },
                };
                items.push((*server, found));
            }
        }
        let mut actions = Vec::new();
        let now = time(self.step + 1);
        let code = self.codec.code();
        self.tier = MemoryTier::rebuild(code, &self.rings, (now, Version(0)), items, &mut actions);
        self.carry_out(actions);
        for server in self.dead.clone() {
            self.tell(TierEvent::ServerLost(server));
        }
    }

    /// Something that is under way happens; false if nothing is.
    pub(crate) fn advance(&mut self) -> bool {
        if self.under_way.is_empty() {
            return false;
        }
        let at = self.dice(self.under_way.len() as u64) as usize;
        let action = self.under_way.swap_remove(at);
        let event = self.act(action);
        self.tell(event);
        true
    }

    /// All that is under way now fails, in any order.
    pub(crate) fn fail_all_once(&mut self) {
        let mut events: Vec<TierEvent> = Vec::new();
        for action in std::mem::take(&mut self.under_way) {
            let event = self.act(action);
            events.push(event);
        }
        for event in events {
            self.tell(event);
        }
    }

    /// Until every call is answered and nothing is under way.
    pub(crate) fn drain(&mut self) {
        loop {
            while self.advance() {}
            if self.tier.is_idle() {
                return;
            }
            let deadline = self.tier.deadline().expect("calls wait for nothing");
            self.step = self.step.max(deadline.as_nanos() / STEP_NANOS);
            self.tell(TierEvent::TimePassed);
        }
    }

    /// Bytes of values and parity that servers have.
    pub(crate) fn bytes(&self) -> u64 {
        let items = self.servers.values().flat_map(BTreeMap::values);
        items.map(|item| item.bytes.len() as u64).sum()
    }

    /// Every history has an order that explains it. Values may be lost from a step on.
    pub(crate) fn check(&self, lossy_from: Option<u64>) {
        assert!(self.calls.values().all(|call| call.is_answered), "all are answered");
        let calls: Vec<linear::Call> = self.calls.values().map(|call| call.history).collect();
        let unexplained = linear::unexplained(&calls, lossy_from);
        assert!(
            unexplained.is_empty(),
            "no order explains the calls of {} keys, of the first of which these are: {:#?}",
            unexplained.len(),
            unexplained.first()
        );
        if lossy_from.is_none() {
            let is_lost = |call: &&linear::Call| call.outcome == Outcome::Unknown;
            let lost = calls.iter().filter(is_lost);
            assert_eq!(lost.count(), self.crashed, "refused");
        }
    }

    /// No server has what the tier does not know of.
    pub(crate) fn check_for_leaks(&self) {
        for (server, items) in &self.servers {
            for name in items.keys() {
                assert!(self.tier.expects(*server, *name), "{name:?} is left at {server:?}");
            }
        }
    }
}

pub(crate) const fn time(step: u64) -> Timestamp {
    Timestamp::from_nanos(step * STEP_NANOS)
}

const fn condition(presence: Presence) -> Condition {
    match presence {
        Presence::Any => Condition::Any,
        Presence::Absent => Condition::Absent,
        Presence::Present => Condition::Present,
        Presence::Is(version) => Condition::Is(version.0),
    }
}

/// Bytes that tell the write, if there are eight of them.
pub(crate) fn bytes(number: u64, len: usize) -> Vec<u8> {
    let scattered = |at: usize| (number.wrapping_mul(0x9e37_79b9) >> (at % 24)) as u8 ^ at as u8;
    let mut bytes: Vec<u8> = (0..len).map(scattered).collect();
    let count = len.min(8);
    bytes[..count].copy_from_slice(&number.to_le_bytes()[..count]);
    bytes
}
