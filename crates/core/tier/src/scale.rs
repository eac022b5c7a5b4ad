//! How a ring gets a server or gives one up: one point of the ring after another, so that little
//! moves at once. An item is copied to where it belongs now, then counts there, and then goes from
//! where it was; it keeps its place in its chunk, so no parity changes.

use crate::{
    ChunkId, FetchEnd, ItemName, KeyHash, MemoryTier, SealId, ServerId, TierAction,
    chunk::BULK,
    shift::{Look, Shift, Step},
    task::{Deed, Errand, wound_of},
};
use alloc::vec::Vec;
use core::ops::Bound::{Included, Unbounded};
use ripstop_model::Timestamp;

/// Chunks, long values and stripes that are looked at together, at most.
const LOOKS_MAX: usize = 1024;
/// From one look at everything to the next, if something could not be moved.
const PAUSE_NANOS: u64 = 5_000_000;

impl MemoryTier {
    /// A server that no ring has is there, empty.
    pub(crate) fn server_added(&mut self, ring: u8, server: ServerId) {
        let ring = usize::from(ring);
        assert!(ring < self.rings.len() && server.0 < u16::MAX - 1, "a server of one of the rings");
        if self.homes.insert(server, ring).is_some() {
            return;
        }
        let points = crate::ring::points(server);
        let step = |point| Step { ring, server, point, is_leaving: false };
        self.shifts.steps.extend(points.map(step));
    }

    /// Nothing new goes to the server when this is over. The last one of a ring cannot leave.
    pub(crate) fn server_leaves(&mut self, server: ServerId) {
        let Some(&ring) = self.homes.get(&server) else { return };
        let step = |point| Step { ring, server, point, is_leaving: true };
        // One that was added has no points yet, but has them before this one loses its own.
        let others = self.homes.iter().filter(|(other, home)| **home == ring && **other != server);
        let stays = others.filter(|(other, _)| !self.shifts.is_leaving(**other)).count() > 0;
        if stays && !self.shifts.is_leaving(server) {
            self.shifts.steps.extend(crate::ring::points(server).map(step));
        }
    }

    /// Points of rings that are still to change, since servers come or go.
    pub fn points_left(&self) -> usize {
        self.shifts.steps.len() + usize::from(self.shifts.current.is_some())
    }

    /// Whether a server is to have nothing any more, as fast as may be.
    pub fn is_leaving(&self, server: ServerId) -> bool {
        self.shifts.is_leaving(server)
    }

    pub(crate) fn shift(&mut self, actions: &mut Vec<TierAction>) {
        while self.flushes.is_empty() {
            let Some(mut shift) = self.shifts.current.take() else {
                let Some(step) = self.shifts.steps.pop_front() else { return };
                self.begin_step(step);
                continue;
            };
            if shift.at > self.now || self.mends.len() >= self.mends_max() {
                self.shifts.current = Some(shift);
                return;
            }
            self.look(&mut shift, actions);
            if shift.moving > 0 || !matches!(shift.look, Look::Done) {
                self.shifts.current = Some(shift);
                return;
            }
            if shift.is_dirty || self.is_busy_leaving(shift.step) {
                let at = Timestamp::from_nanos(self.now.as_nanos() + PAUSE_NANOS);
                let look = Look::Chunks(ChunkId(0));
                self.shifts.current = Some(Shift { look, is_dirty: false, at, ..shift });
                return;
            }
            self.end_step(shift.step, actions);
        }
    }

    /// Whether something is still on its way to a server that leaves, or to be deleted there.
    fn is_busy_leaving(&self, step: Step) -> bool {
        let is_there = |errand: &Errand| errand.server == step.server;
        step.is_leaving
            && (self.suspects.contains_key(&step.server) || self.errands.values().any(is_there))
    }

    fn begin_step(&mut self, step: Step) {
        let Step { ring, server, point, is_leaving } = step;
        self.rings[ring].set_point(point, server, !is_leaving);
        let (look, at) = (Look::Chunks(ChunkId(0)), self.now);
        self.shifts.current = Some(Shift { step, look, is_dirty: false, moving: 0, at });
    }

    fn end_step(&mut self, step: Step, actions: &mut Vec<TierAction>) {
        let is_last = self.shifts.steps.front().is_none_or(|next| next.server != step.server);
        if step.is_leaving && is_last {
            self.homes.remove(&step.server);
            self.down.remove(&step.server);
            actions.push(TierAction::Dismiss(step.server));
        }
    }

    /// Looks on, as far as may be at once.
    fn look(&mut self, shift: &mut Shift, actions: &mut Vec<TierAction>) {
        let step = shift.step;
        for _ in 0..LOOKS_MAX {
            if self.mends.len() >= self.mends_max() {
                return;
            }
            shift.look = match shift.look {
                Look::Chunks(from) => match self.chunks.first_from(from) {
                    Some(id) => {
                        let (moves, is_dirty) = self.misplaced_objects(id, step);
                        shift.is_dirty |= is_dirty;
                        self.move_all(shift, moves, actions);
                        Look::Chunks(ChunkId(id.0 + 1))
                    }
                    None => Look::Values(ChunkId(0)),
                },
                Look::Values(from) => match self.bulks.range((Included(from), Unbounded)).next() {
                    Some((&id, _)) => {
                        let (moves, is_dirty) = self.misplaced_strips(id, step);
                        shift.is_dirty |= is_dirty;
                        self.move_all(shift, moves, actions);
                        Look::Values(ChunkId(id.0 + 1))
                    }
                    None => Look::Stripes(SealId(0)),
                },
                Look::Stripes(from) => match self.stripes.first_from(from) {
                    Some(id) => {
                        let (moves, is_dirty) = self.misplaced_parity(id, step);
                        shift.is_dirty |= is_dirty;
                        self.move_all(shift, moves, actions);
                        Look::Stripes(SealId(id.0 + 1))
                    }
                    None => Look::Done,
                },
                Look::Done => return,
            };
        }
    }

    /// Where an item at `from` with this place on the ring goes, if the step moves it.
    fn next_home(&self, step: Step, place: KeyHash, from: ServerId) -> Option<ServerId> {
        let to = self.rings[step.ring].server(place, &self.down)?;
        let is_moved = if step.is_leaving { from == step.server } else { to == step.server };
        // A server that leaves keeps what its other points have.
        (is_moved && to != from && self.homes.get(&from) == Some(&step.ring)).then_some(to)
    }

    fn misplaced_objects(
        &self,
        id: ChunkId,
        step: Step,
    ) -> (Vec<(ItemName, ServerId, ServerId)>, bool) {
        let chunk = &self.chunks[&id];
        let (mut moves, mut is_dirty) = (Vec::new(), false);
        let mut look_at = |slot: u16, from: ServerId| {
            let key = chunk.members[usize::from(slot)].key();
            if let Some(to) = self.next_home(step, key, from) {
                if self.appending.contains_key(&(id, slot)) {
                    is_dirty = true;
                } else {
                    moves.push((ItemName::Object { chunk: id, slot }, from, to));
                }
            }
        };
        if chunk.ring == step.ring {
            let servers = chunk.members.iter().map(|member| member.server);
            (0u16..).zip(servers).for_each(|(slot, from)| look_at(slot, from));
        } else if step.is_leaving {
            chunk.copies.iter().for_each(|&(slot, from)| look_at(slot, from));
        }
        (moves, is_dirty)
    }

    fn misplaced_strips(
        &self,
        value: ChunkId,
        step: Step,
    ) -> (Vec<(ItemName, ServerId, ServerId)>, bool) {
        let bulk = &self.bulks[&value];
        let strips = (0u8..).zip(&bulk.servers);
        let moves: Vec<_> = strips
            .filter_map(|(strip, &from)| {
                let to = self.next_home(step, bulk.key, from)?;
                Some((ItemName::Strip { value, strip }, from, to))
            })
            .collect();
        if self.appending.contains_key(&(value, BULK)) {
            return (Vec::new(), !moves.is_empty());
        }
        (moves, false)
    }

    fn misplaced_parity(
        &self,
        stripe: SealId,
        step: Step,
    ) -> (Vec<(ItemName, ServerId, ServerId)>, bool) {
        let place = crate::seal::parity_place(stripe);
        let strips = (self.code.k() as u8..).zip(&self.stripes[&stripe].parity);
        let moves: Vec<_> = strips
            .filter_map(|(strip, &from)| {
                let to = self.next_home(step, place, from)?;
                Some((ItemName::Parity { stripe, strip }, from, to))
            })
            .collect();
        if self.sealing.contains_key(&stripe) {
            return (Vec::new(), !moves.is_empty());
        }
        (moves, false)
    }

    fn move_all(
        &mut self,
        shift: &mut Shift,
        moves: Vec<(ItemName, ServerId, ServerId)>,
        actions: &mut Vec<TierAction>,
    ) {
        for (name, from, to) in moves {
            // One that lets us down is lost, or answers again.
            if self.suspects.contains_key(&from) || !self.mends.insert((name, to)) {
                shift.is_dirty = true;
                continue;
            }
            shift.moving += 1;
            self.keep(name);
            self.put(to, name, Deed::Move { from }, actions);
        }
    }

    /// Of a step's moves one is over.
    fn moved_one(&mut self, is_failed: bool) {
        let shift = self.shifts.current.as_mut().expect("a step waits for its moves");
        shift.moving -= 1;
        shift.is_dirty |= is_failed;
    }

    /// It is stored, or its new server is lost.
    pub(crate) fn move_ended(
        &mut self,
        errand: &Errand,
        from: ServerId,
        actions: &mut Vec<TierAction>,
    ) {
        let Errand { server: to, name, bytes, .. } = *errand;
        self.mends.remove(&(name, to));
        self.moved_one(self.down.contains(&to));
        if self.down.contains(&to) {
            return self.item_deleted(name);
        }
        if !self.expects(from, name) || self.expects(to, name) {
            // It is dead, lost, or made again meanwhile.
            return self.discard(to, name, bytes, actions);
        }
        match name {
            ItemName::Object { chunk, slot } => {
                let chunk = self.chunks.get_mut(&chunk).expect("it has the item");
                let member = &mut chunk.members[usize::from(slot)].server;
                if *member == from {
                    *member = to;
                } else {
                    let copy = chunk.copies.iter_mut().find(|copy| **copy == (slot, from));
                    copy.expect("it has the item").1 = to;
                }
            }
            ItemName::Strip { value, strip } => {
                let bulk = self.bulks.get_mut(&value).expect("it has the item");
                bulk.servers[usize::from(strip)] = to;
            }
            ItemName::Parity { stripe, strip } => {
                let at = usize::from(strip) - self.code.k();
                self.stripes.get_mut(&stripe).expect("it has the item").parity[at] = to;
            }
        }
        // Until it is gone there it counts as not gone.
        self.discard(from, name, bytes, actions);
    }

    /// The item could not be had from where it is.
    pub(crate) fn move_failed(
        &mut self,
        errand: &Errand,
        end: FetchEnd,
        actions: &mut Vec<TierAction>,
    ) {
        let Errand { server: to, name, bytes, .. } = *errand;
        self.mends.remove(&(name, to));
        self.moved_one(true);
        self.wounds.insert(wound_of(name));
        if let FetchEnd::Silent { server } = end
            && !self.is_gone(server)
        {
            self.suspect(server);
        }
        // It may be there from an earlier try.
        self.discard(to, name, bytes, actions);
    }
}
