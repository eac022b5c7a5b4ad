//! How long storage takes: pure functions of an operation, its size and luck.
//!
//! A [`DelayModel`] is the law of a node's delays: a [`ShiftedExponential`] as in the paper on
//! TOFEC, a [`Mixture`] as measured today, or what was [`Recorded`]; a [`Preset`] is one with a
//! name. What it draws is decided by [`Luck`]: [`Dice`], independent from draw to draw, or
//! [`Correlated`], which makes the tasks of a request slow together. Every draw is the same on
//! every platform, because the logarithms are this crate's own or libm's.
//!
//! Models deliberately know no clock, no node and no queue: who waits, and when a task is
//! cancelled, is up to the callers. They do not fit themselves to measurements either.
//!
//! ```
//! use ripstop_delay::{Correlated, Correlation, DelayModel as _, Dice, Preset, StorageOperation};
//! use ripstop_model::RequestId;
//!
//! let mut model = "s3-2013-a".parse::<Preset>().expect("a preset's name").model();
//! let mut dice = Dice::new(1);
//! let alone = model.sample(StorageOperation::Get, 1_000_000, &mut dice);
//! assert!(alone.as_millis() >= 55, "shift 40 + 15 per MB");
//! assert!((model.mean_ms(StorageOperation::Get, 1_000_000) - 123.6).abs() < 1e-9);
//!
//! // Two tasks of request 7, as slow as each other.
//! let mut task = || {
//!     let mut luck = Correlated::new(Correlation::new(1.0), 1, RequestId(7), &mut dice);
//!     model.sample(StorageOperation::Get, 1_000_000, &mut luck)
//! };
//! assert_eq!(task(), task());
//! ```
#![no_std]
extern crate alloc;

mod correlation;
mod dice;
mod exponential;
mod logarithm;
mod luck;
mod mixture;
mod model;
mod normal;
mod operation;
mod preset;
mod recorded;
#[cfg(test)]
mod tests;

pub use correlation::{Correlated, Correlation};
pub use dice::Dice;
pub use exponential::ShiftedExponential;
pub use luck::Luck;
pub use mixture::{Lognormal, Mixture, Straggler};
pub use model::DelayModel;
pub use operation::{ParseOperationError, StorageOperation};
pub use preset::{ParsePresetError, Preset};
pub use recorded::{Recorded, RecordedError, Replay};
