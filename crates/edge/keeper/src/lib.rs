//! Keeps a store: does what is to be done beside requests.
//!
//! A [`Keeper`] notes what became of writes after their answer, sweeps garbage, leftovers and
//! what nothing claims, mends what lacks fragments, writes small objects together that are alone
//! or among dead ones, moves fragments to where a plan wants them, aborts old uploads, removes what
//! is due by the rules of buckets, and
//! checks everything when it is asked to. All of it goes in one kind of round (`round`): a job
//! has its turn again and again while somebody has the keeper, goes through a listing page by
//! page, at a pace, and, where several gateways share a catalog, under the one lease
//! ([`UPKEEP`]). It rebuilds a lost catalog from what the nodes hold ([`rebuild`]), and brings
//! into one what it lacks ([`complete`]). It deliberately knows nothing of who asks a store for
//! what.
//!
//! ```no_run
//! use ripstop_keeper::{CheckOptions, Keeper, KeeperSettings};
//! use ripstop_store::{Store, StoreError};
//!
//! # async fn example(store: Store) -> Result<(), StoreError> {
//! // Pools send what became of writes to the one end, the keeper has the other.
//! let (_to, aftermaths) = ripstop_runtime::aftermaths();
//! let keeper = Keeper::begin(store, aftermaths, KeeperSettings::default());
//! let report = keeper.check(CheckOptions { repair: true }, |_| {}).await?;
//! assert!(report.is_clean());
//! # Ok(())
//! # }
//! ```
//!
//! **Invariant:** nothing is deleted for garbage or for nobody's that a living session may be
//! writing, that is pinned, or that the catalog claims when it is asked last.

mod aftermath;
mod alive;
mod away;
mod begin;
mod check;
mod cleaning;
mod complete;
mod expiry;
mod garbage;
mod keeper;
mod lease;
mod leftovers;
mod lifecycle;
mod listing;
mod mend;
mod misfit;
mod mover;
mod reach;
mod rebuild;
mod reporting;
mod round;
mod settings;
mod sweep;
mod unclaimed;
mod watched;

pub use check::{CatalogReport, CheckFinding, CheckOptions, CheckReport, Flaw};
pub use cleaning::{Cleaned, PacksGauge};
pub use complete::{CompleteReport, complete};
pub use keeper::Keeper;
pub use lease::UPKEEP;
pub use lifecycle::{Aged, AgedCounts, LifecycleReader};
pub use mover::MoveProgress;
pub use rebuild::{
    RebuildError, RebuildProgress, RebuildReport, Roll, ScratchError, SurveyedNode, SurveyedPool,
    rebuild,
};
pub use reporting::{ReportDraft, Reporter};
pub use settings::KeeperSettings;
