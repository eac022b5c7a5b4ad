//! Who holds which stripe.
//!
//! A holder (an object, a part, a bucket) holds each stripe that it names once, however many of its
//! extents name it, and whether it is told by it too.

use super::failure::{Stop, corrupt};
use super::kinds::{Garbage, Held};
use super::table::Tables;
use crate::{Extent, Object, Refusal, Stripe};
use ripstop_model::StripeId;
use std::collections::{BTreeMap, BTreeSet};

/// The stripes that extents name, each once.
pub(super) fn named(extents: &[Extent]) -> BTreeSet<u128> {
    extents.iter().map(|extent| extent.stripe.0).collect()
}

/// The stripes that an object holds.
pub(super) fn held_by(object: &Object) -> BTreeSet<u128> {
    let mut held = named(&object.extents);
    held.insert(object.told_by.0);
    held
}

/// What a change does to the holders of stripes.
#[derive(Default)]
pub(super) struct Turnover<'a> {
    arriving: BTreeMap<u128, &'a Stripe>,
    /// Holders gained less holders lost.
    balance: BTreeMap<u128, i64>,
}

impl<'a> Turnover<'a> {
    /// `arriving` stripes come with the change. One that is in force already stays as it is (several
    /// objects of one pack may bring it); the name of garbage is never used again.
    pub(super) fn new(
        tables: &Tables<'_>,
        arriving: &'a [(StripeId, Stripe)],
    ) -> Result<Self, Stop> {
        let mut turnover = Self::default();
        for (id, stripe) in arriving {
            if tables.garbage.has(&id.0)? {
                return Err(Stop::Refused(Refusal::StripeGone { stripe: *id }));
            }
            if !tables.stripes.has(&id.0)? {
                turnover.arriving.entry(id.0).or_insert(stripe);
                turnover.balance.entry(id.0).or_default();
            }
        }
        Ok(turnover)
    }

    /// A holder gains these; each must be in force or arriving.
    pub(super) fn gain(
        &mut self,
        tables: &Tables<'_>,
        stripes: &BTreeSet<u128>,
    ) -> Result<(), Stop> {
        for id in stripes {
            if !self.arriving.contains_key(id) && !tables.stripes.has(id)? {
                return Err(Stop::Refused(Refusal::StripeGone { stripe: StripeId(*id) }));
            }
            *self.balance.entry(*id).or_default() += 1;
        }
        Ok(())
    }

    /// A holder that goes loses these.
    pub(super) fn lose(&mut self, stripes: BTreeSet<u128>) {
        for id in stripes {
            *self.balance.entry(id).or_default() -= 1;
        }
    }

    /// Writes the new counts. What nobody holds any more (arriving or not) becomes garbage.
    pub(super) fn settle(self, tables: &mut Tables<'_>, now_ms: u64) -> Result<(), Stop> {
        for (id, balance) in self.balance {
            let arriving = self.arriving.get(&id).copied();
            if balance == 0 && arriving.is_none() {
                continue;
            }
            let mut held = match arriving {
                Some(stripe) => Held::new(0, stripe.clone()),
                None => in_force(tables, id)?,
            };
            held.holders = held
                .holders
                .checked_add_signed(balance)
                .ok_or_else(|| Stop::Failed(corrupt(miscounted(id))))?;
            if held.holders > 0 {
                tables.stripes.insert(&id, &held)?;
                continue;
            }
            if arriving.is_none() {
                tables.stripes.remove(&id)?;
            }
            let garbage = Garbage { since_ms: now_ms, stripe: held.stripe };
            tables.garbage.insert(&id, &garbage)?;
        }
        Ok(())
    }
}

fn in_force(tables: &Tables<'_>, id: u128) -> Result<Held, Stop> {
    let found = tables.stripes.find(&id)?;
    found.ok_or_else(|| Stop::Failed(corrupt(miscounted(id))))
}

fn miscounted(id: u128) -> String {
    format!("stripe {} has more holders than were counted", StripeId(id))
}
