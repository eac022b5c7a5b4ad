use crate::{DelayModel, Luck, StorageOperation, model::milliseconds};
use alloc::{borrow::ToOwned as _, collections::BTreeMap, string::String, vec::Vec};
use core::{fmt, time::Duration};

/// First line of a log of delays.
const HEADER: &str = "operation,bytes,delay_ms";

/// Which of the delays recorded for a size comes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Replay {
    /// One after the other as recorded, then from the beginning again, for the nearest size that
    /// was recorded (the smaller of two as near).
    #[default]
    InOrder,
    /// Any, by luck. Between two recorded sizes the quantile is interpolated: a delay of the
    /// smaller size and the equally lucky one of the larger, weighted by how near they are. Beyond
    /// the smallest or largest size, that size's delays.
    Sampled,
}

/// Delays that were measured: a request takes as long as one of nearly its size once did.
///
/// An operation that was not recorded at all takes the delays of the first in the log.
#[derive(Clone, Debug)]
pub struct Recorded {
    replay: Replay,
    /// Ascending by size, per operation.
    sizes: [Vec<Size>; StorageOperation::ALL.len()],
    substitute: StorageOperation,
}

#[derive(Clone, Debug)]
struct Size {
    bytes: u64,
    /// As recorded if they are replayed in order, else ascending.
    delays: Vec<Duration>,
    mean_ms: f64,
    next: usize,
}

/// There is no log of delays in this.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RecordedError {
    /// The first line is not the header.
    Header,
    /// A line is not an operation, bytes and milliseconds.
    Line {
        /// Counted from 1, the header's.
        number: usize,
        /// What it says.
        text: String,
    },
    /// There are no delays.
    Empty,
}

impl fmt::Display for RecordedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header => write!(f, "line 1 is not {HEADER:?}"),
            Self::Line { number, text } => write!(
                f,
                "line {number} is not an operation, whole bytes and milliseconds: {text:?}"
            ),
            Self::Empty => f.write_str("no delay is recorded"),
        }
    }
}

impl core::error::Error for RecordedError {}

impl Recorded {
    /// These delays, each of an operation on this many bytes; never [`RecordedError::Line`].
    pub fn new(
        delays: impl IntoIterator<Item = (StorageOperation, u64, Duration)>,
        replay: Replay,
    ) -> Result<Self, RecordedError> {
        let mut substitute = None;
        let mut recorded = BTreeMap::<(StorageOperation, u64), Vec<Duration>>::new();
        for (operation, bytes, delay) in delays {
            substitute.get_or_insert(operation);
            recorded.entry((operation, bytes)).or_default().push(delay);
        }
        let substitute = substitute.ok_or(RecordedError::Empty)?;
        let mut sizes: [Vec<Size>; StorageOperation::ALL.len()] = Default::default();
        for ((operation, bytes), mut delays) in recorded {
            let ms = |delay: &Duration| delay.as_nanos() as u64 as f64 * 1e-6;
            let mean_ms = delays.iter().map(ms).sum::<f64>() / delays.len() as f64;
            if replay == Replay::Sampled {
                delays.sort_unstable();
            }
            sizes[operation as usize].push(Size { bytes, delays, mean_ms, next: 0 });
        }
        Ok(Self { replay, sizes, substitute })
    }

    /// The delays in a CSV text with the header `operation,bytes,delay_ms`; operations are those of
    /// [`StorageOperation::name`], delays may have decimals. Blank lines are passed over.
    pub fn parse(csv: &str, replay: Replay) -> Result<Self, RecordedError> {
        let mut lines = csv.lines().enumerate();
        if lines.next().is_none_or(|(_, header)| header.trim() != HEADER) {
            return Err(RecordedError::Header);
        }
        let delay = |(at, text): (usize, &str)| {
            record(text)
                .ok_or_else(|| RecordedError::Line { number: at + 1, text: text.to_owned() })
        };
        let delays: Result<Vec<_>, _> =
            lines.filter(|(_, text)| !text.trim().is_empty()).map(delay).collect();
        Self::new(delays?, replay)
    }

    fn operation(&self, operation: StorageOperation) -> usize {
        let known = !self.sizes[operation as usize].is_empty();
        (if known { operation } else { self.substitute }) as usize
    }
}

fn record(line: &str) -> Option<(StorageOperation, u64, Duration)> {
    let mut fields = line.split(',').map(str::trim);
    let operation = fields.next()?.parse().ok()?;
    let bytes = fields.next()?.parse().ok()?;
    let ms: f64 = fields.next()?.parse().ok()?;
    let valid = ms.is_finite() && ms >= 0.0 && fields.next().is_none();
    valid.then(|| (operation, bytes, milliseconds(ms)))
}

/// The sizes around a size, by their places, and how far it is from the first to the second, 0 to
/// 1.
fn around(sizes: &[Size], bytes: u64) -> (usize, usize, f64) {
    let above = sizes.partition_point(|size| size.bytes < bytes).min(sizes.len() - 1);
    let below = above.saturating_sub(1);
    let (low, high) = (sizes[below].bytes, sizes[above].bytes);
    if bytes <= low || low == high {
        (below, above, 0.0)
    } else {
        (below, above, ((bytes - low) as f64 / (high - low) as f64).min(1.0))
    }
}

impl Size {
    fn quantile_ms(&self, p: f64) -> f64 {
        let last = self.delays.len() - 1;
        let place = ((p * self.delays.len() as f64) as usize).min(last);
        self.delays[place].as_nanos() as u64 as f64 * 1e-6
    }
}

impl DelayModel for Recorded {
    fn sample(&mut self, operation: StorageOperation, bytes: u64, luck: &mut dyn Luck) -> Duration {
        let operation = self.operation(operation);
        let sizes = &mut self.sizes[operation];
        let (below, above, way) = around(sizes, bytes);
        match self.replay {
            Replay::InOrder => {
                let size = &mut sizes[if way > 0.5 { above } else { below }];
                let next = (size.next + 1) % size.delays.len();
                size.delays[core::mem::replace(&mut size.next, next)]
            }
            Replay::Sampled => {
                let p = luck.uniform();
                let (low, high) = (sizes[below].quantile_ms(p), sizes[above].quantile_ms(p));
                milliseconds(low + (high - low) * way)
            }
        }
    }

    /// The mean of what is drawn: of the nearest size, or interpolated, as the delays are.
    fn mean_ms(&self, operation: StorageOperation, bytes: u64) -> f64 {
        let sizes = &self.sizes[self.operation(operation)];
        let (below, above, way) = around(sizes, bytes);
        let way = match self.replay {
            Replay::InOrder => f64::from(u8::from(way > 0.5)),
            Replay::Sampled => way,
        };
        sizes[below].mean_ms + (sizes[above].mean_ms - sizes[below].mean_ms) * way
    }
}
