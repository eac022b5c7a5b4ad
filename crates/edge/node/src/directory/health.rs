#[cfg(test)]
mod tests;

use super::threads::{STUCK_AFTER, Threads};
use crate::NodeError;
use std::{
    sync::{Mutex, PoisonError},
    time::Instant,
};
use tokio::sync::watch;

type Outcome = Option<Result<(), NodeError>>;

/// Asks how a folder is, never twice at once: a caller that asks while another does shares the
/// answer.
#[derive(Debug)]
pub(super) struct Health {
    threads: Threads,
    last: Mutex<Option<Check>>,
}

#[derive(Debug)]
struct Check {
    since: Instant,
    outcome: watch::Receiver<Outcome>,
}

impl Health {
    pub(super) fn new() -> Self {
        Self { threads: Threads::new("disk-health", 1, 1), last: Mutex::default() }
    }

    /// What `look` finds, or what the look found that is under way already.
    pub(super) async fn check(
        &self,
        look: impl FnOnce() -> Result<(), NodeError> + Send + 'static,
    ) -> Result<(), NodeError> {
        let mut outcome = self.begun(look)?;
        let found = outcome.wait_for(Option::is_some).await;
        let found = found.ok().and_then(|found| found.clone());
        found.unwrap_or_else(|| {
            Err(NodeError::Unavailable { reason: "the health check did not end".into() })
        })
    }

    /// Where the outcome of the check that is under way will be; begins one if there is none.
    fn begun(
        &self,
        look: impl FnOnce() -> Result<(), NodeError> + Send + 'static,
    ) -> Result<watch::Receiver<Outcome>, NodeError> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(check) = &*last
            && check.outcome.borrow().is_none()
            && check.outcome.has_changed().is_ok()
        {
            let age = ripstop_host::since(check.since);
            if age > STUCK_AFTER {
                let reason = format!("the health check has been stuck for {} s", age.as_secs());
                return Err(NodeError::Unavailable { reason });
            }
            return Ok(check.outcome.clone());
        }
        let (tell, outcome) = watch::channel(None);
        // Not withdrawn when its asker leaves: others may have come to share it.
        self.threads.hand_in(move || drop(tell.send(Some(look()))))?.keep();
        *last = Some(Check { since: ripstop_host::now(), outcome: outcome.clone() });
        Ok(outcome)
    }

    /// Checks that are stuck: one at most.
    pub(super) fn stuck(&self) -> usize {
        self.threads.stuck()
    }
}
