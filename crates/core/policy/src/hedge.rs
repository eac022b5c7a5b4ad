//! Hedging: redundancy for requests that turn out late (Dean and Barroso, The tail at scale, 2013).

use crate::{
    Choice, Chunking, Load, Operation, Policy, PolicySettings, Redundancy, RequestClass, Sample,
};
use core::time::Duration;
use ripstop_estimator::Quantiles;
use ripstop_model::{Code, Timestamp};

/// Tasks after which what was seen counts for little.
const SEEN: Option<u32> = Some(4096);

/// When a hedge is due.
#[derive(Clone, Debug)]
enum Due {
    /// This long after the start, always.
    After(Duration),
    /// When this share of the tasks of its direction would have ended.
    Quantile { p: f64, reads: Quantiles, writes: Quantiles },
}

/// The needed tasks first; the rest if the request is not answered after a while: set once and for
/// all, or a quantile of the durations seen lately (before there are any: the set one).
#[derive(Clone, Debug)]
pub struct Hedge {
    code: Option<Code>,
    after: Duration,
    due: Due,
}

impl Hedge {
    /// After `settings.hedge_after`, with `settings.code`; (2,1) without it.
    pub fn fixed(settings: &PolicySettings) -> Self {
        let after = settings.hedge_after;
        Self { code: settings.code, after, due: Due::After(after) }
    }

    /// After the 95th percentile of the tasks' durations.
    pub fn p95(settings: &PolicySettings) -> Self {
        let (reads, writes) = (Quantiles::new(SEEN), Quantiles::new(SEEN));
        let due = Due::Quantile { p: 0.95, reads, writes };
        Self { code: settings.code, after: settings.hedge_after, due }
    }
}

impl Policy for Hedge {
    fn choose(&mut self, _now: Timestamp, class: &RequestClass, _load: Load) -> Choice {
        let code = match class.chunking {
            Chunking::Run => self.code.map_or((2, 1), |code| (code.n(), code.k())),
            Chunking::Strip => (self.code.map_or(class.code.k() + 1, Code::n), class.code.k()),
        };
        let after = match &self.due {
            Due::After(span) => *span,
            Due::Quantile { p, reads, writes } => {
                let seen = match class.operation {
                    Operation::Read => reads,
                    Operation::Write => writes,
                };
                seen.quantile(*p).unwrap_or(self.after)
            }
        };
        Choice { code: class.nearest(code.0, code.1), redundancy: Redundancy::After(after) }
    }

    fn learn(&mut self, _now: Timestamp, sample: &Sample) {
        if let Due::Quantile { reads, writes, .. } = &mut self.due {
            let seen = match sample.operation {
                Operation::Read => reads,
                Operation::Write => writes,
            };
            seen.add(sample.served);
        }
    }
}
