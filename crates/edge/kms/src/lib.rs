//! Keys of objects that a key service seals: a client of the transit engine of HashiCorp's Vault
//! and of OpenBao, which speak one protocol.
//!
//! [`Kms`] is the [`KeyService`](ripstop_envelope::KeyService) of a gateway. A wrapping key is made
//! here, sealed there (`transit/encrypt`) with a named key that never leaves the service, and bound
//! there to what it is for; it is opened there again (`transit/decrypt`) and kept in memory for a
//! while. What is asked at once, how long it takes, how often it is tried, and how much is kept are
//! bounded.
//!
//! It deliberately does not know buckets' documents or requests of clients, and reads no files:
//! secrets come from a function of its caller's ([`KmsSecret`]).

mod cache;
mod counts;

mod kms;
mod link;
mod login;
mod settings;
mod transit;
mod wire;

pub use counts::{KmsCall, KmsReading};
pub use kms::Kms;
pub use link::KmsLink;
pub use settings::{KmsError, KmsLogin, KmsSecret, KmsSettings, KmsTls};
