//! The S3 face: protocol, signatures, checksums, conditions.
//!
//! [`serve`] answers S3 requests on a listener from a [`Store`](ripstop_store::Store). It verifies
//! Signature Version 4 (in headers, presigned URLs and forms, over chunks and trailers), hashes
//! bodies while they arrive, encrypts objects where clients, buckets or settings say so, and hands
//! others on without copying them. Memory per request is
//! bounded.
//!
//! It deliberately has nothing of Signature Version 2 but presigned URLs and forms. It answers what
//! clients may ask of these as S3 does where there is none, and it refuses what it could only
//! ignore.
//!
//! ```no_run
//! use ripstop_s3::{Credentials, FrontSettings, Unobserved, serve};
//! # async fn example(store: ripstop_store::Store) -> std::io::Result<()> {
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:9000").await?;
//! let credentials: Credentials = [("access-key", "secret")].into_iter().collect();
//! let shutdown = tokio_util::sync::CancellationToken::new();
//! let observer = std::sync::Arc::new(Unobserved);
//! serve(listener, store, credentials, FrontSettings::default(), observer, shutdown).await;
//! # Ok(())
//! # }
//! ```

mod access;
mod allowance;
mod auth;
mod authorise;
mod beside;
mod body;
mod by_name;
mod caller;
mod condition;
mod cors;
mod date;
mod digest;
mod document;
mod door;
mod encryption;
mod error;
mod form;
mod front;
#[cfg(any(test, feature = "fuzz"))]
#[doc(hidden)]
pub mod fuzz;
mod gate;
mod grant;
mod intake;
mod inventory;
mod known;
mod lifecycle;
mod logging;
mod made;
mod metadata;
mod notification;
mod object_lock;
mod observe;
mod op;
mod range;
mod request;
mod route;
mod serve;
mod session_token;
mod settings;
mod storage_class;
mod sts;
mod tagging;
mod uri;
mod visitor;
mod watched;
mod website;
mod xml;

pub use gate::{ObjectOwnership, give_bucket};
pub use inventory::{Inventories, InventoryDraft};
pub use lifecycle::{LIFECYCLE_DOCUMENT, lifecycle_rules};
pub use notification::{Webhook, Webhooks};
pub use observe::{Answered, RequestObserver, Unobserved};
pub use op::S3Operation;
pub use ripstop_envelope::{DEFAULT_NAME, KeyRing, ObjectKeys};
pub use ripstop_identity::{Credentials, Keyring};
pub use serve::{serve, serve_website};
pub use settings::{DefaultEncryption, EncryptionSettings, FrontSettings};
