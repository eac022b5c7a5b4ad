//! What is believed of a stripe, given what the headers of its fragments say.
//!
//! A node has one vote, however many fragments it lists. Of a stripe whose strips are at nodes of
//! their own, K nodes of one pool with K different fragments must say the same; of those that do,
//! the larger number wins. So fewer than K nodes add nothing and change nothing.

use super::{
    roster::Roster,
    sighting::{Digest, Facts, Sighting, agreeing},
};
use ripstop_model::NodeId;
use ripstop_runtime::{Cut, Layout};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

/// What is believed of a stripe.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// What these fragments say.
    Believed(Believed),
    /// Nothing: too few fragments are left to tell, or there never were enough.
    TooFew {
        /// What those say that are left, if one has a whole header.
        digest: Option<Digest>,
        /// Place of their pool among the pools.
        pool: usize,
        /// Fragments that there must be.
        needed: usize,
    },
    /// Nothing: its fragments contradict one another, or are none that their pool writes.
    Disputed(Dispute),
    /// Another store wrote it.
    Foreign,
}

/// A stripe as enough of its fragments tell of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Believed {
    pub(super) digest: Digest,
    pub(super) facts: Facts,
    /// Place of its pool among the pools.
    pub(super) pool: usize,
    /// Where each fragment is, by index.
    pub(super) nodes: Vec<Option<NodeId>>,
}

/// Why nothing is believed of a stripe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Dispute {
    /// Equally many say different things.
    Tie { voices: usize },
    /// No K say the same.
    Split { needed: usize },
    /// They say the same, but of a code or layout that their pool does not write, and too few do.
    Form { n: usize, k: usize, layout: Layout },
}

impl fmt::Display for Dispute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tie { voices } => {
                write!(f, "its headers tell different things, each told by {voices}")
            }
            Self::Split { needed } => write!(f, "no {needed} of its headers agree"),
            Self::Form { n, k, layout } => {
                write!(
                    f,
                    "its headers tell of code ({n},{k}), {layout}: its pool does not write that"
                )
            }
        }
    }
}

/// Which fragments each node lists.
type Claims = BTreeMap<NodeId, BTreeSet<u8>>;

/// What the fragments in one pool say alike.
struct Voice {
    digest: Digest,
    facts: Facts,
    pool: usize,
    nodes: Vec<Option<NodeId>>,
}

impl Voice {
    fn strength(&self) -> usize {
        self.nodes.iter().flatten().count()
    }

    /// How many must say it to be believed; `None` if nobody would be.
    fn needed(&self, roster: &Roster) -> Option<usize> {
        let pool = &roster.pools[self.pool];
        match (self.facts.cut, pool.layout) {
            // Written under another code: at least as many are required as of what is written now.
            (Cut::Spread, Layout::Spread) => Some(agreeing(&self.facts).max(pool.code.k())),
            (Cut::Shared | Cut::Unique { .. }, Layout::Spread) => None,
            (_, Layout::Shared | Layout::Unique) => Some(agreeing(&self.facts)),
        }
    }

    fn form(&self) -> Dispute {
        let code = self.facts.shape.code();
        let layout = match self.facts.cut {
            Cut::Spread => Layout::Spread,
            Cut::Shared => Layout::Shared,
            Cut::Unique { .. } => Layout::Unique,
        };
        Dispute::Form { n: code.n(), k: code.k(), layout }
    }
}

/// Judges one stripe by all that was seen of it, at least one fragment.
pub(super) fn judge(roster: &Roster, store: u64, seen: &[Sighting]) -> Verdict {
    let voices = voices(roster, store, seen);
    let enough =
        |voice: &&Voice| voice.needed(roster).is_some_and(|needed| voice.strength() >= needed);
    let believable: Vec<&Voice> = voices.iter().filter(enough).collect();
    let strongest = believable.iter().map(|voice| voice.strength()).max().unwrap_or_default();
    let mut candidates = believable.into_iter().filter(|voice| voice.strength() == strongest);
    match (candidates.next(), candidates.next()) {
        (Some(Voice { digest, facts, pool, nodes }), None) => Verdict::Believed(Believed {
            digest: *digest,
            facts: *facts,
            pool: *pool,
            nodes: nodes.clone(),
        }),
        (Some(_), Some(_)) => Verdict::Disputed(Dispute::Tie { voices: strongest }),
        (None, _) => doubt(roster, store, seen, &voices),
    }
}

/// Why nobody is believed.
fn doubt(roster: &Roster, store: u64, seen: &[Sighting], voices: &[Voice]) -> Verdict {
    let said = seen.iter().filter_map(|sighting| sighting.said.as_ref());
    let own = said.filter(|said| said.facts.origin.store == store).count();
    if own == 0 && seen.iter().any(|sighting| sighting.said.is_some()) {
        return Verdict::Foreign;
    }
    match voices {
        [] if own > 0 => Verdict::Disputed(Dispute::Split { needed: 1 }),
        [] => {
            let pool = roster.pool_of(seen[0].node);
            let needed = needed_by(roster, pool);
            Verdict::TooFew { digest: None, pool, needed }
        }
        [voice] => match voice.needed(roster) {
            // Told of by as many as its own code asks for, or in a layout that is not its pool's.
            Some(needed) if voice.strength() < agreeing(&voice.facts) => {
                Verdict::TooFew { digest: Some(voice.digest), pool: voice.pool, needed }
            }
            Some(_) | None => Verdict::Disputed(voice.form()),
        },
        [first, ..] => {
            let needed = first.needed(roster).unwrap_or(needed_by(roster, first.pool));
            Verdict::Disputed(Dispute::Split { needed })
        }
    }
}

/// Fragments of a stripe that a pool must have for it to be believed.
pub(super) fn needed_by(roster: &Roster, pool: usize) -> usize {
    let pool = &roster.pools[pool];
    match pool.layout {
        Layout::Spread => pool.code.k(),
        Layout::Shared | Layout::Unique => 1,
    }
}

/// What is said alike, by pool, in a fixed order.
fn voices(roster: &Roster, store: u64, seen: &[Sighting]) -> Vec<Voice> {
    let mut contradictory = BTreeSet::new();
    let mut said: BTreeMap<(NodeId, u8), Digest> = BTreeMap::new();
    for sighting in seen {
        let Some(now) = &sighting.said else { continue };
        let place = (sighting.node, sighting.name.index);
        // A fragment of which the first and the last header differ says nothing.
        if said.insert(place, now.digest).is_some_and(|before| before != now.digest) {
            contradictory.insert(place);
        }
    }
    let mut groups: BTreeMap<(Digest, usize), (Facts, Claims)> = BTreeMap::new();
    for sighting in seen {
        let Some(said) = &sighting.said else { continue };
        let (facts, index) = (said.facts, sighting.name.index);
        let is_there = usize::from(index) < facts.cut.fragments(facts.shape.code());
        if facts.origin.store == store
            && is_there
            && !contradictory.contains(&(sighting.node, index))
        {
            let pool = roster.pool_of(sighting.node);
            let group = groups.entry((said.digest, pool));
            let (_, nodes) = group.or_insert_with(|| (facts, BTreeMap::new()));
            nodes.entry(sighting.node).or_default().insert(index);
        }
    }
    let voice = |((digest, pool), (facts, claims)): ((Digest, usize), (Facts, _))| {
        let fragments = facts.cut.fragments(facts.shape.code());
        let nodes = match facts.cut {
            Cut::Spread => one_each(&claims, fragments),
            Cut::Shared | Cut::Unique { .. } => all_together(&claims, fragments),
        };
        Voice { digest, facts, pool, nodes }
    };
    groups.into_iter().map(voice).collect()
}

/// Gives each node one of the fragments that it claims, so that most are placed. One that claims
/// many comes last: it displaces no node that claims one.
fn one_each(claims: &Claims, fragments: usize) -> Vec<Option<NodeId>> {
    let mut placed = vec![None; fragments];
    let mut order: Vec<NodeId> = claims.keys().copied().collect();
    order.sort_by_key(|node| claims[node].len());
    for node in order {
        place(claims, node, &mut placed, &mut BTreeSet::new());
    }
    placed
}

/// Finds a fragment for `node`, moving others to another that they claim: an augmenting path, at
/// most as long as there are fragments.
fn place(
    claims: &Claims,
    node: NodeId,
    placed: &mut [Option<NodeId>],
    tried: &mut BTreeSet<u8>,
) -> bool {
    for &index in &claims[&node] {
        if !tried.insert(index) {
            continue;
        }
        let is_free = match placed[usize::from(index)] {
            None => true,
            Some(other) => place(claims, other, placed, tried),
        };
        if is_free {
            placed[usize::from(index)] = Some(node);
            return true;
        }
    }
    false
}

/// Places each fragment at the node that has most of them, or else at another that has it.
fn all_together(claims: &Claims, fragments: usize) -> Vec<Option<NodeId>> {
    let mut order: Vec<NodeId> = claims.keys().copied().collect();
    order.sort_by_key(|node| std::cmp::Reverse(claims[node].len()));
    let at = |index: usize| order.iter().copied().find(|n| claims[n].contains(&(index as u8)));
    (0..fragments).map(at).collect()
}

#[cfg(test)]
mod tests;
