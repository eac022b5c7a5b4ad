use super::{family as of, sheet::Sheet};
use ripstop_runtime::TimeHistogram;
use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

/// One S3 request that was answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AnsweredRequest<'a> {
    /// What it asked for: one of the names that the metrics were made with. Any other counts as
    /// `Unknown`.
    pub operation: &'a str,
    /// The HTTP status.
    pub status: u16,
    /// Bytes of body that came.
    pub received: u64,
    /// Bytes of body that were sent.
    pub sent: u64,
    /// Whether the answer broke off.
    pub broken: bool,
    /// From the end of the request's head to the beginning of the answer.
    pub first_byte: Duration,
    /// From the end of the request's head to the end of the answer.
    pub duration: Duration,
    /// Time spent hashing the request's body.
    pub hashing: Duration,
}

const UNKNOWN: &str = "Unknown";
const CLASSES: [&str; 4] = ["2xx", "3xx", "4xx", "5xx"];

/// Counts of S3 requests, by operation.
#[derive(Debug)]
pub(crate) struct RequestCounts {
    /// Ascending, by name.
    rows: Vec<(&'static str, OperationCounts)>,
    unknown: usize,
}

#[derive(Debug, Default)]
struct OperationCounts {
    classes: [AtomicU64; CLASSES.len()],
    broken: AtomicU64,
    received: AtomicU64,
    sent: AtomicU64,
    hashing_ns: AtomicU64,
    duration: TimeHistogram,
    first_byte: TimeHistogram,
}

impl RequestCounts {
    pub(crate) fn new(operations: &[&'static str]) -> Self {
        let mut names = operations.to_vec();
        names.push(UNKNOWN);
        names.sort_unstable();
        names.dedup();
        let unknown = names.binary_search(&UNKNOWN).expect("it was just put there");
        let rows = names.into_iter().map(|name| (name, OperationCounts::default())).collect();
        Self { rows, unknown }
    }

    pub(crate) fn add(&self, answered: &AnsweredRequest<'_>) {
        let found = self.rows.binary_search_by(|(name, _)| (*name).cmp(answered.operation));
        let counts = &self.rows[found.unwrap_or(self.unknown)].1;
        let class = usize::from(answered.status / 100).clamp(2, 5) - 2;
        counts.classes[class].fetch_add(1, Relaxed);
        counts.broken.fetch_add(u64::from(answered.broken), Relaxed);
        counts.received.fetch_add(answered.received, Relaxed);
        counts.sent.fetch_add(answered.sent, Relaxed);
        counts.hashing_ns.fetch_add(answered.hashing.as_nanos() as u64, Relaxed);
        counts.duration.add(answered.duration);
        counts.first_byte.add(answered.first_byte);
    }

    /// Operations that nobody has asked for have no rows.
    pub(crate) fn encode(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let asked = |(_, counts): &&(&'static str, OperationCounts)| {
            counts.classes.iter().any(|count| count.load(Relaxed) > 0)
        };
        let asked: Vec<_> = self.rows.iter().filter(asked).collect();
        let mut rows = sheet.family(&of::REQUESTS)?;
        for (operation, counts) in &asked {
            for (status, count) in CLASSES.into_iter().zip(&counts.classes) {
                rows.count(&[("operation", operation), ("status", status)], count)?;
            }
        }
        let mut rows = sheet.family(&of::REQUEST_SECONDS)?;
        for (operation, counts) in &asked {
            rows.histogram(&[("operation", operation)], &counts.duration.buckets())?;
        }
        let mut rows = sheet.family(&of::FIRST_BYTE_SECONDS)?;
        for (operation, counts) in &asked {
            rows.histogram(&[("operation", operation)], &counts.first_byte.buckets())?;
        }
        let mut rows = sheet.family(&of::BROKEN)?;
        for (operation, counts) in &asked {
            rows.count(&[("operation", operation)], &counts.broken)?;
        }
        let mut rows = sheet.family(&of::RECEIVED)?;
        for (operation, counts) in &asked {
            rows.count(&[("operation", operation)], &counts.received)?;
        }
        let mut rows = sheet.family(&of::SENT)?;
        for (operation, counts) in &asked {
            rows.count(&[("operation", operation)], &counts.sent)?;
        }
        let mut rows = sheet.family(&of::HASHING)?;
        for (operation, counts) in &asked {
            rows.seconds(&[("operation", operation)], counts.hashing_ns.load(Relaxed))?;
        }
        Ok(())
    }
}
