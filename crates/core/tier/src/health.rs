//! When a server counts as lost: after probes one after another without answer, however many
//! requests one incident let down.

use crate::{
    MemoryTier, ServerId, TierAction, TierTask,
    task::{Errand, Held, Suspect},
};
use alloc::vec::Vec;
use core::mem::take;
use ripstop_model::Timestamp;

/// As many probes one after another a server may leave without answer before it counts as lost.
pub const TIER_PROBES_MAX: u8 = 3;
/// From a silence to the next probe.
pub const TIER_PROBE_PAUSE_NANOS: u64 = 50_000_000;

impl MemoryTier {
    /// When [`TimePassed`](crate::TierEvent::TimePassed) is to be told next.
    pub fn deadline(&self) -> Option<Timestamp> {
        let waiting = self.suspects.values().filter(|suspect| !suspect.is_probed);
        let probe = waiting.map(|suspect| suspect.probe_at).min();
        let expiry = self.due.first().map(|due| due.0);
        let shift = self.shifts.deadline();
        probe.into_iter().chain(expiry).chain(shift).min()
    }

    /// Whether nothing is under way, nor waits for a server.
    pub fn is_idle(&self) -> bool {
        self.errands.is_empty()
            && self.fetches.is_empty()
            && self.suspects.is_empty()
            && self.shifts.is_empty()
    }

    /// Whether the server is one of a ring, and lost.
    pub fn is_lost(&self, server: ServerId) -> bool {
        self.down.contains(&server)
    }

    /// Holds what the server let down. It is back at once if the server is lost already.
    pub(crate) fn hold(&mut self, server: ServerId, held: Held, actions: &mut Vec<TierAction>) {
        if self.is_gone(server) {
            return self.release(held, actions);
        }
        self.suspect(server).held.push(held);
    }

    /// Whether the server is lost, or has left its ring.
    pub(crate) fn is_gone(&self, server: ServerId) -> bool {
        self.down.contains(&server) || !self.homes.contains_key(&server)
    }

    /// The first silence since an answer makes the server suspect; others change nothing.
    pub(crate) fn suspect(&mut self, server: ServerId) -> &mut Suspect {
        let probe_at = self.after_pause();
        let new = || Suspect { silent_probes: 0, probe_at, is_probed: false, held: Vec::new() };
        self.suspects.entry(server).or_insert_with(new)
    }

    const fn after_pause(&self) -> Timestamp {
        Timestamp::from_nanos(self.now.as_nanos() + TIER_PROBE_PAUSE_NANOS)
    }

    pub(crate) fn probe(&mut self, actions: &mut Vec<TierAction>) {
        for (&server, suspect) in &mut self.suspects {
            if !suspect.is_probed && suspect.probe_at <= self.now {
                suspect.is_probed = true;
                actions.push(TierAction::Probe(server));
            }
        }
    }

    pub(crate) fn server_silent(&mut self, server: ServerId, actions: &mut Vec<TierAction>) {
        let probe_at = self.after_pause();
        let Some(suspect) = self.suspects.get_mut(&server) else { return };
        suspect.is_probed = false;
        suspect.probe_at = probe_at;
        suspect.silent_probes += 1;
        if suspect.silent_probes >= TIER_PROBES_MAX {
            self.lose(server, actions);
        }
    }

    /// Any answer is a sign of life.
    pub(crate) fn server_answered(&mut self, server: ServerId, actions: &mut Vec<TierAction>) {
        let Some(suspect) = self.suspects.remove(&server) else { return };
        for it in suspect.held {
            self.release(it, actions);
        }
        self.look_at_scars();
    }

    fn release(&mut self, held: Held, actions: &mut Vec<TierAction>) {
        match held {
            Held::Errand(errand) => self.run_errand(errand, actions),
            Held::Read(reading) => self.start_read(reading, actions),
            Held::Encode(stripe) => self.encode(stripe, actions),
            Held::Mend(mend) => self.fetch_mend(mend, actions),
            Held::Turn(key) => self.run_line(key, actions),
        }
    }

    /// What the server had is an erasure from now on, and what is on its way there is lost. Looks
    /// at every chunk, once for each server that is lost.
    pub(crate) fn lose(&mut self, server: ServerId, actions: &mut Vec<TierAction>) {
        if self.is_gone(server) {
            return;
        }
        self.down.insert(server);
        self.forget_items_of(server);
        actions.push(TierAction::Expel(server));
        let there = self.errands.iter().filter(|(_, errand)| errand.server == server);
        let there: Vec<TierTask> = there.map(|(task, _)| task).collect();
        let there: Vec<Errand> =
            there.into_iter().filter_map(|task| self.errands.remove(&task)).collect();
        for errand in there {
            self.errand_ended(errand, actions);
        }
        let held = self.suspects.remove(&server).map_or_else(Vec::new, |mut it| take(&mut it.held));
        for it in held {
            self.release(it, actions);
        }
        self.look_at_scars();
    }
}
