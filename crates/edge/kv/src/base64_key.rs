//! Keys that are not text travel as base64.

use base64::{Engine as _, engine::general_purpose::STANDARD};

/// The sextet that a character stands for; those of no meaning are passed over, as memcached does.
const fn sextet(character: u8) -> Option<u8> {
    match character {
        b'A'..=b'Z' => Some(character - b'A'),
        b'a'..=b'z' => Some(character - b'a' + 26),
        b'0'..=b'9' => Some(character - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        b'=' => Some(0),
        _ => None,
    }
}

/// The key that text stands for; none if that is nothing.
pub(crate) fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let known: Vec<u8> = text.iter().copied().filter(|&c| sextet(c).is_some()).collect();
    if known.is_empty() || !known.len().is_multiple_of(4) {
        return None;
    }
    let mut key = Vec::with_capacity(known.len() / 4 * 3);
    for four in known.chunks_exact(4) {
        let bits =
            four.iter().fold(0_u32, |bits, &c| bits << 6 | u32::from(sextet(c).unwrap_or(0)));
        key.extend_from_slice(&bits.to_be_bytes()[1..]);
        let padding = four.iter().map(|&c| usize::from(c == b'=')).sum();
        match padding {
            0 => {}
            1..=2 => {
                key.truncate(key.len() - padding);
                break;
            }
            _ => return None,
        }
    }
    (!key.is_empty()).then_some(key)
}

/// Writes the key as text.
pub(crate) fn encode(key: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(STANDARD.encode(key).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn odd_text_is_read_as_memcached_does() {
        assert_eq!(decode(b"Zm9v"), Some(b"foo".to_vec()));
        assert_eq!(decode(b"Zm8="), Some(b"fo".to_vec()));
        assert_eq!(decode(b"Z.m-9v"), Some(b"foo".to_vec()));
        for none in ["", "Zm9", "====", "Z===", "...."] {
            assert_eq!(decode(none.as_bytes()), None, "{none}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(key in prop::collection::vec(any::<u8>(), 1..180)) {
            let mut text = Vec::new();
            encode(&key, &mut text);
            prop_assert_eq!(decode(&text), Some(key));
        }
    }
}
