//! Who is connected: what `stats conns` shows.

use std::{
    collections::BTreeMap,
    net::IpAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
};

/// Connections that are shown, at most: the oldest.
pub(crate) const CONNECTIONS_SHOWN_MAX: usize = 1000;

/// All connections that there are.
#[derive(Debug, Default)]
pub(crate) struct Roll {
    seats: Mutex<(u64, BTreeMap<u64, Arc<Seat>>)>,
}

/// One connection.
#[derive(Debug)]
struct Seat {
    address: Option<IpAddr>,
    /// The second of its last command, or of its beginning.
    heard_s: AtomicU32,
    is_busy: AtomicBool,
}

/// A connection that is on the roll for as long as somebody has this.
#[derive(Debug)]
pub(crate) struct Present<'a> {
    roll: &'a Roll,
    number: u64,
    seat: Arc<Seat>,
}

/// What is shown of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Seen {
    pub(crate) number: u64,
    /// None on a Unix socket.
    pub(crate) address: Option<IpAddr>,
    pub(crate) heard_s: u32,
    pub(crate) is_busy: bool,
}

impl Roll {
    fn seats(&self) -> MutexGuard<'_, (u64, BTreeMap<u64, Arc<Seat>>)> {
        // Nothing that can panic is done under it.
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody connected.
    pub(crate) fn enter(&self, address: Option<IpAddr>, now_s: u32) -> Present<'_> {
        let (heard_s, is_busy) = (AtomicU32::new(now_s), AtomicBool::new(false));
        let seat = Arc::new(Seat { address, heard_s, is_busy });
        let mut seats = self.seats();
        seats.0 += 1;
        let number = seats.0;
        seats.1.insert(number, seat.clone());
        drop(seats);
        Present { roll: self, number, seat }
    }

    /// Those that there are, the oldest first.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        let seats = self.seats();
        let seen = |(number, seat): (&u64, &Arc<Seat>)| Seen {
            number: *number,
            address: seat.address,
            heard_s: seat.heard_s.load(Relaxed),
            is_busy: seat.is_busy.load(Relaxed),
        };
        seats.1.iter().take(CONNECTIONS_SHOWN_MAX).map(seen).collect()
    }
}

impl Present<'_> {
    /// Its commands are being carried out.
    pub(crate) fn hear(&self, now_s: u32) {
        self.seat.heard_s.store(now_s, Relaxed);
        self.seat.is_busy.store(true, Relaxed);
    }

    /// They are answered.
    pub(crate) fn rest(&self) {
        self.seat.is_busy.store(false, Relaxed);
    }
}

impl Drop for Present<'_> {
    fn drop(&mut self) {
        self.roll.seats().1.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_leaves_is_not_on_the_roll_and_numbers_are_not_given_again() {
        let roll = Roll::default();
        let first = roll.enter(None, 7);
        let second = roll.enter(Some([127, 0, 0, 1].into()), 8);
        second.hear(9);
        drop(first);
        let third = roll.enter(None, 10);
        let seen = |number, address, heard_s, is_busy| Seen { number, address, heard_s, is_busy };
        let local = Some([127, 0, 0, 1].into());
        assert_eq!(roll.seen(), [seen(2, local, 9, true), seen(3, None, 10, false)]);
        second.rest();
        drop(third);
        assert_eq!(roll.seen(), [seen(2, local, 9, false)]);
    }
}
