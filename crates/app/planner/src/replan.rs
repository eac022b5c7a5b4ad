//! Pools that plan themselves.

mod attendance;
mod choice;
mod measurement;
mod replanner;
#[cfg(test)]
mod tests;

pub use replanner::Replanner;
