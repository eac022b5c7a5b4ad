//! Recent tasks, as lines of the task log that `ripstop fit` reads.

#[cfg(test)]
mod tests;

use ripstop_estimator::{LOG_HEADER, LogRecord, TASK_LOG_MAX};
use ripstop_gateway::Report;
use ripstop_model::Timestamp;
use std::{
    collections::VecDeque,
    fmt::Write as _,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// Records that are read while the pool waits, at most.
pub(crate) const PAGE: usize = 1024;

/// The tasks of one pool that had a lane and ended, the last [`TASK_LOG_MAX`] of them.
///
/// Times are since 1970, so that logs of several runs and pools can be laid together.
#[derive(Debug)]
pub struct TaskLog {
    /// The pool's clock's zero, in nanoseconds since 1970.
    origin_ns: u64,
    ring: Mutex<Ring>,
    missed: AtomicU64,
}

#[derive(Debug, Default)]
struct Ring {
    records: VecDeque<LogRecord>,
    /// Number of the first of them.
    first: u64,
}

impl TaskLog {
    /// An empty log of a pool whose clock starts now.
    pub(crate) fn new() -> Self {
        let origin = ripstop_host::since_1970();
        let origin_ns = origin.as_nanos() as u64;
        Self { origin_ns, ring: Mutex::default(), missed: AtomicU64::new(0) }
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of a task's end.
    pub(crate) fn report(&self, at: Timestamp, report: &Report) {
        let Report::Task(end) = report else { return };
        let at = Timestamp::from_nanos(self.origin_ns + at.as_nanos());
        let Some(record) = end.log_record(at) else { return };
        let mut ring = self.ring();
        if ring.records.len() == TASK_LOG_MAX {
            ring.records.pop_front();
            ring.first += 1;
        }
        ring.records.push_back(record);
    }

    /// Puts into `page` the next records from number `from` on, some of them; returns the number to
    /// go on from, and how many were forgotten before they were asked for.
    pub(crate) fn read(&self, from: u64, page: &mut Vec<LogRecord>) -> (u64, u64) {
        page.clear();
        let ring = self.ring();
        let start = from.max(ring.first);
        let skip = ((start - ring.first) as usize).min(ring.records.len());
        page.extend(ring.records.range(skip..).take(PAGE));
        (start + page.len() as u64, start - from)
    }

    /// Numbers of the first record that is kept and of the next to come.
    fn bounds(&self) -> (u64, u64) {
        let ring = self.ring();
        (ring.first, ring.first + ring.records.len() as u64)
    }

    /// All records, the oldest first. What comes while they are read is not waited for.
    pub fn records(&self) -> Vec<LogRecord> {
        let (mut next, end) = self.bounds();
        let mut records = Vec::with_capacity((end - next) as usize);
        let mut page = Vec::with_capacity(PAGE);
        while next < end {
            (next, _) = self.read(next, &mut page);
            records.extend_from_slice(&page);
        }
        records
    }

    /// The log from its oldest record on, in pieces; the first has the header. What comes while it
    /// is read is not waited for.
    pub fn pages(self: std::sync::Arc<Self>) -> impl Iterator<Item = String> + Send + 'static {
        let (mut next, end) = self.bounds();
        let mut begun = false;
        std::iter::from_fn(move || {
            let mut text = String::new();
            if !begun {
                begun = true;
                text = format!("{LOG_HEADER}\n");
            } else if next >= end {
                return None;
            }
            if next < end {
                let mut page = Vec::with_capacity(PAGE);
                (next, _) = self.read(next, &mut page);
                add_lines(&mut text, &page);
            }
            Some(text)
        })
    }

    /// Takes note of records that its file will lack.
    pub(crate) fn miss(&self, records: u64) {
        self.missed.fetch_add(records, Relaxed);
    }

    /// Records that its file lacks: they came faster than they were written, or could not be.
    pub fn missed(&self) -> u64 {
        self.missed.load(Relaxed)
    }
}

/// Adds a line for each record.
pub(crate) fn add_lines(text: &mut String, records: &[LogRecord]) {
    for record in records {
        writeln!(text, "{record}").expect("a string takes all that is written to it");
    }
}
