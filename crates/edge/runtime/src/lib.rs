//! Drives the machine of `ripstop-gateway`: real time, real bytes, real nodes.
//!
//! A [`Pool`] writes and reads stripes. It keeps the bytes; the machine, behind one short lock, sees
//! ids, sizes and outcomes, and says which task starts where and when. Nothing is awaited while the
//! lock is held. What a stripe means (objects, buckets) is for the store above.

mod aftermath;
mod driver;
mod fragment;
mod job;
mod memory;
mod pin;
mod pool;
mod span;
mod spent;
mod task;

pub use aftermath::{Aftermath, Written};
pub use driver::Observer;
pub use fragment::{Chunk, HEADER_PROBE_LEN, Header, HeaderError, Origin, Sealed, StripeDraft};
pub use memory::{Memory, Purpose, Share};
pub use pin::{Pin, Pins};
pub use pool::{FailedStripe, FragmentState, Pool, PoolNode, StripePlace};
pub use spent::Spent;
