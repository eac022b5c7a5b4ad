use crate::{LogRecord, LoggedOutcome};
use alloc::{vec, vec::Vec};
use ripstop_model::Operation;

/// Fewer tasks than this say too little about a node.
pub const TASKS_MIN: usize = 30;
/// A node serves differently if means are this many standard errors apart …
const APART: f64 = 6.0;
/// … and one is this many times the other.
const DIFFERENT: f64 = 1.25;

/// The last of a node's reads, since it began to serve as it does: all, unless it has become faster
/// or slower. Records are in the order of their ends.
pub fn since_change<'a, 'b>(mut records: &'b [&'a LogRecord]) -> &'b [&'a LogRecord] {
    while let Some(at) = last_change(records) {
        records = &records[at..];
    }
    records
}

/// Where the mean of finished reads changes most, if it does.
fn last_change(records: &[&LogRecord]) -> Option<usize> {
    let finished = |record: &&LogRecord| {
        record.operation == Operation::Read && record.outcome == LoggedOutcome::Done
    };
    let done = records.iter().enumerate().filter(|(_, record)| finished(record));
    // Count, sum and sum of squares up to each finished read.
    let (mut sums, mut ends) = (vec![[0.0; 3]], Vec::new());
    for (at, record) in done {
        let (seconds, [count, sum, squares]) = (record.served.as_secs_f64(), sums[ends.len()]);
        sums.push([count + 1.0, sum + seconds, squares + seconds * seconds]);
        ends.push(at);
    }
    let whole = sums[ends.len()];
    let mean_error = |[count, sum, squares]: [f64; 3]| {
        let mean = sum / count;
        (mean, (squares / count - mean * mean).max(0.0) / count)
    };
    let mut found: Option<(f64, usize)> = None;
    for first in TASKS_MIN..(ends.len() + 1).saturating_sub(TASKS_MIN) {
        let before = sums[first];
        let (early, early_error) = mean_error(before);
        let (now, now_error) = mean_error(core::array::from_fn(|i| whole[i] - before[i]));
        let apart = libm::fabs(now - early) / libm::sqrt(early_error + now_error).max(1e-12);
        let factor = (now / early).max(early / now);
        if factor >= DIFFERENT && apart >= APART && found.is_none_or(|(most, _)| apart > most) {
            found = Some((apart, ends[first]));
        }
    }
    found.map(|(_, at)| at)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use core::time::Duration;
    use ripstop_model::{NodeId, Timestamp};

    #[test]
    fn a_node_that_has_become_slower_is_known_by_its_last_reads() {
        let mut dice = ripstop_delay::Dice::new(1);
        let mut log = |count: usize, mean: f64| -> Vec<LogRecord> {
            let mut record = || LogRecord {
                at: Timestamp::ZERO,
                operation: Operation::Read,
                node: NodeId(0),
                bytes: 1000,
                served: Duration::from_secs_f64(mean * (0.5 + 0.5 * dice.exponential())),
                outcome: LoggedOutcome::Done,
                waited: Duration::ZERO,
                redundant: false,
            };
            (0..count).map(|_| record()).collect()
        };
        let kept = |log: &[LogRecord]| {
            let records: Vec<&LogRecord> = log.iter().collect();
            since_change(&records).len()
        };
        for _ in 0..200 {
            assert_eq!(kept(&log(700, 0.1)), 700);
        }
        for (early, late, factor) in [(5000, 40, 10.0), (300, 300, 2.0), (40, 3000, 0.2)] {
            let slower: Vec<_> = [log(early, 0.1), log(late, 0.1 * factor)].concat();
            let kept = kept(&slower);
            assert!(kept.abs_diff(late) <= 3, "{early} {late} {factor}: {kept}");
        }
        let twice: Vec<_> = [log(500, 0.1), log(500, 1.0), log(100, 0.1)].concat();
        assert!(kept(&twice).abs_diff(100) <= 3, "{}", kept(&twice));
    }
}
