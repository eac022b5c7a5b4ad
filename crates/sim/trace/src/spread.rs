use crate::{Record, Spread};
use ripstop_delay::Dice;
use std::{collections::VecDeque, time::Duration};

/// How many requests of one second can be spread over it.
pub const SPREAD_MAX: usize = 1 << 20;

const SECOND_NS: u64 = 1_000_000_000;

/// Spreads the requests of each second over it.
#[derive(Debug)]
pub(crate) struct Spreader {
    spread: Spread,
    /// Requests of the second that is being gathered.
    gathered: Vec<Record>,
    /// Requests that have their place.
    ready: VecDeque<Record>,
}

impl Spreader {
    pub(crate) fn new(spread: Spread) -> Self {
        Self { spread, gathered: Vec::new(), ready: VecDeque::new() }
    }

    /// Takes the next record; times ascend, and are whole seconds where they are to be spread.
    ///
    /// Whether there was room: not if its second has [`SPREAD_MAX`] already.
    pub(crate) fn push(&mut self, record: Record) -> bool {
        if self.spread == Spread::Off {
            self.ready.push_back(record);
            return true;
        }
        if self.gathered.first().is_some_and(|first| first.time != record.time) {
            self.finish();
        }
        if self.gathered.len() == SPREAD_MAX {
            return false;
        }
        self.gathered.push(record);
        true
    }

    /// A record that has its place.
    pub(crate) fn pop(&mut self) -> Option<Record> {
        self.ready.pop_front()
    }

    /// Places what was gathered: its second has no more requests.
    pub(crate) fn finish(&mut self) {
        let Some(first) = self.gathered.first() else { return };
        let second = first.time;
        let offsets = self.spread.offsets(second.as_secs(), self.gathered.len());
        for (mut record, offset) in self.gathered.drain(..).zip(offsets) {
            record.time = second + Duration::from_nanos(offset);
            self.ready.push_back(record);
        }
    }
}

impl Spread {
    /// Where in this second since 1970 this many requests stand, nanoseconds, ascending.
    pub fn offsets(self, second: u64, count: usize) -> Vec<u64> {
        let count = count as u64;
        let mut offsets: Vec<u64> = match self {
            Self::Off => vec![0; count as usize],
            Self::Even => (0..count).map(|index| index * SECOND_NS / count).collect(),
            Self::Random { seed } => {
                let mut luck = luck(seed, second);
                (0..count).map(|_| luck.below(SECOND_NS)).collect()
            }
        };
        offsets.sort_unstable();
        offsets
    }
}

/// What decides the times within a second.
const fn luck(seed: u64, second: u64) -> Dice {
    Dice::new(Dice::mix(seed.wrapping_add(Dice::new(second).next_u64())))
}
