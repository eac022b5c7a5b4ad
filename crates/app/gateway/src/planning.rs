//! Where pools that plan themselves are handed to a planner, which this crate does not know.

use crate::config::{AutoPlan, PlanFile, PoolConfig};
use ripstop_keeper::Keeper;
use ripstop_roster::Roster;
use ripstop_runtime::Pool;
use std::{fmt, path::PathBuf, sync::Arc};

/// A pool that is to plan itself, and what a planner needs for it.
#[derive(Debug)]
pub struct PlannedPool {
    /// As it is configured.
    pub config: PoolConfig,
    /// What it is told about planning.
    pub auto: AutoPlan,
    /// The pool.
    pub pool: Pool,
    /// Brings its stripes to where a plan wants them.
    pub keeper: Keeper,
    /// Who its nodes are, and what its tasks took; the plan that is followed is noted there.
    pub roster: Arc<Roster>,
    /// Keeps the plan that is followed, so that the next start goes on with it.
    pub file: PathBuf,
    /// The plan to begin with, in place of the one in that file.
    pub former: Option<PlanFile>,
}

/// The planning of one pool, which goes on until this is dropped.
pub trait Planning: fmt::Debug + Send + Sync {
    /// Whether it was told this.
    fn goes_by(&self, auto: AutoPlan) -> bool;
}

/// Begins to plan a pool.
pub type StartPlanning = fn(PlannedPool) -> Arc<dyn Planning>;
