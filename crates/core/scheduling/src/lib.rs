//! Queues, lanes and tasks: the state that serving requests needs, split by concern.
//!
//! Everything is keyed by small numbers ([`RequestSlot`] and [`TaskSlot`] in their [`Table`]s,
//! [`NodeIndex`]), so that joining, leaving from the middle, and timing out are O(1) and allocate
//! nothing once the tables have grown. These are the parts; the rules by which requests are
//! started, answered and cancelled are the gateway's.
//!
//! ```
//! use core::time::Duration;
//! use ripstop_model::Timestamp;
//! use ripstop_scheduling::{RequestQueue, RequestSlot, Slot as _, Timeouts};
//!
//! let [three, five, seven] = [3, 5, 7].map(RequestSlot::of);
//!
//! let mut queue = RequestQueue::new(2);
//! assert!(queue.push(seven) && queue.push(three) && !queue.push(five), "the third finds it full");
//! queue.remove(seven);
//! assert_eq!(queue.front(), Some(three));
//!
//! let mut timeouts = Timeouts::new(Duration::from_secs(1));
//! timeouts.start(Timestamp::ZERO, three);
//! assert_eq!(timeouts.earliest(), Some(Timestamp::from_nanos(1_000_000_000)));
//! ```
#![no_std]
extern crate alloc;

mod alarms;
mod index;
mod lanes;
mod list;
mod pace;
mod preemptible;
mod request_queue;
mod table;
mod task;
mod task_queue;
mod timeouts;

pub use alarms::Alarms;
pub use index::{FragmentIndex, NodeIndex, RequestSlot, Slot, TaskSlot};
pub use lanes::{Lanes, NodeSpec, Nodes, Totals};
pub use list::{Links, List};
pub use pace::Paces;
pub use preemptible::Preemptible;
pub use request_queue::RequestQueue;
pub use table::Table;
pub use task::{Priority, Stage, TaskRecord};
pub use task_queue::TaskQueues;
pub use timeouts::Timeouts;
