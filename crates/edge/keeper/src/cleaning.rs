//! Writes small objects again, together: those in packs of which much is dead, and those in stripes
//! so short that each would be a file at every node for ever.
//!
//! Nothing changes for who reads them: an object keeps its stamp, its time and its attributes, and
//! the catalog takes the new place of each only if nobody has written to its key since. What told
//! of it before becomes garbage once nothing holds it any more.

mod counts;
mod others;
mod rewrite;

pub(crate) use counts::Cleanings;
pub use counts::{Cleaned, PacksGauge};

use crate::{
    Keeper, KeeperSettings,
    listing::Stripes,
    round::{Halt, Job, Round},
};
use others::Others;
use rewrite::{PACK_LEN, rewrite};
use ripstop_batching::{CleaningRule, CleaningSurvey, Wear, WearSample};
use ripstop_catalog::{Held, Stripe};
use ripstop_host::unix_ms;
use ripstop_model::{PoolId, StripeId};
use ripstop_store::StoreError;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// How many times as long as a look through the stripes took the next one is waited for, at least:
/// looking takes a twentieth of the time at most.
const REST: u32 = 19;
/// A batch without room for more has at least this part of its bytes, a quarter: it counts what is
/// told of members as rather more than that takes.
const FULL_SHARE: usize = 4;

pub(crate) struct Cleaning {
    every: Duration,
    /// How long the last look through the stripes took.
    looked: Duration,
    others: Others,
    /// Of pools' packs, as they were at the last look.
    samples: BTreeMap<PoolId, WearSample>,
}

impl Cleaning {
    pub(crate) fn new(settings: &KeeperSettings) -> Self {
        let (every, others) = (settings.clean_every, Others::new());
        Self { every, looked: Duration::ZERO, others, samples: BTreeMap::new() }
    }

    /// The pools of which more died since the last look; all, at the first.
    fn dying(&mut self, surveys: &BTreeMap<PoolId, CleaningSurvey>) -> BTreeSet<PoolId> {
        let is_dying = |(pool, survey): (&PoolId, &CleaningSurvey)| {
            let before = self.samples.get(pool);
            before.is_none_or(|before| survey.sample().has_died_since(before)).then_some(*pool)
        };
        let dying = surveys.iter().filter_map(is_dying).collect();
        let samples = surveys.iter().map(|(pool, survey)| (*pool, survey.sample().clone()));
        self.samples = samples.collect();
        dying
    }
}

impl Job for Cleaning {
    const NAME: &'static str = "cleaning";
    const IS_UPKEEP: bool = true;

    fn pause(&mut self) -> Duration {
        self.every.max(REST * self.looked)
    }

    async fn turn(&mut self, round: &Round) -> Result<(), Halt> {
        let begun = ripstop_host::now();
        let rule = usual_rule(&round.keeper()?);
        self.others.expire();
        let surveys = survey(round, &rule, self.every, &self.others).await?;
        self.looked = ripstop_host::since(begun);
        let dying = self.dying(&surveys);
        clean(round, surveys, &dying, &mut self.others).await.map(drop)
    }
}

impl Keeper {
    /// Writes small objects again where a rule says so, as fast as it goes, however young they are;
    /// answers what came of it.
    pub async fn clean(&self, rule: &CleaningRule) -> Result<Cleaned, StoreError> {
        let (round, mut others) = (Round::by_hand(self), Others::new());
        let surveys = survey(&round, rule, Duration::ZERO, &others).await?;
        Ok(clean(&round, surveys, &BTreeSet::new(), &mut others).await?)
    }

    /// What is in a pool's packs, as it was last seen, and what was written again since the start.
    pub fn packs_of(&self, pool: PoolId) -> PacksGauge {
        self.cleanings().of(pool)
    }

    /// Whether a stripe may be worth a look: a pack, or what may hold one small object or none.
    fn is_small(&self, stripe: &Stripe) -> bool {
        stripe.is_pack() || stripe.payload_len < self.keeping().gathered_below(stripe.pool())
    }
}

/// By what rule rounds go. Where stripes are so short that none is ever as long as a pack should
/// be, one that is nearly as long as can be is not merged again and again.
fn usual_rule(keeper: &Keeper) -> CleaningRule {
    let usual = CleaningRule::default();
    let room = keeper.keeping().batch_within(PACK_LEN).room();
    let full = u32::try_from(room / FULL_SHARE).unwrap_or(u32::MAX);
    CleaningRule { short_below: usual.short_below.min(full), ..usual }
}

/// Looks through all stripes that are not younger than this.
async fn survey(
    round: &Round,
    rule: &CleaningRule,
    least_age: Duration,
    others: &Others,
) -> Result<BTreeMap<PoolId, CleaningSurvey>, Halt> {
    let (mut surveys, mut stripes) = (BTreeMap::new(), Stripes::default());
    let now_ms = unix_ms();
    while let Some(page) = round.page(&mut stripes).await? {
        let keeper = round.keeper()?;
        let age = |id: StripeId| Duration::from_millis(now_ms.saturating_sub(id.unix_ms()));
        let wanted = page.iter().filter(|(id, stripe)| {
            keeper.is_small(stripe) && age(*id) >= least_age && !others.has(*id)
        });
        let ids: Vec<StripeId> = wanted.map(|(id, _)| *id).collect();
        let held = keeper.catalog().held(&ids).await?;
        for (id, held) in ids.into_iter().zip(held) {
            if let Some(held) = held.filter(is_whole) {
                let pool = held.stripe.pool();
                let survey = surveys.entry(pool).or_insert_with(|| CleaningSurvey::new(*rule));
                survey.see(wear(id, &held, age(id)));
            }
        }
    }
    Ok(surveys)
}

/// Whether what holds a stripe that is no pack may be all that it has: one object, or only names.
fn is_whole(held: &Held) -> bool {
    let Held { holders, live, ref stripe, .. } = *held;
    let len = stripe.payload_len;
    stripe.is_pack() || len == 0 || (holders == 1 && live == u64::from(len))
}

fn wear(id: StripeId, held: &Held, age: Duration) -> Wear {
    let Stripe { payload_len, members, .. } = held.stripe;
    let useful = u32::try_from(held.useful()).unwrap_or(payload_len);
    // Of older packs it is not known how many members they had.
    let members = if held.stripe.is_pack() { members.max(1) } else { 0 };
    Wear { id, payload_len, useful, age, members }
}

/// Writes again what surveys pick.
async fn clean(
    round: &Round,
    surveys: BTreeMap<PoolId, CleaningSurvey>,
    dying: &BTreeSet<PoolId>,
    others: &mut Others,
) -> Result<Cleaned, Halt> {
    let mut all = Cleaned::default();
    round.keeper()?.cleanings().saw(&surveys);
    for (pool, survey) in surveys {
        let rule = survey.rule();
        let plan = survey.plan(dying.contains(&pool));
        for (stripes, left) in [(plan.short, Some(rule)), (plan.worn, None)] {
            let mut cleaned = Cleaned::default();
            let done = rewrite(round, pool, (&stripes, left), others, &mut cleaned).await;
            if left.is_some() {
                cleaned.merged_bytes = cleaned.bytes;
            }
            if cleaned != Cleaned::default() {
                round.keeper()?.cleanings().add(pool, &cleaned);
                let Cleaned { stripes, packs, objects, bytes, .. } = cleaned;
                tracing::info!(pool = %pool, stripes, packs, objects, bytes, "cleaned packs");
            }
            all = all.with(&cleaned);
            done?;
        }
    }
    Ok(all)
}
