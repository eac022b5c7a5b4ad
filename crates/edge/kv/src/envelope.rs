//! An item as one value: what is known of it stands in front of its bytes.

use crate::item::{KvItem, Marks};
use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

/// Says how the rest is to be read.
const FORMAT: u8 = 1;
/// The format, marks, flags, end, last use, and version.
const ENVELOPE_LEN: usize = 1 + 1 + 4 + 4 + 4 + 8;

/// The item as one value.
pub(crate) fn wrap(item: &KvItem) -> Bytes {
    let mut bytes = BytesMut::with_capacity(ENVELOPE_LEN + item.value.len());
    bytes.put_u8(FORMAT);
    bytes.put_u8(item.marks.0);
    bytes.put_u32(item.flags);
    bytes.put_u32(item.exptime_s);
    bytes.put_u32(item.used_s);
    bytes.put_u64(item.cas);
    bytes.put_slice(&item.value);
    bytes.freeze()
}

/// The item that this value is, if it is one.
pub(crate) fn open(mut bytes: Bytes) -> Option<KvItem> {
    if bytes.len() < ENVELOPE_LEN || bytes.get_u8() != FORMAT {
        return None;
    }
    Some(KvItem {
        marks: Marks(bytes.get_u8()),
        flags: bytes.get_u32(),
        exptime_s: bytes.get_u32(),
        used_s: bytes.get_u32(),
        cas: bytes.get_u64(),
        value: bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_wrapped_is_opened(
            numbers in any::<[u32; 3]>(),
            cas in any::<u64>(),
            marks in any::<u8>(),
            value in prop::collection::vec(any::<u8>(), 0..99),
        ) {
            let [flags, exptime_s, used_s] = numbers;
            let marks = Marks(marks);
            let item = KvItem { flags, exptime_s, used_s, cas, marks, value: value.into() };
            prop_assert_eq!(open(wrap(&item)), Some(item));
        }
    }

    #[test]
    fn what_is_no_item_is_not_taken_for_one() {
        assert_eq!(open(Bytes::from_static(&[FORMAT; ENVELOPE_LEN - 1])), None);
        assert_eq!(open(Bytes::from_static(&[FORMAT + 1; ENVELOPE_LEN])), None);
    }
}
