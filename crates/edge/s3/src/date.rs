//! Dates as HTTP, S3's documents and signatures write them.

use time::{
    OffsetDateTime, PrimitiveDateTime, UtcOffset,
    format_description::{BorrowedFormatItem, well_known::Rfc3339},
    macros::format_description,
};

const HTTP: &[BorrowedFormatItem<'_>] = format_description!(
    "[weekday repr:short], [day] [month repr:short] [year] [hour]:[minute]:[second] GMT"
);
const WITHOUT_WEEKDAY: &[BorrowedFormatItem<'_>] =
    format_description!("[day] [month repr:short] [year] [hour]:[minute]:[second] GMT");
const ASCTIME: &[BorrowedFormatItem<'_>] = format_description!(
    "[weekday repr:short] [month repr:short] [day padding:space] [hour]:[minute]:[second] [year]"
);
const DOCUMENT: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");
const COMMON_LOG: &[BorrowedFormatItem<'_>] =
    format_description!("[day]/[month repr:short]/[year]:[hour]:[minute]:[second] +0000");
const FILE: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]-[hour]-[minute]-[second]");
const BASIC: &[BorrowedFormatItem<'_>] =
    format_description!("[year][month][day]T[hour][minute][second]Z");

/// Milliseconds since 1970, now.
pub(crate) fn now_ms() -> u64 {
    ripstop_host::unix_ms()
}

fn at(ms: u64) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(ms) * 1_000_000)
        .unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`.
pub(crate) fn http(ms: u64) -> String {
    at(ms).format(&HTTP).unwrap_or_default()
}

/// `31/Jan/2026:12:00:00 +0000`.
pub(crate) fn common_log(ms: u64) -> String {
    at(ms).format(&COMMON_LOG).unwrap_or_default()
}

/// `2026-01-31-12-00-00`.
pub(crate) fn file(ms: u64) -> String {
    at(ms).format(&FILE).unwrap_or_default()
}

/// `2026-01-31T12:00:00.000Z`.
pub(crate) fn document(ms: u64) -> String {
    at(ms).format(&DOCUMENT).unwrap_or_default()
}

/// Seconds since 1970 of a date in a header, in any of HTTP's three forms or RFC 3339; `None` if it
/// is none of them (HTTP wants such a header ignored).
pub(crate) fn parse_http(text: &str) -> Option<i64> {
    let text = text.trim();
    // As RFC 5322 writes times whose zone is not told; S3 takes them.
    let zoned = text.strip_suffix("-0000").or_else(|| text.strip_suffix("+0000"));
    let zoned = zoned.filter(|start| start.ends_with(' ')).map(|start| format!("{start}GMT"));
    let text = zoned.as_deref().unwrap_or(text);
    if let Ok(date) = OffsetDateTime::parse(text, &Rfc3339) {
        return Some(date.unix_timestamp());
    }
    let date = PrimitiveDateTime::parse(text, &HTTP)
        .or_else(|_| PrimitiveDateTime::parse(text, &ASCTIME))
        .ok()
        .or_else(|| rfc_850(text))?;
    Some(date.assume_offset(UtcOffset::UTC).unix_timestamp())
}

/// Seconds since 1970 of a date as documents write it: `2026-01-31T12:00:00Z`, or with parts of a
/// second.
pub(crate) fn parse_document(text: &str) -> Option<i64> {
    let is_one = text.as_bytes().get(10) == Some(&b'T');
    let date = OffsetDateTime::parse(text, &Rfc3339).ok();
    date.filter(|_| is_one).map(OffsetDateTime::unix_timestamp)
}

/// `Sunday, 06-Nov-94 08:49:37 GMT`: two digits of year, from 1970 to 2069.
fn rfc_850(text: &str) -> Option<PrimitiveDateTime> {
    let (start, clock) = text.rsplit_once('-').and_then(|(start, rest)| {
        let (year, clock) = rest.split_once(' ')?;
        let year: u32 = year.parse().ok().filter(|_| year.len() == 2)?;
        Some((format!("{start} {}", if year < 70 { 2000 + year } else { 1900 + year }), clock))
    })?;
    let (_, day_and_month) = start.split_once(", ")?;
    let date = format!("{} {clock}", day_and_month.replace('-', " "));
    PrimitiveDateTime::parse(&date, &WITHOUT_WEEKDAY).ok()
}

/// Seconds since 1970 of a signature's `20260131T120000Z`.
pub(crate) fn parse_basic(text: &str) -> Option<i64> {
    let date = PrimitiveDateTime::parse(text, &BASIC).ok()?;
    Some(date.assume_offset(UtcOffset::UTC).unix_timestamp())
}

/// A signature's date from seconds since 1970.
pub(crate) fn basic(seconds: i64) -> String {
    OffsetDateTime::from_unix_timestamp(seconds)
        .ok()
        .and_then(|date| date.format(&BASIC).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_forms_of_http_say_the_same_second() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "1994-11-06T08:49:37Z",
            "Sun, 06 Nov 1994 08:49:37 -0000",
            "Sun, 06 Nov 1994 08:49:37 +0000",
        ] {
            assert_eq!(parse_http(text), Some(784_111_777), "{text}");
        }
        assert_eq!(http(784_111_777_999), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(document(784_111_777_042), "1994-11-06T08:49:37.042Z");
        assert_eq!(basic(784_111_777), "19941106T084937Z");
        assert_eq!(parse_basic("19941106T084937Z"), Some(784_111_777));
        for bad in ["", "yesterday", "Sun, 06 Nov 1994", "-", "a-9 b"] {
            assert_eq!(parse_http(bad), None, "{bad}");
        }
    }
}
