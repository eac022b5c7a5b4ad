//! The front door that speaks memcached: its text protocol, classic and meta, as version 1.6.18
//! does.
//!
//! What commands mean is in `decide`, which knows neither clock nor store; requests come from bytes
//! in `reader`, which knows no sockets. Where items are is a [`Shelf`]: [`LocalShelf`] keeps them
//! in this process, [`CodedShelf`] in the memory tier.
//!
//! It deliberately speaks no binary protocol, which memcached itself has given up, and no UDP.
//!
//! ```no_run
//! use ripstop_kv::{KvDoor, KvSettings, LocalShelf};
//! # async fn example() -> std::io::Result<()> {
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:11211").await?;
//! let door = KvDoor::new(LocalShelf::new(64 << 20), KvSettings::default());
//! door.serve(listener, tokio_util::sync::CancellationToken::new()).await;
//! # Ok(())
//! # }
//! ```

mod admission;
mod base64_key;
mod classic;
mod clock;
mod coded;
mod command;
mod connection;
mod count;
mod decide;
mod door;
mod envelope;
#[cfg(any(test, feature = "fuzz"))]
#[doc(hidden)]
pub mod fuzz;
mod head;
mod incoming;
mod item;
mod local;
mod meta;
mod meta_command;
mod number;
mod outbox;
mod reader;
mod request;
mod roll;
mod serve;
mod settings;
mod shelf;
mod sieve;
mod statistic;
mod status;
mod token;
mod turn;
mod wave;

pub use admission::{KvUsers, KvUsersError};
pub use coded::CodedShelf;
pub use item::{KvItem, Marks};
pub use local::LocalShelf;
pub use serve::KvDoor;
pub use settings::KvSettings;
pub use shelf::{Changed, ItemDeed, Shelf, ShelfError, ShelfGauge, Sight, Trace};
pub use status::KvStatus;
