use ripstop_catalog::Session;
use ripstop_model::StripeId;
use std::{
    sync::{Mutex, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

/// Milliseconds since 1970.
pub(crate) fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Names stripes, each later than the one before: of two objects with one key, a rebuild takes the
/// one told by the later stripe. Every name tells the session.
#[derive(Debug)]
pub(crate) struct StripeNames {
    session: Session,
    last: Mutex<u128>,
}

impl StripeNames {
    /// Names of a session of its own.
    pub(crate) fn new() -> Self {
        Self { session: Session(random() as u32), last: Mutex::default() }
    }

    /// Which session's names they are.
    pub(crate) const fn session(&self) -> Session {
        self.session
    }

    /// A new name.
    pub(crate) fn next(&self) -> StripeId {
        let random = random();
        let fresh = self.session.name(unix_ms(), random);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = StripeId(fresh.0.max(*last + 1));
        if Session::of(next) != self.session {
            next = self.session.name(next.unix_ms() + 1, random);
        }
        *last = next.0;
        next
    }
}

fn random() -> u64 {
    let mut random = [0; 8];
    getrandom::fill(&mut random).expect("the system has randomness");
    u64::from_le_bytes(random)
}

/// A random name of an upload: 32 hexadecimal digits.
pub(crate) fn upload_id() -> String {
    let mut random = [0; 16];
    getrandom::fill(&mut random).expect("the system has randomness");
    hex::encode(random)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_only_grow() {
        let names = StripeNames::new();
        let all: Vec<_> = (0..1000).map(|_| names.next()).collect();
        assert!(all.is_sorted_by(|a, b| a < b));
        assert!(all.iter().all(|id| Session::of(*id) == names.session()));
    }

    #[test]
    fn names_stay_the_sessions_own_when_a_millisecond_is_used_up() {
        let names = StripeNames::new();
        let last = names.session().name(unix_ms() + 1000, u64::MAX);
        *names.last.lock().unwrap() = last.0;
        let next = names.next();
        assert_eq!((Session::of(next), next.unix_ms()), (names.session(), last.unix_ms() + 1));
    }
}
