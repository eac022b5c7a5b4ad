use crate::{
    ChunkId, ItemSource, KeyHash, MemoryTier, Presence, TIER_VALUE_LEN_MAX, TIER_WRITES_MAX,
    TierAction, TierAnswer, TierRefusal, TierTicket, TierWrite,
    chunk::{BULK, CHUNK_LEN, Chunk, LOST, Member},
    index::Location,
    ring::ring_of,
    task::{Append, Appending, NONE_AVOIDED, Origin, Turn, WaitingWrite, Wound},
};
use alloc::vec::Vec;

impl MemoryTier {
    pub(crate) fn write_arrived(
        &mut self,
        key: KeyHash,
        write: WaitingWrite,
        actions: &mut Vec<TierAction>,
    ) {
        let refuse = |refusal| TierAction::Answer(write.ticket, TierAnswer::Refused(refusal));
        if self.writes >= TIER_WRITES_MAX {
            return actions.push(refuse(TierRefusal::Busy));
        }
        if matches!(write.write, TierWrite::Put { len, .. } if len > TIER_VALUE_LEN_MAX) {
            return actions.push(refuse(TierRefusal::TooLong));
        }
        self.writes += 1;
        self.queue(key, Turn::Client(write), actions);
    }

    pub(crate) fn queue(&mut self, key: KeyHash, turn: Turn, actions: &mut Vec<TierAction>) {
        let line = self.lines.entry(key).or_default();
        let is_client = matches!(turn, Turn::Client(_));
        if line.is_stalled && !is_client {
            line.is_stalled = false;
            line.turns.push_front(turn);
            return self.run_line(key, actions);
        }
        line.turns.push_back(turn);
        if line.turns.len() == 1 {
            self.run_line(key, actions);
        }
    }

    /// Takes the key's writes by turns, until one has to wait for servers.
    pub(crate) fn run_line(&mut self, key: KeyHash, actions: &mut Vec<TierAction>) {
        while let Some(first) = self.first_turn(key) {
            let is_waiting = match first {
                Turn::Client(write) => self.begin(key, write, actions),
                Turn::Bury(from) => self.begin_burial(key, from, actions),
                Turn::Rewrite(rewrite) => self.begin_rewrite(rewrite, actions),
            };
            if is_waiting {
                return;
            }
            self.lines.get_mut(&key).expect("it has this turn").turns.pop_front();
        }
    }

    /// Whose turn it is. Values wait while there is no room, and what may make room goes first.
    fn first_turn(&mut self, key: KeyHash) -> Option<Turn> {
        let (has_room, is_flushing) = (self.has_room(), !self.flushes.is_empty());
        let line = self.lines.get_mut(&key)?;
        let Some(&first) = line.turns.front() else {
            self.lines.remove(&key);
            return None;
        };
        let needs_room = |turn: &Turn| match turn {
            Turn::Client(it) => is_flushing || matches!(it.write, TierWrite::Put { .. }),
            Turn::Bury(_) | Turn::Rewrite(_) => false,
        };
        if has_room || !needs_room(&first) {
            return Some(first);
        }
        let other = line.turns.iter().position(|turn| !matches!(turn, Turn::Client(_)));
        let Some(turn) = other.and_then(|at| line.turns.remove(at)) else {
            line.is_stalled = true;
            self.stalled.push_back(key);
            return None;
        };
        line.turns.push_front(turn);
        Some(turn)
    }

    fn end_write(&mut self, ticket: TierTicket, answer: TierAnswer, actions: &mut Vec<TierAction>) {
        self.writes -= 1;
        actions.push(TierAction::Answer(ticket, answer));
    }

    /// Whether it waits for servers. If not, it is answered.
    fn begin(&mut self, key: KeyHash, write: WaitingWrite, actions: &mut Vec<TierAction>) -> bool {
        let ticket = write.ticket;
        let version = self.index.get(key).map(|location| location.version);
        if !self.holds(key, write.presence) {
            let refusal = TierRefusal::Condition(version);
            self.end_write(ticket, TierAnswer::Refused(refusal), actions);
            return false;
        }
        let (len, expires, is_tombstone) = match write.write {
            TierWrite::Put { len, expires } => (len, expires, false),
            TierWrite::Delete if version.is_none() => {
                self.end_write(ticket, TierAnswer::Nothing, actions);
                return false;
            }
            TierWrite::Delete => (0, None, true),
        };
        let (origin, version) = (Origin::Client(ticket), self.version());
        let presence = if is_tombstone { Presence::Any } else { write.presence };
        let append = Append { key, origin, version, len, expires, is_tombstone, presence };
        let is_waiting = self.append(append, actions);
        if !is_waiting {
            let refusal = TierAnswer::Refused(TierRefusal::Unavailable);
            self.end_write(ticket, refusal, actions);
        }
        is_waiting
    }

    /// Refuses a write that there is no room for, if it is the key's first turn.
    pub(crate) fn refuse_turn(&mut self, key: KeyHash, actions: &mut Vec<TierAction>) {
        let Some(line) = self.lines.get_mut(&key).filter(|line| line.is_stalled) else { return };
        line.is_stalled = false;
        if let Some(&Turn::Client(write)) = line.turns.front() {
            let refusal = TierAnswer::Refused(TierRefusal::Busy);
            self.end_write(write.ticket, refusal, actions);
            self.run_line_on(key, actions);
        }
    }

    fn holds(&self, key: KeyHash, presence: Presence) -> bool {
        let version = self.index.get(key).map(|location| location.version);
        match presence {
            Presence::Any => true,
            Presence::Absent => version.is_none(),
            Presence::Present => version.is_some(),
            Presence::Is(asked) => version == Some(asked),
        }
    }

    /// Stores the object; false if no server can have it.
    pub(crate) fn append(&mut self, append: Append, actions: &mut Vec<TierAction>) -> bool {
        if append.len > u32::from(CHUNK_LEN) {
            return self.append_bulk(append, actions);
        }
        let Append { key, origin, version, expires, is_tombstone, .. } = append;
        let len = append.len as u16;
        let count = self.rings.len();
        let ring = ring_of(key, count);
        let first = self.rings[ring].server(key, &self.down);
        // Where copies begin goes round, so that every other ring has as many of them.
        let turn = self.next_task as usize;
        let others = (0..count - 1).map(|at| (ring + 1 + (at + turn) % (count - 1)) % count);
        let servers = others.filter_map(|other| self.rings[other].server(key, &self.down));
        let copies: Vec<_> = servers.take(self.code.parity()).collect();
        if first.is_none() && copies.is_empty() {
            return false;
        }
        let id = self.open_chunk(ring, len);
        let chunk = self.chunks.get_mut(&id).expect("it is open");
        let slot = chunk.members.len() as u16;
        let is_wanted = false;
        let (halves, server, offset) = (Member::halves(key), first.unwrap_or(LOST), chunk.used);
        chunk.members.push(Member {
            halves,
            version,
            offset,
            len,
            server,
            is_tombstone,
            is_wanted,
        });
        chunk.used += len;
        chunk.pending += 1;
        chunk.copies.extend(copies.iter().map(|&server| (slot, server)));
        let label = chunk.label(id, slot, expires);
        let waiting = (copies.len() + usize::from(first.is_some())) as u16;
        self.appending.insert((id, slot), Appending { append, waiting });
        let source = match origin {
            _ if is_tombstone => ItemSource::Tombstone,
            Origin::Client(ticket) => ItemSource::Write(ticket),
            Origin::Rewrite(rewrite) => ItemSource::Write(rewrite.ticket),
            Origin::Burial | Origin::Refusal(_) => ItemSource::Tombstone,
        };
        for server in first.into_iter().chain(copies) {
            self.store(server, label.name, (source, Some(label)), actions);
        }
        true
    }

    /// The ring's open chunk, if it has room, or a new one.
    fn open_chunk(&mut self, ring: usize, len: u16) -> ChunkId {
        let filling = &mut self.fillings[ring];
        if let Some(open) = filling.open {
            if self.chunks[&open].has_room(len, self.code.k()) {
                return open;
            }
            filling.full.push_back(open);
        }
        let id = self.chunk_id();
        self.fillings[ring].open = Some(id);
        self.chunks.insert(id, Chunk { ring, ..Chunk::default() });
        id
    }

    /// An item of the object is stored, or its server is lost.
    pub(crate) fn object_put_ended(
        &mut self,
        id: ChunkId,
        slot: u16,
        actions: &mut Vec<TierAction>,
    ) {
        let appending = self.appending.get_mut(&(id, slot)).expect("its puts are under way");
        appending.waiting -= 1;
        if appending.waiting > 0 {
            return;
        }
        let append = appending.append;
        self.appending.remove(&(id, slot));
        let location = Location { version: append.version, chunk: id, slot };
        let is_stored = self.is_stored(location);
        let wound = if slot == BULK { Wound::Value(id) } else { Wound::Chunk(id) };
        if self.scars.remove(&wound) || !self.down.is_empty() {
            // A server was passed over, or lost meanwhile.
            self.wounds.insert(wound);
        }
        if let Origin::Rewrite(rewrite) = append.origin {
            self.rewritten(&rewrite, location, is_stored, actions);
            return self.run_line_on(append.key, actions);
        }
        let holds = self.holds(append.key, append.presence);
        if is_stored && holds {
            self.unindex(append.key, actions);
            self.index_new(&append, location);
            self.expire(actions);
        } else {
            self.kill(location, actions);
        }
        if is_stored && !holds && self.revoke(append, actions) {
            return;
        }
        self.append_ended(append, is_stored && holds, actions);
    }

    fn append_ended(&mut self, append: Append, is_done: bool, actions: &mut Vec<TierAction>) {
        let answer = match (is_done, append.is_tombstone) {
            (true, true) => TierAnswer::Deleted,
            (true, false) => TierAnswer::Written(append.version),
            (false, _) => TierAnswer::Refused(TierRefusal::Unavailable),
        };
        match append.origin {
            Origin::Refusal(ticket) if is_done => {
                let refusal = TierRefusal::Condition(None);
                self.end_write(ticket, TierAnswer::Refused(refusal), actions);
            }
            Origin::Client(ticket) | Origin::Refusal(ticket) => {
                self.end_write(ticket, answer, actions);
            }
            Origin::Burial | Origin::Rewrite(_) => {}
        }
        self.run_line_on(append.key, actions);
    }

    /// The first turn is over.
    pub(crate) fn run_line_on(&mut self, key: KeyHash, actions: &mut Vec<TierAction>) {
        self.lines.get_mut(&key).expect("it has this turn").turns.pop_front();
        self.run_line(key, actions);
    }

    /// Puts a tombstone after what was stored on a condition that holds no more, before the write
    /// is refused: else its items were the key's newest.
    fn revoke(&mut self, append: Append, actions: &mut Vec<TierAction>) -> bool {
        let Origin::Client(ticket) = append.origin else { return false };
        let (origin, version) = (Origin::Refusal(ticket), self.version());
        self.append(Append::tombstone(append.key, origin, version), actions)
    }

    fn is_stored(&mut self, location: Location) -> bool {
        if location.slot == BULK {
            return self.plan_read(location, &NONE_AVOIDED).is_some();
        }
        let chunk = self.chunks.get_mut(&location.chunk).expect("it has a pending write");
        chunk.pending -= 1;
        chunk.source(location.slot, &NONE_AVOIDED).is_some()
    }

    fn index_new(&mut self, append: &Append, location: Location) {
        if append.is_tombstone {
            self.graves.insert(append.key, location);
            return;
        }
        self.index.insert(append.key, location);
        if let Some(expires) = append.expires {
            self.expiries.insert(append.key, expires);
            self.due.insert((expires, append.key));
        }
    }
}
