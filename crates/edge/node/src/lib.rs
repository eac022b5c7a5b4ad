//! Places that store fragments, and what can be put around them.
//!
//! [`Node`] is the seam between Ripstop and the world's storage. Nodes are a [`Directory`], a
//! [`BucketNode`] that speaks S3, and [`MemoryNode`]; around any of them go [`Delay`], [`Fault`]
//! and [`Meter`], which are nodes too. [`conformance`] is the suite that each of them runs, and
//! that a new one must.
//!
//! A node stores bytes under names and keeps its word about durability. It deliberately does not
//! retry, race, limit its concurrency, check checksums or know what a fragment holds: all of that
//! is decided above it.
//!
//! ```
//! use bytes::Bytes;
//! use ripstop_model::{FragmentId, StripeId};
//! use ripstop_node::{MemoryNode, Meter, Node, NodeError, Operation};
//! use std::sync::Arc;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), NodeError> {
//! let node = Meter::new(Arc::new(MemoryNode::new(1 << 20)));
//! let name = FragmentId { stripe: StripeId::new(0, 7), index: 3 };
//! node.put(name, vec![Bytes::from_static(b"head"), Bytes::from_static(b"body")]).await?;
//! assert_eq!(node.get(name, 2..6).await?, "adbo");
//! assert_eq!(node.readings()[Operation::Put as usize].bytes, 8);
//! # Ok(())
//! # }
//! ```

mod alarm;
mod bucket;
pub mod conformance;
mod delay;
mod directory;
mod error;
mod fault;
mod memory;
mod meter;
mod node;

pub use bucket::{
    BucketCredentials, BucketError, BucketNode, BucketSettings, CredentialsError, is_exposed,
};
pub use delay::{Delay, DelayFactor};
pub use directory::{
    AdmitError, Directory, DirectorySettings, NodeMark, PutDurability, close_to_others,
};
pub use error::NodeError;
pub use fault::{Fault, FaultHandle, FaultSettings, Injected};
pub use memory::MemoryNode;
pub use meter::{Meter, MeterReading};
pub use node::{Capabilities, Leftovers, Listed, Node};
pub use ripstop_delay::{ParseOperationError, StorageOperation as Operation};
