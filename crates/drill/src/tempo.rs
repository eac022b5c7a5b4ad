//! How quick everything in a drill is, and how close together what happens is: what is at the same
//! moment only by luck seldom is.

use ripstop_delay::Dice;
use std::time::Duration;

/// The stream of dice that a tempo is drawn from: another than the plan's, which is as it was.
const TEMPOS: u64 = 1;
/// Streams of dice of meetings.
const MEETINGS: u64 = 1 << 40;
/// Meetings of a session, at most.
const MEETINGS_MAX: u64 = 1 << 20;
/// One drill in this many is calm, with nodes that take so long on average and so many late pieces
/// of a thousand. What is read takes a while by the nodes only: all of an object of a drill fits
/// what the server keeps for its client.
const CALM_IN: u64 = 8;
const CALM_NODE_MS: u64 = 20;
const CALM_LAGS: u32 = 150;
/// How far meetings are apart.
const MEET_EVERY: Duration = Duration::from_millis(100);

/// How quick everything is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tempo {
    /// What a node that is well takes on average, milliseconds.
    pub node_ms: u64,
    /// Of a hundred requests this many are meetings: who comes to one asks for the same key at the
    /// same moment as all others that do.
    pub meets: u64,
    /// How often what waits to be mended is, milliseconds; 0 if only as often as by itself.
    pub mend_ms: u64,
    /// Of a thousand pieces on every connection this many are late.
    pub lags: u32,
    /// Whether nothing is ever wrong, but for kills, and everybody is slow: what fails then has no
    /// excuse.
    pub is_calm: bool,
}

impl Tempo {
    /// Where nothing else is said.
    pub(crate) const USUAL: Self =
        Self { node_ms: 2, meets: 0, mend_ms: 0, lags: 0, is_calm: false };

    /// That of a seed's drill.
    pub(crate) fn draw(seed: u64) -> Self {
        let mut dice = Dice::numbered(seed, TEMPOS);
        let mut of = |all: [u64; 4]| all[dice.below(4) as usize];
        let tempo = Self {
            node_ms: of([1, 2, 2, 15]),
            meets: of([0, 0, 30, 80]),
            mend_ms: of([0, 0, 300, 40]),
            lags: of([0, 0, 0, 150]) as u32,
            is_calm: false,
        };
        let calm = Self { lags: CALM_LAGS, is_calm: true, node_ms: CALM_NODE_MS, ..tempo };
        if dice.below(CALM_IN) == 0 { calm } else { tempo }
    }

    /// What a node takes on average.
    pub(crate) fn node(&self) -> Duration {
        Duration::from_millis(self.node_ms)
    }

    /// How often what waits is mended, if more often than by itself.
    pub(crate) fn mends(&self) -> Option<Duration> {
        (self.mend_ms > 0).then(|| Duration::from_millis(self.mend_ms))
    }
}

/// Where one who asks meets others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meets {
    pub(crate) seed: u64,
    pub(crate) session: u64,
    /// Of a hundred requests this many are meetings.
    pub(crate) often: u64,
    /// The bucket and the key of the meeting that it is at.
    pub(crate) name: Option<(&'static str, &'static str)>,
}

impl Meets {
    /// How long it is until the next meeting of a session that began this long ago, and the dice
    /// that all have in common who come to it.
    pub(crate) fn next(&self, passed: Duration) -> (Duration, Dice) {
        let at = passed.as_micros() / MEET_EVERY.as_micros() + 1;
        let then = MEET_EVERY * at as u32;
        let stream = MEETINGS + self.session * MEETINGS_MAX + at as u64 % MEETINGS_MAX;
        (then.saturating_sub(passed), Dice::numbered(self.seed, stream))
    }
}
