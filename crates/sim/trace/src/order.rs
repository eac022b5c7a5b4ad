use crate::{BadLine, Disorder, Record};
use std::{collections::VecDeque, time::Duration};

/// Records in the order of their times, as far as a window of bounded size can bring it about.
///
/// A sorted queue: logs are nearly in order, so that nearly every record goes to its end.
#[derive(Debug)]
pub(crate) struct Order {
    disorder: Disorder,
    /// Ascending times, those of the log; equal times as they came. If all are to be sorted, as
    /// they came until the first is given out.
    held: VecDeque<Record>,
    /// The time of the last record given out.
    given: Duration,
    /// The latest time of all records.
    latest: Duration,
    /// How many records were earlier than one before them.
    pub(crate) late: u64,
    is_sorted: bool,
}

impl Order {
    pub(crate) fn new(disorder: Disorder) -> Self {
        let (given, latest) = (Duration::ZERO, Duration::ZERO);
        Self { disorder, held: VecDeque::new(), given, latest, late: 0, is_sorted: false }
    }

    /// Whether a record should be taken before one is given out.
    pub(crate) fn is_hungry(&self) -> bool {
        match self.disorder {
            Disorder::Refuse => self.held.is_empty(),
            Disorder::Sort { window } => self.held.len() <= window,
            Disorder::SortAll { .. } => true,
        }
    }

    /// The most records that it holds, if that is reached.
    pub(crate) fn is_full(&self) -> Option<usize> {
        match self.disorder {
            Disorder::SortAll { records_max } if self.held.len() >= records_max => {
                Some(records_max)
            }
            Disorder::Refuse | Disorder::Sort { .. } | Disorder::SortAll { .. } => None,
        }
    }

    pub(crate) fn push(&mut self, record: Record) -> Result<(), BadLine> {
        if record.time >= self.latest {
            self.latest = record.time;
            self.held.push_back(record);
            return Ok(());
        }
        self.late += 1;
        let window = match self.disorder {
            Disorder::Refuse => {
                return Err(BadLine::Backwards { by: self.latest.saturating_sub(record.time) });
            }
            Disorder::Sort { window } => window,
            Disorder::SortAll { .. } => {
                self.held.push_back(record);
                return Ok(());
            }
        };
        if record.time < self.given {
            return Err(BadLine::Late { by: self.given.saturating_sub(record.time), window });
        }
        let place = self.held.partition_point(|held| held.time <= record.time);
        self.held.insert(place, record);
        Ok(())
    }

    pub(crate) fn pop(&mut self) -> Option<Record> {
        if matches!(self.disorder, Disorder::SortAll { .. }) && !self.is_sorted {
            self.held.make_contiguous().sort_by_key(|record| record.time);
            self.is_sorted = true;
        }
        let record = self.held.pop_front()?;
        self.given = record.time;
        Some(record)
    }

    /// Drops what is held back.
    pub(crate) fn clear(&mut self) {
        self.held.clear();
    }
}
