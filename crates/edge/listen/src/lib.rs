//! What stands between the network and a service that answers HTTP.
//!
//! [`serve`] accepts connections as long as there are places for them, speaks TLS and HTTP, and
//! hands requests to a function; [`serve_wires`] hands over connections, to who speaks something
//! else. A place is precious: where all are taken, the connection that has
//! been waiting for its next request the longest gives way to a new one, and no address has more
//! than its part. A peer that does not send a head in time, or takes answers at less than a least
//! pace, is cut off; both become stricter as [`Pressure`] rises.
//!
//! It deliberately knows nothing of what is asked and answered, and keeps no bytes but those in
//! transit.
//!
//! ```no_run
//! use ripstop_listen::{Listener, ListenSettings, serve};
//! # async fn example() -> std::io::Result<()> {
//! let listener = Listener::from(tokio::net::TcpListener::bind("127.0.0.1:9000").await?);
//! let shutdown = tokio_util::sync::CancellationToken::new();
//! let answer = |_request, _peer| async { http::Response::new("hello".to_owned()) };
//! serve(listener, ListenSettings::default(), answer, shutdown).await;
//! # Ok(())
//! # }
//! ```

mod body;
mod connection;
mod listener;
mod network;
mod patience;
mod peer;
mod pinned;
mod places;
mod serve;
mod settings;
mod stream;
mod streams;
mod tls;
mod wire;

pub use body::Answer;
pub use listener::{Handed, Listener};
pub use network::{Network, NetworkError};
pub use patience::{Pace, Patience, Pressure};
pub use peer::{Engaged, Peer};
pub use pinned::Pinned;
pub use serve::{serve, serve_wires};
pub use settings::ListenSettings;
pub use tls::{NewPair, Tls, TlsError};
pub use wire::Wire;
