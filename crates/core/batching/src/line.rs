//! Members that wait, in the order in which they may leave.
//!
//! At most one member of a key may leave in a batch. So the first of those that wait for a key has
//! its turn among all others, and the rest stand in a chain behind it. An unconditional member
//! takes the place of the last of the chain where that is unconditional too, and of the same tenant
//! (whose bytes would otherwise be another's).

mod turns;

use crate::{BatchMember, BatchRefusal, BatchSettings, KeyMark, WriteTicket};
use alloc::{collections::BTreeMap, vec::Vec};
use turns::{Turn, Turns};

/// One that waits.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) member: BatchMember,
    /// Those whose place it took, in their order.
    pub(crate) collapsed: Vec<WriteTicket>,
    /// The next of its key.
    next: Option<u32>,
}

/// Those that wait for a key.
#[derive(Clone, Copy, Debug)]
struct Chain {
    last: u32,
    len: usize,
}

/// Members that wait.
#[derive(Debug)]
pub(crate) struct Line {
    slots: Vec<Option<Held>>,
    free: Vec<u32>,
    chains: BTreeMap<KeyMark, Chain>,
    turns: Turns,
    /// All that wait, and their bytes.
    members: usize,
    bytes: u64,
    /// The same of those that may leave in the next batch.
    ready_members: usize,
    ready_bytes: u64,
}

impl Line {
    pub(crate) fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            chains: BTreeMap::new(),
            turns: Turns::default(),
            members: 0,
            bytes: 0,
            ready_members: 0,
            ready_bytes: 0,
        }
    }

    /// Members that may leave in the next batch.
    pub(crate) const fn ready_members(&self) -> usize {
        self.ready_members
    }

    /// Their bytes.
    pub(crate) const fn ready_bytes(&self) -> u64 {
        self.ready_bytes
    }

    /// Takes one in; gives the one whose bytes it drops.
    pub(crate) fn enter(
        &mut self,
        member: BatchMember,
        settings: &BatchSettings,
    ) -> Result<Option<WriteTicket>, BatchRefusal> {
        let limits = &settings.limits;
        let bytes = u64::from(member.bytes);
        if bytes > limits.batch_bytes_max {
            return Err(BatchRefusal::TooLarge);
        }
        let chain = member.key.and_then(|key| self.chains.get(&key).copied());
        let dropped = chain.filter(|chain| settings.collapse && self.collapses(*chain, &member));
        let freed = dropped.map_or(0, |chain| u64::from(self.held(chain.last).member.bytes));
        let is_full = self.members >= limits.waiting_members_max.max(1);
        if is_full || self.bytes - freed + bytes > limits.waiting_bytes_max.max(bytes) {
            return Err(BatchRefusal::Full);
        }
        if let Some(chain) = dropped {
            return Ok(Some(self.replace(chain, member)));
        }
        if chain.is_some_and(|chain| chain.len >= limits.key_waiting_max.max(1)) {
            return Err(BatchRefusal::KeyFull);
        }
        self.append(member, chain);
        Ok(None)
    }

    /// Whether the last of a chain gives its place to this one.
    fn collapses(&self, chain: Chain, member: &BatchMember) -> bool {
        let last = &self.held(chain.last).member;
        !member.is_conditional && !last.is_conditional && last.tenant == member.tenant
    }

    fn replace(&mut self, chain: Chain, member: BatchMember) -> WriteTicket {
        let is_ready = chain.len == 1;
        let held = self.held_mut(chain.last);
        let before = core::mem::replace(&mut held.member, member);
        held.collapsed.push(before.ticket);
        let changed = |bytes: u64| bytes - u64::from(before.bytes) + u64::from(member.bytes);
        self.members += 1;
        self.bytes = changed(self.bytes);
        if is_ready {
            self.ready_bytes = changed(self.ready_bytes);
        }
        before.ticket
    }

    fn append(&mut self, member: BatchMember, chain: Option<Chain>) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            (self.slots.len() - 1) as u32
        });
        self.slots[slot as usize] = Some(Held { member, collapsed: Vec::new(), next: None });
        self.members += 1;
        self.bytes += u64::from(member.bytes);
        if let Some(key) = member.key {
            let len = chain.map_or(0, |chain| chain.len) + 1;
            self.chains.insert(key, Chain { last: slot, len });
        }
        match chain {
            Some(chain) => self.held_mut(chain.last).next = Some(slot),
            None => self.ready(slot, false),
        }
    }

    /// Gives a slot its turn: behind all others of its tenant, or before them.
    fn ready(&mut self, slot: u32, first: bool) {
        let member = self.held(slot).member;
        self.ready_members += 1;
        self.ready_bytes += u64::from(member.bytes);
        self.turns.enter(member.tenant, Turn { slot, bytes: 0 }, first);
    }

    /// Takes out what leaves next: at most this many members and bytes, which one member always
    /// keeps. Those behind them in their chains have their turn afterwards.
    pub(crate) fn leave(&mut self, members_max: usize, bytes_max: u64) -> Vec<Held> {
        let mut leaving = Vec::with_capacity(members_max.min(self.ready_members));
        let mut follow = Vec::new();
        let mut room = bytes_max;
        while leaving.len() < members_max.max(1) {
            let slots = &self.slots;
            let weigh = |slot: u32| {
                let held = slots[slot as usize].as_ref();
                u64::from(held.expect("what has its turn waits").member.bytes)
            };
            let Some(turn) = self.turns.next(room, weigh) else { break };
            room -= turn.bytes;
            let held = self.slots[turn.slot as usize].take().expect("what has its turn waits");
            self.free.push(turn.slot);
            self.members -= 1 + held.collapsed.len();
            self.bytes -= turn.bytes;
            self.ready_members -= 1;
            self.ready_bytes -= turn.bytes;
            if let Some(key) = held.member.key {
                match held.next {
                    Some(next) => {
                        self.chains.get_mut(&key).expect("it stands in its chain").len -= 1;
                        follow.push(next);
                    }
                    None => drop(self.chains.remove(&key)),
                }
            }
            leaving.push(held);
        }
        // From the last on: each goes before the others, so that the first is first again.
        follow.into_iter().rev().for_each(|slot| self.ready(slot, true));
        leaving
    }

    fn held(&self, slot: u32) -> &Held {
        self.slots[slot as usize].as_ref().expect("a chain's members wait")
    }

    fn held_mut(&mut self, slot: u32) -> &mut Held {
        self.slots[slot as usize].as_mut().expect("a chain's members wait")
    }
}
