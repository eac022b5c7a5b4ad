//! Pools that plan themselves.

mod replanner;
#[cfg(test)]
mod tests;

pub use replanner::Replanner;
