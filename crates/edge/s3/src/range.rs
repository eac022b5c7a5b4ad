//! Byte ranges.

use crate::{
    condition::bare_tag,
    date,
    error::{Code, Failure, Outcome},
};
use std::ops::Range;

/// What of an object is wanted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Wanted {
    /// All of it.
    Whole,
    /// These bytes, within the object.
    Part(Range<u64>),
}

/// Reads `range` for an object of `len` bytes. What is not one range of bytes is as if it were not
/// there; a range that begins past the end is an error.
pub(crate) fn wanted(range: &str, len: u64) -> Outcome<Wanted> {
    let Some((first, last)) = spec(range) else { return Ok(Wanted::Whole) };
    let part = match (first, last) {
        (Some(first), Some(last)) if first > last => return Ok(Wanted::Whole),
        (Some(first), last) => first..last.map_or(len, |last| last.saturating_add(1).min(len)),
        (None, Some(suffix)) => len.saturating_sub(suffix)..len,
        (None, None) => return Ok(Wanted::Whole),
    };
    // The last bytes of nothing are all of it.
    if len == 0 && first.is_none() && last != Some(0) {
        return Ok(Wanted::Whole);
    }
    if part.is_empty() {
        return Err(unsatisfiable(range, len));
    }
    Ok(Wanted::Part(part))
}

fn spec(range: &str) -> Option<(Option<u64>, Option<u64>)> {
    let (unit, spec) = range.split_once('=')?;
    let (first, last) = spec.split_once('-')?;
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        // A number beyond 64 bits is past every end.
        digits.then(|| text.parse().unwrap_or(u64::MAX))
    };
    let optional = |text: &str| if text.is_empty() { Some(None) } else { number(text).map(Some) };
    unit.trim().eq_ignore_ascii_case("bytes").then_some(())?;
    Some((optional(first)?, optional(last)?))
}

fn unsatisfiable(range: &str, len: u64) -> Failure {
    Failure::from(Code::InvalidRange)
        .with("RangeRequested", range)
        .with("ActualObjectSize", len.to_string())
        .header(http::header::CONTENT_RANGE, &format!("bytes */{len}"))
}

/// Whether `if-range`, where it is given, is about this very object.
pub(crate) fn still_applies(if_range: Option<&str>, etag: &str, modified_ms: u64) -> bool {
    let Some(text) = if_range else { return true };
    match date::parse_http(text) {
        Some(date_s) => (modified_ms / 1000).cast_signed() <= date_s,
        None => !text.trim().starts_with("W/") && bare_tag(text) == etag,
    }
}

/// Reads `x-amz-copy-source-range`, which must lie within the source.
pub(crate) fn of_source(range: &str, len: u64) -> Outcome<Range<u64>> {
    let (Some(first), Some(last)) = spec(range).unwrap_or_default() else {
        return Err(malformed_source(range));
    };
    if first > last || !range.starts_with("bytes=") {
        return Err(malformed_source(range));
    }
    if last >= len {
        let message = format!("Range specified is not valid for source object of size: {len}");
        return Err(Failure::argument(message, "x-amz-copy-source-range", range));
    }
    Ok(first..last + 1)
}

fn malformed_source(range: &str) -> Failure {
    let message = "The x-amz-copy-source-range value must be of the form bytes=first-last where \
                   first and last are the zero-based offsets of the first and last bytes to copy";
    Failure::argument(message, "x-amz-copy-source-range", range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_clipped_and_nonsense_is_ignored() {
        let part = |range, len| match wanted(range, len) {
            Ok(Wanted::Whole) => "whole".to_owned(),
            Ok(Wanted::Part(range)) => format!("{range:?}"),
            Err(failure) => failure.code.word().to_owned(),
        };
        let cases = [
            ("bytes=0-4", 10, "0..5"),
            ("bytes=4-", 10, "4..10"),
            ("bytes=4-99", 10, "4..10"),
            ("bytes=-3", 10, "7..10"),
            ("bytes=-99", 10, "0..10"),
            ("bytes=9-9", 10, "9..10"),
            ("bytes=0-18446744073709551615", 10, "0..10"),
            ("bytes=0-99999999999999999999999", 10, "0..10"),
            ("bytes=10-", 10, "InvalidRange"),
            ("bytes=99999999999999999999999-", 10, "InvalidRange"),
            ("bytes=-0", 10, "InvalidRange"),
            ("bytes=0-", 0, "InvalidRange"),
            ("bytes=-1", 0, "whole"),
            ("bytes=-0", 0, "InvalidRange"),
            ("bytes=00-01", 0, "InvalidRange"),
            ("bytes=5-4", 10, "whole"),
            ("bytes=0-1,3-4", 10, "whole"),
            ("bytes=a-b", 10, "whole"),
            ("bytes=-", 10, "whole"),
            ("bytes= -1", 10, "whole"),
            ("bytes=0 -1", 10, "whole"),
            ("bytes=0--1", 10, "whole"),
            ("bytes=--1", 10, "whole"),
            ("bytes=00-01", 10, "0..2"),
            ("lines=0-4", 10, "whole"),
            ("bytes", 10, "whole"),
            ("", 10, "whole"),
        ];
        for (range, len, expected) in cases {
            assert_eq!(part(range, len), expected, "{range} of {len}");
        }
    }

    #[test]
    fn ranges_of_a_copy_must_be_exact() {
        assert_eq!(of_source("bytes=0-9", 10).unwrap(), 0..10);
        for bad in
            ["bytes=0-10", "bytes=5-", "bytes=-5", "bytes=5-4", "0-4", "bytes 0-4", "bytes=hello-0"]
        {
            assert_eq!(of_source(bad, 10).unwrap_err().code, Code::InvalidArgument, "{bad}");
        }
    }
}
