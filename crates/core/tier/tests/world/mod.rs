//! Memory servers with real bytes, which die, restart empty and lose answers, around a tier.

use ripstop_codec::Codec;
use ripstop_model::{Code, StripSet, Timestamp};
use ripstop_tier::{
    FetchEnd, Fragment, ItemName, ItemSource, KeyHash, MemoryTier, Presence, ReadPlan, SealId,
    ServerId, TierAction, TierAnswer, TierEvent, TierTask, TierTicket, TierWrite,
};
use std::collections::BTreeMap;

const CHUNK_LEN: usize = 4096;

/// What a client saw, with the steps at which it asked and was answered.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub key: KeyHash,
    pub asked: u64,
    pub answered: Option<u64>,
    /// What a write leaves, or what a read saw: the number of the write, none for no value.
    pub value: Option<u64>,
    pub is_read: bool,
    pub answer: Option<TierAnswer>,
}

pub(crate) struct World {
    pub tier: MemoryTier,
    codec: Codec,
    pub servers: BTreeMap<ServerId, BTreeMap<ItemName, Vec<u8>>>,
    pub dead: Vec<ServerId>,
    /// How many of a hundred requests to servers are lost before they act; as many are after.
    pub losses: u64,
    under_way: Vec<TierAction>,
    pub calls: BTreeMap<TierTicket, Call>,
    sent: BTreeMap<TierTicket, Vec<u8>>,
    fetched: BTreeMap<TierTicket, Vec<u8>>,
    encoded: BTreeMap<SealId, Vec<Vec<u8>>>,
    pub step: u64,
    pub decoded: u64,
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
            servers: rings.into_iter().flatten().map(|id| (id, BTreeMap::new())).collect(),
            dead: Vec::new(),
            losses: 0,
            under_way: Vec::new(),
            calls: BTreeMap::new(),
            sent: BTreeMap::new(),
            fetched: BTreeMap::new(),
            encoded: BTreeMap::new(),
            step: 0,
            decoded: 0,
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
        let ticket = self.call(key, None, true);
        self.tell(TierEvent::ReadArrived { ticket, key });
        ticket
    }

    pub(crate) fn put(&mut self, key: KeyHash, len: usize, presence: Presence) -> TierTicket {
        let number = self.calls.len() as u64 + 1;
        let ticket = self.call(key, Some(number), false);
        self.sent.insert(ticket, bytes(number, len));
        let write = TierWrite::Put { len: len as u32 };
        self.tell(TierEvent::WriteArrived { ticket, key, write, presence });
        ticket
    }

    pub(crate) fn delete(&mut self, key: KeyHash) -> TierTicket {
        let ticket = self.call(key, None, false);
        let (write, presence) = (TierWrite::Delete, Presence::Any);
        self.tell(TierEvent::WriteArrived { ticket, key, write, presence });
        ticket
    }

    fn call(&mut self, key: KeyHash, value: Option<u64>, is_read: bool) -> TierTicket {
        let ticket = TierTicket(self.calls.len() as u64 + 1);
        self.step += 1;
        let call = Call { key, asked: self.step, answered: None, value, is_read, answer: None };
        self.calls.insert(ticket, call);
        ticket
    }

    /// The server dies; the tier hears of it now, or finds out.
    pub(crate) fn kill(&mut self, server: ServerId, is_told: bool) {
        self.servers.get_mut(&server).expect("it is a server").clear();
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
        self.servers.get_mut(&server).expect("it is a server").clear();
        self.tell(TierEvent::ServerReturned(server));
    }

    fn tell(&mut self, event: TierEvent) {
        self.step += 1;
        let mut actions = Vec::new();
        self.tier.handle(Timestamp::from_nanos(self.step), event, &mut actions);
        for action in actions {
            match action {
                TierAction::Answer(ticket, answer) => self.answer(ticket, answer),
                TierAction::Forget(stripe) => {
                    assert!(self.encoded.remove(&stripe).is_some(), "encoded once");
                }
                TierAction::Expel(server) => {
                    self.servers.get_mut(&server).expect("it is a server").clear();
                }
                TierAction::Store { .. }
                | TierAction::Fetch { .. }
                | TierAction::Encode { .. }
                | TierAction::Delete { .. } => self.under_way.push(action),
            }
        }
    }

    fn answer(&mut self, ticket: TierTicket, answer: TierAnswer) {
        let call = self.calls.get_mut(&ticket).expect("it was asked");
        assert!(call.answered.is_none(), "answered twice");
        call.answered = Some(self.step);
        call.answer = Some(answer);
        if call.is_read && matches!(answer, TierAnswer::Value(_)) {
            let got = &self.fetched[&ticket];
            let is_it = |written: &&TierTicket| self.sent[written] == *got;
            let by = self
                .sent
                .keys()
                .filter(is_it)
                .find(|by| self.calls[by].key == call_key(&self.calls, ticket));
            let by = *by.expect("no write of this key left these bytes");
            self.calls.get_mut(&ticket).expect("it was asked").value = Some(by.0);
        }
    }

    /// Something that is under way happens; false if nothing is.
    pub(crate) fn advance(&mut self) -> bool {
        if self.under_way.is_empty() {
            return false;
        }
        let at = self.dice(self.under_way.len() as u64) as usize;
        let action = self.under_way.swap_remove(at);
        let is_lost = |world: &mut Self| world.dice(100) < world.losses;
        match action {
            TierAction::Store { task, server, name, source } => {
                let is_sent = !is_lost(self) && !self.dead.contains(&server);
                if is_sent {
                    self.put_item(server, name, source);
                }
                let is_known = is_sent && !is_lost(self);
                self.tell(if is_known {
                    TierEvent::ItemStored(task)
                } else {
                    TierEvent::StoreFailed(task)
                });
            }
            TierAction::Fetch { task, ticket, plan } => self.fetch(task, ticket, plan),
            TierAction::Encode { task, stripe, fragments } => self.encode(task, stripe, &fragments),
            TierAction::Delete { server, name } => {
                self.servers.get_mut(&server).expect("it is a server").remove(&name);
            }
            TierAction::Answer(..) | TierAction::Forget(_) | TierAction::Expel(_) => {
                unreachable!("these happen at once")
            }
        }
        true
    }

    pub(crate) fn drain(&mut self) {
        while self.advance() {}
    }

    fn put_item(&mut self, server: ServerId, name: ItemName, source: ItemSource) {
        let item = match (source, name) {
            (ItemSource::Write(ticket), _) => self.sent[&ticket].clone(),
            (ItemSource::Parity(stripe), ItemName::Parity { strip, .. }) => {
                // A put that was given up may arrive after the stripe is sealed.
                let Some(parity) = self.encoded.get(&stripe) else { return };
                parity[usize::from(strip) - self.codec.code().k()].clone()
            }
            (ItemSource::Parity(_), ItemName::Object { .. }) => unreachable!("it is no parity"),
        };
        let items = self.servers.get_mut(&server).expect("it is a server");
        if let Some(before) = items.insert(name, item.clone()) {
            assert_eq!(before, item, "an item was overwritten");
        }
    }

    fn fetch(&mut self, task: TierTask, ticket: TierTicket, plan: ReadPlan) {
        let (len, fragments) = match &plan {
            ReadPlan::Whole(whole) => (whole.len, vec![*whole]),
            ReadPlan::Decode { len, fragments, .. } => (*len, fragments.clone()),
        };
        let strips = match self.gather(&fragments, len.into()) {
            Ok(strips) => strips,
            Err(end) => return self.tell(TierEvent::FetchEnded(task, end)),
        };
        let value = match plan {
            ReadPlan::Whole(whole) => strips[usize::from(whole.strip)].clone(),
            ReadPlan::Decode { wanted, sources, .. } => {
                self.decoded += 1;
                let is_source = |fragment: &Fragment| sources.contains(&fragment.strip);
                assert!(fragments.iter().all(is_source), "more is fetched than decoded");
                let present: StripSet = sources.iter().map(|&strip| usize::from(strip)).collect();
                let plan = self.codec.plan(present, &[wanted.into()]).expect("K sources");
                let bytes: Vec<&[u8]> =
                    plan.sources().iter().map(|&strip| &strips[strip][..]).collect();
                let mut out = vec![0; len.into()];
                plan.run(&bytes, &mut [&mut out]).expect("equal lengths");
                out
            }
        };
        self.fetched.insert(ticket, value);
        self.tell(TierEvent::FetchEnded(task, FetchEnd::Done));
    }

    fn encode(&mut self, task: TierTask, stripe: SealId, fragments: &[Fragment]) {
        let strips = match self.gather(fragments, CHUNK_LEN) {
            Ok(strips) => strips,
            Err(end) => return self.tell(TierEvent::FetchEnded(task, end)),
        };
        let code = self.codec.code();
        let data: Vec<&[u8]> = strips[..code.k()].iter().map(|strip| &strip[..]).collect();
        let mut parity = vec![vec![0; CHUNK_LEN]; code.parity()];
        let mut out: Vec<&mut [u8]> = parity.iter_mut().map(|strip| &mut strip[..]).collect();
        self.codec.encode(&data, &mut out).expect("equal lengths");
        self.encoded.insert(stripe, parity);
        self.tell(TierEvent::FetchEnded(task, FetchEnd::Done));
    }

    fn gather(&mut self, fragments: &[Fragment], len: usize) -> Result<Vec<Vec<u8>>, FetchEnd> {
        let mut strips = vec![vec![0; len]; self.codec.code().n()];
        for fragment in fragments {
            let Fragment { strip, at, skip, len, server, name } = *fragment;
            if self.dead.contains(&server) || self.dice(100) < self.losses {
                return Err(FetchEnd::Silent { server });
            }
            let item = self.servers[&server].get(&name);
            let item = item.ok_or(FetchEnd::Missing { server, name })?;
            let (at, skip, len) = (usize::from(at), usize::from(skip), usize::from(len));
            strips[usize::from(strip)][at..at + len].copy_from_slice(&item[skip..skip + len]);
        }
        Ok(strips)
    }

    /// Every read saw a value that some order of the key's writes allows.
    pub(crate) fn check(&self) {
        for read in self.calls.values().filter(|call| call.is_read) {
            let end = read.answered.expect("a read has no answer");
            assert!(!matches!(read.answer, Some(TierAnswer::Refused(_))), "lost: {read:?}");
            let writes = || {
                let of_key = |call: &&Call| !call.is_read && call.key == read.key;
                let first = std::iter::once((0, 0, None));
                let took = |call: &Call| match call.answer {
                    Some(TierAnswer::Written(_) | TierAnswer::Deleted) => true,
                    Some(TierAnswer::Nothing | TierAnswer::Value(_) | TierAnswer::Refused(_))
                    | None => false,
                };
                first.chain(
                    self.calls
                        .values()
                        .filter(of_key)
                        .filter(move |call| took(call))
                        .map(|call| (call.asked, call.answered.unwrap_or(u64::MAX), call.value)),
                )
            };
            let is_allowed = |(asked, answered, value): (u64, u64, Option<u64>)| {
                value == read.value
                    && asked <= end
                    && !writes().any(|later| answered < later.0 && later.1 < read.asked)
            };
            assert!(writes().any(is_allowed), "stale or invented: {read:?}");
        }
        assert!(self.calls.values().all(|call| call.answered.is_some()), "all are answered");
    }
}

fn call_key(calls: &BTreeMap<TierTicket, Call>, ticket: TierTicket) -> KeyHash {
    calls[&ticket].key
}

/// Bytes that tell the write, if there are eight of them.
pub(crate) fn bytes(number: u64, len: usize) -> Vec<u8> {
    let scattered = |at: usize| (number.wrapping_mul(0x9e37_79b9) >> (at % 24)) as u8 ^ at as u8;
    let mut bytes: Vec<u8> = (0..len).map(scattered).collect();
    let count = len.min(8);
    bytes[..count].copy_from_slice(&number.to_le_bytes()[..count]);
    bytes
}
