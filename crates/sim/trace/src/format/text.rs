use crate::BadLine;
use time::{Date, Month, OffsetDateTime, Time, format_description::well_known::Rfc3339};

/// Nanoseconds since 1970, or since whatever a log counts from; less than 2^63: until the year
/// 2262.
pub(super) type Nanos = u64;

const NANOS_MAX: i128 = i64::MAX as i128;

/// A plain decimal number (`12`, `12.345`) times 10^`places`; digits that are smaller than one unit
/// are dropped.
pub(super) fn decimal(text: &str, places: u32) -> Option<u64> {
    let bytes = text.as_bytes();
    let point = bytes.iter().position(|byte| *byte == b'.').unwrap_or(bytes.len());
    let fraction = bytes.get(point + 1..).unwrap_or_default();
    if point == 0 || point + 1 == bytes.len() {
        return None;
    }
    let mut value = digits(0, &bytes[..point])?;
    let kept = fraction.len().min(places as usize);
    value = digits(value, &fraction[..kept])?;
    if !fraction[kept..].iter().all(u8::is_ascii_digit) {
        return None;
    }
    value
        .checked_mul(10_u64.pow(places - kept as u32))
        .filter(|value| i64::try_from(*value).is_ok())
}

/// Writes further digits behind a number.
fn digits(value: u64, digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(value, |value, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// A whole number.
pub(super) fn whole(field: &'static str, text: &str) -> Result<u64, BadLine> {
    match digits(0, text.as_bytes()) {
        Some(value) if !text.is_empty() => Ok(value),
        _ => Err(BadLine::field(field, text, "a whole number")),
    }
}

/// Seconds with decimals.
pub(super) fn seconds(field: &'static str, text: &str) -> Result<Nanos, BadLine> {
    decimal(text, 9).ok_or_else(|| BadLine::field(field, text, "seconds"))
}

/// RFC 3339, with an offset.
pub(super) fn rfc3339(field: &'static str, text: &str) -> Result<Nanos, BadLine> {
    let wrong = || BadLine::field(field, text, "a time as RFC 3339 has it, since 1970");
    nanos(OffsetDateTime::parse(text, &Rfc3339).map_err(|_| wrong())?).ok_or_else(wrong)
}

/// RFC 3339, or seconds since 1970 with decimals.
pub(super) fn moment(field: &'static str, text: &str) -> Result<Nanos, BadLine> {
    match decimal(text, 9) {
        Some(nanos) => Ok(nanos),
        None => rfc3339(field, text),
    }
}

/// `06/Feb/2019:00:00:38 +0000`, as web servers write it.
pub(super) fn common_log(field: &'static str, text: &str) -> Result<Nanos, BadLine> {
    common_log_time(text).and_then(nanos).ok_or_else(|| {
        BadLine::field(field, text, "a time like 06/Feb/2019:00:00:38 +0000, since 1970")
    })
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

fn common_log_time(text: &str) -> Option<OffsetDateTime> {
    let bytes = text.as_bytes();
    if bytes.len() != 26 || !text.is_ascii() {
        return None;
    }
    let marks = [(2, b'/'), (6, b'/'), (11, b':'), (14, b':'), (17, b':'), (20, b' ')];
    if marks.iter().any(|(at, mark)| bytes[*at] != *mark) {
        return None;
    }
    let number = |from: usize, to: usize| digits(0, &bytes[from..to]);
    let month = MONTHS.iter().position(|name| *name == &text[3..6])? as u8 + 1;
    let month = Month::try_from(month).ok()?;
    let date = Date::from_calendar_date(number(7, 11)? as i32, month, number(0, 2)? as u8).ok()?;
    let (hour, minute, second) = (number(12, 14)?, number(15, 17)?, number(18, 20)?);
    let time = Time::from_hms(hour as u8, minute as u8, second as u8).ok()?;
    let ahead = time::Duration::minutes((number(22, 24)? * 60 + number(24, 26)?).cast_signed());
    let local = date.with_time(time).assume_utc();
    match bytes[21] {
        b'+' => local.checked_sub(ahead),
        b'-' => local.checked_add(ahead),
        _ => None,
    }
}

fn nanos(time: OffsetDateTime) -> Option<Nanos> {
    let nanos = time.unix_timestamp_nanos();
    (0..=NANOS_MAX).contains(&nanos).then_some(nanos as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        let seconds = |text| decimal(text, 9);
        assert_eq!(seconds("1549411238.123456789"), Some(1_549_411_238_123_456_789));
        assert_eq!(seconds("0.551706"), Some(551_706_000));
        assert_eq!(seconds("1.0000000019"), Some(1_000_000_001));
        assert_eq!(decimal("7", 0), Some(7));
        assert_eq!(decimal("7.9", 0), Some(7));
        assert_eq!(seconds("9223372036.854775807"), Some(i64::MAX as u64));
        for wrong in ["", ".5", "5.", ".", "-1", "+1", "1e3", "1.2.3", "1.0000000000x", " 1"] {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
        assert_eq!(seconds("9223372036.854775808"), None);
        assert_eq!(seconds("99999999999999999999999"), None);
    }

    #[test]
    fn both_ways_of_writing_a_time_agree() {
        let common = |text| common_log("time", text).unwrap();
        let rfc = |text| moment("time", text).unwrap();
        assert_eq!(common("06/Feb/2019:00:00:38 +0000"), 1_549_411_238_000_000_000);
        assert_eq!(common("06/Feb/2019:02:30:38 +0230"), rfc("2019-02-06T00:00:38Z"));
        assert_eq!(common("29/Feb/2020:23:59:59 -0800"), rfc("2020-03-01T07:59:59Z"));
        assert_eq!(rfc("2019-02-06T00:00:38.000000001Z"), 1_549_411_238_000_000_001);
        assert_eq!(rfc("1549411238.5"), rfc("2019-02-06T01:00:38.5+01:00"));
    }

    #[test]
    fn impossible_times_are_refused() {
        for wrong in [
            "30/Feb/2019:00:00:38 +0000",
            "06/feb/2019:00:00:38 +0000",
            "06/Feb/2019:24:00:38 +0000",
            "06/Feb/2019 00:00:38 +0000",
            "06/Feb/1969:00:00:38 +0000",
            "06/Feb/2019:00:00:38 *0000",
            "06/Feb/2019:00:00:38",
            "06/Fäb/2019:00:00:38 +000",
        ] {
            assert!(common_log("time", wrong).is_err(), "{wrong}");
        }
        for wrong in
            ["2019-02-06", "2019-02-06T00:00:38", "1969-12-31T00:00:00Z", "9999-01-01T00:00:00Z"]
        {
            assert!(moment("time", wrong).is_err(), "{wrong}");
        }
    }
}
