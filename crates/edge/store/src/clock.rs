use ripstop_catalog::{Condition, Session, Stamp};
use ripstop_host::{random_u64, unix_ms};
use ripstop_model::StripeId;
use ripstop_runtime::{Pin, Pins};
use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering},
};

/// Names stripes, each later than the one before. Every name tells the session.
#[derive(Debug)]
pub(crate) struct StripeNames(Mutex<Given>);

#[derive(Debug)]
struct Given {
    session: Session,
    last: u128,
}

impl StripeNames {
    /// Names of a session of its own.
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Given { session: Session(random_u64() as u32), last: 0 }))
    }

    fn given(&self) -> MutexGuard<'_, Given> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Which session's names they are.
    pub(crate) fn session(&self) -> Session {
        self.given().session
    }

    /// A new name, pinned since it was given.
    pub(crate) fn next(&self, pins: &Pins) -> (StripeId, Pin) {
        let random = random_u64();
        let mut given = self.given();
        let session = given.session;
        let fresh = session.name(unix_ms(), random);
        let mut next = StripeId(fresh.0.max(given.last + 1));
        if Session::of(next) != session {
            next = session.name(next.unix_ms() + 1, random);
        }
        given.last = next.0;
        (next, pins.pin(next))
    }

    /// The session, and the least stripe that it may still be writing: whatever is below it and was
    /// not brought to the catalog never will be.
    pub(crate) fn least(&self, pins: &Pins) -> (Session, StripeId) {
        // Under the lock, so that no name is given and not pinned yet.
        let given = self.given();
        let pinned = pins.least(|id| Session::of(id) == given.session);
        (given.session, pinned.unwrap_or(StripeId(given.last + 1)))
    }

    /// Another session, if it is still this one that was given up.
    pub(crate) fn renew(&self, given_up: Session) {
        let mut given = self.given();
        if given.session == given_up {
            given.session = Session(random_u64() as u32);
        }
    }
}

/// A hybrid clock (Kulkarni and others, "Logical Physical Clocks", OPODIS 2014): near the wall
/// clock, and beyond everything that it gave or was shown, however the wall clock jumps.
#[derive(Debug, Default)]
pub(crate) struct StampClock(AtomicU64);

impl StampClock {
    /// A stamp later than all before, of something that `stripe` is the first to tell, under this
    /// condition.
    pub(crate) fn next(&self, stripe: StripeId, condition: &Condition) -> Stamp {
        let wall = Stamp::at(unix_ms());
        let tick = |last: u64| {
            let next = wall.max(last + 1);
            if *condition == Condition::None { next } else { Stamp::decided(next) }
        };
        let last = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, |it| Some(tick(it)));
        Stamp { when: tick(last.expect("a tick is never refused")), stripe }
    }

    /// From now on stamps are later than this reading.
    pub(crate) fn observe(&self, when: u64) {
        self.0.fetch_max(when, Ordering::AcqRel);
    }
}

/// Names uploads. It has the millisecond of the last name.
#[derive(Debug, Default)]
pub(crate) struct UploadNames(AtomicU64);

impl UploadNames {
    /// A new name, 32 hexadecimal digits: the millisecond, or a later one than of the name before,
    /// so that names are listed in the order of initiation; and then random ones, so that nobody
    /// guesses it.
    pub(crate) fn next(&self) -> String {
        let wall_ms = unix_ms();
        let tick = |last_ms: u64| wall_ms.max(last_ms + 1);
        let last =
            self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, |last_ms| Some(tick(last_ms)));
        let at_ms = tick(last.expect("a tick is never refused"));
        let mut name = [0; 16];
        ripstop_host::fill(&mut name);
        name[..6].copy_from_slice(&at_ms.to_be_bytes()[2..]);
        hex::encode(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_uploads_only_grow_though_the_clock_stands_still() {
        let names = UploadNames::default();
        let all: Vec<_> = (0..1000).map(|_| names.next()).collect();
        assert!(all.is_sorted_by(|a, b| a < b));
        assert!(all.iter().all(|id| id.len() == 32));
    }

    #[test]
    fn names_only_grow() {
        let (names, pins) = (StripeNames::new(), Pins::default());
        let all: Vec<_> = (0..1000).map(|_| names.next(&pins).0).collect();
        assert!(all.is_sorted_by(|a, b| a < b));
        assert!(all.iter().all(|id| Session::of(*id) == names.session()));
    }

    #[test]
    fn what_a_session_may_be_writing_is_pinned_or_has_no_name_yet() {
        let (names, pins) = (StripeNames::new(), Pins::default());
        let _of_others = pins.pin(StripeId(1));
        let (first, pin) = names.next(&pins);
        let (second, other) = names.next(&pins);
        assert_eq!(names.least(&pins), (names.session(), first));
        drop(pin);
        assert_eq!(names.least(&pins), (names.session(), second));
        drop(other);
        let (_, least) = names.least(&pins);
        assert!(second < least && least <= names.next(&pins).0);
    }

    #[test]
    fn a_session_that_was_given_up_is_followed_by_another_once() {
        let (names, pins) = (StripeNames::new(), Pins::default());
        let first = names.session();
        let (id, _) = names.next(&pins);
        names.renew(first);
        let second = names.session();
        names.renew(first);
        assert_eq!(names.session(), second);
        let (next, _) = names.next(&pins);
        assert!(second != first && Session::of(next) == second && next > id);
    }

    #[test]
    fn stamps_only_grow_and_pass_what_was_seen() {
        let (clock, stripe) = (StampClock::default(), StripeId(7));
        let first = clock.next(stripe, &Condition::None);
        assert!(first.unix_ms().abs_diff(unix_ms()) < 1000);
        let ahead = Stamp::at(unix_ms() + 3_600_000);
        clock.observe(ahead);
        clock.observe(first.when);
        let condition = |at: u32| if at % 7 == 3 { Condition::Present } else { Condition::None };
        let stamps: Vec<Stamp> =
            (0..100_000).map(|at| clock.next(stripe, &condition(at))).collect();
        assert!(stamps[0].when > ahead && stamps.is_sorted_by(|one, next| one < next));
        assert!(stamps.iter().skip(3).step_by(7).all(|stamp| stamp.is_decided()));
    }

    #[test]
    fn names_stay_the_sessions_own_when_a_millisecond_is_used_up() {
        let (names, pins) = (StripeNames::new(), Pins::default());
        let last = names.session().name(unix_ms() + 1000, u64::MAX);
        names.given().last = last.0;
        let (next, _) = names.next(&pins);
        assert_eq!((Session::of(next), next.unix_ms()), (names.session(), last.unix_ms() + 1));
    }
}
