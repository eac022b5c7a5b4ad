//! Which of a stripe's fragments a read fetches.

use super::{
    Chooser,
    candidate::{Candidate, Rank, sort},
};
use crate::{
    book::{Entry, Fragment, FragmentState},
    face::ReadSelection,
    floor::{Floor, Look},
};
use ripstop_delay::Dice;
use ripstop_scheduling::FragmentIndex;

/// A strip that is not wanted must be computed from, so its node is chosen before that of a wanted
/// one only if it has less work by a quarter of its lanes.
const UNWANTED_LOAD: u64 = 64;

/// What a chunk that the request only computes from counts for: this part of a task's time.
const UNWANTED: f64 = 1.0 / 64.0;

/// How much slower a node that the plan does not want at all counts as, as a part of its time for a
/// task.
const PLAN_WEIGHT: f64 = 0.5;

/// Bits of the time, in nanoseconds, that a candidate is expected to take.
const EXPECTED_BITS: u32 = 45;

/// The fragments of a read that were not tried and whose node can be given a task.
fn open<'a>(
    floor: &'a Floor,
    entry: &'a Entry,
    look: Look,
) -> impl Iterator<Item = (FragmentIndex, Fragment)> + 'a {
    entry.indices().map(|index| (index, entry.fragment(index))).filter(move |(_, fragment)| {
        fragment.is(FragmentState::Untried) && floor.is_open(fragment.node(), look)
    })
}

fn candidate(floor: &Floor, fragment: (FragmentIndex, Fragment), rank: Rank) -> Candidate {
    let (index, node) = (fragment.0, fragment.1.node());
    Candidate { rank, fragment: index, node, is_ready: floor.node(node).is_ready() }
}

impl Chooser {
    /// The fragments of a read that were not tried and whose node can be given a task, best first
    /// as the pool's selection has it.
    pub(crate) fn fragments(&mut self, floor: &Floor, entry: &Entry, look: Look) -> &[Candidate] {
        self.candidates.clear();
        match self.plan.selection() {
            ReadSelection::Ready => self.rank_ready(floor, entry, look),
            ReadSelection::Probabilistic => self.rank_by_luck(floor, entry, look),
            ReadSelection::LeastWork => self.rank_by_work(floor, entry, look, false),
            ReadSelection::LeastWorkPlanned => self.rank_by_work(floor, entry, look, true),
        }
        sort(&mut self.candidates);
        &self.candidates
    }

    /// Nodes that are not slow, then ready ones, then least work for each lane, then wanted strips.
    fn rank_ready(&mut self, floor: &Floor, entry: &Entry, look: Look) {
        let wanted = entry.read().wanted;
        for (index, fragment) in open(floor, entry, look) {
            let node = floor.node(fragment.node());
            let unwanted = !wanted.contains(index.get());
            let load = u64::from(node.load()) + u64::from(unwanted) * UNWANTED_LOAD;
            let rank = Rank::default()
                .then_not(floor.paces().is_slow(fragment.node()))
                .then_not(!node.is_ready())
                .then(load, 32)
                .then_not(unwanted)
                .then(u64::from(index.0), 8);
            self.candidates.push(candidate(floor, (index, fragment), rank));
        }
    }

    /// Those first that are expected to be done first.
    fn rank_by_work(&mut self, floor: &Floor, entry: &Entry, look: Look, planned: bool) {
        if planned {
            self.weights.weigh(&self.plan, entry);
        }
        let wanted = entry.read().wanted;
        let usual = floor.paces().usual_s();
        for (index, fragment) in open(floor, entry, look) {
            let node = floor.node(fragment.node());
            let task_s = floor.paces().task_s(fragment.node()).unwrap_or(usual);
            let tasks = 1.0 + f64::from(node.load()) / 256.0;
            let unwanted = !wanted.contains(index.get());
            let beside = if unwanted { UNWANTED } else { 0.0 };
            let weight = || self.weights.of_fragments()[index.get()];
            let aside = if planned { PLAN_WEIGHT * (1.0 - weight()) } else { 0.0 };
            let expected_s = task_s * (tasks + beside + aside);
            let expected = ((expected_s * 1e9) as u64).min((1 << EXPECTED_BITS) - 1);
            let rank = Rank::default()
                .then(expected, EXPECTED_BITS)
                .then_not(!node.is_ready())
                .then(u64::from(index.0), 8);
            self.candidates.push(candidate(floor, (index, fragment), rank));
        }
    }

    /// Those first that Madow's systematic sampling picks by the plan's probabilities, the others
    /// by turns. Of stripes that are not yet where the plan wants them, those that are expected to
    /// be done first: asked by turns, a node that the plan avoids would drown in them.
    fn rank_by_luck(&mut self, floor: &Floor, entry: &Entry, look: Look) {
        if !self.weights.weigh(&self.plan, entry) {
            return self.rank_by_work(floor, entry, look, false);
        }
        let luck = scramble(entry.id().0);
        let picked = ripstop_placement::selection::systematic(self.weights.of_fragments(), luck);
        for (index, fragment) in open(floor, entry, look) {
            let rank = Rank::default()
                .then_not(!picked.positions().contains(&index.0))
                .then(scramble(luck ^ u64::from(index.0)), 16)
                .then_not(!floor.node(fragment.node()).is_ready())
                .then(u64::from(index.0), 8);
            self.candidates.push(candidate(floor, (index, fragment), rank));
        }
    }

    /// What takes the place of fragments that failed a read: at most `most` fragments not tried
    /// yet, and if those are fewer than `least`, others that may be tried again, those tried least
    /// first.
    pub(crate) fn replacements(
        &mut self,
        floor: &Floor,
        entry: &Entry,
        (least, most): (usize, usize),
        tries_max: u8,
    ) -> &[Candidate] {
        self.fragments(floor, entry, Look::NONE);
        self.candidates.truncate(most);
        let fresh = self.candidates.len();
        if fresh < least {
            for index in entry.indices() {
                let fragment = entry.fragment(index);
                let again = fragment.is(FragmentState::Unavailable);
                if again && fragment.has_tries_left(tries_max) && floor.takes(fragment.node()) {
                    let rank = Rank::default().then(u64::from(fragment.tries()), 8);
                    let rank = rank.then(u64::from(index.0), 8);
                    self.candidates.push(candidate(floor, (index, fragment), rank));
                }
            }
            sort(&mut self.candidates[fresh..]);
            self.candidates.truncate(least);
        }
        &self.candidates
    }
}

/// Bits without a pattern, always the same for a number.
const fn scramble(number: u64) -> u64 {
    Dice::new(number).next_u64()
}
