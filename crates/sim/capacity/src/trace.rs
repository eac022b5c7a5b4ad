use ripstop_model::Timestamp;
use ripstop_shaping::{Arrivals, Bound};
use ripstop_trace::{
    BadLine, Disorder, Format, OnBadLine, Options, Reader, Spread, Summary, TraceError, open_with,
};
use std::{io::BufRead, num::NonZero, path::Path, time::Duration};
use thiserror::Error;

/// Times that are no finer than this part of the tightest bound are worth a warning.
const FINE: u32 = 10;

/// How a trace is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TraceOptions {
    /// How it is written; otherwise as it shows itself to be.
    pub format: Option<Format>,
    /// What to do with a line that cannot be read.
    pub on_bad_line: OnBadLine,
    /// Sorts times that go back, as far as the reader's window allows, instead of refusing them.
    pub sort: bool,
    /// Where requests stand within the second that is all the log knows of their time.
    pub spread: Spread,
    /// Takes times that are coarser than the bound as they are.
    pub trust_times: bool,
    /// Only this many requests from the beginning.
    pub requests_max: Option<NonZero<u64>>,
}

/// When the requests of a trace arrived.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    times: Vec<Timestamp>,
    /// What was read, and what was left out.
    pub summary: Summary,
}

impl Trace {
    /// Reads a file, plain, gzip or zstd, about which will be asked with this bound as the
    /// tightest.
    pub fn open(
        path: impl AsRef<Path>,
        options: &TraceOptions,
        bound_min: Duration,
    ) -> Result<Self, CapacityError> {
        let reader = open_with(path, options.format, options.reader())?;
        Self::read(reader, options, bound_min)
    }

    /// The same of whatever can be read.
    pub fn from_reader(
        source: impl BufRead + Send + 'static,
        options: &TraceOptions,
        bound_min: Duration,
    ) -> Result<Self, CapacityError> {
        let reader = Reader::from_reader(source, options.format, options.reader())?;
        Self::read(reader, options, bound_min)
    }

    fn read(
        mut reader: Reader,
        options: &TraceOptions,
        bound_min: Duration,
    ) -> Result<Self, CapacityError> {
        let requests_max = options.requests_max.map_or(u64::MAX, NonZero::get);
        let mut times = Vec::new();
        while (times.len() as u64) < requests_max
            && let Some(record) = reader.next()
        {
            let time = record.map_err(explained)?.time;
            times.push(Timestamp::ZERO + time);
        }
        let summary = reader.summary().clone();
        if times.is_empty() {
            return Err(CapacityError::Empty);
        }
        if let Some(resolution) = summary.resolution
            && resolution > bound_min
            && options.spread == Spread::Off
            && !options.trust_times
        {
            return Err(CapacityError::Coarse { resolution, bound: bound_min });
        }
        Ok(Self { times, summary })
    }

    /// When its requests arrived, since the first.
    pub fn arrivals(&self) -> Arrivals<'_> {
        Arrivals::new(&self.times).expect("the reader gives records in order")
    }

    /// What is doubtful about the answers, if anything: times not much finer than the bound, or
    /// made up.
    pub fn doubt(&self, bound_min: Duration) -> Option<String> {
        let resolution = self.summary.resolution?;
        if self.summary.spread != Spread::Off {
            return Some(
                "times within a second are made up: how bursty it was there is not known".into(),
            );
        }
        (resolution * FINE > bound_min).then(|| {
            let (resolution, bound) = (Bound(resolution), Bound(bound_min));
            format!("times are known to {resolution} only: at a bound of {bound} that matters")
        })
    }
}

impl TraceOptions {
    fn reader(&self) -> Options {
        let disorder = if self.sort { Disorder::default() } else { Disorder::Refuse };
        Options { on_bad_line: self.on_bad_line, disorder, spread: self.spread }
    }
}

/// Tells apart what the caller can do something about.
fn explained(error: TraceError) -> CapacityError {
    if let TraceError::Line { line, reason } = error {
        return match reason {
            BadLine::Backwards { by } => CapacityError::Backwards { line, by },
            reason @ (BadLine::Missing { .. }
            | BadLine::Field { .. }
            | BadLine::Width { .. }
            | BadLine::Quote
            | BadLine::Json { .. }
            | BadLine::TooLong { .. }
            | BadLine::Late { .. }) => CapacityError::Line { line, reason },
        };
    }
    CapacityError::Trace(error)
}

/// Why a trace cannot be asked.
#[derive(Debug, Error)]
pub enum CapacityError {
    /// It cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A line that cannot be read.
    #[error("line {line}: {reason}")]
    Line {
        /// Its number, from 1.
        line: u64,
        /// What is wrong.
        reason: BadLine,
    },
    /// Times that go back.
    #[error("line {line} goes back in time by {by:?}: a request's wait depends on those before it")]
    Backwards {
        /// The first line that does.
        line: u64,
        /// How much earlier than the latest line before it.
        by: Duration,
    },
    /// Nothing in it.
    #[error("the trace has no requests")]
    Empty,
    /// Times that say nothing about the bound.
    #[error(
        "times are known to {} only, and the bound is {}: how many requests came within it is unknown",
        Bound(*resolution), Bound(*bound)
    )]
    Coarse {
        /// The largest power of ten that divides every time.
        resolution: Duration,
        /// The tightest bound.
        bound: Duration,
    },
}
