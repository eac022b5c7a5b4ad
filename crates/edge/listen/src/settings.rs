use crate::{Network, Pace, Pressure, Tls};
use std::time::Duration;

/// How connections are dealt with.
#[derive(Clone, Debug)]
pub struct ListenSettings {
    /// What the port is called in logs.
    pub name: &'static str,
    /// Most connections at once. Default 4096.
    pub connections_max: usize,
    /// Most connections at once from one address (IPv6: from one network of 64 bits). Default half
    /// of all, but all from this machine itself, where a proxy may be.
    pub connections_per_address_max: Option<usize>,
    /// Proxies: their connections are those of many clients, and may be as many as there are
    /// places.
    pub trusted_proxies: Vec<Network>,
    /// Longest wait for the first byte on a new connection, and for the end of a TLS handshake.
    /// Default 10 s.
    pub first_byte_timeout: Duration,
    /// Longest wait for a request's head, on a new connection and between requests: so also how
    /// long an idle connection is kept. Default 60 s.
    pub head_timeout: Duration,
    /// How slowly answers may be taken. Default: nothing for 30 s, or less than 4096 bytes a
    /// second.
    pub pace: Pace,
    /// How long requests that run may go on once it shuts down. Default 30 s.
    pub drain_timeout: Duration,
    /// Most bytes of a request's head. Default 32 KiB.
    pub head_len_max: usize,
    /// Most headers of a request. Default 200: a client may send a hundred of user metadata alone.
    pub headers_max: usize,
    /// Speaks TLS with this, plain HTTP without. Default without.
    pub tls: Option<Tls>,
}

impl Default for ListenSettings {
    fn default() -> Self {
        Self {
            name: "http",
            connections_max: 4096,
            connections_per_address_max: None,
            trusted_proxies: Vec::new(),
            first_byte_timeout: Duration::from_secs(10),
            head_timeout: Duration::from_mins(1),
            pace: Pace {
                wait_max: Duration::from_secs(30),
                bytes_per_s_min: 4096,
                pressure: Pressure::default(),
            },
            drain_timeout: Duration::from_secs(30),
            head_len_max: 32 << 10,
            headers_max: 200,
            tls: None,
        }
    }
}
