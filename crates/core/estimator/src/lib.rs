//! What delays were: fits of the delay model, quantile sketches, task logs.
//!
//! Everything here is fed with [`Sample`]s, one for each task that ended: how long it was served
//! and whether it finished or was cancelled after that long. Where the first k of n tasks count,
//! those that finish are the fastest, so a cancelled task is evidence too: that its delay was
//! longer. Both kinds enter by the estimator of Kaplan and Meier.
//!
//! * [`Fit`]: the [shifted exponential](ripstop_delay::ShiftedExponential) of some samples, as the
//!   paper on TOFEC fits it and corrected for what that trims, and how far to trust it.
//! * [`Window`]: the fit of recent samples, in bounded memory, for a gateway that runs.
//! * [`fit_log`], [`LogRecord`]: the task log, the same from a live gateway and from a simulation.
//! * [`Empirical`], [`Distribution`]: what was seen for each chunk size, without a model.
//! * [`MovingAverage`], [`MeanSpan`]: what a number is on average, lately.
//! * [`since_change`]: what a node did since it became faster or slower.
//! * [`Bins`], [`Survival`]: the same in bounded memory, for a policy that asks often.
//! * [`line()`]: the nearest line without negative coefficients.
//! * [`Quantiles`]: a percentile of what came last. [`Sketch`]: of what was counted, to be added
//!   up.
//!
//! It deliberately keeps no clock and does no I/O, and it does not judge nodes: the caller decides
//! whether one is slow.
//!
//! ```
//! use core::time::Duration;
//! use ripstop_delay::{DelayModel as _, Dice, ShiftedExponential};
//! use ripstop_estimator::{Sample, Window, WindowSettings};
//! use ripstop_model::{NodeId, Operation, Timestamp};
//!
//! let (mut model, mut dice) = (ShiftedExponential::S3_2013_A, Dice::new(1));
//! let mut window = Window::new(WindowSettings::default());
//! let now = Timestamp::ZERO;
//! for count in 0..8000u64 {
//!     let (operation, bytes) = (Operation::Read, 500_000 * (1 + count % 6));
//!     let served = model.sample(operation.into(), bytes, &mut dice);
//!     window.add(now, Sample { operation, node: NodeId(0), bytes, served, finished: true });
//! }
//! let fit = window.fit(now, Operation::Read).expect("six sizes were seen often enough");
//! assert!((fit.model.excess_at(1_000_000) / 68.6 - 1.0).abs() < 0.1);
//! assert_eq!((fit.sizes, fit.cancelled), (6, 0));
//! assert_eq!(window.fit(now, Operation::Write), None);
//! ```
#![no_std]
extern crate alloc;

mod apart;
mod average;
mod bin;
mod bins;
mod change;
mod curve;
mod distribution;
mod empirical;
mod fit;
mod line;
mod log;
mod log_fit;
mod outliers;
mod pace;
mod quantiles;
mod sample;
mod scale;
mod size;
mod sizes;
mod sketch;
mod survival;
mod trim;
mod window;

pub use average::{MeanSpan, MovingAverage};
pub use bins::Bins;
pub use change::{TASKS_MIN, since_change};
pub use curve::Survival;
pub use distribution::{Distribution, equally_likely};
pub use empirical::Empirical;
pub use fit::{Fit, SPREAD_MIN};
pub use line::{Point, line};
pub use log::{
    LOG_HEADER, LogError, LogRecord, LoggedOutcome, TASK_LOG_MAX, TaskLogFormat, parse_log,
};
pub use log_fit::{LogFit, fit_log};
pub use outliers::{OUTLIERS_MAX, Outliers};
pub use pace::{NodePace, paces};
pub use quantiles::Quantiles;
pub use sample::Sample;
pub use size::SIZE_FINISHED_MIN;
pub use sizes::SIZES_MAX;
pub use sketch::Sketch;
pub use trim::{AT_RISK_MIN, KEPT, KEPT_MIN};
pub use window::{REFIT_MIN, Window, WindowSettings};
