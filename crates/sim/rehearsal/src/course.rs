use ripstop_model::{NodeId, Timestamp};
use ripstop_placement::Group;

/// Moves that are kept one by one, of each run; the others are only counted.
pub const MOVES_KEPT_MAX: usize = 1 << 16;

/// What planning came to in a run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PlanCourse {
    /// Each time that the pool planned.
    pub looks: Vec<PlanLook>,
    /// Each fragment that was moved, the first [`MOVES_KEPT_MAX`] of them.
    pub moves: Vec<MovedFragment>,
    /// All of them.
    pub fragments_moved: u64,
    /// Their bytes.
    pub bytes_moved: u64,
    /// Moves that failed; each is tried again.
    pub failed: u64,
    /// When the mover had walked through all stripes, and how many fragments it left elsewhere than
    /// the plan wants them.
    pub walks: Vec<(Timestamp, u64)>,
    /// What moves cost each node, by its number.
    pub load: Vec<MoveLoad>,
}

/// What planning came to, once.
#[derive(Clone, PartialEq, Debug)]
pub struct PlanLook {
    /// When.
    pub at: Timestamp,
    /// Nodes that were seen to have become faster or slower, by number, and since when; and their
    /// mean service now, seconds.
    pub changed: Vec<(u16, Timestamp, f64)>,
    /// What was decided.
    pub verdict: PlanVerdict,
}

/// What a pool decides when it plans.
#[derive(Clone, PartialEq, Debug)]
pub enum PlanVerdict {
    /// Too little was measured.
    Unknown,
    /// The plan stays.
    Kept {
        /// Which part of its value the best other would save.
        saved: f64,
    },
    /// Another is followed.
    Followed {
        /// Where stripes go, and how often each node is asked.
        groups: Vec<Group>,
        /// The planner's bound on the mean latency, seconds.
        bound_s: f64,
        /// Part of all fragments that are to be moved.
        moved: f64,
    },
    /// There is no plan, and why.
    Failed(String),
}

/// A fragment that was moved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MovedFragment {
    /// When it was at its new place.
    pub at: Timestamp,
    /// From where; `None`: it was nowhere, and computed again.
    pub from: Option<NodeId>,
    /// Where it is now.
    pub to: NodeId,
}

/// What moves cost a node.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct MoveLoad {
    /// Times that it was read from or looked at, beside its lanes.
    pub reads: u64,
    /// How long that took, seconds.
    pub read_s: f64,
    /// Fragments that it stored, on a lane behind everything else.
    pub writes: u64,
    /// How long its lanes were busy with them, seconds.
    pub write_s: f64,
}

impl PlanCourse {
    /// Whose load this is.
    pub(crate) fn load_of(&mut self, node: NodeId) -> &mut MoveLoad {
        let at = usize::from(node.0);
        if self.load.len() <= at {
            self.load.resize(at + 1, MoveLoad::default());
        }
        &mut self.load[at]
    }

    /// Takes note of a move.
    pub(crate) fn moved(&mut self, moved: MovedFragment, bytes: u64) {
        self.fragments_moved += 1;
        self.bytes_moved += bytes;
        if self.moves.len() < MOVES_KEPT_MAX {
            self.moves.push(moved);
        }
    }

    /// When a node was first seen to have become faster or slower than before `since`.
    pub fn noticed(&self, since: Timestamp) -> Option<&PlanLook> {
        self.looks.iter().find(|look| look.changed.iter().any(|&(_, from, _)| from >= since))
    }

    /// When, after `since`, another plan was followed first.
    pub fn followed(&self, since: Timestamp) -> Option<Timestamp> {
        let followed = |look: &&PlanLook| matches!(look.verdict, PlanVerdict::Followed { .. });
        self.looks.iter().filter(followed).map(|look| look.at).find(|&at| at >= since)
    }

    /// How often another plan was followed from `since` on.
    pub fn plans_since(&self, since: Timestamp) -> usize {
        let followed = |look: &&PlanLook| matches!(look.verdict, PlanVerdict::Followed { .. });
        self.looks.iter().filter(|look| look.at >= since).filter(followed).count()
    }

    /// When all stripes were first where a plan wants them that was followed after `since`.
    pub fn settled(&self, since: Timestamp) -> Option<Timestamp> {
        let followed = self.followed(since)?;
        self.walks.iter().find(|&&(at, left)| at >= followed && left == 0).map(|&(at, _)| at)
    }
}
