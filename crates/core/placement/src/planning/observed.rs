//! How long nodes serve a chunk, and how often they are asked, from lines of a task log.

use crate::{Service, ServiceError};
use alloc::vec::Vec;
use core::fmt;
use ripstop_estimator::{
    Distribution, LogRecord, LoggedOutcome, Sample, TASKS_MIN, equally_likely,
};
use ripstop_model::Operation;

/// What some reads tell of service.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Observed {
    /// Of a chunk; cancelled reads count as longer than they ran.
    pub service: Service,
    /// The mean size of the chunks, if they have any.
    pub chunk_bytes: Option<f64>,
}

/// Why reads tell nothing of service.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ObservedError {
    /// Only this many finished.
    Few(usize),
    /// Their moments are none of a service time.
    Service(ServiceError),
}

impl fmt::Display for ObservedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Few(count) => {
                write!(f, "{count} finished reads say too little, {TASKS_MIN} are needed")
            }
            Self::Service(error) => write!(f, "{error}"),
        }
    }
}

impl core::error::Error for ObservedError {}

impl Observed {
    /// Of the finished reads among these.
    pub fn of<'a>(records: impl Iterator<Item = &'a LogRecord>) -> Result<Self, ObservedError> {
        let reads: Vec<Sample> = reads(records).collect();
        let done = || reads.iter().filter(|read| read.finished);
        let (count, bytes) = (done().count(), done().map(|read| read.bytes as f64).sum::<f64>());
        let delays = Distribution::of(reads.iter().copied()).filter(|_| count >= TASKS_MIN);
        let Some(delays) = delays else { return Err(ObservedError::Few(count)) };
        let [mean, second, third] = delays.moments_s();
        let service = Service::new(mean, second, third).map_err(ObservedError::Service)?;
        let chunk_bytes = Some(bytes / count as f64).filter(|bytes| *bytes > 0.0);
        Ok(Self { service, chunk_bytes })
    }
}

/// What the reads among these tell of delays.
fn reads<'a>(records: impl Iterator<Item = &'a LogRecord>) -> impl Iterator<Item = Sample> {
    records.filter_map(LogRecord::sample).filter(|sample| sample.operation == Operation::Read)
}

/// A node's delays as this many that are equally likely, ascending, seconds; those of cancelled
/// reads count as longer than they ran. Empty without a read.
pub fn quantiles<'a>(records: impl Iterator<Item = &'a LogRecord>, count: usize) -> Vec<f64> {
    let delays = equally_likely(reads(records), count).into_iter();
    delays.map(|delay| delay.as_secs_f64().max(1e-9)).collect()
}

/// The finished reads that their requests could not do without, and the seconds over which they are
/// spread: what is asked of a pool, whatever redundancy its policy adds.
pub fn needed_reads<'a>(log: impl IntoIterator<Item = &'a LogRecord>) -> (Vec<&'a LogRecord>, f64) {
    let needed = |record: &&LogRecord| {
        record.operation == Operation::Read
            && record.outcome == LoggedOutcome::Done
            && !record.redundant
    };
    let reads: Vec<&LogRecord> = log.into_iter().filter(needed).collect();
    let times = || reads.iter().map(|record| record.at.as_nanos());
    let span_s = (times().max().unwrap_or(0) - times().min().unwrap_or(0)) as f64 / 1e9;
    (reads, span_s)
}
