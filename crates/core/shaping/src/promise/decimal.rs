//! Shares and spans as decimal numbers.

use core::{fmt, time::Duration};

/// Units of spans in nanoseconds, the longest first; the first of equals is written.
pub(super) const UNITS: [(&str, u64); 6] = [
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1000),
    ("µs", 1000),
    ("ns", 1),
];

/// A decimal number times a power of ten or a sixty of them; none unless it is whole then.
pub(super) fn decimal(text: &str, unit: u64) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_digit());
    if !is_number(whole) || !is_number(part) || whole.len() + part.len() == 0 {
        return None;
    }
    let part = part.trim_end_matches('0');
    let scale = 10u128.checked_pow(u32::try_from(part.len()).ok()?)?;
    let number = |digits: &str| if digits.is_empty() { Some(0) } else { digits.parse().ok() };
    let (whole, part): (u128, u128) = (number(whole)?, number(part)?);
    let scaled = part.checked_mul(unit.into())?;
    let part = scaled.is_multiple_of(scale).then(|| scaled / scale)?;
    u64::try_from(whole.checked_mul(unit.into())?.checked_add(part)?).ok()
}

/// Writes `value / unit` with no more decimals than it has.
pub(super) fn write_decimal(f: &mut fmt::Formatter<'_>, value: u64, unit: u64) -> fmt::Result {
    write!(f, "{}", value / unit)?;
    let (mut rest, mut dot) = (value % unit, ".");
    while rest > 0 {
        rest = rest.checked_mul(10).expect("a unit is at most a minute of nanoseconds");
        write!(f, "{dot}{}", rest / unit)?;
        (rest, dot) = (rest % unit, "");
    }
    Ok(())
}

/// Writes a span in the longest unit that it fills and in which it has an end.
pub(super) fn write_span(f: &mut fmt::Formatter<'_>, span: Duration) -> fmt::Result {
    let nanos = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
    let fits = |unit: u64| nanos >= unit && (unit <= 1_000_000_000 || nanos.is_multiple_of(unit));
    let (name, unit) = UNITS.iter().find(|(_, unit)| fits(*unit)).unwrap_or(&UNITS[2]);
    write_decimal(f, nanos, *unit)?;
    f.write_str(name)
}
