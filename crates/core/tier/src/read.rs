use crate::{
    ChunkId, Fragment, ItemName, KeyHash, MemoryTier, ReadPlan, ServerId, TIER_READ_TRIES_MAX,
    TIER_READS_MAX, TierAction, TierAnswer, TierRefusal, TierTicket,
    chunk::{BULK, HOLE, LOST},
    index::Location,
    task::{Fetching, Held, NONE_AVOIDED, Reading, Suspects},
};
use alloc::vec::Vec;

impl MemoryTier {
    pub(crate) fn read_arrived(
        &mut self,
        ticket: TierTicket,
        key: KeyHash,
        actions: &mut Vec<TierAction>,
    ) {
        if self.reads >= TIER_READS_MAX {
            let answer = TierAnswer::Refused(TierRefusal::Busy);
            actions.push(TierAction::Answer(ticket, answer));
        } else {
            self.reads += 1;
            self.start_read(Reading { ticket, key, tries: 0 }, actions);
        }
    }

    /// Also when an earlier try failed: the key may have another value by then.
    pub(crate) fn start_read(&mut self, reading: Reading, actions: &mut Vec<TierAction>) {
        let Reading { ticket, key, tries } = reading;
        let Some(location) = self.index.get(key) else {
            return self.end_read(ticket, TierAnswer::Nothing, actions);
        };
        let plan = self.plan_read(location, &self.suspects);
        let plan = plan.or_else(|| self.plan_read(location, &NONE_AVOIDED));
        let Some(plan) = plan.filter(|_| tries < TIER_READ_TRIES_MAX) else {
            let answer = TierAnswer::Refused(TierRefusal::Unavailable);
            return self.end_read(ticket, answer, actions);
        };
        let task = self.task();
        let from = match &plan {
            ReadPlan::Whole(whole) => Some(whole.server),
            ReadPlan::Decode { .. } | ReadPlan::Join { .. } => None,
        };
        let version = location.version;
        self.want(location);
        self.fetches.insert(task, Fetching::Read { reading, version, from });
        actions.push(TierAction::Fetch { task, ticket, plan });
    }

    /// The clock passes it over once.
    fn want(&mut self, location: Location) {
        let Location { chunk, slot, .. } = location;
        if let Some(bulk) = self.bulks.get_mut(&chunk) {
            bulk.is_wanted = true;
        } else if let Some(chunk) = self.chunks.get_mut(&chunk) {
            chunk.members[usize::from(slot)].is_wanted = true;
        }
    }

    /// A server gave no answer: another way, if there is one, or wait for that server.
    pub(crate) fn read_again(
        &mut self,
        reading: Reading,
        silent: ServerId,
        actions: &mut Vec<TierAction>,
    ) {
        let location = self.index.get(reading.key);
        if !self.is_gone(silent) {
            self.suspect(silent);
        }
        let is_other = location.is_none_or(|it| self.plan_read(it, &self.suspects).is_some());
        if is_other {
            self.start_read(reading, actions);
        } else {
            self.hold(silent, Held::Read(reading), actions);
        }
    }

    pub(crate) fn end_read(
        &mut self,
        ticket: TierTicket,
        answer: TierAnswer,
        actions: &mut Vec<TierAction>,
    ) {
        self.reads -= 1;
        actions.push(TierAction::Answer(ticket, answer));
    }

    pub(crate) fn plan_read(&self, location: Location, avoided: &Suspects) -> Option<ReadPlan> {
        let Location { chunk: id, slot, .. } = location;
        if slot == BULK {
            return self.plan_join(id, avoided);
        }
        let chunk = &self.chunks[&id];
        let member = chunk.members[usize::from(slot)];
        if let Some(server) = chunk.source(slot, avoided) {
            let name = ItemName::Object { chunk: id, slot };
            let strip = chunk.sealed.map_or(0, |sealed| sealed.1);
            let len = member.len.into();
            return Some(ReadPlan::Whole(Fragment { strip, at: 0, skip: 0, len, server, name }));
        }
        chunk.sealed.filter(|_| member.server != HOLE)?;
        self.plan_decode(id, slot, avoided)
    }

    fn plan_decode(&self, id: ChunkId, slot: u16, avoided: &Suspects) -> Option<ReadPlan> {
        let chunk = &self.chunks[&id];
        let member = chunk.members[usize::from(slot)];
        let (stripe_id, wanted) = chunk.sealed?;
        let stripe = &self.stripes[&stripe_id];
        let (mut sources, mut fragments) = (Vec::new(), Vec::new());
        // Data strips first: of these only what is stored is fetched.
        for (strip, &other) in (0u8..).zip(&stripe.chunks) {
            let range = (member.offset, member.len);
            let fetched = self.chunks[&other].overlapping((other, strip), range, avoided);
            if let Some(fetched) = fetched.filter(|_| strip != wanted) {
                sources.push(strip);
                fragments.extend(fetched);
            }
        }
        for (strip, &server) in (self.code.k() as u8..).zip(&stripe.parity) {
            let is_usable = server != LOST && !avoided.contains_key(&server);
            if !is_usable || sources.len() == self.code.k() {
                continue;
            }
            sources.push(strip);
            if member.len > 0 {
                let name = ItemName::Parity { stripe: stripe_id, strip };
                let (skip, len) = (member.offset.into(), member.len.into());
                fragments.push(Fragment { strip, at: 0, skip, len, server, name });
            }
        }
        let (is_enough, len) = (sources.len() == self.code.k(), member.len.into());
        let item = ItemName::Object { chunk: id, slot };
        is_enough.then_some(ReadPlan::Decode { item, wanted, sources, len, fragments })
    }

    /// Any K strips, data first.
    fn plan_join(&self, value: ChunkId, avoided: &Suspects) -> Option<ReadPlan> {
        let (bulk, k) = (&self.bulks[&value], self.code.k());
        let strip_len = bulk.strip_len(k);
        let is_usable = |server: ServerId| server != LOST && !avoided.contains_key(&server);
        let strips = (0u8..).zip(bulk.servers.iter().copied());
        let usable = strips.filter(|&(_, server)| is_usable(server)).take(k);
        let (mut sources, mut fragments) = (Vec::new(), Vec::new());
        for (strip, server) in usable {
            let name = ItemName::Strip { value, strip };
            sources.push(strip);
            fragments.push(Fragment { strip, at: 0, skip: 0, len: strip_len, server, name });
        }
        let (is_enough, len) = (sources.len() == k, bulk.len);
        is_enough.then_some(ReadPlan::Join { sources, strip_len, len, fragments })
    }
}
