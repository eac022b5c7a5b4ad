//! When a group is committed, and how much of what waits goes into it: the one decision of group
//! commit that is a matter of policy.

use std::fmt;
use std::time::Duration;

/// What is known when a group may be committed: something waits, and no commit is under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gathered {
    /// Callers that wait.
    pub callers: usize,
    /// Their changes.
    pub changes: usize,
    /// How long the first of them has waited.
    pub waited: Duration,
    /// The commit before, if there was one.
    pub last: Option<LastCommit>,
}

/// What the commit before cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LastCommit {
    /// The changes in it.
    pub changes: usize,
    /// How long it took.
    pub took: Duration,
}

/// What becomes of those that wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// They are committed in the order in which they came, up to the caller with whose changes
    /// there are at least this many.
    Commit {
        /// 0 is 1.
        changes_max: usize,
    },
    /// More may come first. The question is put again when somebody comes, and after this time.
    Wait(Duration),
}

/// Decides when to commit what waits. Looks at no clock and throws no dice: the same calls give the
/// same verdicts.
pub trait Gather: Send + fmt::Debug {
    /// What becomes of those that wait.
    fn gather(&mut self, gathered: &Gathered) -> Verdict;
}

/// What waits is committed as soon as the commit before has ended: a group is what came meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AtOnce {
    /// Changes with which a group is full.
    pub changes_max: usize,
}

impl Default for AtOnce {
    fn default() -> Self {
        Self { changes_max: 1024 }
    }
}

impl Gather for AtOnce {
    fn gather(&mut self, _: &Gathered) -> Verdict {
        Verdict::Commit { changes_max: self.changes_max }
    }
}
