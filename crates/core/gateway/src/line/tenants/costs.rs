use crate::face::{self, Request};
use core::time::Duration;
use ripstop_estimator::MeanSpan;
use ripstop_model::Operation;

/// Sizes are told apart by powers of two, up to 2⁶³ bytes.
const SIZES: usize = 64;
/// What a request is taken to cost while none was seen: lane-nanoseconds.
const UNKNOWN: u64 = 20_000_000;

/// What requests of about this size cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Kind {
    pub operation: Operation,
    /// Bytes that its needed tasks move.
    pub bytes: u64,
}

impl Kind {
    /// What requests like this one are told apart by for what they cost; none for mends, which no
    /// tenant asks for.
    pub(crate) fn of(request: &Request) -> Option<Self> {
        let (operation, strips) = match request.operation {
            face::RequestSpec::Read { wanted, .. } => (Operation::Read, wanted.iter().count()),
            face::RequestSpec::ReadShared { k, .. } => (Operation::Read, usize::from(k)),
            face::RequestSpec::Write { n, .. } => (Operation::Write, usize::from(n)),
            face::RequestSpec::WriteUnique { k, .. } => (Operation::Write, usize::from(k)),
            face::RequestSpec::Mend { .. } => return None,
        };
        Some(Self { operation, bytes: u64::from(request.strip_bytes) * strips as u64 })
    }
}

/// How long requests keep lanes busy, by operation and size: a moving average over those that
/// ended.
#[derive(Clone, Debug)]
pub(crate) struct Costs {
    /// Time on lanes.
    means: [[MeanSpan; SIZES]; 2],
}

impl Costs {
    pub(crate) const fn new() -> Self {
        Self { means: [[MeanSpan::NONE; SIZES]; 2] }
    }

    /// Takes in that a request kept lanes busy for this long.
    pub(crate) fn learn(&mut self, kind: Kind, spent: Duration) {
        self.means[row(kind.operation)][column(kind.bytes)].add(spent);
    }

    /// What a request is expected to cost, lane-nanoseconds; as the nearest size that was seen
    /// where this one was not.
    pub(crate) fn expected(&self, kind: Kind) -> u64 {
        let (means, at) = (&self.means[row(kind.operation)], column(kind.bytes));
        let known = (0..SIZES).filter_map(|size| Some((size, means[size].ns()?)));
        known.min_by_key(|(size, _)| size.abs_diff(at)).map_or(UNKNOWN, |(_, ns)| ns)
    }
}

const fn row(operation: Operation) -> usize {
    match operation {
        Operation::Read => 0,
        Operation::Write => 1,
    }
}

const fn column(bytes: u64) -> usize {
    63 - (bytes | 1).leading_zeros() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn follows_what_was_seen_by_operation_and_size() {
        let mut costs = Costs::new();
        let read = |bytes| Kind { operation: Operation::Read, bytes };
        assert_eq!(costs.expected(read(1 << 20)), UNKNOWN);
        costs.learn(read(1 << 20), 30 * MS);
        costs.learn(read(8 << 20), 200 * MS);
        assert_eq!(costs.expected(read((1 << 20) + 5)), 30_000_000);
        assert_eq!(costs.expected(read(100)), 30_000_000, "the nearest");
        assert_eq!(costs.expected(read(1 << 40)), 200_000_000);
        let write = Kind { operation: Operation::Write, bytes: 1 << 20 };
        assert_eq!(costs.expected(write), UNKNOWN);
        for _ in 0..200 {
            costs.learn(read(1 << 20), 60 * MS);
        }
        assert!(costs.expected(read(1 << 20)).abs_diff(60_000_000) < 100_000);
    }
}
