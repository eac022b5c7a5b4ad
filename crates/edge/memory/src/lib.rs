//! A memory tier over real memcached servers.
//!
//! * [`CodedMemory`] runs `ripstop-tier`: it stores what that says where that says, fetches,
//!   decodes and encodes, and tells it what happened.
//! * [`MemcachedClient`] speaks to one server. Requests that come while others are being written
//!   leave together, and answers come back in their order.
//!
//! An item at a server is a seal of eight bytes, made with the store's key over the item's name and
//! bytes; then what it says of itself; then what is coded: a digest of the caller's key, and the
//! value. So a flipped byte is an erasure, and the value of another key is nobody's answer.
//!
//! [`CodedMemory::new`] begins with empty servers, and names that begin with characters of its run.
//! [`CodedMemory::recover`] goes on with what an earlier run left: all keys are listed, and the
//! index is made again of what items say. Copies have places that are used again, so that they cost
//! no deletion.
//!
//! A connection that breaks says nothing of its server: the next one shows whether it still has
//! what it had, by an item that only this run stores. A server that lost it, or is not there, is
//! lost; it is emptied before it returns.
//!
//! It deliberately has no proxy and no pool of connections: a memcached server serves one
//! connection from one thread, and a tier has many servers. It does not keep its index in files.

mod alarm;
mod answer;
mod call;
mod coded;
mod coder;
mod connection;
mod copies;
mod direct;
mod fault;
mod fetch;
mod gather;
mod keepsake;
mod label;
mod link;
mod name;
mod open;
mod queue;
mod recover;
mod settings;
mod shell;
mod slab;
mod state;
mod status;
mod survey;
mod wire;

pub use answer::{CodedMemoryError, StoredValue};
pub use coded::{
    CALLER_KEY_MAX, CodedMemory, CodedMemorySettings, CodedMemorySettingsError, RingChangeError,
};
pub use direct::{ClientError, MemcachedClient, SERVER_KEY_MAX};
pub use fault::LinkFault;
pub use ripstop_tier::{Presence, Version};
pub use settings::LinkSettings;
pub use status::{CodedMemoryStatus, MemoryServer, MemoryServerState};
pub use wire::{ANSWER_LEN_MAX, Nonsense};
