use std::time::Duration;

/// How a memcached server is spoken to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkSettings {
    /// A server that takes longer to accept a connection, and to answer the first request on it,
    /// is not there.
    pub connect_timeout: Duration,
    /// A connection on which an answer takes longer is given up.
    pub answer_timeout: Duration,
    /// The first wait before a server that is not there is tried again; it doubles.
    pub backoff_min: Duration,
    /// The longest wait.
    pub backoff_max: Duration,
    /// Requests outstanding at a server, at most.
    pub requests_max: usize,
    /// Bytes of requests outstanding at a server, at most.
    pub bytes_max: usize,
}

impl Default for LinkSettings {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_millis(500),
            answer_timeout: Duration::from_millis(500),
            backoff_min: Duration::from_millis(20),
            backoff_max: Duration::from_secs(2),
            requests_max: 65_536,
            bytes_max: 64 << 20,
        }
    }
}
