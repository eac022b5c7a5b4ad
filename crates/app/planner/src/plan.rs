//! What an inventory of nodes and classes is answered with.

mod answer;
mod complaint;
mod explain;
mod inventory;
mod picture;
mod previous;
mod proposal;
mod seen;
mod solved;

pub use inventory::Inventory;
pub use proposal::{Asked, Proposal};
pub use seen::{SeenNode, SeenPool};
