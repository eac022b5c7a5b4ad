use crate::places::{Busy, Seat};
use std::{fmt, net::IpAddr, sync::Arc};

/// Who is at the other end of a connection.
#[derive(Clone)]
pub struct Peer {
    address: Option<IpAddr>,
    secure: bool,
    seat: Arc<Seat>,
}

impl Peer {
    pub(crate) const fn new(address: Option<IpAddr>, secure: bool, seat: Arc<Seat>) -> Self {
        Self { address, secure, seat }
    }

    /// The address that the connection comes from; none on a Unix socket.
    pub const fn address(&self) -> Option<IpAddr> {
        self.address
    }

    /// Whether the connection is encrypted.
    pub const fn secure(&self) -> bool {
        self.secure
    }

    /// A request begins, which ends when what is returned is dropped: until then, and until its
    /// answer is flushed, the connection gives way to nobody.
    pub fn begin(&self) -> Engaged {
        Engaged { _busy: self.seat.begin() }
    }

    /// The peer has proved who it is: its connection gives way after those of strangers.
    pub fn vouch(&self) {
        self.seat.vouch();
    }
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peer")
            .field("address", &self.address)
            .field("secure", &self.secure)
            .finish_non_exhaustive()
    }
}

/// A request that runs.
#[derive(Debug)]
pub struct Engaged {
    _busy: Busy,
}
