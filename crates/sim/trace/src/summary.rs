use crate::{BadLine, Compression, Format, Record, Spread};
use ripstop_model::Operation;
use std::{fmt, time::Duration};

/// How many skipped lines a summary shows.
pub const SKIPPED_SHOWN: usize = 16;

/// What was read so far, and what was left out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Summary {
    /// How the log is written.
    pub format: Format,
    /// What the file is packed with.
    pub compression: Compression,
    /// Lines read, blank ones and the header included.
    pub lines: u64,
    /// Records given out that read.
    pub reads: u64,
    /// Records given out that wrote.
    pub writes: u64,
    /// Bytes that they read.
    pub bytes_read: u64,
    /// Bytes that they wrote.
    pub bytes_written: u64,
    /// Requests left out because they were refused (status 400 or more) or broke off.
    pub failed: u64,
    /// Lines left out because they moved no object's bytes to or from a client: listings, HEAD,
    /// deletes, copies, redirects, and whatever else belongs into such a log.
    pub ignored: u64,
    /// Lines that could not be read.
    pub skipped: u64,
    /// The first [`SKIPPED_SHOWN`] of them.
    pub skipped_first: Vec<SkippedLine>,
    /// Records that were earlier than one before them.
    pub out_of_order: u64,
    /// The first record's time in nanoseconds since 1970, or since whatever the log counts from,
    /// before spreading.
    pub origin_ns: Option<u64>,
    /// From the first record given out to the last.
    pub span: Duration,
    /// The largest power of ten that divides every time in the log: a second, a tenth … a
    /// nanosecond.
    pub resolution: Option<Duration>,
    /// How times were spread over their second: not what the log says.
    pub spread: Spread,
}

/// A line that was left out because it could not be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SkippedLine {
    /// Its number, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub reason: BadLine,
}

impl Summary {
    pub(crate) fn new(format: Format, compression: Compression, spread: Spread) -> Self {
        Self {
            format,
            compression,
            lines: 0,
            reads: 0,
            writes: 0,
            bytes_read: 0,
            bytes_written: 0,
            failed: 0,
            ignored: 0,
            skipped: 0,
            skipped_first: Vec::new(),
            out_of_order: 0,
            origin_ns: None,
            span: Duration::ZERO,
            resolution: None,
            spread,
        }
    }

    /// Records given out.
    pub fn records(&self) -> u64 {
        self.reads + self.writes
    }

    /// Records per second over the span; zero for a span of nothing.
    pub fn rate_per_s(&self) -> f64 {
        let seconds = self.span.as_secs_f64();
        if seconds > 0.0 { self.records() as f64 / seconds } else { 0.0 }
    }

    pub(crate) fn count(&mut self, record: &Record) {
        let (count, bytes) = match record.operation {
            Operation::Read => (&mut self.reads, &mut self.bytes_read),
            Operation::Write => (&mut self.writes, &mut self.bytes_written),
        };
        *count += 1;
        *bytes = bytes.saturating_add(record.bytes);
        self.span = record.time;
    }

    pub(crate) fn skip(&mut self, line: u64, reason: BadLine) {
        self.skipped += 1;
        if self.skipped_first.len() < SKIPPED_SHOWN {
            self.skipped_first.push(SkippedLine { line, reason });
        }
    }

    /// Takes note of how fine a time in the log is.
    pub(crate) fn see_time(&mut self, time_ns: u64) {
        let mut unit = self.resolution.map_or(1_000_000_000, |unit| unit.as_nanos() as u64);
        while !time_ns.is_multiple_of(unit) {
            unit /= 10;
        }
        self.resolution = Some(Duration::from_nanos(unit));
    }
}

impl fmt::Display for Summary {
    /// Some lines for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "format        {}, {}, {} lines",
            self.format,
            self.compression.name(),
            self.lines
        )?;
        let (records, rate) = (self.records(), self.rate_per_s());
        writeln!(f, "records       {records} in {:?}, {rate:.3} per second", self.span)?;
        writeln!(f, "reads         {}, {} bytes", self.reads, self.bytes_read)?;
        writeln!(f, "writes        {}, {} bytes", self.writes, self.bytes_written)?;
        writeln!(
            f,
            "left out      {} failed, {} that move no object's bytes",
            self.failed, self.ignored
        )?;
        writeln!(f, "out of order  {}", self.out_of_order)?;
        if let Some(resolution) = self.resolution {
            write!(f, "resolution    {resolution:?}")?;
            match self.spread {
                Spread::Off => writeln!(f)?,
                Spread::Even => writeln!(f, "; times within a second are made up: evenly")?,
                Spread::Random { seed } => {
                    writeln!(f, "; times within a second are made up: at random, seed {seed}")?;
                }
            }
        }
        writeln!(f, "bad lines     {}", self.skipped)?;
        for SkippedLine { line, reason } in &self.skipped_first {
            writeln!(f, "  line {line}: {reason}")?;
        }
        Ok(())
    }
}
