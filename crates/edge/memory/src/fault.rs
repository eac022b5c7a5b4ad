use crate::wire::Nonsense;
use std::{io, net::SocketAddr, time::Duration};
use thiserror::Error;

/// Why a server gave no answer.
#[derive(Debug, Error)]
pub enum LinkFault {
    /// There is no connection to be had.
    #[error("memcached {at}: no connection: {source}")]
    Connect {
        /// Which server.
        at: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The connection broke.
    #[error("memcached {at}: the connection broke: {source}")]
    Broken {
        /// Which server.
        at: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The server took too long.
    #[error("memcached {at}: no answer within {waited:?}")]
    Silent {
        /// Which server.
        at: SocketAddr,
        /// How long it was waited for.
        waited: Duration,
    },
    /// It is no memcached server, or it is broken.
    #[error("memcached {at}: it {source}")]
    Nonsense {
        /// Which server.
        at: SocketAddr,
        /// What is wrong with what it sent.
        source: Nonsense,
    },
    /// It answers something else than what it was asked.
    #[error("memcached {at}: answered {said} to {asked}")]
    Mismatch {
        /// Which server.
        at: SocketAddr,
        /// Its answer.
        said: String,
        /// The request.
        asked: &'static str,
    },
    /// It restarted, or was emptied by somebody.
    #[error("memcached {at}: it lost what it had")]
    Emptied {
        /// Which server.
        at: SocketAddr,
    },
    /// It cannot be used.
    #[error("memcached {at}: it was to be emptied, and answered {said}")]
    NotEmptied {
        /// Which server.
        at: SocketAddr,
        /// Its answer.
        said: String,
    },
    /// It is taken out of service.
    #[error("memcached {at}: taken out of service")]
    Expelled {
        /// Which server.
        at: SocketAddr,
    },
    /// Nobody uses it any more.
    #[error("memcached {at}: no longer used")]
    Closed {
        /// Which server.
        at: SocketAddr,
    },
}
