//! Which code a request gets: one file per policy.
//!
//! A policy sees plain data (what is asked, how loaded the pool is, how long tasks took) and
//! returns plain data (a code and how its redundancy runs). It deliberately does not see nodes,
//! tasks or bytes: which of a stripe's fragments are fetched, and when, is the gateway's business.
//!
//! ```
//! use ripstop_model::{Code, Timestamp};
//! use ripstop_policy::{
//!     Chunking, Load, Operation, PolicySettings, Redundancy, RequestClass, by_name,
//! };
//!
//! let storage = Code::new(6, 4).expect("4 of 6 is a code");
//! let (operation, chunking) = (Operation::Read, Chunking::Strip);
//! let class = RequestClass { operation, strip_bytes: 1 << 20, code: storage, chunking };
//! let mut policy = by_name("fixed", &PolicySettings::default()).expect("it is registered");
//! let choice = policy.choose(Timestamp::ZERO, &class, Load::default());
//! assert_eq!(choice.code, Code::new(4, 4).expect("a code"));
//! assert_eq!(choice.redundancy, Redundancy::Eager);
//! ```
#![no_std]
extern crate alloc;

mod all;
mod backfill;
mod eager;
mod fixed;
mod foresight;
mod greedy;
mod hedge;
mod ideal;
mod limits;
mod models;
mod policy;
mod redundancy;
mod registry;
mod replication;
mod settings;
mod tofec;

pub use all::All;
pub use backfill::Backfill;
pub use fixed::Fixed;
pub use greedy::Greedy;
pub use hedge::Hedge;
pub use ideal::Ideal;
pub use limits::Limits;
pub use policy::{Choice, Chunking, Load, Policy, RequestClass};
pub use redundancy::{Late, Redundancy};
pub use registry::{SettingKey, UnknownPolicy, by_name, descriptions, names, readers};
pub use replication::Replication;
pub use ripstop_estimator::Sample;
pub use ripstop_model::Operation;
pub use settings::PolicySettings;
pub use tofec::{Demand, LoadThresholds, MultiServerTofec, Thresholds, Tofec};
