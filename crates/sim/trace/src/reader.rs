use crate::{
    BadLine, Format, LINE_MAX, OnBadLine, Options, Record, SPREAD_MAX, Spread, Summary, TraceError,
    bad_line::begin,
    format::{Line, Parser, Request},
    input::{Lines, Next, ahead, put_back, unpack},
    order::Order,
    spread::Spreader,
};
use std::{
    collections::HashSet,
    fmt,
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
    sync::Arc,
    time::Duration,
};

/// How much of a file its format is told from.
const HEAD: u64 = 64 << 10;
/// How many of its lines.
const HEAD_LINES: usize = 64;
/// How many tenants' names are remembered, to be shared by their records.
const TENANTS_MAX: usize = 1 << 16;
const BUFFER: usize = 1 << 17;

/// Opens a trace, packed or not, in whatever format it shows itself to be.
///
/// Refuses bad lines, sorts, does not spread: see [`open_with`].
pub fn open(path: impl AsRef<Path>) -> Result<Reader, TraceError> {
    open_with(path, None, Options::default())
}

/// Opens a trace, packed or not, in this format or else in the one it shows itself to be.
pub fn open_with(
    path: impl AsRef<Path>,
    format: Option<Format>,
    options: Options,
) -> Result<Reader, TraceError> {
    let path = path.as_ref();
    let file =
        File::open(path).map_err(|source| TraceError::Open { path: path.to_owned(), source })?;
    Reader::from_reader(BufReader::with_capacity(BUFFER, file), format, options)
}

/// The records of a trace, in the order of their times.
///
/// An error comes after the records that stand before it in the file, and ends the iteration.
pub struct Reader {
    lines: Lines,
    parser: Parser,
    options: Options,
    order: Order,
    spreader: Spreader,
    tenants: Tenants,
    summary: Summary,
    /// The time of the first record given out, as it would have been without this being subtracted.
    zero: Option<Duration>,
    phase: Phase,
    /// What ended reading, to be told once all that was read is given out.
    failure: Option<TraceError>,
}

/// How far the reader is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// There may be more lines.
    Reading,
    /// No more lines; what is held back is given out.
    Draining,
    /// Nothing more is given out.
    Over,
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("phase", &self.phase)
            .field("summary", &self.summary)
            .finish_non_exhaustive()
    }
}

impl Reader {
    /// Reads a trace, packed or not, in this format or else in the one it shows itself to be.
    pub fn from_reader(
        packed: impl BufRead + Send + 'static,
        format: Option<Format>,
        options: Options,
    ) -> Result<Self, TraceError> {
        let unread = |source| TraceError::Read { line: 0, source };
        let (mut source, compression) = unpack(packed).map_err(unread)?;
        let format = if let Some(format) = format {
            format
        } else {
            let head = ahead(&mut source, HEAD).map_err(unread)?;
            let format = tell(&head)?;
            source = put_back(head, source);
            format
        };
        Ok(Self {
            lines: Lines::new(source),
            parser: Parser::new(format),
            options,
            order: Order::new(options.disorder),
            spreader: Spreader::new(options.spread),
            tenants: Tenants::default(),
            summary: Summary::new(format, compression, options.spread),
            zero: None,
            phase: Phase::Reading,
            failure: None,
        })
    }

    /// What was read so far; of all of it once the records have ended.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// The next record that has its place in time.
    fn advance(&mut self) -> Option<Record> {
        loop {
            if let Some(record) = self.spreader.pop() {
                return Some(record);
            }
            while self.phase == Phase::Reading && self.order.is_hungry() {
                if let Err(failure) = self.read() {
                    self.fail(failure);
                }
            }
            if let Some(record) = self.order.pop() {
                self.summary.origin_ns.get_or_insert(record.time.as_nanos() as u64);
                if !self.spreader.push(record) {
                    self.order.clear();
                    self.fail(TraceError::Crowded { line: self.lines.number, max: SPREAD_MAX });
                }
            } else if self.phase == Phase::Draining {
                self.phase = Phase::Over;
                self.spreader.finish();
            } else {
                return None;
            }
        }
    }

    /// Ends reading.
    fn fail(&mut self, failure: TraceError) {
        self.phase = Phase::Draining;
        self.failure.get_or_insert(failure);
    }

    /// Reads a line.
    fn read(&mut self) -> Result<(), TraceError> {
        let line = self.lines.number;
        let next = self.lines.read().map_err(|source| TraceError::Read { line, source })?;
        let line = self.lines.number;
        self.summary.lines = line;
        let taken = match next {
            Next::Line => self.take_line()?,
            Next::TooLong => Err(BadLine::TooLong { max: LINE_MAX }),
            Next::End => {
                self.phase = Phase::Draining;
                Ok(())
            }
        };
        let Err(reason) = taken else { return Ok(()) };
        let is_refused = matches!(reason, BadLine::Backwards { .. });
        if is_refused || self.options.on_bad_line == OnBadLine::Refuse {
            return Err(TraceError::Line { line, reason });
        }
        self.summary.skip(line, reason);
        Ok(())
    }

    /// Takes the line that was read.
    fn take_line(&mut self) -> Result<Result<(), BadLine>, TraceError> {
        let line = self.lines.number;
        let text = String::from_utf8_lossy(self.lines.bytes());
        if text.trim_ascii().is_empty() {
            return Ok(Ok(()));
        }
        let is_header = self.parser.take_header(&text);
        if is_header.map_err(|problem| TraceError::Header { line, problem })? {
            return Ok(Ok(()));
        }
        let request = match self.parser.parse(&text) {
            Ok(Line::Request(request)) => request,
            Ok(Line::Failed) => {
                self.summary.failed += 1;
                return Ok(Ok(()));
            }
            Ok(Line::Ignored) => {
                self.summary.ignored += 1;
                return Ok(Ok(()));
            }
            Err(reason) => return Ok(Err(reason)),
        };
        let Request { time_ns, operation, bytes, key, tenant } = request;
        self.summary.see_time(time_ns);
        let is_whole = time_ns.is_multiple_of(1_000_000_000);
        if self.options.spread != Spread::Off && !is_whole {
            return Err(TraceError::Fine { line });
        }
        if let Some(max) = self.order.is_full() {
            return Err(TraceError::Many { line, max });
        }
        let tenant = tenant.map(|tenant| self.tenants.share(&tenant));
        let time = Duration::from_nanos(time_ns);
        let placed = self.order.push(Record { time, operation, bytes, key, tenant });
        self.summary.out_of_order = self.order.late;
        Ok(placed)
    }
}

impl Iterator for Reader {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let Some(mut record) = self.advance() else {
            return self.failure.take().map(Err);
        };
        let zero = *self.zero.get_or_insert(record.time);
        record.time = record.time.saturating_sub(zero);
        self.summary.count(&record);
        Some(Ok(record))
    }
}

/// The format of a log that begins like this.
fn tell(head: &[u8]) -> Result<Format, TraceError> {
    let text = String::from_utf8_lossy(head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head));
    let mut lines = text.lines().filter(|line| !line.trim_ascii().is_empty()).peekable();
    let begin = begin(lines.peek().ok_or(TraceError::Empty)?);
    Format::of(lines.take(HEAD_LINES)).ok_or(TraceError::Unknown { begin })
}

/// Names of tenants, each kept once.
#[derive(Debug, Default)]
struct Tenants {
    last: Option<Arc<str>>,
    all: HashSet<Arc<str>>,
}

impl Tenants {
    fn share(&mut self, name: &str) -> Arc<str> {
        if let Some(last) = self.last.as_ref().filter(|last| ***last == *name) {
            return last.clone();
        }
        let shared = self.all.get(name).cloned().unwrap_or_else(|| {
            if self.all.len() == TENANTS_MAX {
                self.all.clear();
            }
            let shared: Arc<str> = name.into();
            self.all.insert(shared.clone());
            shared
        });
        self.last = Some(shared.clone());
        shared
    }
}
