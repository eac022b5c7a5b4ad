/// How much is played.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// Runs for each point; at least 1, confidence intervals want 2.
    pub seeds: u64,
    /// Requests of each run.
    pub requests: u64,
}
