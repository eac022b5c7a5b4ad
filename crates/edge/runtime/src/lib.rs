//! Drives the machine of `ripstop-gateway`: real time, real bytes, real nodes.
//!
//! A [`Pool`] writes and reads stripes, laid out as its [`Layout`] says. It keeps the bytes; the
//! machine, behind one short lock, sees ids, sizes and outcomes, and says which task starts where
//! and when. Nothing is awaited while the lock is held. It deliberately decides nothing, and does
//! not know what a stripe means: objects and buckets are for the store above.
//!
//! Where a pool has [`HotBlocks`], a read looks there first; the machine hears only of what is not
//! there, or does not come soon enough.
//!
//! ```
//! use ripstop_model::{Code, PoolId, StripeId, StripeShape};
//! use ripstop_runtime::{Memory, Origin, Purpose, StripeDraft};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! // A stripe of five bytes under (6,4), filled and ready for `Pool::write`.
//! let shape = StripeShape::new(Code::new(6, 4).expect("a code"), 5).expect("within limits");
//! let memory = Memory::new(1 << 20);
//! let share = memory.acquire(Purpose::Write, StripeDraft::memory(shape)).await;
//! let mut draft = StripeDraft::new(StripeId::new(0, 1), shape, share);
//! draft.fill(&mut "bytes".into());
//! assert_eq!(draft.room(), 0);
//! let sealed = draft.seal(Origin { store: 1, pool: PoolId(0) }, "what it holds".into());
//! assert_eq!(sealed.shape.strip_len(), 2);
//! # }
//! ```

mod aftermath;
mod driver;
mod examine;
mod fetch;
mod fragment;
mod histogram;
mod hot;
mod job;
mod layout;
mod lookup;
mod memory;
mod mend;
mod pin;
mod place;
mod pool;
mod read;
mod salvage;
mod seals;
mod setback;
mod span;
mod spent;
mod task;
mod witness;

pub use aftermath::{Aftermath, Aftermaths, Written, aftermaths};
pub use driver::Observer;
pub use examine::{FragmentState, Look};
pub use fragment::{
    Chunk, HEADER_PROBE_LEN, Header, HeaderError, Origin, RECORD_LEN_MAX, RecordTag, Sealed,
    StripeDraft,
};
pub use histogram::{Buckets, NumberHistogram, TimeHistogram};
pub use hot::{BlockKey, HOT_BLOCKS_MAX, HotBlocks, HotFound, HotOutcome, HotReport};
pub use layout::Cut;
pub use memory::{Memory, MemoryClaim, Purpose, ReadSlice, Share, TenantMemory};
pub use pin::{Pin, Pins};
pub use place::StripePlace;
pub use pool::{Pool, PoolNode};
pub use ripstop_model::Layout;
pub use salvage::Salvage;
pub use seals::{Sealing, Seals};
pub use setback::{FailedStripe, Setback};
pub use spent::Spent;
pub use witness::Witness;
