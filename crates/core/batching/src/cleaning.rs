//! Which stripes of small objects are written again, together: packs of which much is dead, by the
//! benefit and cost of the log-structured file system (Rosenblum and Ousterhout, SOSP 1991, section
//! 3.5), and stripes so short that a trickle of writes would leave a file each for ever.

mod sample;

pub use sample::WearSample;

use alloc::{
    collections::{BTreeSet, BinaryHeap},
    vec::Vec,
};
use core::{
    cmp::{Ordering, Reverse},
    time::Duration,
};
use ripstop_model::StripeId;

/// Packs, at most, that one survey picks for what is dead of them; the next one goes on.
const WORN_MAX: usize = 4096;
/// Short stripes, at most, that one survey picks.
const SHORT_MAX: usize = 16_384;

/// When what is stored is worth writing again.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CleaningRule {
    /// Share of the bytes of a pool's packs that may be dead. Default a quarter.
    pub dead_share_max: f64,
    /// The share that may be dead while more dies from one look to the next: a pack that is written
    /// again later is shorter then. Default two fifths.
    pub dying_share_max: f64,
    /// Packs of fewer bytes are short. Default 256 KiB.
    pub short_below: u32,
    /// But not those of this many members: packs of deletions, or of very small objects, are full
    /// with fewer bytes. Default 1024.
    pub short_members_below: u32,
    /// With as many bytes of use together short stripes are merged. Default 1 MiB.
    pub merged_len: u64,
    /// So they are when there are as many of them, however short. Default 1024.
    pub short_max: usize,
}

impl Default for CleaningRule {
    fn default() -> Self {
        Self {
            dead_share_max: 0.25,
            dying_share_max: 0.4,
            short_below: 256 << 10,
            short_members_below: 1024,
            merged_len: 1 << 20,
            short_max: 1024,
        }
    }
}

impl CleaningRule {
    /// Whether a pack of this many bytes and members waits to be merged with others.
    pub const fn is_short(&self, payload_len: u32, members: u32) -> bool {
        payload_len < self.short_below && members < self.short_members_below
    }
}

/// A stripe of small objects, or one that only tells of some.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Wear {
    /// The stripe.
    pub id: StripeId,
    /// Bytes of its payload.
    pub payload_len: u32,
    /// How many of them are of use.
    pub useful: u32,
    /// How long ago it was written.
    pub age: Duration,
    /// How many members it was written with; 0 if it is no pack: packs alone can be dead in parts.
    pub members: u32,
}

impl Wear {
    const fn is_pack(&self) -> bool {
        self.members > 0
    }

    fn dead(&self) -> u64 {
        self.payload_len.saturating_sub(self.useful).into()
    }

    /// What cleaning it frees, for as long as that will last, against what it costs: all of it is
    /// read, and what is of use written.
    fn score(&self) -> f64 {
        let u = f64::from(self.useful) / f64::from(self.payload_len.max(1));
        (1.0 - u) * self.age.as_secs_f64() / (1.0 + u)
    }
}

/// A pack by its score.
#[derive(Clone, Copy, Debug)]
struct Scored(f64, Wear);

impl Ord for Scored {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0).then_with(|| other.1.id.cmp(&self.1.id))
    }
}

impl PartialOrd for Scored {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Scored {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Scored {}

/// What is to be written again, in this order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CleaningPlan {
    /// Short stripes: packs, and then what is none, oldest first.
    pub short: Vec<StripeId>,
    /// Packs of which much is dead, the most worthwhile first.
    pub worn: Vec<StripeId>,
}

/// What a walk through one pool's stripes sees.
#[derive(Clone, Debug)]
pub struct CleaningSurvey {
    rule: CleaningRule,
    /// Bytes in packs.
    packed: u64,
    /// Those of them that are dead.
    dead: u64,
    /// Those with the highest scores.
    worn: BinaryHeap<Reverse<Scored>>,
    short: Vec<Wear>,
    sample: WearSample,
}

impl CleaningSurvey {
    /// Before anything is seen.
    pub fn new(rule: CleaningRule) -> Self {
        let (worn, short, sample) = (BinaryHeap::new(), Vec::new(), WearSample::new());
        Self { rule, packed: 0, dead: 0, worn, short, sample }
    }

    /// The walk came by a stripe. Those that are no packs are short, and must each hold one small
    /// object or none.
    pub fn see(&mut self, wear: Wear) {
        if wear.is_pack() {
            self.packed += u64::from(wear.payload_len);
            self.dead += wear.dead();
            self.sample.see(wear.id, wear.useful);
        }
        if self.is_short(&wear) && self.short.len() < SHORT_MAX {
            self.short.push(wear);
        }
        if wear.is_pack() && wear.dead() > 0 {
            self.worn.push(Reverse(Scored(wear.score(), wear)));
            if self.worn.len() > WORN_MAX {
                self.worn.pop();
            }
        }
    }

    const fn is_short(&self, wear: &Wear) -> bool {
        !wear.is_pack() || self.rule.is_short(wear.payload_len, wear.members)
    }

    /// By what rule.
    pub const fn rule(&self) -> CleaningRule {
        self.rule
    }

    /// Bytes in the pool's packs.
    pub const fn packed(&self) -> u64 {
        self.packed
    }

    /// Those of them that are dead.
    pub const fn dead(&self) -> u64 {
        self.dead
    }

    /// Some of the packs that were seen, to be compared with those of another look.
    pub const fn sample(&self) -> &WearSample {
        &self.sample
    }

    /// What is to be written again after all that was seen. `is_dying`: more died since the look
    /// before.
    pub fn plan(mut self, is_dying: bool) -> CleaningPlan {
        let rule = self.rule;
        let share_max = if is_dying { rule.dying_share_max } else { rule.dead_share_max };
        let useful: u64 = self.short.iter().map(|wear| u64::from(wear.useful)).sum();
        let is_enough = useful >= rule.merged_len || self.short.len() >= rule.short_max;
        let mut plan = CleaningPlan::default();
        if is_enough && self.short.len() > 1 {
            // What was written again already is not to be left over once more.
            self.short.sort_by_key(|wear| !wear.is_pack());
            plan.short = self.short.iter().map(|wear| wear.id).collect();
            for wear in self.short.iter().filter(|wear| wear.is_pack()) {
                self.dead -= wear.dead();
                self.packed -= wear.dead();
            }
            let merged: BTreeSet<StripeId> = plan.short.iter().copied().collect();
            self.worn.retain(|Reverse(Scored(_, wear))| !merged.contains(&wear.id));
        }
        let Self { mut packed, mut dead, worn, .. } = self;
        let mut worn: Vec<Scored> = worn.into_iter().map(|Reverse(scored)| scored).collect();
        worn.sort_unstable_by(|one, other| other.cmp(one));
        for Scored(_, wear) in worn {
            if dead as f64 <= share_max * packed as f64 {
                break;
            }
            plan.worn.push(wear.id);
            dead -= wear.dead();
            packed -= wear.dead();
        }
        plan
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    const RULE: CleaningRule = CleaningRule {
        dead_share_max: 0.25,
        dying_share_max: 0.4,
        short_below: 100,
        short_members_below: 50,
        merged_len: 200,
        short_max: 5,
    };

    fn pack(id: u128, payload_len: u32, useful: u32, age: u64) -> Wear {
        let age = Duration::from_secs(age);
        Wear { id: StripeId(id), payload_len, useful, age, members: 10 }
    }

    fn plan(rule: CleaningRule, wears: impl IntoIterator<Item = Wear>) -> CleaningPlan {
        let mut survey = CleaningSurvey::new(rule);
        wears.into_iter().for_each(|wear| survey.see(wear));
        survey.plan(false)
    }

    fn ids(ids: impl IntoIterator<Item = u128>) -> Vec<StripeId> {
        ids.into_iter().map(StripeId).collect()
    }

    #[test]
    fn nothing_is_cleaned_while_little_is_dead_and_then_no_more_than_must_be() {
        let packs = |useful| [1, 2, 3, 4].map(|id| pack(id, 1000, useful, 10));
        assert_eq!(plan(RULE, packs(750)), CleaningPlan::default());
        // Of 4000 bytes 2000 are dead; after three of them 500 of 2500 are.
        assert_eq!(plan(RULE, packs(500)).worn, ids([1, 2, 3]));
    }

    #[test]
    fn what_frees_most_for_longest_is_cleaned_first() {
        let wears = [
            pack(1, 1000, 900, 1000),
            pack(2, 1000, 100, 10),
            pack(3, 1000, 100, 1000),
            pack(4, 1000, 1000, 5000),
        ];
        let lax = CleaningRule { dead_share_max: 0.4, ..RULE };
        assert_eq!(plan(lax, wears).worn, ids([3]), "that is enough");
        let strict = CleaningRule { dead_share_max: 0.0, ..RULE };
        // 0.1/1.9 of 1000 s is more than 0.9/1.1 of 10 s.
        assert_eq!(plan(strict, wears).worn, ids([3, 1, 2]), "one is whole");
    }

    #[test]
    fn short_stripes_are_merged_once_there_are_enough() {
        let lone = |id| Wear { members: 0, ..pack(id, 60, 60, 10) };
        assert_eq!(plan(RULE, [lone(1), lone(2), lone(3)]), CleaningPlan::default());
        let short = plan(RULE, [lone(1), pack(2, 90, 80, 10), lone(3)]).short;
        assert_eq!(short, ids([2, 1, 3]), "they have 200 bytes of use");
        let telling = |id| Wear { members: 0, ..pack(id, 0, 0, 10) };
        assert_eq!(plan(RULE, (1..=4).map(telling)), CleaningPlan::default());
        assert_eq!(plan(RULE, (1..=5).map(telling)).short, ids(1..=5));
        let alone = [Wear { members: 0, ..pack(1, 500, 500, 10) }];
        assert_eq!(plan(RULE, alone), CleaningPlan::default(), "it would be as it is");
    }

    #[test]
    fn while_more_dies_more_may_be_dead() {
        let packs = |useful| {
            let mut survey = CleaningSurvey::new(RULE);
            for id in 1..=4 {
                survey.see(pack(id, 1000, useful, 10));
            }
            survey
        };
        assert_eq!(packs(600).plan(true), CleaningPlan::default());
        assert!(packs(600).sample().has_died_since(packs(700).sample()));
        // After one of them 1350 of 3550 are dead.
        assert_eq!(packs(550).plan(true).worn, ids([1]));
        assert_eq!(packs(550).plan(false).worn, ids([1, 2, 3]));
    }

    #[test]
    fn packs_of_very_many_members_are_full_and_short_ones_come_before_what_is_none() {
        let full = |id| Wear { members: 50, ..pack(id, 60, 60, 10) };
        assert_eq!(plan(RULE, (1..=20).map(full)), CleaningPlan::default());
        let lone = |id| Wear { members: 0, ..pack(id, 60, 60, 10) };
        let wears = [lone(1), lone(2), pack(3, 60, 60, 10), lone(4), full(5)];
        assert_eq!(plan(RULE, wears).short, ids([3, 1, 2, 4]));
    }

    #[test]
    fn what_is_dead_in_short_packs_that_are_merged_is_not_cleaned_for_again() {
        let mut wears: Vec<Wear> = (1..=5).map(|id| pack(id, 90, 10, 10)).collect();
        wears.push(pack(9, 1000, 800, 10));
        let expected = CleaningPlan { short: ids(1..=5), worn: vec![] };
        assert_eq!(plan(RULE, wears.clone()), expected);
        // Too few to be merged, and mostly dead.
        assert_eq!(plan(RULE, wears[..2].to_vec()).worn, ids([1, 2]));
    }

    #[test]
    fn a_survey_of_very_many_picks_the_best_and_the_oldest_of_them() {
        let many = WORN_MAX as u128 + 10;
        let strict = CleaningRule { dead_share_max: 0.0, ..RULE };
        let worn = plan(strict, (1..=many).map(|id| pack(id, 1000, 500, id as u64))).worn;
        assert_eq!(worn, ids((11..=many).rev()));
        let lone = |id| Wear { members: 0, ..pack(id, 60, 60, 10) };
        let short = plan(RULE, (1..=SHORT_MAX as u128 + 10).map(lone)).short;
        assert_eq!(short, ids(1..=SHORT_MAX as u128));
    }
}
