//! How long, and how often, something is tried again.

use crate::failure::Failure;
use ripstop_catalog::CatalogError;
use std::time::{Duration, Instant};

/// First wait before something is tried again, and the longest.
const WAIT_MIN: Duration = Duration::from_millis(2);
const WAIT_MAX: Duration = Duration::from_millis(500);

/// How long something is tried again.
pub(crate) struct Patience {
    until: Instant,
    wait: Duration,
}

impl Patience {
    pub(crate) fn of(max: Duration) -> Self {
        Self { until: ripstop_host::now() + max, wait: WAIT_MIN }
    }

    /// Waits for the next try; fails if there is to be none.
    pub(crate) async fn wait(&mut self, failure: Failure) -> Result<(), CatalogError> {
        if matches!(failure, Failure::Lasting(_)) || ripstop_host::now() >= self.until {
            return Err(failure.told());
        }
        tracing::debug!(?failure, "the catalog's database is asked again");
        // Between half of it and all: those that failed together do not come together again.
        let half_us = self.wait.as_micros() as u64 / 2;
        let jitter_us = ripstop_host::random_u64() % (half_us + 1);
        tokio::time::sleep(Duration::from_micros(half_us + jitter_us)).await;
        self.wait = (self.wait * 2).min(WAIT_MAX);
        Ok(())
    }
}
