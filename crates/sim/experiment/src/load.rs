use core::time::Duration;
use ripstop_model::Timestamp;

/// How requests follow one another.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Process {
    /// Independent of one another, at this rate per second.
    Poisson(f64),
    /// Equally spaced, at this rate per second.
    Deterministic(f64),
    /// Poisson at a rate that switches between `high` and `low` times its mean: spells of mean
    /// length `spell`, as long high as makes the mean right.
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
    /// This many requests.
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
    /// Each class by itself, by its place in the setting, with luck of its own: one phase after the
    /// other.
    ByClass(Vec<Vec<(Duration, Process)>>),
}

impl Load {
    /// Whether its rates change as time goes by.
    pub fn has_phases(&self) -> bool {
        match self {
            Self::Requests { .. } | Self::Trace(_) => false,
            Self::Phases(_) | Self::ByClass(_) => true,
        }
    }

    /// Requests to be expected.
    pub fn requests(&self) -> f64 {
        let of_phases = |phases: &[(Duration, Process)]| {
            phases.iter().map(|(span, process)| span.as_secs_f64() * process.rate()).sum::<f64>()
        };
        match self {
            Self::Requests { count, .. } => *count as f64,
            Self::Trace(trace) => trace.len() as f64,
            Self::Phases(phases) => of_phases(phases),
            Self::ByClass(classes) => classes.iter().map(|phases| of_phases(phases)).sum(),
        }
    }

    /// Its beginning: about this many requests, of phases as many whole ones as that takes.
    pub(crate) fn shortened(&self, requests: u64) -> Self {
        let phases = |phases: &[(Duration, Process)], most: f64| {
            let mut left = most;
            let begun = phases.iter().take_while(|(span, process)| {
                let before = left;
                left -= span.as_secs_f64() * process.rate();
                before > 0.0
            });
            begun.copied().collect()
        };
        match self {
            Self::Requests { process, count } => {
                Self::Requests { process: *process, count: requests.min(*count) }
            }
            Self::Phases(all) => Self::Phases(phases(all, requests as f64)),
            Self::Trace(trace) => {
                Self::Trace(trace.iter().take(requests as usize).copied().collect())
            }
            Self::ByClass(classes) => {
                let share = requests as f64 / self.requests().max(1.0);
                let of = |all: &Vec<(Duration, Process)>| {
                    let own: f64 = all.iter().map(|(s, p)| s.as_secs_f64() * p.rate()).sum();
                    phases(all, share * own)
                };
                Self::ByClass(classes.iter().map(of).collect())
            }
        }
    }

    /// One phase after the other, each with the rate of all that arrives, requests per second; the
    /// last goes on.
    pub fn rates(&self) -> Vec<(Duration, f64)> {
        match self {
            Self::Requests { process, .. } => vec![(Duration::MAX, process.rate())],
            Self::Phases(phases) => {
                phases.iter().map(|(span, process)| (*span, process.rate())).collect()
            }
            Self::Trace(trace) => {
                let span = trace.last().map_or(1.0, |last| last.0.as_nanos() as f64 / 1e9);
                vec![(Duration::MAX, trace.len() as f64 / span.max(1e-9))]
            }
            Self::ByClass(classes) => merged_rates(classes),
        }
    }
}

/// The sum of the classes' rates between any two moments at which one of them changes.
fn merged_rates(classes: &[Vec<(Duration, Process)>]) -> Vec<(Duration, f64)> {
    let mut changes = std::collections::BTreeMap::<Duration, f64>::new();
    for phases in classes {
        let mut begin = Duration::ZERO;
        for (span, process) in phases {
            *changes.entry(begin).or_default() += process.rate();
            begin = begin.saturating_add(*span);
            *changes.entry(begin).or_default() -= process.rate();
        }
    }
    let ends = changes.keys().copied().skip(1).collect::<Vec<_>>();
    let mut rate = 0.0;
    let begins = changes.into_iter().zip(ends);
    begins
        .map(|((begin, change), end)| {
            rate += change;
            (end.saturating_sub(begin), f64::max(rate, 0.0))
        })
        .collect()
}
