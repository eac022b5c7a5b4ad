//! Which code a request gets: one file per policy.
//!
//! A policy sees plain data (what is asked, how loaded the pool is) and returns plain data (a code
//! and how its redundancy runs). It deliberately does not see nodes, tasks or bytes: which of a
//! stripe's fragments are fetched, and when, is the gateway's business.
//!
//! ```
//! use ripstop_model::{Code, Timestamp};
//! use ripstop_policy::{Class, Load, Operation, Redundancy, Settings, by_name};
//!
//! let storage = Code::new(6, 4).expect("4 of 6 is a code");
//! let class = Class { operation: Operation::Read, strip_bytes: 1 << 20, code: storage };
//! let mut policy = by_name("fixed", &Settings::default()).expect("it is registered");
//! let choice = policy.choose(Timestamp::ZERO, &class, Load::default());
//! assert_eq!(choice.code, Code::new(4, 4).expect("a code"));
//! assert_eq!(choice.redundancy, Redundancy::Eager);
//! ```
#![no_std]
extern crate alloc;

mod fixed;
mod policy;
mod registry;

pub use fixed::Fixed;
pub use policy::{Choice, Class, Load, Operation, Policy, Redundancy};
pub use registry::{NAMES, Settings, UnknownPolicy, by_name};
