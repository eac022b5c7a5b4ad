use alloc::collections::BTreeMap;
use ripstop_model::StripeId;

/// Bits of a stripe's name that differ within a session and a millisecond.
const RANDOM_BITS: u32 = 48;
/// Bits of a name that say which session gave it.
const SESSION_BITS: u32 = 32;
/// Most sessions that a catalog remembers. Of more, it vouches for everything up to the end of the
/// oldest.
pub const SESSIONS_MAX: usize = 10_000;

/// A run of a gateway, by a number drawn at random: stripes that it names bear it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Session(pub u32);

impl Session {
    /// A name that this session gives at `unix_ms`; of `random`, the lowest 48 bits.
    pub const fn name(self, unix_ms: u64, random: u64) -> StripeId {
        let random = random as u128 & ((1 << RANDOM_BITS) - 1);
        StripeId::new(unix_ms, (self.0 as u128) << RANDOM_BITS | random)
    }

    /// The session that gave a name; of names that were given before there were sessions, any
    /// number.
    pub const fn of(id: StripeId) -> Self {
        Self((id.0 >> RANDOM_BITS & ((1 << SESSION_BITS) - 1)) as u32)
    }
}

/// Which names of stripes a catalog knows to have been given while it, or an older state of it, was
/// the catalog: whatever of these it does not hold is garbage. Any other name was given under a
/// newer catalog than this.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Vouched {
    /// All names given before this, in milliseconds since 1970.
    pub before_ms: u64,
    /// Until when, that included, each session since may have given names.
    pub sessions: BTreeMap<Session, u64>,
}

impl Vouched {
    /// All names given before a time, and no others.
    pub const fn before(before_ms: u64) -> Self {
        Self { before_ms, sessions: BTreeMap::new() }
    }

    /// Whether it knows a name.
    pub fn covers(&self, id: StripeId) -> bool {
        let until = self.sessions.get(&Session::of(id));
        id.unix_ms() < self.before_ms || until.is_some_and(|until| id.unix_ms() <= *until)
    }

    /// A session reserves names; of too many sessions the oldest is forgotten.
    pub fn reserve(&mut self, session: Session, until_ms: u64) {
        if self.sessions.len() >= SESSIONS_MAX
            && !self.sessions.contains_key(&session)
            && let Some((&oldest, &until)) = self.sessions.iter().min_by_key(|(_, until)| **until)
        {
            self.sessions.remove(&oldest);
            self.before_ms = self.before_ms.max(until + 1);
        }
        let until = self.sessions.entry(session).or_default();
        *until = until_ms.max(*until);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_its_session_and_its_time() {
        let session = Session(0xdead_beef);
        let id = session.name(1_700_000_000_000, u64::MAX);
        assert_eq!((Session::of(id), id.unix_ms()), (session, 1_700_000_000_000));
        assert!(session.name(5, 1) < session.name(5, 2) && session.name(5, 9) < session.name(6, 0));
    }

    #[test]
    fn what_is_covered_was_given_before_or_by_a_known_session_in_its_time() {
        let mut vouched = Vouched { before_ms: 100, sessions: BTreeMap::new() };
        vouched.reserve(Session(7), 300);
        vouched.reserve(Session(7), 200);
        let covers = |session: u32, at| vouched.covers(Session(session).name(at, 1));
        assert_eq!(
            [covers(1, 99), covers(1, 100), covers(7, 300), covers(7, 301)],
            [true, false, true, false]
        );
    }

    #[test]
    fn of_too_many_sessions_the_oldest_is_vouched_for_by_time() {
        let mut vouched = Vouched::default();
        for number in 0..=SESSIONS_MAX as u32 {
            vouched.reserve(Session(number), 1000 + u64::from(number));
        }
        assert_eq!((vouched.sessions.len(), vouched.before_ms), (SESSIONS_MAX, 1001));
        assert!(vouched.covers(Session(0).name(1000, 5)));
    }
}
