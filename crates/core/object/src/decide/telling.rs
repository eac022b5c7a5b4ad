//! What stripes tell of keys, and what of it is no longer so.
//!
//! A catalog that was lost is made again from what the headers of fragments tell. A stripe that
//! told of an object may be there for long after the object is gone: it may hold payload of others,
//! or be garbage whose node is away. While there is such a stripe, what it tells is entered as
//! outlived; a deletion is told by a tombstone for as long as there is one.

use super::draft::Decision;
use super::stop::Decided;
use super::turnover::{Turnover, told_by};
use crate::{Absence, Applied, Garbage, Place, Refusal, Rows, Stamp, Stripe, Tombstone};
use alloc::borrow::Cow;
use alloc::collections::BTreeSet;
use ripstop_model::StripeId;

impl<'a, R: Rows> Decision<'_, 'a, R> {
    /// Whether a stripe that is to tell what is so was entered as telling what is not.
    pub(super) fn is_believed_again(
        &self,
        turnover: &Turnover<'_>,
        at: &Place<'_>,
        stripe: StripeId,
    ) -> Decided<bool, R> {
        // One that comes with the change was never entered.
        let was_there = turnover.was_in_force(stripe) || self.unheld.contains(&stripe);
        Ok(was_there && self.is_outlived(stripe, at)?)
    }

    /// What the stripe `old` tells of a place is no longer so, unless it tells what is so `now`
    /// too.
    pub(super) fn outdate(&mut self, at: &Place<'a>, old: StripeId, now: Option<StripeId>) {
        if now != Some(old) {
            self.set_outlived(old, at.clone(), true);
        }
    }

    /// What a stripe tells of a place is so.
    pub(super) fn believe(&mut self, at: &Place<'a>, stripe: StripeId, again: bool) {
        if again {
            self.set_outlived(stripe, at.clone(), false);
        }
    }

    /// Takes away what stands at a place, told by the stripe `old`, and leaves a tombstone if one
    /// is given and needed. What stands there is written by the caller, after this.
    pub(super) fn entomb(
        &mut self,
        turnover: &mut Turnover<'_>,
        at: &Place<'a>,
        old: StripeId,
        tombstone: Option<&'a Tombstone>,
    ) -> Decided<(), R> {
        let Some(tombstone) = tombstone else {
            self.outdate(at, old, None);
            return Ok(());
        };
        let now = tombstone.told_by;
        // What the stripe of the tombstone tells besides goes when the tombstone does.
        if now == old && self.is_told_by_nobody(at)? {
            return Ok(());
        }
        turnover.gain(self, &told_by(now))?;
        let again = self.is_believed_again(turnover, at, now)?;
        self.outdate(at, old, Some(now));
        self.believe(at, now, again);
        self.writes.tombstones.insert(at.clone(), Some(Cow::Borrowed(tombstone)));
        Ok(())
    }

    /// The stripe that tells what stands at a place, or that nothing does.
    fn teller(&self, at: &Place<'_>) -> Decided<Option<StripeId>, R> {
        let told_by = if at.key.is_empty() {
            self.bucket(&at.bucket)?.map(|bucket| bucket.told_by)
        } else {
            self.object(at, Absence::Believed)?.map(|object| object.told_by)
        };
        match told_by {
            Some(told_by) => Ok(Some(told_by)),
            None => Ok(self.tombstone(at)?.map(|tombstone| tombstone.told_by)),
        }
    }

    pub(super) fn outlive(
        &mut self,
        now_ms: u64,
        at: Place<'a>,
        (id, stripe): &(StripeId, Stripe),
    ) -> Decided<Applied, R> {
        if self.teller(&at)? == Some(*id) {
            return Ok(Applied::default());
        }
        if self.stripe(*id, Absence::Believed)?.is_none() && !self.is_garbage(*id)? {
            let garbage = Garbage { since_ms: now_ms, stripe: stripe.clone() };
            self.writes.garbage.insert(*id, Some(garbage));
        }
        self.set_outlived(*id, at, true);
        Ok(Applied::default())
    }

    pub(super) fn bury(
        &mut self,
        now_ms: u64,
        at: Place<'a>,
        tombstone: &'a Tombstone,
        stripes: &[(StripeId, Stripe)],
    ) -> Decided<Applied, R> {
        let stands = if at.key.is_empty() {
            self.bucket(&at.bucket)?.is_some()
        } else {
            self.object(&at, Absence::Believed)?.is_some()
        };
        let present = self.tombstone(&at)?;
        // With the same stamp it is the same deletion, told elsewhere now.
        let is_later = present.as_ref().is_none_or(|present| {
            present.stamp < tombstone.stamp
                || present.stamp == tombstone.stamp && present.told_by != tombstone.told_by
        });
        let mut turnover = Turnover::new(self, stripes)?;
        if !stands && is_later {
            turnover.gain(self, &told_by(tombstone.told_by))?;
            if let Some(present) = &present {
                turnover.lose(self, &told_by(present.told_by))?;
            }
            let again = self.is_believed_again(&turnover, &at, tombstone.told_by)?;
            self.believe(&at, tombstone.told_by, again);
            self.writes.tombstones.insert(at, Some(Cow::Borrowed(tombstone)));
        }
        turnover.settle(self, now_ms)?;
        Ok(Applied::default())
    }

    /// Fragments of garbage are gone, and what they told with them.
    pub(super) fn forget_garbage(
        &mut self,
        now_ms: u64,
        stripes: &[StripeId],
    ) -> Decided<Applied, R> {
        let mut places = BTreeSet::new();
        for id in stripes {
            if !self.is_garbage(*id)? {
                continue;
            }
            self.writes.garbage.insert(*id, None);
            for at in self.outlived_by(*id)? {
                self.set_outlived(*id, at.clone(), false);
                places.insert(at);
            }
        }
        let mut turnover = Turnover::default();
        for at in places {
            if let Some(tombstone) = self.tombstone(&at)?
                && self.is_told_by_nobody(&at)?
            {
                turnover.lose(self, &told_by(tombstone.told_by))?;
                self.writes.tombstones.insert(at, None);
            }
        }
        turnover.settle(self, now_ms)?;
        Ok(Applied::default())
    }
}

/// Refuses what is to be told of a key whose last telling, of stamp `seen`, is later: it must be
/// told again.
pub(super) fn must_follow(stamp: Stamp, seen: Option<Stamp>) -> Result<(), Refusal> {
    match seen {
        Some(seen) if stamp < seen => Err(Refusal::Behind { seen }),
        Some(_) | None => Ok(()),
    }
}
