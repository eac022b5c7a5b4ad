use ripstop_gateway::{Action, Event};
use ripstop_model::Timestamp;
use std::fmt;

/// Sees everything that a pool's machine is told and says, in order. Called under the pool's lock:
/// it must be quick and never block.
pub trait Witness: Send + Sync + fmt::Debug {
    /// The machine is told this `now`.
    fn told(&self, now: Timestamp, event: &Event);

    /// This is what it said to that.
    fn said(&self, actions: &[Action]);
}
