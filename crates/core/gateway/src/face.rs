//! What the machine is told and what it says, as plain data: the one entrance and the one exit.

mod action;
mod event;
mod exit;
mod gauge;
mod placement;
mod promised;
mod report;
mod settings;
mod shaping;
mod task;

pub use action::{Action, Cause};
pub use event::{Event, NodeState, Request, RequestSpec, TaskOutcome};
pub(crate) use exit::Exit;
pub use gauge::{NodeGauge, TenantGauge, TierGauge};
pub use placement::{Placement, PlacementGroup, ReadSelection, WHOLE_CHUNK};
pub use promised::{Grant, LanesMissing, Promised, PromisedError};
pub use report::Report;
pub use settings::{AfterAnswer, MachineSettings, SettingsError};
pub use shaping::{LANE, Recombination, Shaping, TenantTerms, TierTerms};
pub use task::{Task, TaskEnd};
