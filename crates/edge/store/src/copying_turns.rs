//! Turns of copies between pools: of one store, so that nothing depends on what other stores of the
//! process do.

use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Most copies between pools at once. Each holds memory of reads and of writes: with more, some
/// could wait for others of one kind that wait for them of the other.
const AT_ONCE: usize = 2;

/// Whose turn it is.
#[derive(Debug)]
pub(crate) struct CopyingTurns(Arc<Semaphore>);

impl Default for CopyingTurns {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

impl CopyingTurns {
    /// Waits for the next turn, which is held until it is dropped.
    pub(crate) async fn next(&self) -> OwnedSemaphorePermit {
        self.0.clone().acquire_owned().await.expect("the semaphore is never closed")
    }
}
