//! Instants as conditions write them.

/// Seconds of a day.
const DAY_S: i64 = 86_400;

/// Seconds since 1970: of a number, or of a date of ISO 8601, alone or with a time and a zone.
pub(crate) fn parse(text: &str) -> Option<i64> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<i64>() {
        return Some(seconds);
    }
    let (date, time) = match text.split_once(['T', 't', ' ']) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let mut parts = date.split('-');
    let year = number(parts.next()?, 4)?;
    let month = number(parts.next()?, 2).filter(|month| (1..=12).contains(month))?;
    let day = number(parts.next()?, 2).filter(|day| (1..=31).contains(day))?;
    if parts.next().is_some() {
        return None;
    }
    let of_day = time.map_or(Some(0), time_s)?;
    Some(days(year, month, day) * DAY_S + of_day)
}

fn number(text: &str, digits: usize) -> Option<i64> {
    let is_plain = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| text.parse().ok()).flatten()
}

fn time_s(text: &str) -> Option<i64> {
    let (time, offset_s) = zone(text)?;
    // Parts of a second are not compared.
    let time = time.split_once('.').map_or(time, |(whole, _)| whole);
    let mut parts = time.split(':');
    let hour = number(parts.next()?, 2).filter(|hour| *hour < 24)?;
    let minute = number(parts.next()?, 2).filter(|minute| *minute < 60)?;
    let second = parts.next().map_or(Some(0), |text| number(text, 2).filter(|it| *it <= 60))?;
    parts.next().is_none().then_some(hour * 3600 + minute * 60 + second - offset_s)
}

/// The time without its zone, and the zone's distance from UTC in seconds.
fn zone(text: &str) -> Option<(&str, i64)> {
    if let Some(time) = text.strip_suffix(['Z', 'z']) {
        return Some((time, 0));
    }
    let Some(at) = text.rfind(['+', '-']) else { return Some((text, 0)) };
    let (time, zone) = text.split_at(at);
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let digits = &zone[1..];
    let (hours, minutes) = digits.split_once(':').or_else(|| digits.split_at_checked(2))?;
    let minutes = if minutes.is_empty() { 0 } else { number(minutes, 2)? };
    Some((time, sign * (number(hours, 2)? * 3600 + minutes * 60)))
}

/// Days since 1970 in the Gregorian calendar (Hinnant, `days_from_civil`).
const fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year - era * 400;
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_read_as_they_are_written() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2000-02-29T12:00:00Z", Some(951_825_600)),
            ("2026-11-26", Some(1_795_651_200)),
            ("2026-11-26T01:00:00+01:00", Some(1_795_651_200)),
            ("2026-11-25T23:00:00.5-0100", Some(1_795_651_200)),
            ("1795651200", Some(1_795_651_200)),
            ("2026-13-01", None),
            ("2026-1-1", None),
            ("yesterday", None),
            ("2026-11-26T25:00:00Z", None),
        ] {
            assert_eq!(parse(text), seconds, "{text}");
        }
    }
}
