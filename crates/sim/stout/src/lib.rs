//! Batching, played in virtual time: writers, each with a batcher, that share a store; and the
//! evaluation of Stout (McCullough, Dunagan, Wolman, Snoeren).
//!
//! * [`Store`]: what a batch takes at a store that serves one at a time, or all side by side, or
//!   becomes slower the more wait.
//! * [`Run`]: writers with a controller under an open Poisson load, and the [`Outcome`].
//! * [`evaluate`]: latency against load for every controller, the best fixed interval found
//!   afterwards, capacity, fairness, settings that were drawn; and what must hold of them.
//!
//! It deliberately decides nothing: when a batch departs is `ripstop-batching`'s, the code that
//! would serve.
//!
//! ```
//! use ripstop_stout::{Run, Store};
//!
//! let run = Run { writers: 8, load_per_s: 2000.0, ..Run::new(Store::SERIAL, "natural") };
//! let outcome = run.play(1);
//! let mean_ms = outcome.latency.mean_ms().expect("writes were answered");
//! assert!((55.0..80.0).contains(&mean_ms), "{mean_ms}");
//! ```

mod evaluation;
mod outcome;
mod run;
mod store;

pub use evaluation::{Budget, evaluate, runs};
pub use outcome::Outcome;
pub use run::Run;
pub use store::Store;
