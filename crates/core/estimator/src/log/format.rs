use super::{LOG_HEADER, LogRecord, LoggedOutcome};
use alloc::{borrow::ToOwned as _, string::String};
use core::{
    fmt,
    str::{FromStr, Split},
    time::Duration,
};
use ripstop_delay::StorageOperation;
use ripstop_model::{NodeId, Operation, Timestamp};

const SHORT_HEADER: &str = "time_s,operation,node,bytes,served_ms,outcome";
const DELAYS_HEADER: &str = "operation,bytes,delay_ms";

/// The columns of a log, by its first line. Blank lines are passed over, and spaces around values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TaskLogFormat {
    /// [`LOG_HEADER`].
    Full,
    /// `time_s,operation,node,bytes,served_ms,outcome`.
    Short,
    /// `operation,bytes,delay_ms`: every task ended well, at node 0 and time 0. Operations that are
    /// no task's (`delete`, `list`, `health`) are passed over.
    Delays,
}

/// The text is not a task log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LogError {
    /// The first line is none of the headers.
    Header {
        /// What it says.
        text: String,
    },
    /// The first line begins as one of the headers and has more columns.
    Newer {
        /// Those that are not known.
        columns: String,
    },
    /// A line has too few or too many columns.
    Columns {
        /// Counted from 1, the header's.
        line: usize,
        /// What it says.
        text: String,
    },
    /// A value is none of its column's.
    Value {
        /// Counted from 1, the header's.
        line: usize,
        /// The column's name.
        column: &'static str,
        /// What it says.
        text: String,
    },
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header { text } => write!(
                f,
                "line 1 is {text:?}, not the header of a task log: {LOG_HEADER:?} (the last two may \
                 be missing) or {DELAYS_HEADER:?}"
            ),
            Self::Newer { columns } => write!(
                f,
                "it has the columns {columns:?}, which a newer program must have written; this program \
                 knows {LOG_HEADER:?}"
            ),
            Self::Columns { line, text } => {
                write!(f, "line {line} has not as many columns as the header: {text:?}")
            }
            Self::Value { line, column, text } => {
                write!(f, "line {line}: {text:?} is no {column}")
            }
        }
    }
}

impl core::error::Error for LogError {}

impl FromStr for TaskLogFormat {
    type Err = LogError;
    fn from_str(header: &str) -> Result<Self, LogError> {
        match header.trim() {
            LOG_HEADER => Ok(Self::Full),
            SHORT_HEADER => Ok(Self::Short),
            DELAYS_HEADER => Ok(Self::Delays),
            text => Err(match text.strip_prefix(LOG_HEADER).and_then(|it| it.strip_prefix(',')) {
                Some(columns) => LogError::Newer { columns: columns.to_owned() },
                None => LogError::Header { text: text.to_owned() },
            }),
        }
    }
}

impl TaskLogFormat {
    /// What a line after the header says; nothing if it is blank or no task's. Its number is for
    /// the error.
    pub fn record(self, number: usize, line: &str) -> Result<Option<LogRecord>, LogError> {
        if line.trim().is_empty() {
            return Ok(None);
        }
        let columns = match self {
            Self::Full => 8,
            Self::Short => 6,
            Self::Delays => 3,
        };
        if line.split(',').count() != columns {
            return Err(LogError::Columns { line: number, text: line.to_owned() });
        }
        let mut values = Values { line: number, values: line.split(',') };
        match self {
            Self::Full => {
                let record = values.record()?;
                let waited = values.next("waited_ms", milliseconds)?;
                Ok(Some(LogRecord { waited, redundant: values.next("redundant", flag)?, ..record }))
            }
            Self::Short => values.record().map(Some),
            Self::Delays => values.delay(),
        }
    }
}

/// The values of a line that are still to be read.
struct Values<'a> {
    line: usize,
    values: Split<'a, char>,
}

impl Values<'_> {
    fn next<T>(
        &mut self,
        column: &'static str,
        value: impl Fn(&str) -> Option<T>,
    ) -> Result<T, LogError> {
        let text = self.values.next().unwrap_or_default().trim();
        let wrong = || LogError::Value { line: self.line, column, text: text.to_owned() };
        value(text).ok_or_else(wrong)
    }

    fn record(&mut self) -> Result<LogRecord, LogError> {
        Ok(LogRecord {
            at: Timestamp::from_nanos(self.next("time_s", |text| nanoseconds(text, 9))?),
            operation: self.next("operation", |text| operation(text)?)?,
            node: NodeId(self.next("node", |text| text.parse().ok())?),
            bytes: self.next("bytes", |text| text.parse().ok())?,
            served: self.next("served_ms", milliseconds)?,
            outcome: self.next("outcome", outcome)?,
            waited: Duration::ZERO,
            redundant: false,
        })
    }

    fn delay(&mut self) -> Result<Option<LogRecord>, LogError> {
        let operation = self.next("operation", operation)?;
        let bytes = self.next("bytes", |text| text.parse().ok())?;
        let served = self.next("delay_ms", milliseconds)?;
        Ok(operation.map(|operation| LogRecord {
            at: Timestamp::ZERO,
            operation,
            node: NodeId(0),
            bytes,
            served,
            outcome: LoggedOutcome::Done,
            waited: Duration::ZERO,
            redundant: false,
        }))
    }
}

/// None if it is no operation, an inner none if it is no task's.
#[expect(clippy::option_option, reason = "a value of the column that says there is no record")]
fn operation(text: &str) -> Option<Option<Operation>> {
    match text {
        "read" => Some(Some(Operation::Read)),
        "write" => Some(Some(Operation::Write)),
        name => Some(match name.parse::<StorageOperation>().ok()? {
            StorageOperation::Get => Some(Operation::Read),
            StorageOperation::Put => Some(Operation::Write),
            StorageOperation::Delete | StorageOperation::List | StorageOperation::Health => None,
        }),
    }
}

fn outcome(text: &str) -> Option<LoggedOutcome> {
    match text {
        "" => None,
        "done" => Some(LoggedOutcome::Done),
        "cancelled" => Some(LoggedOutcome::Cancelled),
        _ => Some(LoggedOutcome::Other),
    }
}

fn flag(text: &str) -> Option<bool> {
    match text {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

fn milliseconds(text: &str) -> Option<Duration> {
    nanoseconds(text, 6).map(Duration::from_nanos)
}

/// A number of units of 10^`decimals` nanoseconds: exactly, if it is written plainly with no more
/// decimals than that.
fn nanoseconds(text: &str, decimals: u32) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits(whole) && digits(part) && part.len() <= decimals as usize {
        let part = part.parse::<u64>().ok()? * 10u64.pow(decimals - part.len() as u32);
        return whole.parse::<u64>().ok()?.checked_mul(10u64.pow(decimals))?.checked_add(part);
    }
    let number: f64 = text.parse().ok()?;
    let ns = number * 10u64.pow(decimals) as f64;
    (ns >= 0.0 && ns < u64::MAX as f64).then_some((ns + 0.5) as u64)
}
