//! The range of every number that can be configured: what is outside it is a mistake, and is
//! refused before anything spins, overflows or hangs.

use super::units::{Size, Span};
use anyhow::{Result, ensure};
use ripstop_model::STRIPE_PAYLOAD_MAX;
use std::{fmt, ops::RangeInclusive, time::Duration};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const TIB: u64 = 1 << 40;

/// Connections that can be served at once.
pub(super) const CONNECTIONS: RangeInclusive<usize> = 1..=1_000_000;
/// Until the program ends although something runs.
pub(super) const STOP: RangeInclusive<Span> = spans(0, HOUR);

/// Payload of a stripe.
pub(super) const STRIPE: RangeInclusive<Size> = sizes(4 * KIB, STRIPE_PAYLOAD_MAX as u64);
/// Stripes of one request.
pub(super) const STRIPES: RangeInclusive<usize> = 1..=64;
/// Memory of strips, and of the catalog's pages.
pub(super) const MEMORY: RangeInclusive<Size> = sizes(MIB, TIB);
/// Age at which garbage is deleted, or an upload that nobody completes is aborted.
pub(super) const AGE: RangeInclusive<Span> = spans(0, 366 * DAY);
/// From one sweep to the next.
pub(super) const SWEEP: RangeInclusive<Span> = spans(10, DAY);
/// From one listing of a node to the next.
pub(super) const LIST: RangeInclusive<Span> = spans(10, 366 * DAY);
/// From one walk by buckets' rules to the next; 0: there is none.
pub(super) const WALK: RangeInclusive<Span> = spans(0, 366 * DAY);
/// From one delivery of access logs to the next.
pub(super) const DELIVERY: RangeInclusive<Span> = spans(10, DAY);
/// How long a day of these rules is.
pub(super) const RULE_DAY: RangeInclusive<Span> = spans(1, DAY);
/// Bytes a second that are moved beside everything else.
pub(super) const RATE: RangeInclusive<Size> = sizes(0, TIB);

/// What a bucket may hold: more than any store does is no limit.
pub(super) const QUOTA_BYTES: RangeInclusive<Size> = sizes(0, 1024 * 1024 * TIB);
/// Objects that a bucket may hold.
pub(super) const QUOTA_OBJECTS: RangeInclusive<u64> = 0..=1_000_000_000_000;

/// What an item of the door that speaks memcached comes to.
pub(super) const KV_ITEM: RangeInclusive<Size> = sizes(KIB, 64 * MIB);

/// Waits within a request.
pub(super) const WAIT: RangeInclusive<Span> = spans(0, HOUR);
/// How long a read waits for a memory tier.
pub(super) const TIER_WAIT: RangeInclusive<Span> = spans(1, 1000);
/// Ends of what must have some time.
pub(super) const TIMEOUT: RangeInclusive<Span> = spans(1, HOUR);
/// From one probe of a node to the next.
pub(super) const PROBE: RangeInclusive<Span> = spans(10, HOUR);
/// From one plan to the next.
pub(super) const PLAN: RangeInclusive<Span> = spans(10, 366 * DAY);
/// Requests or tasks that wait.
pub(super) const WAITING: RangeInclusive<usize> = 1..=1 << 20;
/// How often one fragment is tried.
pub(super) const TRIES: RangeInclusive<u8> = 1..=32;
/// Failures in a row.
pub(super) const FAILURES: RangeInclusive<u32> = 1..=1 << 20;
/// Bytes that are left waiting.
pub(super) const LEFT: RangeInclusive<Size> = sizes(0, TIB);
/// Sites that stripes survive; a pool has no more than one for each of its code's nodes.
pub(super) const SITES: RangeInclusive<u32> = 0..=255;
/// Chunks of a policy.
pub(super) const CHUNKS: RangeInclusive<u8> = 1..=255;
/// n over k of a policy.
pub(super) const REDUNDANCY: RangeInclusive<f64> = 1.0..=255.0;
/// Seconds of latency that a dollar is worth.
pub(super) const SECONDS: RangeInclusive<f64> = 0.0..=1e9;

/// Tasks of a node at once.
pub(super) const LANES: RangeInclusive<u16> = 1..=1024;
/// What a memory node holds.
pub(super) const NODE: RangeInclusive<Size> = sizes(KIB, 1024 * TIB);
/// How slow a node is made.
pub(super) const SCALE: RangeInclusive<f64> = 0.0..=1e6;
/// Dollars.
pub(super) const PRICE: RangeInclusive<f64> = 0.0..=1e9;

/// Longest that a call of the key service may take.
pub(super) const KMS_TIMEOUT: RangeInclusive<Span> = spans(10, 60_000);
/// Its calls at once.
pub(super) const KMS_CALLS: RangeInclusive<usize> = 1..=1024;
/// How long a key that it opened is kept.
pub(super) const KMS_CACHED_FOR: RangeInclusive<Span> = spans(0, DAY);
/// How many of these.
pub(super) const KMS_CACHED: RangeInclusive<usize> = 1..=65_536;

const HOUR: u64 = 3_600_000;
const DAY: u64 = 24 * HOUR;

const fn sizes(least: u64, most: u64) -> RangeInclusive<Size> {
    Size(least)..=Size(most)
}

const fn spans(least_ms: u64, most_ms: u64) -> RangeInclusive<Span> {
    Span(Duration::from_millis(least_ms))..=Span(Duration::from_millis(most_ms))
}

/// The value, which must be in the range. What is no number is in none.
pub(super) fn within<T>(key: &str, value: T, range: &RangeInclusive<T>) -> Result<T>
where
    T: PartialOrd + fmt::Display,
{
    let (least, most) = (range.start(), range.end());
    ensure!(range.contains(&value), "{key} is {value}: it must be from {least} to {most}");
    Ok(value)
}

/// The same for a key that need not be given.
pub(super) fn given<T>(key: &str, value: Option<T>, range: &RangeInclusive<T>) -> Result<Option<T>>
where
    T: PartialOrd + fmt::Display,
{
    value.map(|value| within(key, value, range)).transpose()
}

/// A span that need not be given.
pub(super) fn span(
    key: &str,
    value: Option<Span>,
    default: Duration,
    range: &RangeInclusive<Span>,
) -> Result<Duration> {
    Ok(given(key, value, range)?.map_or(default, |span| span.0))
}

/// A size that need not be given.
pub(super) fn size(
    key: &str,
    value: Option<Size>,
    default: u64,
    range: &RangeInclusive<Size>,
) -> Result<u64> {
    Ok(given(key, value, range)?.map_or(default, |size| size.0))
}
