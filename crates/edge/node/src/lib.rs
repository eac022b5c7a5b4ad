//! Places that store fragments: directories, buckets, memory; delay, fault and meter around them.

mod error;
mod node;

pub use error::NodeError;
pub use node::{Listed, Node};
