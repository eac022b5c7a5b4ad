//! What items say of themselves, as bytes: behind an item's seal, before what is coded; and of
//! parity, behind it, what its stripe consists of. All of it is sealed.
//!
//! | bytes | of an object or a strip |
//! |--:|---|
//! | 1 | flags: 1 a tombstone, 2 it expires, 4 a copy |
//! | 8 and 2 | a copy's chunk and slot: its key at the server is a place |
//! | 8 | version |
//! | 16 | hash of the key |
//! | 2 or 4 | an object's offset in its chunk, or bytes of a strip's whole value |
//! | 8 | nanoseconds since 1970 from when on it is none, if it expires |
//!
//! A stripe's list is the number of chunks (2 bytes) and theirs (8 each); then for each object
//! its strip (1), slot (2), length (2), and the same as above. Numbers are little-endian.

use crate::{
    coder::CHUNK_LEN,
    name::{Names, SEAL_LEN},
};
use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use ripstop_model::Timestamp;
use ripstop_tier::{ChunkId, FoundItem, ItemLabel, ItemName, KeyHash, Version};

const TOMBSTONE: u8 = 1;
const EXPIRES: u8 = 2;
const COPY: u8 = 4;
/// Flags, version and key.
const LABEL_LEN_MIN: usize = 25;
/// A copy's chunk and slot.
const COPY_LEN: usize = 10;
/// Bytes before what is coded, at most, without what is before a value.
const HEAD_LEN_MAX: usize = SEAL_LEN + LABEL_LEN_MIN + 22;

/// What is stored before an item's bytes, which are the pieces: its seal and its label, and the
/// first piece.
pub(crate) fn head(
    names: &Names,
    (label, is_copy): (&ItemLabel, bool),
    [first, rest]: [&[u8]; 2],
) -> Bytes {
    let mut head = BytesMut::with_capacity(HEAD_LEN_MAX + first.len());
    head.put_bytes(0, SEAL_LEN);
    put_label(&mut head, label, is_copy);
    head.put_slice(first);
    let seal = names.seal(label.name, [&head[SEAL_LEN..], rest]);
    head[..SEAL_LEN].copy_from_slice(&seal);
    head.freeze()
}

fn put_label(out: &mut BytesMut, label: &ItemLabel, is_copy: bool) {
    let flag = |is_set, flag| if is_set { flag } else { 0 };
    let flags = flag(label.is_tombstone, TOMBSTONE) | flag(label.expires.is_some(), EXPIRES);
    out.put_u8(flags | flag(is_copy, COPY));
    if let (true, ItemName::Object { chunk, slot }) = (is_copy, label.name) {
        out.put_u64_le(chunk.0);
        out.put_u16_le(slot);
    }
    out.put_u64_le(label.version.0);
    out.put_u128_le(label.key.0);
    match label.name {
        ItemName::Object { .. } => out.put_u16_le(label.offset),
        ItemName::Strip { .. } => out.put_u32_le(label.len),
        ItemName::Parity { .. } => {}
    }
    if let Some(expires) = label.expires {
        out.put_u64_le(expires.as_nanos());
    }
}

/// Takes a label off what is behind it. What an object's length is is not in it.
fn take_label(from: &mut Bytes, name: ItemName) -> Option<ItemLabel> {
    let flags = *from.first()?;
    let len = label_len(flags, name);
    if from.len() < len {
        return None;
    }
    let mut label = from.split_to(len);
    label.advance(1 + if flags & COPY == 0 { 0 } else { COPY_LEN });
    let version = Version(label.get_u64_le());
    let key = KeyHash(label.get_u128_le());
    let (mut offset, mut len) = (0, 0);
    match name {
        ItemName::Object { .. } => offset = label.get_u16_le(),
        ItemName::Strip { .. } => len = label.get_u32_le(),
        ItemName::Parity { .. } => {}
    }
    let expires = (flags & EXPIRES != 0).then(|| Timestamp::from_nanos(label.get_u64_le()));
    let is_tombstone = flags & TOMBSTONE != 0;
    Some(ItemLabel { name, key, version, offset, len, expires, is_tombstone })
}

const fn label_len(flags: u8, name: ItemName) -> usize {
    let place = match name {
        ItemName::Object { .. } => 2,
        ItemName::Strip { .. } => 4,
        ItemName::Parity { .. } => 0,
    };
    let copy = if flags & COPY == 0 { 0 } else { COPY_LEN };
    LABEL_LEN_MIN + place + copy + if flags & EXPIRES == 0 { 0 } else { 8 }
}

/// What parity says of its stripe.
pub(crate) fn list(chunks: &[ChunkId], labels: &[ItemLabel]) -> Bytes {
    let mut out = BytesMut::with_capacity(2 + 8 * chunks.len() + 40 * labels.len());
    out.put_u16_le(chunks.len() as u16);
    for chunk in chunks {
        out.put_u64_le(chunk.0);
    }
    for label in labels {
        let ItemName::Object { chunk, slot } = label.name else { continue };
        let Some(strip) = chunks.iter().position(|it| *it == chunk) else { continue };
        out.put_u8(strip as u8);
        out.put_u16_le(slot);
        out.put_u16_le(label.len as u16);
        put_label(&mut out, label, false);
    }
    out.freeze()
}

fn take_list(name: ItemName, mut from: Bytes) -> Option<FoundItem> {
    let count = usize::from(take(&mut from, 2)?.get_u16_le());
    let mut numbers = take(&mut from, 8 * count)?;
    let chunks: Vec<ChunkId> = (0..count).map(|_| ChunkId(numbers.get_u64_le())).collect();
    let mut labels = Vec::with_capacity(from.len() / (LABEL_LEN_MIN + 7));
    while !from.is_empty() {
        let mut place = take(&mut from, 5)?;
        let chunk = *chunks.get(usize::from(place.get_u8()))?;
        let object = ItemName::Object { chunk, slot: place.get_u16_le() };
        let len = place.get_u16_le().into();
        labels.push(ItemLabel { len, ..take_label(&mut from, object)? });
    }
    Some(FoundItem::Parity { name, chunks, labels })
}

fn take(from: &mut Bytes, count: usize) -> Option<Bytes> {
    (from.len() >= count).then(|| from.split_to(count))
}

/// What is coded of an item that was stored under this name, if its seal holds.
pub(crate) fn coded(names: &Names, name: ItemName, item: &Bytes) -> Option<Bytes> {
    let mut rest = unsealed(names, name, item)?;
    if matches!(name, ItemName::Parity { .. }) {
        return take(&mut rest, CHUNK_LEN);
    }
    let len = label_len(*rest.first()?, name);
    take(&mut rest, len)?;
    Some(rest)
}

/// What an item says that was stored under this name, if its seal holds.
pub(crate) fn said(names: &Names, name: ItemName, item: &Bytes) -> Option<FoundItem> {
    let mut rest = unsealed(names, name, item)?;
    match name {
        ItemName::Parity { .. } => {
            take(&mut rest, CHUNK_LEN)?;
            take_list(name, rest)
        }
        ItemName::Strip { .. } => take_label(&mut rest, name).map(FoundItem::Value),
        ItemName::Object { .. } => {
            let label = take_label(&mut rest, name)?;
            Some(FoundItem::Value(ItemLabel { len: rest.len() as u32, ..label }))
        }
    }
}

/// What a copy is called that is at some place, if it is one. Its seal shows whether that is so.
pub(crate) fn copied(item: &Bytes) -> Option<ItemName> {
    let mut label = item.get(SEAL_LEN..SEAL_LEN + 1 + COPY_LEN)?;
    let is_copy = label.get_u8() & COPY != 0;
    let (chunk, slot) = (ChunkId(label.get_u64_le()), label.get_u16_le());
    is_copy.then_some(ItemName::Object { chunk, slot })
}

fn unsealed(names: &Names, name: ItemName, item: &Bytes) -> Option<Bytes> {
    let mut rest = item.clone();
    let seal = take(&mut rest, SEAL_LEN)?;
    names.holds(name, &rest, &seal).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ripstop_model::Code;
    use ripstop_seal::{Sealer, StoreKey};
    use ripstop_tier::SealId;

    fn names() -> Names {
        Names::lasting(
            Sealer::new(&StoreKey::from_bytes([7; 32])),
            "tier",
            Code::new(5, 3).unwrap(),
        )
    }

    fn object() -> impl Strategy<Value = ItemLabel> {
        let place = (0u64..3, any::<u16>(), any::<u16>(), 0u16..4096);
        let what = (any::<u128>(), any::<u64>(), any::<Option<u64>>(), any::<bool>());
        (place, what).prop_map(|((chunk, slot, offset, len), what)| {
            let (key, version, expires, is_tombstone) = what;
            ItemLabel {
                name: ItemName::Object { chunk: ChunkId(chunk + 70), slot },
                key: KeyHash(key),
                version: Version(version),
                offset,
                len: len.into(),
                expires: expires.map(Timestamp::from_nanos),
                is_tombstone,
            }
        })
    }

    proptest! {
        #[test]
        fn an_item_says_what_it_was_stored_with(
            label in object(),
            is_copy: bool,
            cut in 0usize..60,
        ) {
            let names = names();
            let value = vec![7; label.len as usize];
            let (first, rest) = value.split_at(value.len().min(4));
            let item = [&head(&names, (&label, is_copy), [first, rest])[..], rest].concat();
            let item = Bytes::from(item);
            prop_assert_eq!(copied(&item), is_copy.then_some(label.name));
            prop_assert_eq!(said(&names, label.name, &item), Some(FoundItem::Value(label)));
            prop_assert_eq!(coded(&names, label.name, &item), Some(Bytes::from(value)));
            let other = ItemName::Object { chunk: ChunkId(1), slot: 0 };
            prop_assert_eq!(said(&names, other, &item), None);
            let short = item.slice(..cut.min(item.len() - 1));
            prop_assert_eq!(coded(&names, label.name, &short), None);
            let strip = ItemName::Strip { value: ChunkId(9), strip: 4 };
            let label = ItemLabel { name: strip, offset: 0, ..label };
            let item = [&head(&names, (&label, false), [b"", b"strip"])[..], b"strip"].concat();
            let item = Bytes::from(item);
            prop_assert_eq!(said(&names, strip, &item), Some(FoundItem::Value(label)));
            prop_assert_eq!(&coded(&names, strip, &item).unwrap()[..], b"strip");
        }

        #[test]
        fn parity_says_what_its_stripe_has(labels in prop::collection::vec(object(), 0..50)) {
            let (names, chunks) = (names(), [70, 71, 72].map(ChunkId));
            let name = ItemName::Parity { stripe: SealId(3), strip: 4 };
            let bytes = [&[5; CHUNK_LEN][..], &list(&chunks, &labels)].concat();
            let item = Bytes::from([&names.seal(name, [&bytes])[..], &bytes].concat());
            let expected = FoundItem::Parity { name, chunks: chunks.to_vec(), labels };
            prop_assert_eq!(said(&names, name, &item), Some(expected));
            prop_assert_eq!(&coded(&names, name, &item).unwrap()[..], &[5; CHUNK_LEN][..]);
        }
    }
}
