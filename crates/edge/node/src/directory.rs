mod cached;
mod closing;
mod direct;
mod folder;
mod health;
mod leftover;
mod marker;
mod name;
mod place;
mod root;
mod settings;
#[cfg(test)]
mod tests;
mod threads;

pub use closing::close_to_others;
pub use marker::NodeMark;
pub use settings::{DirectorySettings, PutDurability};

use crate::{Capabilities, Leftovers, Listed, Node, NodeError};
use async_trait::async_trait;
use bytes::Bytes;
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use health::Health;
use ripstop_block::Blocks;
use ripstop_model::FragmentId;
use root::{Root, Unfit};
use std::{
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use thiserror::Error;
use threads::{HandedIn, Threads};
use tokio::sync::mpsc;

/// Listed fragments that wait for a slow consumer before the listing thread does.
const LISTED_AHEAD_MAX: usize = 256;
/// Threads that a node has beyond its lanes: for what goes on at the disk although its caller has
/// gone, and for what is asked beside the lanes.
const THREADS_BESIDE_LANES: usize = 4;
/// Most operations that wait for a thread of the node; one more is refused.
const OPERATIONS_WAITING_MAX: usize = 1024;
/// How long an operation may take, its wait for a thread included.
const OPERATION_TIMEOUT: Duration = Duration::from_mins(1);
/// Listings of a node that are under way at once.
const LISTINGS_MAX: usize = 2;
/// Most listings that wait for others to end; one more is refused.
const LISTINGS_WAITING_MAX: usize = 16;
/// How long looking at a folder before it is used may take.
const ADMIT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a listing may take from one fragment to the next.
const LISTING_TIMEOUT: Duration = Duration::from_mins(1);

/// A node in a folder of a mounted file system.
///
/// Fragments lie in `root/<last byte of the stripe's id in hex>/<fragment's name>`; what is being
/// written lies in `root/.ripstop-tmp/` until it is whole. The root is never created: while it is
/// missing, every operation is [`NodeError::Unavailable`]. A root that was once seen to be a mount
/// point is taken to be missing while nothing is mounted on it. No link below the root is followed,
/// and what is no regular file is no fragment.
///
/// The marker `root/.ripstop-node` says whose the folder is. An empty folder gets one with the
/// first put, and so does one that holds fragments and is not marked; any other folder, and one
/// that is marked as another's, is unavailable. Only what has a name of the node's own making is
/// ever removed.
///
/// A removal is not synced: after a power failure a deleted fragment may be back, as garbage.
///
/// A disk that hangs holds threads of this node only, and a bounded number of them: its lanes and a
/// few for operations, two for listings, one for its health.
#[derive(Debug)]
pub struct Directory {
    root: Arc<Root>,
    operations: Threads,
    listings: Threads,
    health: Health,
    /// What fragments are read into.
    blocks: Blocks,
}

impl Directory {
    /// The node in the folder `root`, which need not be there yet, and is not looked at yet.
    pub fn new(root: PathBuf, settings: DirectorySettings) -> Self {
        let threads_max = usize::from(settings.lanes) + THREADS_BESIDE_LANES;
        Self {
            root: Arc::new(Root::new(root, settings)),
            operations: Threads::new("disk", threads_max, OPERATIONS_WAITING_MAX),
            listings: Threads::new("disk-list", LISTINGS_MAX, LISTINGS_WAITING_MAX),
            health: Health::new(),
            blocks: Blocks::default(),
        }
    }

    /// The same, reading into blocks of this pool, and writing from them.
    #[must_use]
    pub fn with_blocks(self, blocks: Blocks) -> Self {
        Self { blocks, ..self }
    }

    /// Runs the whole of an operation on a thread that may block.
    async fn blocking<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Root) -> Result<T, NodeError> + Send + 'static,
    ) -> Result<T, NodeError> {
        let root = Arc::clone(&self.root);
        self.operations.run(OPERATION_TIMEOUT, move || operation(&root)).await?
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.root.path()
    }

    /// Marks the folder as the node's, unless it is missing, and removes what dead writers left in
    /// it.
    pub async fn admit(&self) -> Result<(), AdmitError> {
        let root = Arc::clone(&self.root);
        match self.operations.run(ADMIT_TIMEOUT, move || root.admit()).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(Unfit::Foreign(found))) => {
                let folder = self.root.path().display().to_string();
                Err(AdmitError::Foreign { folder, found })
            }
            Ok(Err(Unfit::Node(error))) | Err(error) => Err(AdmitError::Node(error)),
        }
    }

    /// What the folder's marker says, whatever the settings do; `None` without one that can be
    /// read.
    pub async fn mark(&self) -> Result<Option<NodeMark>, NodeError> {
        let root = Arc::clone(&self.root);
        self.operations.run(ADMIT_TIMEOUT, move || root.mark()).await?
    }

    /// What a listing sends, and what withdraws it if it has not begun.
    fn begin_listing(&self) -> Result<Listing<'_>, NodeError> {
        let (sender, receiver) = mpsc::channel(LISTED_AHEAD_MAX);
        let root = Arc::clone(&self.root);
        let handed_in = self.listings.hand_in(move || root.list(&sender))?;
        Ok(Listing { receiver, _handed_in: handed_in })
    }
}

/// Why a folder is not used as a node's.
#[derive(Debug, Error)]
pub enum AdmitError {
    /// It is not this node's: somebody has to act.
    #[error("folder {folder} is not this node's: {found}")]
    Foreign {
        /// Which folder.
        folder: String,
        /// What was found in it.
        found: String,
    },
    /// It cannot be used now.
    #[error(transparent)]
    Node(#[from] NodeError),
}

/// A listing under way or waiting for its turn.
struct Listing<'a> {
    receiver: mpsc::Receiver<Result<Option<Listed>, NodeError>>,
    _handed_in: HandedIn<'a>,
}

impl Listing<'_> {
    /// The next fragment, `None` at the end; after an error there is nothing more.
    async fn next(&mut self) -> Result<Option<Listed>, NodeError> {
        match tokio::time::timeout(LISTING_TIMEOUT, self.receiver.recv()).await {
            Ok(Some(next)) => next,
            // Without its end a listing must not pass for a whole one.
            Ok(None) => Err(NodeError::Unavailable { reason: "the listing was cut short".into() }),
            Err(_) => {
                let stuck_s = LISTING_TIMEOUT.as_secs();
                let reason = format!("the listing has been stuck for {stuck_s} s");
                Err(NodeError::Unavailable { reason })
            }
        }
    }
}

#[async_trait]
impl Node for Directory {
    async fn put(&self, name: FragmentId, fragment: Vec<Bytes>) -> Result<(), NodeError> {
        let blocks = self.blocks.clone();
        self.blocking(move |root| root.put(name, &fragment, &blocks)).await
    }

    async fn get(&self, name: FragmentId, range: Range<u64>) -> Result<Bytes, NodeError> {
        let cached = u32::try_from(range.end.saturating_sub(range.start))
            .ok()
            .and_then(|len| self.root.get_cached(name, range.start, &[len], &self.blocks));
        if let Some(piece) = cached.and_then(|mut pieces| pieces.pop()) {
            return Ok(piece);
        }
        self.blocking(move |root| root.get(name, range)).await
    }

    async fn get_pieces(
        &self,
        name: FragmentId,
        start: u64,
        lens: &[u32],
    ) -> Result<Vec<Bytes>, NodeError> {
        if let Some(pieces) = self.root.get_cached(name, start, lens, &self.blocks) {
            return Ok(pieces);
        }
        let (lens, blocks) = (lens.to_vec(), self.blocks.clone());
        self.blocking(move |root| root.get_pieces(name, start, &lens, &blocks)).await
    }

    async fn delete(&self, name: FragmentId) -> Result<(), NodeError> {
        self.blocking(move |root| root.delete(name)).await
    }

    fn list(&self) -> BoxStream<'_, Result<Listed, NodeError>> {
        let listing = async {
            stream::unfold(Some(self.begin_listing()), |listing| async {
                match listing? {
                    Err(error) => Some((Err(error), None)),
                    Ok(mut listing) => match listing.next().await {
                        Ok(Some(listed)) => Some((Ok(listed), Some(Ok(listing)))),
                        Ok(None) => None,
                        Err(error) => Some((Err(error), None)),
                    },
                }
            })
        };
        stream::once(listing).flatten().boxed()
    }

    async fn health(&self) -> Result<(), NodeError> {
        self.operations.all_stuck()?;
        let root = Arc::clone(&self.root);
        self.health.check(move || root.health()).await
    }

    async fn leftovers(&self, age: Duration, remove: bool) -> Result<Leftovers, NodeError> {
        self.blocking(move |root| root.leftovers(age, remove)).await
    }

    fn stuck(&self) -> usize {
        self.operations.stuck() + self.health.stuck()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { part_min: Some(1) }
    }
}
