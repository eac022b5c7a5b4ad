mod format;
#[cfg(test)]
mod tests;

pub use format::{LogError, TaskLogFormat};

use crate::Sample;
use alloc::vec::Vec;
use core::{fmt, time::Duration};
use ripstop_model::{NodeId, Operation, Timestamp};

/// First line of a task log with all columns.
pub const LOG_HEADER: &str = "time_s,operation,node,bytes,served_ms,outcome,waited_ms,redundant";

/// Most records of one pool that are kept in memory, of 56 bytes each; the oldest go first.
pub const TASK_LOG_MAX: usize = 1 << 16;

/// How a task ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoggedOutcome {
    /// It did all of it.
    Done,
    /// It was cancelled before its end.
    Cancelled,
    /// Anything else: it failed, or took too long.
    Other,
}

impl LoggedOutcome {
    /// Its name in task logs. Where one is read, every other name is [`LoggedOutcome::Other`].
    pub const fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Cancelled => "cancelled",
            Self::Other => "other",
        }
    }
}

/// One line of a task log: a task that had a lane, and ended.
///
/// Its text form is that line, without its end, in the columns of [`LOG_HEADER`]; times have all
/// digits down to the nanosecond.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogRecord {
    /// When it ended; in seconds.
    pub at: Timestamp,
    /// What it did: `read` or `write`; `get` and `put` are read as these.
    pub operation: Operation,
    /// Where; the id's number.
    pub node: NodeId,
    /// Size of its chunk.
    pub bytes: u64,
    /// From when it had a lane until it ended; in milliseconds.
    pub served: Duration,
    /// How.
    pub outcome: LoggedOutcome,
    /// From when it was queued until it had a lane, in milliseconds; 0 where the log does not say.
    pub waited: Duration,
    /// Whether its request could have done without it, `1` or `0`; not where the log does not say.
    pub redundant: bool,
}

impl LogRecord {
    /// What it tells about delays, unless it failed.
    pub const fn sample(&self) -> Option<Sample> {
        let finished = match self.outcome {
            LoggedOutcome::Done => true,
            LoggedOutcome::Cancelled => false,
            LoggedOutcome::Other => return None,
        };
        let Self { operation, node, bytes, served, .. } = *self;
        Some(Sample { operation, node, bytes, served, finished })
    }
}

impl fmt::Display for LogRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.at.as_nanos();
        let (served, waited) = (self.served.as_nanos(), self.waited.as_nanos());
        write!(f, "{}.{:09},", ns / 1_000_000_000, ns % 1_000_000_000)?;
        write!(f, "{},{},{},", self.operation.name(), self.node, self.bytes)?;
        write!(f, "{}.{:06},{},", served / 1_000_000, served % 1_000_000, self.outcome.name())?;
        write!(f, "{}.{:06},", waited / 1_000_000, waited % 1_000_000)?;
        write!(f, "{}", u8::from(self.redundant))
    }
}

/// The records of a log in any of the [formats](TaskLogFormat), or of several of one format, one
/// behind the other. A last line that has no end and cannot be read is left out: what wrote it was
/// stopped.
pub fn parse_log(text: &str) -> Result<Vec<LogRecord>, LogError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.lines().enumerate();
    let header = lines.next().map_or("", |(_, header)| header.trim());
    let format: TaskLogFormat = header.parse()?;
    let mut records = Vec::new();
    while let Some((at, line)) = lines.next() {
        if line.trim() == header {
            continue;
        }
        match format.record(at + 1, line) {
            Ok(record) => records.extend(record),
            Err(_) if lines.clone().next().is_none() && !text.ends_with('\n') => {}
            Err(error) => return Err(error),
        }
    }
    Ok(records)
}
