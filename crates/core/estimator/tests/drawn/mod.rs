//! Samples drawn from a known model.

use ripstop_delay::{Correlated, Correlation, Dice, Preset};
use ripstop_estimator::Sample;
use ripstop_model::{NodeId, Operation, RequestId};

/// The chunk sizes of 3 MB cut into 1 to 6.
pub(crate) const SIZES: [u64; 6] = [3_000_000, 1_500_000, 1_000_000, 750_000, 600_000, 500_000];

/// `count` samples of tasks, one size after the other: of each request's `n` tasks the first `k`
/// that are done finish, and the others are cancelled at that moment.
pub(crate) fn first_of(
    preset: Preset,
    (n, k): (usize, usize),
    count: usize,
    correlation: Correlation,
    seed: u64,
) -> Vec<Sample> {
    let (mut model, mut dice) = (preset.model(), Dice::new(seed));
    let mut samples = Vec::with_capacity(count);
    for request in 0..(count / n) as u64 {
        let bytes = SIZES[request as usize % SIZES.len()];
        let mut delays: Vec<_> = (0..n)
            .map(|_| {
                let mut luck = Correlated::new(correlation, seed, RequestId(request), &mut dice);
                model.sample(Operation::Read.into(), bytes, &mut luck)
            })
            .collect();
        delays.sort();
        samples.extend((0..n).map(|rank| Sample {
            operation: Operation::Read,
            node: NodeId(rank as u16 % 3),
            bytes,
            served: delays[rank.min(k - 1)],
            finished: rank < k,
        }));
    }
    samples
}
