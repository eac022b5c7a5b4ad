use ripstop_gateway::TaskOutcome;
use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// How long a node that refused a fragment counts as refusing, if no other fragment comes.
const REFUSAL_LASTS: Duration = Duration::from_secs(30);

/// When a node refused to store a fragment, if it has stored none since.
#[derive(Default, Debug)]
pub(crate) struct Refusal(Mutex<Option<Instant>>);

impl Refusal {
    /// Takes note of what became of a fragment that it was to store.
    pub(crate) fn stored(&self, outcome: TaskOutcome) {
        let refused = match outcome {
            TaskOutcome::Refused => Some(ripstop_host::now()),
            TaskOutcome::Done => None,
            TaskOutcome::Missing
            | TaskOutcome::Damaged
            | TaskOutcome::Unavailable
            | TaskOutcome::Cancelled => {
                return;
            }
        };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = refused;
    }

    /// Whether the last store was refused, and recently.
    pub(crate) fn refuses(&self) -> bool {
        let refused = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        refused.is_some_and(|at| ripstop_host::since(at) < REFUSAL_LASTS)
    }
}
