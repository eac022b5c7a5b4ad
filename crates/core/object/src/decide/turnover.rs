//! Who holds which stripe.
//!
//! A holder (an object, a part, a bucket, a tombstone) holds each stripe that it names once,
//! however many of its extents name it, and whether it is told by it too.

use super::draft::{Decision, inconsistent};
use super::stop::{Decided, Stop};
use crate::{Absence, Extent, Garbage, Held, Object, Refusal, Rows, Session, Stripe};
use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;
use alloc::format;
use alloc::string::String;
use ripstop_model::StripeId;

/// Stripes that a holder holds, and how many bytes of each.
pub(super) type Holding = BTreeMap<StripeId, u64>;

/// What extents hold.
pub(super) fn named(extents: &[Extent]) -> Holding {
    let mut holding = Holding::new();
    for Extent { stripe, len, .. } in extents {
        *holding.entry(*stripe).or_default() += u64::from(*len);
    }
    holding
}

/// What an object holds.
pub(super) fn held_by(object: &Object) -> Holding {
    let mut holding = named(&object.extents);
    holding.entry(object.told_by).or_default();
    holding
}

/// What one holds that is only told.
pub(super) fn told_by(stripe: StripeId) -> Holding {
    Holding::from([(stripe, 0)])
}

enum Standing<'a> {
    /// It comes with the change.
    Arriving(&'a Stripe),
    /// It is in force already.
    InForce(Held),
}

struct Turn<'a> {
    standing: Standing<'a>,
    /// Holders gained less holders lost.
    holders: i64,
    /// Bytes gained less bytes lost.
    live: i64,
}

impl<'a> Turn<'a> {
    const fn new(standing: Standing<'a>) -> Self {
        Self { standing, holders: 0, live: 0 }
    }
}

/// What a change does to the holders of stripes.
#[derive(Default)]
pub(super) struct Turnover<'a>(BTreeMap<StripeId, Turn<'a>>);

impl<'a> Turnover<'a> {
    /// `arriving` stripes come with the change. One that is in force already stays as it is
    /// (several objects of one pack may bring it); the name of garbage is never used again.
    pub(super) fn new<R: Rows>(
        draft: &Decision<'_, '_, R>,
        arriving: &'a [(StripeId, Stripe)],
    ) -> Decided<Self, R> {
        let mut turnover = Self::default();
        for (id, stripe) in arriving {
            if !draft.unheld.contains(id) && draft.is_garbage(*id)? {
                return Err(Refusal::StripeGone { stripe: *id }.into());
            }
            if turnover.0.contains_key(id) {
                continue;
            }
            let standing = if let Some(held) = draft.stripe(*id, Absence::Believed)? {
                Standing::InForce(held)
            } else {
                draft.must_not_be_retired(Session::of(*id))?;
                Standing::Arriving(stripe)
            };
            turnover.0.insert(*id, Turn::new(standing));
        }
        Ok(turnover)
    }

    /// Whether a stripe did not come with the change.
    pub(super) fn was_in_force(&self, id: StripeId) -> bool {
        self.0.get(&id).is_some_and(|turn| matches!(turn.standing, Standing::InForce(_)))
    }

    /// A holder gains these; each must be in force or arriving.
    pub(super) fn gain<R: Rows>(
        &mut self,
        draft: &Decision<'_, '_, R>,
        holding: &Holding,
    ) -> Decided<(), R> {
        for (id, len) in holding {
            let gone = || Refusal::StripeGone { stripe: *id }.into();
            let turn = self.turn(draft, *id, gone)?;
            turn.holders += 1;
            turn.live = turn.live.saturating_add_unsigned(*len);
        }
        Ok(())
    }

    /// A holder that goes loses these.
    pub(super) fn lose<R: Rows>(
        &mut self,
        draft: &Decision<'_, '_, R>,
        holding: &Holding,
    ) -> Decided<(), R> {
        for (id, len) in holding {
            let turn = self.turn(draft, *id, || inconsistent(miscounted(*id)))?;
            turn.holders -= 1;
            turn.live = turn.live.saturating_sub_unsigned(*len);
        }
        Ok(())
    }

    fn turn<R: Rows>(
        &mut self,
        draft: &Decision<'_, '_, R>,
        id: StripeId,
        missing: impl FnOnce() -> Stop<R::Error>,
    ) -> Decided<&mut Turn<'a>, R> {
        Ok(match self.0.entry(id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(vacant) => {
                let held = draft.stripe(id, Absence::Believed)?.ok_or_else(missing)?;
                vacant.insert(Turn::new(Standing::InForce(held)))
            }
        })
    }

    /// Writes the new counts. What nothing holds any more (arriving or not) becomes garbage.
    pub(super) fn settle<R: Rows>(
        self,
        draft: &mut Decision<'_, '_, R>,
        now_ms: u64,
    ) -> Decided<(), R> {
        // A count that cannot be is found before anything is written.
        let mut settled = BTreeMap::new();
        for (id, Turn { standing, holders, live }) in self.0 {
            let (mut held, is_arriving) = match standing {
                Standing::Arriving(stripe) => {
                    (Held { stripe: stripe.clone(), ..Held::default() }, true)
                }
                Standing::InForce(_) if holders == 0 && live == 0 => continue,
                Standing::InForce(held) => (held, false),
            };
            held.live = held.live.saturating_add_signed(live);
            held.holders = held
                .holders
                .checked_add_signed(holders)
                .ok_or_else(|| inconsistent(miscounted(id)))?;
            settled.insert(id, (held, is_arriving));
        }
        for (id, (held, is_arriving)) in settled {
            if held.holders > 0 {
                draft.writes.stripes.insert(id, Some(held));
                if draft.unheld.remove(&id) {
                    draft.writes.garbage.insert(id, None);
                }
                continue;
            }
            if is_arriving {
                draft.unheld.insert(id);
            } else {
                draft.writes.stripes.insert(id, None);
            }
            let garbage = Garbage { since_ms: now_ms, stripe: held.stripe };
            draft.writes.garbage.insert(id, Some(garbage));
        }
        Ok(())
    }
}

fn miscounted(id: StripeId) -> String {
    format!("stripe {id} has more holders than were counted")
}
