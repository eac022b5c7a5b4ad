use crate::{
    ChunkId, ItemName, ItemSource, KeyHash, MemoryTier, Presence, TIER_WRITES_MAX, TierAction,
    TierAnswer, TierRefusal, TierTicket, TierWrite, Version,
    chunk::{CHUNK_LEN, Chunk, LOST, Member},
    index::Location,
    ring::ring_of,
    state::{Appending, Put, WaitingWrite},
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
        if matches!(write.write, TierWrite::Put { len } if len > u32::from(CHUNK_LEN)) {
            return actions.push(refuse(TierRefusal::TooLong));
        }
        self.writes += 1;
        let line = self.lines.entry(key).or_default();
        line.push_back(write);
        if line.len() == 1 {
            self.run_line(key, actions);
        }
    }

    /// Takes the key's writes by turns, until one has to wait for servers.
    fn run_line(&mut self, key: KeyHash, actions: &mut Vec<TierAction>) {
        while let Some(&first) = self.lines.get(&key).and_then(|line| line.front()) {
            let Some(answer) = self.begin(key, first, actions) else { return };
            self.end_write(key, first.ticket, answer, actions);
        }
        self.lines.remove(&key);
    }

    fn end_write(
        &mut self,
        key: KeyHash,
        ticket: TierTicket,
        answer: TierAnswer,
        actions: &mut Vec<TierAction>,
    ) {
        self.lines.get_mut(&key).expect("a write is in its key's line").pop_front();
        self.writes -= 1;
        actions.push(TierAction::Answer(ticket, answer));
    }

    /// The answer, if it needs no server.
    fn begin(
        &mut self,
        key: KeyHash,
        write: WaitingWrite,
        actions: &mut Vec<TierAction>,
    ) -> Option<TierAnswer> {
        let now = self.index.get(key);
        let version = now.map(|location| location.version);
        let holds = match write.presence {
            Presence::Any => true,
            Presence::Absent => version.is_none(),
            Presence::Present => version.is_some(),
            Presence::Is(asked) => version == Some(asked),
        };
        if !holds {
            return Some(TierAnswer::Refused(TierRefusal::Condition(version)));
        }
        match write.write {
            TierWrite::Put { len } => self.append(key, write.ticket, len as u16, actions),
            TierWrite::Delete if now.is_none() => Some(TierAnswer::Nothing),
            TierWrite::Delete => {
                self.unindex(key);
                Some(TierAnswer::Deleted)
            }
        }
    }

    /// What the key had is dead from now on.
    pub(crate) fn unindex(&mut self, key: KeyHash) {
        let Some(Location { chunk, slot, .. }) = self.index.get(key) else { return };
        let chunk = self.chunks.get_mut(&chunk).expect("the index names chunks that are there");
        chunk.live -= chunk.members[usize::from(slot)].len;
        self.index.remove(key);
    }

    /// Puts the object into its ring's open chunk, and copies of it into N - K other rings.
    fn append(
        &mut self,
        key: KeyHash,
        ticket: TierTicket,
        len: u16,
        actions: &mut Vec<TierAction>,
    ) -> Option<TierAnswer> {
        let count = self.rings.len();
        let ring = ring_of(key, count);
        let first = self.rings[ring].server(key, &self.down);
        // Where copies begin goes round, so that every other ring has as many of them.
        let turn = self.next_task as usize;
        let others = (0..count - 1).map(|at| (ring + 1 + (at + turn) % (count - 1)) % count);
        let servers = others.filter_map(|other| self.rings[other].server(key, &self.down));
        let copies: Vec<_> = servers.take(self.code.parity()).collect();
        if first.is_none() && copies.is_empty() {
            return Some(TierAnswer::Refused(TierRefusal::Unavailable));
        }
        let id = self.open_chunk(ring, len);
        let chunk = self.chunks.get_mut(&id).expect("it is open");
        let slot = chunk.members.len() as u16;
        let server = first.unwrap_or(LOST);
        chunk.members.push(Member { offset: chunk.used, len, server });
        chunk.used += len;
        chunk.pending += 1;
        chunk.copies.extend(copies.iter().map(|&server| (slot, server)));
        let waiting = (copies.len() + usize::from(first.is_some())) as u16;
        self.appending.insert((id, slot), Appending { key, ticket, waiting });
        let (name, source) = (ItemName::Object { chunk: id, slot }, ItemSource::Write(ticket));
        for server in first.into_iter().chain(copies) {
            self.store(Put { server, name, source, tries: 0 }, actions);
        }
        None
    }

    /// The ring's open chunk, if it has room, or a new one.
    fn open_chunk(&mut self, ring: usize, len: u16) -> ChunkId {
        let filling = &mut self.fillings[ring];
        if let Some(open) = filling.open {
            if self.chunks[&open].has_room(len) {
                return open;
            }
            filling.full.push_back(open);
        }
        let id = ChunkId(self.next_chunk);
        self.next_chunk = self.next_chunk.checked_add(1).expect("16 TiB are not written");
        filling.open = Some(id);
        self.chunks.insert(id, Chunk::new());
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
        let Appending { key, ticket, .. } = *appending;
        self.appending.remove(&(id, slot));
        let is_stored = self.chunks[&id].source(slot).is_some();
        let answer = if is_stored {
            self.unindex(key);
            let version = Version(self.next_version);
            self.next_version += 1;
            self.index.insert(key, Location { version, chunk: id, slot });
            TierAnswer::Written(version)
        } else {
            TierAnswer::Refused(TierRefusal::Unavailable)
        };
        let chunk = self.chunks.get_mut(&id).expect("it has a pending write");
        chunk.pending -= 1;
        if is_stored {
            chunk.live += chunk.members[usize::from(slot)].len;
        }
        self.end_write(key, ticket, answer, actions);
        self.run_line(key, actions);
    }
}
