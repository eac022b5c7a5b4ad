//! How long a gateway lives.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::sync::Notify;

/// One gateway's life. Once it is over, nothing that it still does has an effect.
#[derive(Debug)]
pub(crate) struct Life {
    is_over: AtomicBool,
    over: Notify,
    node_operations: AtomicU64,
    /// The operation of a node at which it ends.
    last: AtomicU64,
}

impl Life {
    pub(crate) fn new(last: Option<u64>) -> Self {
        Self {
            is_over: AtomicBool::new(false),
            over: Notify::new(),
            node_operations: AtomicU64::new(0),
            last: AtomicU64::new(last.unwrap_or(u64::MAX)),
        }
    }

    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.over.notify_one();
    }

    /// From now on no operation of a node ends it.
    pub(crate) fn spare(&self) {
        self.last.store(u64::MAX, Ordering::Relaxed);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Waits for its end.
    pub(crate) async fn is_ended(&self) {
        self.over.notified().await;
    }

    /// Never ends if the life is over.
    pub(crate) async fn go_on(&self) {
        if self.is_over() {
            std::future::pending::<()>().await;
        }
    }

    /// Counts an operation of a node; whether it is the last, of which nobody hears.
    pub(crate) fn is_last(&self) -> bool {
        self.node_operations.fetch_add(1, Ordering::Relaxed) + 1
            >= self.last.load(Ordering::Relaxed)
    }

    /// How many there were.
    pub(crate) fn node_operations(&self) -> u64 {
        self.node_operations.load(Ordering::Relaxed)
    }
}
