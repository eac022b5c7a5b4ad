use ripstop_delay::Dice;
use ripstop_model::Operation;
use std::{sync::Arc, time::Duration};

/// One request of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// When it arrived, since the trace's first record; to the nanosecond where the log has that.
    pub time: Duration,
    /// Read or write.
    pub operation: Operation,
    /// Bytes of the object that it moved.
    pub bytes: u64,
    /// [`key_hash`] of what it was about, if the log says.
    pub key: Option<u64>,
    /// Who asked, if the log says. Records of one tenant share its name.
    pub tenant: Option<Arc<str>>,
}

/// A hash of a key that is made of parts (a bucket and a name, a device and a block): the same on
/// every platform and in every version, spread evenly over 64 bits. FNV-1a, then the last step of
/// `SplitMix64`.
pub fn key_hash(parts: &[&[u8]]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut eat = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            eat(0);
        }
        part.iter().copied().for_each(&mut eat);
    }
    Dice::mix(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_do_not_change_between_versions() {
        assert_eq!(key_hash(&[]), 0xf52a_15e9_a9b5_e89b);
        assert_eq!(key_hash(&[b"bucket", b"key"]), 0x76cc_2447_da1a_1c9a);
    }

    #[test]
    fn where_parts_meet_matters() {
        assert_ne!(key_hash(&[b"ab", b"c"]), key_hash(&[b"a", b"bc"]));
        assert_ne!(key_hash(&[b"abc"]), key_hash(&[b"ab", b"c"]));
    }
}
