//! How long a node serves a chunk, from what is known of it.

use crate::task_log::read_log;
use anyhow::{Context as _, Result, ensure};
use ripstop_estimator::{LogRecord, Outcome, Sample, parse_log};
use ripstop_model::Operation;
use ripstop_placement::{Class, Service};
use std::path::Path;

/// Fewer tasks than this say too little about a node.
const TASKS_MIN: usize = 30;

/// The moments of a node's service, and for which chunks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    pub service: Service,
    /// The size of the chunks it was measured with; those of the classes if it is not known.
    pub chunk_bytes: Option<f64>,
    /// What of each service does not depend on the size, seconds.
    pub fixed_s: f64,
}

impl Measured {
    pub(crate) fn of_moments(mean: f64, sd: f64, third: Option<f64>) -> Result<Self> {
        ensure!(sd >= 0.0, "sd_s is {sd}");
        let service = Service::from_mean_sd(mean, sd, third)?;
        Ok(Self { service, chunk_bytes: None, fixed_s: 0.0 })
    }

    pub(crate) fn of_samples(seconds: &[f64]) -> Result<Self> {
        ensure!(seconds.iter().all(|&sample| sample > 0.0), "samples_s must be positive");
        let service = Service::from_samples(seconds)?;
        Ok(Self { service, chunk_bytes: None, fixed_s: 0.0 })
    }

    /// Of the finished reads of a task log; of one node's if one is named.
    pub(crate) fn of_log(path: &Path, node: Option<u16>) -> Result<Self> {
        let named = || format!("task log {}", path.display());
        let records = parse_log(&read_log(path)?).with_context(named)?;
        let its = records.iter().filter(|record| node.is_none_or(|id| record.node.0 == id));
        Self::of_records(its).with_context(named)
    }

    /// Of the finished reads among these.
    pub(crate) fn of_records<'a>(records: impl Iterator<Item = &'a LogRecord>) -> Result<Self> {
        let (mut seen, mut bytes, mut count) = (Vec::new(), 0.0, 0usize);
        for read in reads(records) {
            seen.push(lasted(&read));
            if read.finished {
                count += 1;
                bytes += read.bytes as f64;
            }
        }
        ensure!(
            count >= TASKS_MIN,
            "{count} finished reads say too little, {TASKS_MIN} are needed"
        );
        let [mean, second, third] = survival_moments(seen);
        let service = Service::new(mean, second, third)?;
        let chunk_bytes = Some(bytes / count as f64).filter(|bytes| *bytes > 0.0);
        Ok(Self { service, chunk_bytes, fixed_s: 0.0 })
    }
}

/// What the reads among these tell of delays.
fn reads<'a>(records: impl Iterator<Item = &'a LogRecord>) -> impl Iterator<Item = Sample> {
    records.filter_map(LogRecord::sample).filter(|sample| sample.operation == Operation::Read)
}

/// How long a task ran, seconds, and whether to its end.
fn lasted(sample: &Sample) -> (f64, bool) {
    (sample.served.as_secs_f64().max(1e-9), sample.finished)
}

/// A node serves differently if means are so many standard errors apart …
const APART: f64 = 6.0;
/// … and one is so many times the other.
const DIFFERENT: f64 = 1.25;

/// The last of a node's reads, since it began to serve as it does: all, unless it has become faster or slower.
/// Records are in the order of their ends.
pub(crate) fn since_change<'a, 'b>(mut records: &'b [&'a LogRecord]) -> &'b [&'a LogRecord] {
    while let Some(at) = last_change(records) {
        records = &records[at..];
    }
    records
}

/// Where the mean of finished reads changes most, if it does.
fn last_change(records: &[&LogRecord]) -> Option<usize> {
    let finished = |record: &&LogRecord| {
        record.operation == Operation::Read && record.outcome == Outcome::Done
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
        let (now, now_error) = mean_error(std::array::from_fn(|i| whole[i] - before[i]));
        let apart = (now - early).abs() / (early_error + now_error).sqrt().max(1e-12);
        let factor = (now / early).max(early / now);
        if factor >= DIFFERENT && apart >= APART && found.is_none_or(|(most, _)| apart > most) {
            found = Some((apart, ends[first]));
        }
    }
    found.map(|(_, at)| at)
}

/// A node's delays as so many that are equally likely, ascending, seconds; those of cancelled reads count as longer
/// than they ran. Empty without a finished read.
pub(crate) fn quantiles<'a>(
    records: impl Iterator<Item = &'a LogRecord>,
    count: usize,
) -> Vec<f64> {
    let parts = survival_parts(reads(records).map(|read| lasted(&read)).collect());
    let (mut reached, mut quantiles) = (0.0, Vec::with_capacity(count));
    for &(seconds, part) in &parts {
        reached += part;
        while quantiles.len() < count && (quantiles.len() as f64 + 0.5) / count as f64 <= reached {
            quantiles.push(seconds);
        }
    }
    if let Some(&longest) = quantiles.last() {
        quantiles.resize(count, longest);
    }
    quantiles
}

/// The finished reads that their requests could not do without, and the seconds over which they are spread: what
/// is asked of a pool, whatever redundancy its policy adds.
pub(crate) fn needed_reads<'a>(
    log: impl IntoIterator<Item = &'a LogRecord>,
) -> (Vec<&'a LogRecord>, f64) {
    let needed = |record: &&LogRecord| {
        record.operation == Operation::Read && record.outcome == Outcome::Done && !record.redundant
    };
    let reads: Vec<&LogRecord> = log.into_iter().filter(needed).collect();
    let times = || reads.iter().map(|record| record.at.as_nanos());
    let span_s = (times().max().unwrap_or(0) - times().min().unwrap_or(0)) as f64 / 1e9;
    (reads, span_s)
}

/// The service of a chunk of any class, as often as each is asked for: the planner takes chunks of all
/// classes to be served alike.
pub(crate) fn service(measured: &Measured, classes: &[Class]) -> Result<Service> {
    let Some(bytes) = measured.chunk_bytes else { return Ok(measured.service) };
    let fixed = measured.fixed_s;
    ensure!(
        (0.0..measured.service.mean()).contains(&fixed),
        "fixed_s is {fixed}, the mean service {}",
        measured.service.mean()
    );
    let asked = |class: &Class| class.rate * f64::from(class.k);
    let total: f64 = classes.iter().map(asked).sum();
    let (mut moments, mut weights) = ([0.0; 3], 0.0);
    for class in classes {
        let weight = if total > 0.0 { asked(class) / total } else { 1.0 };
        let factor = class.chunk_bytes as f64 / bytes;
        let one = measured.service.resized(fixed, factor).with_context(|| {
            format!("it cannot be resized from {bytes} to {} bytes", class.chunk_bytes)
        })?;
        let parts = [one.mean(), one.second(), one.third()];
        moments.iter_mut().zip(parts).for_each(|(sum, part)| *sum += weight * part);
        weights += weight;
    }
    let [mean, second, third] = moments.map(|sum| sum / weights);
    Ok(Service::new(mean, second, third)?)
}

/// First three moments of delays of which some are only known to be longer (Kaplan and Meier). What is
/// left after the longest counts as that.
fn survival_moments(seen: Vec<(f64, bool)>) -> [f64; 3] {
    let mut moments = [0.0; 3];
    for (seconds, part) in survival_parts(seen) {
        let powers = [seconds, seconds * seconds, seconds * seconds * seconds];
        moments.iter_mut().zip(powers).for_each(|(sum, power)| *sum += part * power);
    }
    moments
}

/// The delays that end, ascending, and which part of all each stands for.
fn survival_parts(mut seen: Vec<(f64, bool)>) -> Vec<(f64, f64)> {
    // Those that ended come before those that were given up at the same time.
    seen.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    let (mut left, mut parts) = (1.0, Vec::new());
    let count = seen.len();
    for (at, &(seconds, done)) in seen.iter().enumerate() {
        if done {
            let part = left / (count - at) as f64;
            parts.push((seconds, part));
            left -= part;
        }
    }
    if let Some(&(longest, _)) = seen.last() {
        parts.push((longest, left.max(0.0)));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_cancelled_counts_as_longer() {
        let all = [1.0, 2.0, 3.0, 4.0].map(|seconds| (seconds, true)).to_vec();
        assert!((survival_moments(all)[0] - 2.5).abs() < 1e-12);
        // The first two of four were waited for: the other two took 2 s or longer.
        let cut = vec![(1.0, true), (2.0, true), (2.0, false), (2.0, false)];
        assert!((survival_moments(cut)[0] - 1.75).abs() < 1e-12);
        // One given up at 1.5: its part goes to what is seen later.
        let mixed = vec![(1.0, true), (1.5, false), (3.0, true), (5.0, true)];
        assert!((survival_moments(mixed)[0] - (0.25 + 0.375 * 8.0)).abs() < 1e-12);
    }

    #[test]
    fn a_node_that_has_become_slower_is_known_by_its_last_reads() {
        let mut dice = ripstop_delay::Dice::new(1);
        let mut log = |count: usize, mean: f64| -> Vec<LogRecord> {
            let mut record = || LogRecord {
                at: ripstop_model::Timestamp::ZERO,
                operation: Operation::Read,
                node: ripstop_model::NodeId(0),
                bytes: 1000,
                served: std::time::Duration::from_secs_f64(mean * (0.5 + 0.5 * dice.exponential())),
                outcome: Outcome::Done,
                waited: std::time::Duration::ZERO,
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

    #[test]
    fn quantiles_have_the_mean_of_what_was_seen() {
        let record = |ms: u64, outcome| LogRecord {
            at: ripstop_model::Timestamp::ZERO,
            operation: Operation::Read,
            node: ripstop_model::NodeId(0),
            bytes: 1,
            served: std::time::Duration::from_millis(ms),
            outcome,
            waited: std::time::Duration::ZERO,
            redundant: false,
        };
        let done: Vec<_> = (1..=1000).map(|ms| record(ms, Outcome::Done)).collect();
        let found = quantiles(done.iter(), 200);
        assert_eq!(found.len(), 200);
        assert!((found.iter().sum::<f64>() / 200.0 - 0.5005).abs() < 2e-3);
        let cut: Vec<_> =
            (1..=1000)
                .map(|ms| {
                    if ms > 500 {
                        record(500, Outcome::Cancelled)
                    } else {
                        record(ms, Outcome::Done)
                    }
                })
                .collect();
        assert!((quantiles(cut.iter(), 200).iter().sum::<f64>() / 200.0 - 0.375).abs() < 3e-3);
        assert_eq!(quantiles([].iter(), 200), [0.0; 0]);
    }

    #[test]
    fn classes_of_two_sizes_are_served_as_often_as_they_are_asked_for() {
        let class = |chunk_bytes, rate| Class {
            rate,
            files: 1,
            k: 1,
            chunk_bytes,
            survive_nodes: 0,
            survive_sites: 0,
            spread: false,
        };
        let mut measured = Measured::of_moments(1.0, 0.5, None).unwrap();
        measured.chunk_bytes = Some(100.0);
        let told = service(&measured, &[class(100, 3.0), class(300, 1.0)]).unwrap();
        assert!((told.mean() - 1.5).abs() < 1e-12);
        assert!((told.second() - (0.75 * 1.25 + 0.25 * 9.0 * 1.25)).abs() < 1e-12);
        measured.fixed_s = 0.8;
        let told = service(&measured, &[class(300, 1.0)]).unwrap();
        assert!((told.mean() - 1.4).abs() < 1e-12);
        measured.fixed_s = 2.0;
        assert!(service(&measured, &[class(300, 1.0)]).is_err());
    }
}
