use crate::admission::KvUsers;
use ripstop_listen::{Network, Tls};
use std::time::Duration;

/// Fewest bytes a second in which a client sends a command, and takes its answers.
pub(crate) const TAKEN_PER_S_MIN: u64 = 4096;

/// How clients are dealt with.
#[derive(Clone, Debug)]
pub struct KvSettings {
    /// Most connections at once. Default 1024.
    pub connections_max: usize,
    /// Most connections at once from one address; without it half of all, but all from this
    /// machine itself.
    pub connections_per_address_max: Option<usize>,
    /// Proxies, which may have as many connections as there are.
    pub trusted_proxies: Vec<Network>,
    /// What an item comes to, at most, key and 59 bytes included, as memcached counts. Default
    /// 1 MiB.
    pub item_max: usize,
    /// Bytes of values that are on their way in, of all connections together, at most; what is
    /// more is answered `SERVER_ERROR out of memory storing object`. Default 64 MiB.
    pub incoming_max: usize,
    /// How long a connection may say nothing between commands; without it for ever, until somebody
    /// else needs its place.
    pub idle_timeout: Option<Duration>,
    /// How long a connection may say nothing within a command, and take no answers. Default 30 s.
    pub stall_timeout: Duration,
    /// How long commands that run may go on once it shuts down. Default 30 s.
    pub drain_timeout: Duration,
    /// Who may come in; without it everybody.
    pub users: Option<KvUsers>,
    /// Speaks TLS with this, plain text without.
    pub tls: Option<Tls>,
}

impl Default for KvSettings {
    fn default() -> Self {
        Self {
            connections_max: 1024,
            connections_per_address_max: None,
            trusted_proxies: Vec::new(),
            item_max: 1 << 20,
            incoming_max: 64 << 20,
            idle_timeout: None,
            stall_timeout: Duration::from_secs(30),
            drain_timeout: Duration::from_secs(30),
            users: None,
            tls: None,
        }
    }
}
