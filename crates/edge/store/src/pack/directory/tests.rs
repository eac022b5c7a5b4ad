use super::*;
use proptest::prelude::*;
use ripstop_catalog::Attributes;

const PACK: StripeId = StripeId(0x77 << 90);

fn object(key: usize, len: u32) -> PackEntry {
    let extent = Extent { stripe: PACK, offset: 0, len };
    let user = vec![("at".to_owned(), key.to_string())];
    let object = Object {
        len: len.into(),
        modified_ms: 1_700_000_000_000,
        attributes: Attributes { etag: "e".repeat(32), user, ..Attributes::default() },
        extents: if len == 0 { Vec::new() } else { vec![extent] },
        told_by: PACK,
        stamp: Some(Stamp { when: 1000 + key as u64, stripe: PACK }),
        ..Object::default()
    };
    PackEntry::Object { bucket: "photographs".into(), key: format!("k{key}"), object }
}

/// Objects here and elsewhere, an empty one, a deletion, and another bucket.
fn directory() -> PackDirectory {
    let mut entries: Vec<PackEntry> = (0..5).map(|key| object(key, 100 * key as u32)).collect();
    if let PackEntry::Object { object, .. } = &mut entries[3] {
        object.extents = vec![Extent { stripe: StripeId(9), offset: 7, len: 300 }];
    }
    let stamp = Stamp { when: 77, stripe: StripeId(5) };
    let deletion = Deletion { bucket: "b".into(), key: "gone".into(), stamp };
    entries.push(PackEntry::Deletion(deletion));
    PackDirectory { told_by: PACK, entries }
}

/// A directory whose members have places, its bytes, and its payload's length.
fn placed(mut directory: PackDirectory) -> (PackDirectory, Vec<u8>, u32) {
    let mut encoded = directory.encode();
    let lens: Vec<u32> =
        directory.entries.iter().map(|it| it.extent(PACK).map_or(0, |it| it.len)).collect();
    let layout = crate::pack::lay_out(4, encoded.len() as u32, &lens).expect("small");
    directory.place(&layout.offsets, &mut encoded);
    (directory, encoded, layout.payload_len)
}

/// Bytes as the directory that headers tell of, whatever they are.
fn forged(bytes: &[u8], payload_len: u32) -> Result<PackDirectory, Unreadable> {
    let digest = Sha256::digest(bytes).into();
    let directory_len = bytes.len() as u32;
    let member_bytes = 700;
    let mark = PackMark { told_by: PACK, members: 6, member_bytes, directory_len, digest };
    PackDirectory::decode(&mark, payload_len, bytes)
}

#[test]
fn a_directory_survives_its_bytes_which_are_as_many_wherever_members_lie() {
    let unplaced = directory();
    let (directory, bytes, payload_len) = placed(unplaced.clone());
    assert_ne!(directory, unplaced, "members have places");
    assert_eq!(bytes.len(), unplaced.encode().len());
    assert_eq!(bytes, directory.encode(), "places are the same in both");
    let mark = directory.mark(&bytes);
    assert_eq!((mark.members, mark.member_bytes), (6, 700));
    assert_eq!(PackDirectory::decode(&mark, payload_len, &bytes), Ok(directory));
}

#[test]
fn what_follows_from_the_pack_is_not_said_for_each_member() {
    let many = |count| {
        let entries = (0..count).map(|key| object(key, 256)).collect();
        PackDirectory { told_by: PACK, entries }.encode().len()
    };
    let each = (many(90) - many(10)) / 80;
    // Etag 34, user 8, key 4, time 10, stamp 8, offset 4, length 4, heads of maps and fields.
    assert!(each < 100, "{each} bytes for each");
}

#[test]
fn another_directory_than_the_headers_tell_of_is_refused() {
    let (directory, bytes, payload_len) = placed(directory());
    let mark = directory.mark(&bytes);
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1;
        assert!(PackDirectory::decode(&mark, payload_len, &flipped).is_err());
    }
    assert!(PackDirectory::decode(&mark, payload_len, &bytes[1..]).is_err());
    let other = PackMark { told_by: StripeId(1), ..mark };
    assert!(PackDirectory::decode(&other, payload_len, &bytes).is_err(), "it is another pack's");
}

#[test]
fn what_no_program_writes_is_refused() {
    let (directory, bytes, payload_len) = placed(directory());
    assert!(forged(&bytes, payload_len).is_ok());
    let end = directory.entries.iter().filter_map(|it| it.extent(PACK));
    let end = end.map(|extent| extent.offset + extent.len).max().unwrap();
    assert!(forged(&bytes, end).is_ok());
    assert!(forged(&bytes, end - 1).is_err(), "a member would end beyond the payload");
    let unplaced = self::directory().encode();
    assert!(forged(&unplaced, payload_len).is_err(), "members would lie in the directory");
    let mut twice = directory.clone();
    twice.entries.push(directory.entries[1].clone());
    assert!(forged(&twice.encode(), payload_len).is_err(), "a key stands there twice");
    let mut newer = bytes.clone();
    newer[0] = 2;
    assert_eq!(forged(&newer, payload_len), Err(Unreadable::Version(2)));
    // Of members without bytes: a longer directory is not in their way.
    let mut few = directory;
    few.entries.retain(|entry| entry.extent(PACK).is_none());
    let few = few.encode();
    let added = |field: &[u8]| [&few[..few.len() - 1], field, &[0xff]].concat();
    assert_eq!(forged(&added(&[10, 1]), payload_len), Err(Unreadable::Newer(10)));
    assert!(forged(&added(&[0x18, 128, 1]), payload_len).is_ok(), "it may be passed over");
}

#[test]
fn a_list_that_says_it_is_longer_than_one_may_be_takes_no_memory() {
    // Keys, and then objects: lists of 2^32 − 1.
    for field in [4, 8] {
        let bytes = [1, 0xbf, field, 0x9a, 0xff, 0xff, 0xff, 0xff, 0x60, 0xff];
        assert!(forged(&bytes, 1000).is_err());
    }
    let many: Vec<&str> = vec!["k"; MEMBERS_MAX + 1];
    let bytes = ripstop_form::compose(vec![VERSION], |to| {
        to.bytes(field::TOLD_BY, &PACK.0.to_be_bytes());
        to.texts(field::KEYS, many.iter().copied());
    });
    let reason = "has more elements than it can have";
    assert_eq!(forged(&bytes, 1000), Err(Unreadable::Field { field: 4, reason }));
}

proptest! {
    #[test]
    fn whatever_the_bytes_are_reading_them_ends(
        bytes: Vec<u8>,
        at: prop::sample::Index,
        put: u8,
        cut: prop::sample::Index,
    ) {
        let _ = forged(&[&[VERSION, 0xbf], &bytes[..]].concat(), 1000);
        let (_, mut own, payload_len) = placed(directory());
        let at = at.index(own.len());
        own[at] = put;
        if let Ok(found) = forged(&own, payload_len) {
            for entry in &found.entries {
                prop_assert!(!entry.key().is_empty() && !entry.bucket().is_empty());
                if let Some(extent) = entry.extent(PACK) {
                    prop_assert!(extent.offset as usize >= own.len());
                    prop_assert!(extent.offset + extent.len <= payload_len);
                }
            }
        }
        let _ = forged(&own[..cut.index(own.len())], payload_len);
    }
}
