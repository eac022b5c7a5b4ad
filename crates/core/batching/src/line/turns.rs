//! Whose member is next: deficit round robin (Shreedhar, Varghese 1995) among tenants, by bytes.

use alloc::collections::{BTreeMap, VecDeque};
use ripstop_model::TenantId;

/// What a tenant may send each time its turn comes, and keeps for the next time where its next
/// member is larger.
const QUANTUM_BYTES: u64 = 64 << 10;
/// What a member counts at least: a deletion has no bytes, and is work all the same.
const MEMBER_BYTES_MIN: u64 = 256;

/// One that may leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    pub(super) slot: u32,
    pub(super) bytes: u64,
}

#[derive(Default, Debug)]
struct Tenant {
    slots: VecDeque<u32>,
    deficit: u64,
}

/// Those that may leave. Only tenants that have some are kept.
#[derive(Default, Debug)]
pub(super) struct Turns {
    tenants: BTreeMap<TenantId, Tenant>,
    round: VecDeque<TenantId>,
    /// Whether the first of the round has had its quantum.
    has_quantum: bool,
}

impl Turns {
    pub(super) fn enter(&mut self, tenant: TenantId, turn: Turn, first: bool) {
        let of = self.tenants.entry(tenant).or_default();
        if of.slots.is_empty() {
            self.round.push_back(tenant);
        }
        if first {
            of.slots.push_front(turn.slot);
        } else {
            of.slots.push_back(turn.slot);
        }
    }

    /// The next one; none if nobody waits, or it does not have this much room.
    pub(super) fn next(&mut self, room: u64, weigh: impl Fn(u32) -> u64) -> Option<Turn> {
        loop {
            let tenant = *self.round.front()?;
            let of = self.tenants.get_mut(&tenant).expect("who is in the round has members");
            if !self.has_quantum {
                of.deficit += QUANTUM_BYTES;
                self.has_quantum = true;
            }
            let slot = *of.slots.front().expect("who is in the round has members");
            let bytes = weigh(slot);
            let cost = bytes.max(MEMBER_BYTES_MIN);
            if of.deficit < cost {
                self.round.rotate_left(1);
                self.has_quantum = false;
                continue;
            }
            if bytes > room {
                return None;
            }
            of.slots.pop_front();
            of.deficit -= cost;
            if of.slots.is_empty() {
                self.tenants.remove(&tenant);
                self.round.pop_front();
                self.has_quantum = false;
            }
            return Some(Turn { slot, bytes });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenants_share_room_by_bytes_and_not_by_members() {
        let mut turns = Turns::default();
        // Slots below 1000 are the first tenant's, of 64 KiB; the others are of 1 KiB.
        let weigh = |slot: u32| if slot < 1000 { 64 << 10 } else { 1 << 10 };
        for slot in 0..1000 {
            turns.enter(TenantId(1), Turn { slot, bytes: 0 }, false);
            turns.enter(TenantId(2), Turn { slot: 1000 + slot, bytes: 0 }, false);
        }
        let (mut room, mut bytes) = (1 << 20, [0; 2]);
        while let Some(turn) = turns.next(room, weigh) {
            room -= turn.bytes;
            bytes[usize::from(turn.slot >= 1000)] += turn.bytes;
        }
        assert_eq!(bytes, [512 << 10, 512 << 10]);
    }

    #[test]
    fn a_member_larger_than_a_quantum_has_its_turn_after_some_rounds() {
        let mut turns = Turns::default();
        turns.enter(TenantId(1), Turn { slot: 0, bytes: 0 }, false);
        let turn = turns.next(1 << 30, |_| 10 * QUANTUM_BYTES + 1).unwrap();
        assert_eq!((turn.slot, turn.bytes), (0, 10 * QUANTUM_BYTES + 1));
        assert!(turns.next(1 << 30, |_| 0).is_none());
    }
}
