//! What becomes due of a bucket's objects, versions and uploads by its rules, and when.
//!
//! [`Rules`] are data, and [`Rules::removal`] is a function of them and of what is known of a
//! version ([`View`]): it says which rule removes it, and when; [`Rules::relocation`], to which
//! class of storage one moves it. It deliberately knows nothing of
//! documents, catalogs and clocks: who asks compares the time, and does what is due.
//!
//! ```
//! use ripstop_lifecycle::{Day, Expiration, Filter, LifecycleRule, Rules, Standing, View, Due};
//!
//! let rule = LifecycleRule {
//!     id: "logs".into(),
//!     is_enabled: true,
//!     filter: Filter { prefix: "logs/".into(), ..Filter::default() },
//!     expiration: Some(Expiration::Objects(Due::AfterDays(30))),
//!     ..LifecycleRule::default()
//! };
//! let rules = Rules::new(vec![rule]);
//! let view = View {
//!     key: "logs/today",
//!     len: 4096,
//!     tags: Some(&[]),
//!     modified_ms: 1_000,
//!     standing: Standing::Latest,
//! };
//! let removal = rules.removal(&view, Day::STANDARD).expect("the rule is about it");
//! // A second after midnight, and thirty days: rounded up to the next midnight.
//! assert_eq!((removal.at_ms, removal.rule), (31 * 86_400_000, "logs"));
//! ```
#![no_std]

extern crate alloc;

mod day;
mod due;
mod filter;
mod relocation;
mod rule;
mod succession;
#[cfg(test)]
mod tests;
mod transition;
mod view;

pub use day::Day;
pub use due::Removal;
pub use filter::Filter;
pub use relocation::Relocation;
pub use rule::{Due, Expiration, LifecycleRule, Noncurrent, Rules};
pub use succession::{Shown, Succession};
pub use transition::{MOVED_LEN_MIN, Sizes, Transition};
pub use view::{Standing, View};
