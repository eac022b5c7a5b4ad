use crate::{Load, Process};
use core::time::Duration;
use ripstop_delay::Dice;
use ripstop_model::Timestamp;

/// Streams of random numbers that belong to arrivals; nodes use small numbers.
const TIMES: u64 = 1 << 32;
const KINDS: u64 = TIMES + 1;
/// Those of classes that arrive by themselves begin here, two each.
const CLASSES: u64 = TIMES + 2;

/// What a stream's requests follow.
#[derive(Clone, Copy, Debug)]
enum Course<'a> {
    Requests(Process, u64),
    Phases(&'a [(Duration, Process)]),
    Trace(&'a [(Timestamp, u16)]),
}

/// A time with one rate in a bursty process.
#[derive(Clone, Copy, Debug)]
struct Spell {
    is_burst: bool,
    ends_s: f64,
}

/// Arrivals that follow one another with luck of their own.
#[derive(Debug)]
pub(super) struct Stream<'a> {
    course: Course<'a>,
    /// The class of all of them, if they are of one.
    class: Option<u16>,
    times: Dice,
    /// What decides the rest of a request.
    pub kinds: Dice,
    now_s: f64,
    made: u64,
    phase: usize,
    phase_ends_s: f64,
    /// Of a bursty process, once it has begun.
    spell: Option<Spell>,
    next: Option<Coming>,
}

/// The next request of a stream.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Coming {
    pub at: Timestamp,
    /// If it is set.
    pub class: Option<u16>,
    /// Its number among all of the run that could be: the same whatever other streams hold.
    pub number: u64,
}

impl<'a> Stream<'a> {
    /// The streams of a load.
    pub(super) fn all(load: &'a Load, seed: u64) -> Vec<Self> {
        let one = |course| vec![Self::new(course, None, seed, (TIMES, KINDS))];
        match load {
            Load::Requests { process, count } => one(Course::Requests(*process, *count)),
            Load::Phases(phases) => one(Course::Phases(phases)),
            Load::Trace(trace) => one(Course::Trace(trace)),
            Load::ByClass(classes) => {
                let stream = |(class, phases): (usize, &'a Vec<_>)| {
                    let times = CLASSES + 2 * class as u64;
                    let dice = (times, times + 1);
                    Self::new(Course::Phases(phases), Some(class as u16), seed, dice)
                };
                classes.iter().enumerate().map(stream).collect()
            }
        }
    }

    fn new(course: Course<'a>, class: Option<u16>, seed: u64, dice: (u64, u64)) -> Self {
        let phase_ends_s = match course {
            Course::Phases(phases) => phases.first().map_or(0.0, |phase| phase.0.as_secs_f64()),
            Course::Requests(..) | Course::Trace(_) => f64::INFINITY,
        };
        let (times, kinds) = (Dice::numbered(seed, dice.0), Dice::numbered(seed, dice.1));
        let (now_s, made, phase) = (0.0, 0, 0);
        let (spell, next) = (None, None);
        let mut stream =
            Self { course, class, times, kinds, now_s, made, phase, phase_ends_s, spell, next };
        stream.next = stream.make();
        stream
    }

    /// When its next request comes.
    pub(super) fn next_at(&self) -> Option<Timestamp> {
        self.next.map(|next| next.at)
    }

    /// Its next request.
    pub(super) fn take(&mut self) -> Option<Coming> {
        let next = self.next.take();
        self.next = self.make();
        next
    }

    fn make(&mut self) -> Option<Coming> {
        let made = self.made;
        let (at, class) = match self.course {
            Course::Trace(trace) => {
                trace.get(made as usize).map(|&(at, class)| (at, Some(class)))?
            }
            Course::Requests(process, count) => {
                if made >= count {
                    return None;
                }
                self.now_s += self.gap_s(process);
                (at(self.now_s), self.class)
            }
            Course::Phases(phases) => (self.in_phases(phases)?, self.class),
        };
        self.made += 1;
        let number = (u64::from(self.class.unwrap_or(0)) << 32) + made;
        Some(Coming { at, class, number })
    }

    fn in_phases(&mut self, phases: &[(Duration, Process)]) -> Option<Timestamp> {
        loop {
            let &(_, process) = phases.get(self.phase)?;
            let gap = if process.rate() > 0.0 { self.gap_s(process) } else { f64::INFINITY };
            if self.now_s + gap < self.phase_ends_s {
                self.now_s += gap;
                return Some(at(self.now_s));
            }
            self.now_s = self.phase_ends_s;
            self.phase += 1;
            self.phase_ends_s += phases.get(self.phase)?.0.as_secs_f64();
        }
    }

    fn gap_s(&mut self, process: Process) -> f64 {
        match process {
            Process::Poisson(rate) => self.times.exponential() / rate,
            Process::Deterministic(rate) => 1.0 / rate,
            Process::Bursty { rate, high, low, spell } => {
                let share = (1.0 - low) / (high - low);
                let calm = (1.0 - share) / share;
                let mean_s = |burst| spell.as_secs_f64() * if burst { 1.0 } else { calm };
                let rate_of = |burst| rate * if burst { high } else { low };
                self.bursty_gap_s(share, mean_s, rate_of)
            }
        }
    }

    /// The gap before the next arrival of a process that is in a burst for a `share` of the time,
    /// infinite if none comes before the phase ends. Spells go on from one phase to the next.
    fn bursty_gap_s(
        &mut self,
        share: f64,
        mean_s: impl Fn(bool) -> f64,
        rate: impl Fn(bool) -> f64,
    ) -> f64 {
        let mut at = self.now_s;
        // What is left of the exponential when the rate switches goes on at the new rate.
        let mut left = self.times.exponential();
        loop {
            let spell = self.spell_at(at, share, &mean_s);
            let (rate, ends_s) = (rate(spell.is_burst), spell.ends_s.min(self.phase_ends_s));
            if rate * (ends_s - at) >= left {
                return at + left / rate - self.now_s;
            }
            if ends_s >= self.phase_ends_s {
                return f64::INFINITY;
            }
            left -= rate * (ends_s - at);
            at = ends_s;
        }
    }

    /// The spell that holds at a time, which is not before the last that was asked for. The first
    /// is a burst as often as there are bursts at any other time.
    fn spell_at(&mut self, at_s: f64, share: f64, mean_s: impl Fn(bool) -> f64) -> Spell {
        let mut spell = self.spell.unwrap_or_else(|| {
            let is_burst = self.times.uniform() < share;
            Spell { is_burst, ends_s: mean_s(is_burst) * self.times.exponential() }
        });
        while spell.ends_s <= at_s {
            spell.is_burst = !spell.is_burst;
            spell.ends_s += mean_s(spell.is_burst) * self.times.exponential();
        }
        self.spell = Some(spell);
        spell
    }
}

fn at(seconds: f64) -> Timestamp {
    Timestamp::from_nanos((seconds * 1e9) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn played(load: &Load) -> Vec<(u64, u16)> {
        let mut streams = Stream::all(load, 7);
        let mut all = Vec::new();
        for stream in &mut streams {
            while let Some(next) = stream.take() {
                all.push((next.at.as_nanos(), next.class.unwrap_or(9)));
            }
        }
        all
    }

    #[test]
    fn a_class_arrives_as_it_does_whatever_the_others_do() {
        let second = Duration::from_secs(1);
        let calm = vec![(10 * second, Process::Poisson(5.0))];
        let flood = vec![(4 * second, Process::Poisson(5.0)), (6 * second, Process::Poisson(75.0))];
        let of_class = |class: u16, load: &Load| {
            played(load).into_iter().filter(|one| one.1 == class).collect::<Vec<_>>()
        };
        let quiet = Load::ByClass(vec![calm.clone(), calm.clone()]);
        let loud = Load::ByClass(vec![calm, flood]);
        assert_eq!(of_class(0, &quiet), of_class(0, &loud));
        let before = |all: Vec<(u64, u16)>| {
            all.into_iter().filter(|one| one.0 < 4_000_000_000).collect::<Vec<_>>()
        };
        assert_eq!(before(of_class(1, &quiet)), before(of_class(1, &loud)));
        assert!(of_class(1, &loud).len() > 5 * of_class(1, &quiet).len());
        assert_ne!(of_class(0, &quiet).len(), 0);
    }

    /// Arrivals in two phases of twenty seconds, the mean over many seeds.
    fn mean_counts(first: Process, second: Process) -> [f64; 2] {
        const SEEDS: u64 = 2000;
        let span = Duration::from_secs(20);
        let load = Load::Phases(vec![(span, first), (span, second)]);
        let mut counts = [0.0; 2];
        for seed in 0..SEEDS {
            for mut stream in Stream::all(&load, seed) {
                while let Some(next) = stream.take() {
                    let phase = usize::from(next.at >= Timestamp::ZERO + span);
                    counts[phase] += 1.0 / SEEDS as f64;
                }
            }
        }
        counts
    }

    #[test]
    fn bursts_have_the_mean_rate_from_the_first_moment_and_in_every_phase() {
        let bursty = |rate, low| {
            let (high, spell) = (4.0, Duration::from_secs(3));
            Process::Bursty { rate, high, low, spell }
        };
        // What there is before and after a change of the rate, and after a phase in which nothing
        // comes.
        for low in [0.0, 0.5] {
            for (first, second) in [(10.0, 10.0), (10.0, 3.0), (0.0, 10.0)] {
                let found = mean_counts(bursty(first, low), bursty(second, low));
                for (found, rate) in found.into_iter().zip([first, second]) {
                    let expected = 20.0 * rate;
                    assert!(
                        (found - expected).abs() <= 0.06 * expected,
                        "{first} then {second}/s, low {low}: {found} of {expected}"
                    );
                }
            }
        }
    }
}
