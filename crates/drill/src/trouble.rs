//! What troubles gateways that share a catalog: their way to its database, their clocks, their
//! ends.

use ripstop_delay::Dice;
use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// What a statement takes on average, there and back.
const MEAN: Duration = Duration::from_millis(1);
/// How long a stalled statement lasts, at most.
const STALL_MAX_MS: u64 = 4000;
/// How much later than it was sent a commit is done that is late, at most: beyond that, the
/// database ends what does not go on.
const LATE_MAX_MS: u64 = 9000;
/// By how many seconds clocks are off, either way: some by more than leases last.
const OFF_S: [i64; 8] = [-600, -70, -45, -3, 3, 45, 70, 600];
/// Within how many milliseconds what happens once happens: one of these.
const SPANS_MS: [u64; 3] = [200, 1000, 4000];
/// Kinds of trouble.
const KINDS: u64 = 14;

/// What happens to gateways that share a catalog, and to their database.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// Of a thousand commits this many are refused since another was in the way.
    Refuses(u32),
    /// … are not answered, done or not.
    LosesCommits(u32),
    /// … are not answered, and done seconds later, or not.
    LateCommits(u32),
    /// Of a thousand ways to the database or back this many end in a broken connection.
    LosesWays(u32),
    /// … last for seconds.
    StallsWays(u32),
    /// The way of this gateway to the database is cut at this millisecond, for this many.
    Cut(usize, u64, u64),
    /// The database is away from this millisecond on, for this many.
    Away(u64, u64),
    /// This gateway is killed after this many steps of its tasks. After this many milliseconds
    /// another takes its place. The last says whether its connections end with it.
    Killed(usize, u64, u64, bool),
    /// The same at its operation of this number at any node.
    KilledAtNode(usize, u64, u64, bool),
    /// This gateway's wall clock is off by this many seconds from the start.
    Off(usize, i64),
    /// It jumps at this millisecond, by this many seconds.
    Jumps(usize, u64, i64),
}

fn of<T: Copy>(dice: &mut Dice, all: &[T]) -> T {
    all[dice.below(all.len() as u64) as usize]
}

impl Trouble {
    /// Whether what it brings is kept from clients.
    pub(crate) const fn is_hidden(&self) -> bool {
        matches!(self, Self::Refuses(_) | Self::LosesCommits(_) | Self::LosesWays(_))
    }

    /// Whether clocks differ by it.
    pub(crate) const fn is_of_clocks(&self) -> bool {
        matches!(self, Self::Off(..) | Self::Jumps(..))
    }

    /// The kinds of trouble of one drill: all of them, or a few.
    pub(crate) fn kinds(dice: &mut Dice) -> Vec<u64> {
        match dice.below(3) {
            0 => (0..KINDS).collect(),
            few => (0..=few).map(|_| dice.below(KINDS)).collect(),
        }
    }

    pub(crate) fn draw(dice: &mut Dice, seats: usize, kind: u64) -> Self {
        let seat = dice.below(seats as u64) as usize;
        let span = of(dice, &SPANS_MS);
        let at = dice.below(span);
        let for_ms = 1 + dice.below(4 * span);
        let few = 5 * (1 + dice.below(60) as u32);
        let (steps, operations) = (1 + dice.below(20_000), 1 + dice.below(900));
        let is_heard = dice.below(2) == 0;
        match kind {
            0 => Self::Refuses(few * 2),
            1 => Self::LosesCommits(few),
            2 => Self::LateCommits(few / 3),
            3 => Self::LosesWays(few / 3),
            4 => Self::StallsWays(few / 5),
            5 => Self::Cut(seat, at, for_ms),
            6 => Self::Away(at, for_ms),
            7 | 8 => Self::Killed(seat, steps, for_ms, is_heard),
            9 => Self::KilledAtNode(seat, operations, for_ms, is_heard),
            10 | 11 => Self::Off(seat, of(dice, &OFF_S)),
            _ => Self::Jumps(seat, at, of(dice, &OFF_S)),
        }
    }
}

/// How long a statement takes, one way.
pub(crate) fn a_while(dice: &mut Dice) -> Duration {
    MEAN.mul_f64(0.5 * dice.exponential().min(8.0))
}

/// What becomes of a commit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fate {
    pub(crate) before: Duration,
    pub(crate) after: Duration,
    pub(crate) is_done: bool,
    pub(crate) is_answered: bool,
}

/// What becomes of a way to the database.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Luck {
    pub(crate) stalls: Duration,
    pub(crate) is_lost: bool,
}

/// How often what troubles statements does, in a thousand.
#[derive(Clone, Copy, Default, Debug)]
struct Rates {
    refuses: u32,
    loses_commits: u32,
    late_commits: u32,
    loses_ways: u32,
    stalls_ways: u32,
}

/// The trouble that there is now.
#[derive(Debug)]
pub(crate) struct Troubles {
    rates: Mutex<Rates>,
    /// Which gateways' ways are cut.
    cut: Vec<AtomicBool>,
    is_away: AtomicBool,
}

impl Troubles {
    pub(crate) fn none(seats: usize) -> Self {
        let cut = (0..seats).map(|_| AtomicBool::new(false)).collect();
        Self { rates: Mutex::default(), cut, is_away: AtomicBool::new(false) }
    }

    fn rates(&self) -> MutexGuard<'_, Rates> {
        self.rates.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on statements are troubled so.
    pub(crate) fn begin(&self, all: &[(u64, Trouble)]) {
        let mut rates = Rates::default();
        for (_, trouble) in all {
            match *trouble {
                Trouble::Refuses(often) => rates.refuses += often,
                Trouble::LosesCommits(often) => rates.loses_commits += often,
                Trouble::LateCommits(often) => rates.late_commits += often,
                Trouble::LosesWays(often) => rates.loses_ways += often,
                Trouble::StallsWays(often) => rates.stalls_ways += often,
                Trouble::Cut(..)
                | Trouble::Away(..)
                | Trouble::Killed(..)
                | Trouble::KilledAtNode(..)
                | Trouble::Off(..)
                | Trouble::Jumps(..) => {}
            }
        }
        *self.rates() = rates;
    }

    /// From now on there is none.
    pub(crate) fn end(&self) {
        *self.rates() = Rates::default();
        self.cut.iter().chain([&self.is_away]).for_each(|it| it.store(false, Ordering::Relaxed));
    }

    pub(crate) fn cut(&self, seat: usize, is_cut: bool) {
        self.cut[seat].store(is_cut, Ordering::Relaxed);
    }

    pub(crate) fn away(&self, is_away: bool) {
        self.is_away.store(is_away, Ordering::Relaxed);
    }

    /// Whether a gateway cannot reach the database.
    pub(crate) fn is_away(&self, seat: usize) -> bool {
        self.is_away.load(Ordering::Relaxed) || self.cut[seat].load(Ordering::Relaxed)
    }

    pub(crate) fn way(&self, dice: &mut Dice) -> Luck {
        let rates = *self.rates();
        let mut within = |often: u32| dice.below(1000) < u64::from(often);
        let (is_lost, is_stalled) = (within(rates.loses_ways), within(rates.stalls_ways));
        let stalls = Duration::from_millis(dice.below(STALL_MAX_MS));
        Luck { stalls: if is_stalled { stalls } else { Duration::ZERO }, is_lost }
    }

    pub(crate) fn fate(&self, dice: &mut Dice) -> Fate {
        let rates = *self.rates();
        let mut within = |often: u32| dice.below(1000) < u64::from(often);
        let is_refused = within(rates.refuses);
        let (is_lost, is_late) = (within(rates.loses_commits), within(rates.late_commits));
        let (before, after) = (a_while(dice), a_while(dice));
        let late = Duration::from_millis(dice.below(LATE_MAX_MS));
        let is_done = dice.below(3) > 0;
        Fate {
            before: before + if is_late { late } else { Duration::ZERO },
            after,
            is_done: !is_refused && (is_done || !(is_lost || is_late)),
            is_answered: !is_lost && !is_late,
        }
    }
}
