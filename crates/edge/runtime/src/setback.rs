use ripstop_gateway::Cause;
use ripstop_model::StripeId;
use std::time::Duration;

/// A request on a stripe that was not done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FailedStripe {
    /// The stripe.
    pub id: StripeId,
    /// Why.
    pub setback: Setback,
}

/// Why a request was not done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Setback {
    /// It was not begun: too many wait, or its tenant asks for more than it was promised.
    Rejected {
        /// When to try again.
        retry_after: Duration,
    },
    /// It was begun and could not be done.
    Failed(Cause),
}
