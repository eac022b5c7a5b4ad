use super::{DelayModel, Dice, milliseconds};
use crate::Operation;
use core::time::Duration;
use thiserror::Error;

/// First line of a log of delays.
const HEADER: &str = "operation,bytes,delay_ms";

/// Which of the delays recorded for a size comes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Replay {
    /// One after the other as recorded, then from the beginning again.
    #[default]
    InOrder,
    /// Any, by the dice.
    Sampled,
}

/// Delays that were measured: a request takes as long as one of nearly its size once did.
///
/// The size is the nearest that was recorded for the operation, the smaller of two as near. An
/// operation that was not recorded at all takes the delays of the first in the log.
#[derive(Clone, Debug)]
pub struct Recorded {
    replay: Replay,
    /// Ascending by size, per operation.
    sizes: [Vec<Size>; Operation::ALL.len()],
    substitute: Operation,
}

#[derive(Clone, Debug)]
struct Size {
    bytes: u64,
    delays: Vec<Duration>,
    next: usize,
}

/// The text is not a log of delays.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum RecordedError {
    /// The first line is not the header.
    #[error("line 1 is not {HEADER:?}")]
    Header,
    /// A line is not an operation, bytes and milliseconds.
    #[error("line {number} is not an operation, whole bytes and milliseconds: {text:?}")]
    Line {
        /// Counted from 1, the header's.
        number: usize,
        /// What it says.
        text: String,
    },
    /// There are no lines after the header.
    #[error("no delay is recorded")]
    Empty,
}

impl Recorded {
    /// The delays in a CSV text with the header `operation,bytes,delay_ms`; operations are those of
    /// [`Operation::name`], delays may have decimals. Blank lines are passed over.
    pub fn parse(csv: &str, replay: Replay) -> Result<Self, RecordedError> {
        let mut lines = csv.lines().enumerate();
        if lines.next().is_none_or(|(_, header)| header.trim() != HEADER) {
            return Err(RecordedError::Header);
        }
        let mut sizes: [Vec<Size>; Operation::ALL.len()] = Default::default();
        let mut substitute = None;
        for (at, text) in lines.filter(|(_, text)| !text.trim().is_empty()) {
            let line = || RecordedError::Line { number: at + 1, text: text.to_owned() };
            let (operation, bytes, delay) = record(text).ok_or_else(line)?;
            substitute.get_or_insert(operation);
            let sizes = &mut sizes[operation as usize];
            match sizes.binary_search_by_key(&bytes, |size| size.bytes) {
                Ok(found) => sizes[found].delays.push(delay),
                Err(place) => sizes.insert(place, Size { bytes, delays: vec![delay], next: 0 }),
            }
        }
        let substitute = substitute.ok_or(RecordedError::Empty)?;
        Ok(Self { replay, sizes, substitute })
    }
}

fn record(line: &str) -> Option<(Operation, u64, Duration)> {
    let mut fields = line.split(',').map(str::trim);
    let operation = fields.next()?.parse().ok()?;
    let bytes = fields.next()?.parse().ok()?;
    let ms: f64 = fields.next()?.parse().ok()?;
    let valid = ms.is_finite() && ms >= 0.0 && fields.next().is_none();
    valid.then(|| (operation, bytes, milliseconds(ms)))
}

impl DelayModel for Recorded {
    fn sample(&mut self, operation: Operation, bytes: u64, dice: &mut Dice) -> Duration {
        let known = !self.sizes[operation as usize].is_empty();
        let sizes = &mut self.sizes[if known { operation } else { self.substitute } as usize];
        let above = sizes.partition_point(|size| size.bytes < bytes).min(sizes.len() - 1);
        let below = above.saturating_sub(1);
        let nearer = sizes[below].bytes.abs_diff(bytes) <= sizes[above].bytes.abs_diff(bytes);
        let size = &mut sizes[if nearer { below } else { above }];
        let count = size.delays.len();
        let which = match self.replay {
            Replay::InOrder => {
                let next = (size.next + 1) % count;
                core::mem::replace(&mut size.next, next)
            }
            Replay::Sampled => dice.below(count as u64) as usize,
        };
        size.delays[which]
    }
}
