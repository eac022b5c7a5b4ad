mod folder;
mod root;
#[cfg(test)]
mod tests;

use crate::{Capabilities, Listed, Node, NodeError};
use async_trait::async_trait;
use bytes::Bytes;
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use ripstop_model::FragmentId;
use root::Root;
use std::{ops::Range, path::PathBuf, sync::Arc};
use tokio::{
    sync::mpsc,
    task::{JoinHandle, spawn_blocking},
};

/// Listed fragments that wait for a slow consumer before the listing thread does.
const LISTED_AHEAD_MAX: usize = 256;

/// When a put may answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Durability {
    /// Once the fragment survives a power failure: file and folders are synced to the disk.
    #[default]
    Full,
    /// Once the operating system has the fragment: it survives this process, not a power failure.
    Relaxed,
}

/// How a [`Directory`] behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DirectorySettings {
    /// When a put may answer.
    pub durability: Durability,
}

/// A node in a folder of a mounted file system.
///
/// Fragments lie in `root/<last byte of the stripe's id in hex>/<fragment's name>`; what is being
/// written lies in `root/tmp/` until it is whole. The root is never created: while it is missing,
/// every operation is [`NodeError::Unavailable`]. A root that was once seen to be a mount point is
/// taken to be missing while nothing is mounted on it.
///
/// A removal is not synced: after a power failure a deleted fragment may be back, as garbage.
#[derive(Debug)]
pub struct Directory {
    root: Arc<Root>,
}

impl Directory {
    /// The node in the folder `root`, which need not be there yet. Removes what a process that died
    /// left half written long ago.
    pub fn new(root: PathBuf, settings: DirectorySettings) -> Self {
        let root = Arc::new(Root::new(root, settings.durability));
        if root.present().is_ok() {
            root.sweep();
        }
        Self { root }
    }

    /// Runs the whole of an operation on a thread that may block.
    async fn blocking<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Root) -> Result<T, NodeError> + Send + 'static,
    ) -> Result<T, NodeError> {
        let root = Arc::clone(&self.root);
        // Dropped before a thread took it up, the operation never runs; afterwards it runs to its end.
        let mut task = AbortOnDrop(spawn_blocking(move || operation(&root)));
        (&mut task.0).await.unwrap_or_else(|ended| match ended.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(NodeError::Unavailable { reason: "the runtime is shutting down".into() }),
        })
    }
}

struct AbortOnDrop<T>(JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[async_trait]
impl Node for Directory {
    async fn put(&self, name: FragmentId, fragment: Vec<Bytes>) -> Result<(), NodeError> {
        self.blocking(move |root| root.put(name, &fragment)).await
    }

    async fn get(&self, name: FragmentId, range: Range<u64>) -> Result<Bytes, NodeError> {
        self.blocking(move |root| root.get(name, range)).await
    }

    async fn delete(&self, name: FragmentId) -> Result<(), NodeError> {
        self.blocking(move |root| root.delete(name)).await
    }

    fn list(&self) -> BoxStream<'_, Result<Listed, NodeError>> {
        let listing = async {
            let (sender, receiver) = mpsc::channel(LISTED_AHEAD_MAX);
            let root = Arc::clone(&self.root);
            spawn_blocking(move || root.list(&sender));
            stream::unfold(Some(receiver), |receiver| async {
                let mut receiver = receiver?;
                match receiver.recv().await {
                    Some(Ok(Some(listed))) => Some((Ok(listed), Some(receiver))),
                    Some(Ok(None)) => None,
                    Some(Err(error)) => Some((Err(error), None)),
                    // Without its end a listing must not pass for a whole one.
                    None => {
                        let reason = "the listing was cut short".into();
                        Some((Err(NodeError::Unavailable { reason }), None))
                    }
                }
            })
        };
        stream::once(listing).flatten().boxed()
    }

    async fn health(&self) -> Result<(), NodeError> {
        self.blocking(Root::health).await
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { part_min: Some(1) }
    }
}
