//! Numbers and dates of rules, and what is said of those that are none.

use crate::{
    date,
    error::{Failure, Outcome},
    xml::Malformed,
};
use ripstop_lifecycle::Day;

/// Most noncurrent versions that a rule keeps.
const KEPT_MAX: i32 = 100;

/// A number as S3's schema has it.
pub(super) fn number(text: &str) -> Result<i32, Malformed> {
    text.trim().parse().map_err(|_| Malformed)
}

pub(super) fn not(name: &str, action: &str, what: &str, text: &str) -> Failure {
    Failure::argument(format!("'{name}' for {action} action must be {what}"), name, text)
}

pub(super) fn positive(text: &str, name: &str, action: &str) -> Outcome<u32> {
    let days = u32::try_from(number(text)?).ok().filter(|days| *days > 0);
    days.ok_or_else(|| not(name, action, "a positive integer", text))
}

pub(super) fn newer(text: &str, action: &str) -> Outcome<u32> {
    let kept = number(text)?;
    let is_allowed = (1..=KEPT_MAX).contains(&kept);
    let what = "an integer between 1 and 100";
    let kept = u32::try_from(kept).ok().filter(|_| is_allowed);
    kept.ok_or_else(|| not("NewerNoncurrentVersions", action, what, text))
}

/// A date in milliseconds since 1970.
pub(super) fn midnight(text: &str) -> Outcome<u64> {
    let seconds = date::parse_document(text.trim()).ok_or(Malformed)?;
    let ms = u64::try_from(seconds).ok().map(|seconds| seconds * 1000);
    ms.filter(|ms| Day::STANDARD.ends_after(*ms, 0) == *ms)
        .ok_or_else(|| Failure::argument("'Date' must be at midnight GMT", "Date", text))
}
