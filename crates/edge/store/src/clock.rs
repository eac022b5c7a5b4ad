use ripstop_catalog::{Catalog, CatalogError, Change, Session, Stamp};
use ripstop_model::StripeId;
use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

/// Milliseconds since 1970.
pub(crate) fn unix_ms() -> u64 {
    let since = ripstop_host::since_1970();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Names stripes, each later than the one before. Every name tells the session.
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

/// A hybrid clock (Kulkarni and others, "Logical Physical Clocks", OPODIS 2014): near the wall clock, and
/// beyond everything that it gave or was shown, however the wall clock jumps.
#[derive(Debug, Default)]
pub(crate) struct StampClock(AtomicU64);

impl StampClock {
    /// A stamp later than all before, of something that `stripe` is the first to tell.
    pub(crate) fn next(&self, stripe: StripeId) -> Stamp {
        let wall = Stamp::at(unix_ms());
        let tick = |last: u64| Some(wall.max(last + 1));
        let last = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, tick);
        let last = last.expect("a tick is never refused");
        Stamp { when: wall.max(last + 1), stripe }
    }

    /// From now on stamps are later than this reading.
    pub(crate) fn observe(&self, when: u64) {
        self.0.fetch_max(when, Ordering::AcqRel);
    }
}

/// Has a catalog know that a session gave stamps up to then: those to come are later, whatever clock the
/// gateway has that gives them.
pub(crate) async fn reach(
    catalog: &dyn Catalog,
    session: Session,
    until_ms: u64,
) -> Result<(), CatalogError> {
    catalog.commit_one(unix_ms(), Change::Reserve { session, until_ms }).await?;
    Ok(())
}

fn random() -> u64 {
    let mut random = [0; 8];
    ripstop_host::fill(&mut random);
    u64::from_le_bytes(random)
}

/// A random name of an upload: 32 hexadecimal digits.
pub(crate) fn upload_id() -> String {
    let mut random = [0; 16];
    ripstop_host::fill(&mut random);
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
    fn stamps_only_grow_and_pass_what_was_seen() {
        let (clock, stripe) = (StampClock::default(), StripeId(7));
        let first = clock.next(stripe);
        assert!(first.unix_ms().abs_diff(unix_ms()) < 1000);
        let ahead = Stamp::at(unix_ms() + 3_600_000);
        clock.observe(ahead);
        clock.observe(first.when);
        let stamps: Vec<Stamp> = (0..100_000).map(|_| clock.next(stripe)).collect();
        assert!(stamps[0].when > ahead && stamps.is_sorted_by(|one, next| one < next));
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
