use crate::{ClassSetting, Layout, Setting};
use core::time::Duration;
use ripstop_delay::Dice;
use ripstop_engine::Arrival;
use ripstop_gateway::Operation as Wanted;
use ripstop_model::{NodeId, Operation, StripSet, Timestamp};

/// How requests follow one another.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Process {
    /// Independent of one another, at this rate per second.
    Poisson(f64),
    /// Equally spaced, at this rate per second.
    Deterministic(f64),
    /// Poisson at a rate that switches between `high` and `low` times its mean: spells of mean length
    /// `spell`, as long high as makes the mean right.
    Bursty {
        /// Mean rate per second.
        rate: f64,
        /// Rate of a burst over the mean rate.
        high: f64,
        /// Rate between bursts over the mean rate; less than 1.
        low: f64,
        /// Mean length of a burst.
        spell: Duration,
    },
}

impl Process {
    /// The mean rate per second.
    pub fn rate(self) -> f64 {
        match self {
            Self::Poisson(rate) | Self::Deterministic(rate) | Self::Bursty { rate, .. } => rate,
        }
    }
}

/// What arrives, and for how long.
#[derive(Clone, PartialEq, Debug)]
pub enum Load {
    /// So many requests.
    Requests {
        /// How they follow one another.
        process: Process,
        /// How many.
        count: u64,
    },
    /// One phase after the other.
    Phases(Vec<(Duration, Process)>),
    /// Exactly these: when, and which class.
    Trace(Vec<(Timestamp, u16)>),
}

/// Makes the arrivals of a run from a stream of their own: equal seeds give equal arrivals, whatever
/// the policy and the delays.
#[derive(Debug)]
pub struct Arrivals<'a> {
    setting: &'a Setting,
    load: &'a Load,
    times: Dice,
    kinds: Dice,
    now_s: f64,
    made: u64,
    phase: usize,
    phase_ends_s: f64,
    /// Of a bursty process: whether a burst is on, and when it ends.
    burst: (bool, f64),
    shares: f64,
}

/// Streams of random numbers that belong to arrivals; nodes use small numbers.
const TIMES: u64 = 1 << 32;
const KINDS: u64 = TIMES + 1;

impl<'a> Arrivals<'a> {
    /// The arrivals of this load under this seed.
    pub fn new(setting: &'a Setting, load: &'a Load, seed: u64) -> Self {
        let phase_ends_s = match load {
            Load::Phases(phases) => phases.first().map_or(0.0, |phase| phase.0.as_secs_f64()),
            Load::Requests { .. } | Load::Trace(_) => f64::INFINITY,
        };
        Self {
            setting,
            load,
            times: Dice::numbered(seed, TIMES),
            kinds: Dice::numbered(seed, KINDS),
            now_s: 0.0,
            made: 0,
            phase: 0,
            phase_ends_s,
            burst: (false, 0.0),
            shares: setting.classes.iter().map(|class| class.share).sum(),
        }
    }

    fn gap_s(&mut self, process: Process) -> f64 {
        match process {
            Process::Poisson(rate) => self.times.exponential() / rate,
            Process::Deterministic(rate) => 1.0 / rate,
            Process::Bursty { rate, high, low, spell } => {
                let share = (1.0 - low) / (high - low);
                let mut at = self.now_s;
                // What is left of the exponential when the rate switches goes on at the new rate.
                let mut left = self.times.exponential();
                loop {
                    if at >= self.burst.1 {
                        let on = !self.burst.0;
                        let mean =
                            spell.as_secs_f64() * if on { 1.0 } else { (1.0 - share) / share };
                        self.burst = (on, at + mean * self.times.exponential());
                    }
                    let now = rate * if self.burst.0 { high } else { low };
                    if now * (self.burst.1 - at) >= left {
                        return at + left / now - self.now_s;
                    }
                    left -= now * (self.burst.1 - at);
                    at = self.burst.1;
                }
            }
        }
    }

    /// When the next request comes, and its class if that is set.
    fn next_time(&mut self) -> Option<(Timestamp, Option<u16>)> {
        let made = self.made;
        self.made += 1;
        match self.load {
            Load::Trace(trace) => trace.get(made as usize).map(|&(at, class)| (at, Some(class))),
            Load::Requests { process, count } => {
                if made >= *count {
                    return None;
                }
                self.now_s += self.gap_s(*process);
                Some((at(self.now_s), None))
            }
            Load::Phases(phases) => loop {
                let &(_, process) = phases.get(self.phase)?;
                let gap = if process.rate() > 0.0 { self.gap_s(process) } else { f64::INFINITY };
                if self.now_s + gap < self.phase_ends_s {
                    self.now_s += gap;
                    return Some((at(self.now_s), None));
                }
                self.now_s = self.phase_ends_s;
                self.phase += 1;
                self.phase_ends_s += phases.get(self.phase)?.0.as_secs_f64();
            },
        }
    }

    fn class(&mut self) -> usize {
        let classes = &self.setting.classes;
        if classes.len() == 1 {
            return 0;
        }
        let mut at = self.kinds.uniform() * self.shares;
        for (index, class) in classes.iter().enumerate() {
            at -= class.share;
            if at < 0.0 {
                return index;
            }
        }
        classes.len() - 1
    }

    fn operation(&mut self, class: &ClassSetting) -> Wanted {
        let (n, k) = (self.setting.code.n() as u8, self.setting.code.k() as u8);
        let nodes = self.setting.nodes.len() as u64;
        let first = if nodes == 1 { 0 } else { self.kinds.below(nodes) };
        match (self.setting.layout, class.operation) {
            (Layout::Together | Layout::Shared, Operation::Read) => {
                Wanted::ReadShared { n, k, node: Some(NodeId(first as u16)) }
            }
            (Layout::Together, Operation::Write) => Wanted::WriteUnique { n, k },
            (Layout::Spread, Operation::Write) => Wanted::Write { n, k },
            (Layout::Shared, Operation::Write) => Wanted::Write { n: 1, k: 1 },
            (Layout::Spread, Operation::Read) => {
                let place = |index: u64| NodeId(((first + index) % nodes) as u16);
                let places = (0..u64::from(n)).map(|index| Some(place(index))).collect();
                Wanted::Read { k, wanted: StripSet::first(usize::from(k)), places }
            }
        }
    }
}

fn at(seconds: f64) -> Timestamp {
    Timestamp::from_nanos((seconds * 1e9) as u64)
}

impl Iterator for Arrivals<'_> {
    type Item = (u16, Arrival);
    fn next(&mut self) -> Option<(u16, Arrival)> {
        let (at, set) = self.next_time()?;
        let class = set.map_or_else(|| self.class(), usize::from);
        let kind = self.setting.classes[class];
        let operation = self.operation(&kind);
        let strips = match (self.setting.layout, kind.operation) {
            (Layout::Shared, Operation::Write) => self.setting.code.n() as u32,
            (Layout::Spread | Layout::Together, _) | (Layout::Shared, Operation::Read) => 1,
        };
        let strip_bytes = self.setting.strip_bytes(&kind).saturating_mul(strips);
        Some((class as u16, Arrival { at, operation, strip_bytes }))
    }
}
