//! Numbers as C's `strtol` family reads them, for that is what memcached's clients are used to.

/// What stands in front of a number, and may follow it.
const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

/// The sign and the digits that text begins with, if nothing but a space follows them.
fn read(text: &[u8]) -> Option<(bool, u64)> {
    let start = text.iter().position(|&byte| !is_space(byte))?;
    let (is_negative, digits) = match text[start] {
        b'-' => (true, &text[start + 1..]),
        b'+' => (false, &text[start + 1..]),
        _ => (false, &text[start..]),
    };
    let len = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let ends = digits.get(len).is_none_or(|&byte| byte == 0 || is_space(byte));
    if len == 0 || !ends {
        return None;
    }
    let number = digits[..len].iter().try_fold(0_u64, |number, digit| {
        number.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
    })?;
    Some((is_negative, number))
}

/// `safe_strtoull`: negative numbers count from the other end, unless that is a large one.
pub(crate) fn unsigned_64(text: &[u8]) -> Option<u64> {
    let (is_negative, number) = read(text)?;
    let number = if is_negative { number.wrapping_neg() } else { number };
    let ends = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
    let is_refused = number > i64::MAX as u64 && text[..ends].contains(&b'-');
    (!is_refused).then_some(number)
}

/// `safe_strtoul`: what is longer than 32 bits is cut.
pub(crate) fn unsigned_32(text: &[u8]) -> Option<u32> {
    unsigned_64(text).map(|number| number as u32)
}

/// `safe_strtol`: what is longer than 32 bits is cut.
pub(crate) fn signed_32(text: &[u8]) -> Option<i32> {
    let (is_negative, number) = read(text)?;
    let limit = i64::MAX as u64 + u64::from(is_negative);
    let signed = if is_negative { number.wrapping_neg() } else { number };
    (number <= limit).then_some(signed as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_what_c_makes_of_them() {
        for (text, number) in [
            ("0", Some(0)),
            ("+7", Some(7)),
            ("\t7\r", Some(7)),
            ("7x", None),
            ("", None),
            ("-", None),
            ("- 1", None),
            ("-1", None),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("-18446744073709551615", Some(1)),
            ("18446744073709551615 -", None),
            ("12 apples", Some(12)),
            ("12\0apples", Some(12)),
        ] {
            assert_eq!(unsigned_64(text.as_bytes()), number, "{text:?}");
        }
        assert_eq!(unsigned_32(b"4294967297"), Some(1));
        for (text, number) in [
            ("-1", Some(-1)),
            ("4294967296", Some(0)),
            ("2147483648", Some(i32::MIN)),
            ("-9223372036854775808", Some(0)),
            ("9223372036854775808", None),
            ("-9223372036854775809", None),
        ] {
            assert_eq!(signed_32(text.as_bytes()), number, "{text:?}");
        }
    }
}
