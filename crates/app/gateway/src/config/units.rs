use serde::{Deserialize, Deserializer, de::Error};
use std::{fmt, time::Duration};

/// A number of bytes: a whole number, or one with a unit such as `8 MiB`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Size(pub u64);

impl std::str::FromStr for Size {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = || format!("{text:?} is not a size such as \"512 KiB\" or \"8 MiB\"");
        measure(text, SIZES).map(Self).ok_or_else(wanted)
    }
}

impl fmt::Display for Size {
    /// As it can be written: in the largest of the binary units that it is a whole number of.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_whole(f, self.0, &["B", "KiB", "MiB", "GiB", "TiB"], SIZES)
    }
}

impl fmt::Display for Span {
    /// As it can be written: in the largest unit that it is a whole number of.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX);
        write_whole(f, ms, &["ms", "s", "m", "h", "d"], SPANS)
    }
}

/// Writes `value` in the last of `wanted`, the smallest first, that it is a whole number of.
fn write_whole(
    f: &mut fmt::Formatter<'_>,
    value: u64,
    wanted: &[&str],
    units: &[(&str, u64)],
) -> fmt::Result {
    let known = |name: &str| units.iter().find(|(unit, _)| *unit == name);
    let whole = |(_, factor): &&(&str, u64)| value != 0 && value.is_multiple_of(*factor);
    let unit = wanted.iter().rev().filter_map(|name| known(name)).find(whole);
    let (name, factor) = unit.copied().unwrap_or((wanted[0], 1));
    write!(f, "{} {name}", value / factor)
}

/// A span of time: a number with a unit such as `15m` or `250 ms`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Span(pub Duration);

const SIZES: &[(&str, u64)] = &[
    ("", 1),
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
];

const SPANS: &[(&str, u64)] =
    &[("ms", 1), ("s", 1_000), ("m", 60_000), ("min", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// The value of `text`, a decimal number and one of `units`, in the smallest unit.
fn measure(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let &(_, factor) = units.iter().find(|(name, _)| *name == unit.trim())?;
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor);
    }
    let value = number.parse::<f64>().ok()? * factor as f64;
    (value.is_finite() && value < u64::MAX as f64).then_some(value.round() as u64)
}

#[derive(Deserialize)]
#[serde(untagged)]
enum NumberOrText {
    Number(u64),
    Text(String),
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let wanted = "a size such as 1048576, \"512 KiB\" or \"8 MiB\"";
        match NumberOrText::deserialize(from) {
            Ok(NumberOrText::Number(bytes)) => Ok(Self(bytes)),
            Ok(NumberOrText::Text(text)) => measure(&text, SIZES)
                .map(Self)
                .ok_or_else(|| Error::custom(format!("{text:?} is not {wanted}"))),
            Err(_) => Err(Error::custom(format!("not {wanted}"))),
        }
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let wanted = "a time such as \"250ms\", \"30s\", \"15m\" or \"6h\"";
        let text = String::deserialize(from)
            .map_err(|_| Error::custom(format!("not {wanted}, in quotation marks")))?;
        measure(&text, SPANS)
            .map(|ms| Self(Duration::from_millis(ms)))
            .ok_or_else(|| Error::custom(format!("{text:?} is not {wanted}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_spans() {
        for (text, bytes) in
            [("8 MiB", 8 << 20), ("1.5KiB", 1536), ("17", 17), ("2GB", 2_000_000_000)]
        {
            assert_eq!(measure(text, SIZES), Some(bytes), "{text}");
        }
        for text in ["", "MiB", "8 mib", "-1", "1e3 B", "99999999999999 TiB"] {
            assert_eq!(measure(text, SIZES), None, "{text}");
        }
        for (bytes, text) in
            [(0, "0 B"), (1000, "1000 B"), (1536 << 10, "1536 KiB"), (3 << 40, "3 TiB")]
        {
            assert_eq!(Size(bytes).to_string(), text);
        }
        for (ms, text) in [
            (0, "0 ms"),
            (90_000, "90 s"),
            (7_200_000, "2 h"),
            (u64::MAX, "18446744073709551615 ms"),
        ] {
            assert_eq!(Span(Duration::from_millis(ms)).to_string(), text);
        }
        assert_eq!(measure("1.5s", SPANS), Some(1500));
        assert_eq!(measure("10", SPANS), None);
    }
}
