use crate::{
    Fragment, ItemName, KeyHash, MemoryTier, ReadPlan, TIER_READS_MAX, TierAction, TierAnswer,
    TierRefusal, TierTicket,
    chunk::{HOLE, LOST},
    index::Location,
    state::Fetching,
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
            self.start_read(ticket, key, actions);
        }
    }

    /// Also when an earlier try failed: the key may have another value by then.
    pub(crate) fn start_read(
        &mut self,
        ticket: TierTicket,
        key: KeyHash,
        actions: &mut Vec<TierAction>,
    ) {
        let Some(location) = self.index.get(key) else {
            return self.end_read(ticket, TierAnswer::Nothing, actions);
        };
        let Some(plan) = self.plan_read(location) else {
            let answer = TierAnswer::Refused(TierRefusal::Unavailable);
            return self.end_read(ticket, answer, actions);
        };
        let task = self.task();
        let from = match &plan {
            ReadPlan::Whole(whole) => Some(whole.server),
            ReadPlan::Decode { .. } => None,
        };
        let version = location.version;
        self.fetches.insert(task, Fetching::Read { ticket, key, version, from });
        actions.push(TierAction::Fetch { task, ticket, plan });
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

    fn plan_read(&self, location: Location) -> Option<ReadPlan> {
        let Location { chunk: id, slot, .. } = location;
        let chunk = &self.chunks[&id];
        let member = chunk.members[usize::from(slot)];
        if let Some(server) = chunk.source(slot) {
            let name = ItemName::Object { chunk: id, slot };
            let strip = chunk.sealed.map_or(0, |sealed| sealed.1);
            let whole = Fragment { strip, at: 0, skip: 0, len: member.len, server, name };
            return Some(ReadPlan::Whole(whole));
        }
        let (stripe_id, wanted) = chunk.sealed.filter(|_| member.server != HOLE)?;
        let stripe = &self.stripes[&stripe_id];
        let (mut sources, mut fragments) = (Vec::new(), Vec::new());
        // Data strips first: of these only what is stored is fetched.
        for (strip, &other) in (0u8..).zip(&stripe.chunks) {
            let fetched = self.chunks[&other].overlapping(other, strip, member.offset, member.len);
            if let Some(fetched) = fetched.filter(|_| strip != wanted) {
                sources.push(strip);
                fragments.extend(fetched);
            }
        }
        for (strip, &server) in (self.code.k() as u8..).zip(&stripe.parity) {
            if server == LOST || sources.len() == self.code.k() {
                continue;
            }
            sources.push(strip);
            if member.len > 0 {
                let name = ItemName::Parity { stripe: stripe_id, strip };
                let (skip, len) = (member.offset, member.len);
                fragments.push(Fragment { strip, at: 0, skip, len, server, name });
            }
        }
        let is_enough = sources.len() == self.code.k();
        is_enough.then_some(ReadPlan::Decode { wanted, sources, len: member.len, fragments })
    }
}
