use super::{second::LENS_LEN, *};
use proptest::prelude::*;
use ripstop_form::{PASSABLE, Unreadable};
use ripstop_model::{BlockLen, Code, PoolId, StripeId};
use ripstop_seal::StoreKey;

fn seals() -> Seals {
    Seals::new(&StoreKey::from_bytes([7; 32]))
}

fn others() -> Seals {
    Seals::new(&StoreKey::from_bytes([8; 32]))
}

/// Each version and way of sealing.
const KINDS: [(u8, Sealing); 4] = [
    (first::VERSION, Sealing::Checksum),
    (second::VERSION, Sealing::Checksum),
    (second::VERSION, Sealing::Keyed),
    (second::VERSION, Sealing::Encrypted),
];

fn header_of((version, sealing): (u8, Sealing), record: Vec<u8>) -> Header {
    let cuts = [Cut::Spread, Cut::Shared, Cut::Unique { run: 2, fragments: 3 }];
    let cut = cuts[record.len() % cuts.len()];
    let shape = StripeShape::new(Code::new(6, 4).unwrap(), 1000).unwrap();
    let name = FragmentId { stripe: StripeId::new(123_456, 789), index: 5 };
    let origin = Origin { store: 0x1234_5678_9abc_def0, pool: PoolId(3) };
    let guard = Guard::new(&seals(), sealing, origin.store, name.stripe);
    let (record, tag) = guard.close_record(record.into());
    let (key, unknown) = (guard.key(), Unknown::default());
    Header { name, shape, cut, origin, record, sealing, key, version, tag, unknown }
}

fn sealed(record: Vec<u8>) -> Header {
    header_of((second::VERSION, Sealing::Keyed), record)
}

fn encoded(header: &Header) -> Vec<u8> {
    header.encode(&seals()).expect("its key is known").to_vec()
}

fn read(bytes: &[u8]) -> Result<Header, HeaderError> {
    Header::parse(&Bytes::copy_from_slice(bytes), &seals()).map(|(header, _)| header)
}

#[test]
fn the_header_at_the_end_of_a_fragment_is_found() {
    for kind in KINDS {
        for (record, found) in [(0, false), (1, true), (10_000, true), (2, true), (3, false)] {
            let header = header_of(kind, vec![7; record]);
            let bytes: Bytes = [vec![1; 1001], encoded(&header)].concat().into();
            assert_eq!(
                Header::parse_end(&bytes, &seals()).map(|(header, _)| header),
                found.then_some(header)
            );
            assert_eq!(Header::parse_end(&bytes.slice(..bytes.len() - 1), &seals()), None);
        }
    }
}

#[test]
fn the_longest_record_can_be_read_and_long_ones_are_not_copied() {
    for kind in KINDS {
        for len in [SHARED_RECORD_MIN - 1, SHARED_RECORD_MIN, 100_001, RECORD_LEN_MAX] {
            let header = header_of(kind, vec![7; len]);
            let segments = header.segments(&seals()).unwrap();
            assert_eq!(segments.len() == 3, len >= SHARED_RECORD_MIN);
            if let [_, record, _] = &segments[..] {
                assert_eq!(record.as_ptr(), header.record.as_ptr());
            }
            let bytes: Bytes = segments.concat().into();
            assert_eq!(bytes.len(), header.len());
            assert!(bytes.len() <= HEADER_LEN_MAX);
            assert!(Header::parse(&bytes, &seals()) == Ok((header, bytes.len() as u32)));
        }
    }
}

#[test]
#[should_panic(expected = "nobody could read its header")]
fn a_header_that_could_not_be_read_is_never_made() {
    let _ = sealed(vec![7; RECORD_LEN_MAX + 1]).segments(&seals());
}

#[test]
fn headers_of_a_stripe_have_one_length_whatever_their_index_and_cut() {
    for kind in KINDS {
        let lens = [0, 1, 254].map(|index| {
            let cuts = [Cut::Spread, Cut::Shared, Cut::Unique { run: 2, fragments: 3 }];
            cuts.map(|cut| {
                let mut header = header_of(kind, vec![1; 60]);
                header.name.index = index;
                header.cut = cut;
                header.encode(&seals()).unwrap().len()
            })
        });
        assert!(lens.as_flattened().iter().all(|len| *len == lens[0][0]), "{lens:?}");
    }
}

#[test]
fn a_header_of_version_1_is_what_it_always_was() {
    let header = header_of((first::VERSION, Sealing::Checksum), b"it".to_vec());
    let bytes = encoded(&header);
    assert_eq!(bytes.len(), 64);
    assert_eq!(&bytes[..8], b"RIPSTOP\x01");
    assert_eq!(bytes[8..12], 64_u32.to_le_bytes());
    assert_eq!(bytes[12..28], header.name.stripe.0.to_le_bytes());
    assert_eq!(bytes[28..32], [5, 6, 4, 2]);
    assert_eq!(bytes[32..40], [0xe8, 3, 0, 0, 3, 0, 3, 0]);
    assert_eq!(bytes[40..48], header.origin.store.to_le_bytes());
    assert_eq!(bytes[48..56], [2, 0, 0, 0, b'i', b't', 0, 0]);
    let checksum = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc64Nvme, &bytes[..56]);
    assert_eq!(bytes[56..], checksum.to_le_bytes());
}

#[test]
fn a_sealed_header_is_read_with_its_own_key_alone_or_when_told_to_do_without() {
    for sealing in [Sealing::Keyed, Sealing::Encrypted] {
        let header = header_of((second::VERSION, sealing), b"secret".to_vec());
        let bytes: Bytes = encoded(&header).into();
        let key = seals().key().unwrap();
        for unknowing in [Seals::default(), others()] {
            assert_eq!(Header::parse(&bytes, &unknowing), Err(HeaderError::Key(key)));
            let (found, _) = Header::parse(&bytes, &unknowing.clone().unsealed()).unwrap();
            assert_eq!(found, header);
            let plain = (sealing == Sealing::Keyed).then(|| Bytes::from_static(b"secret"));
            assert_eq!(found.told(&unknowing), plain);
            assert_eq!(found.encode(&unknowing), None, "nobody seals without the key");
        }
        let both = others().knowing(&StoreKey::from_bytes([7; 32]));
        let (found, _) = Header::parse(&bytes, &both).unwrap();
        assert_eq!(found.told(&both).unwrap(), "secret");
        assert_eq!(encoded(&found), bytes, "what is written again is what it was");
    }
}

#[test]
fn an_encrypted_header_shows_nothing_of_its_record() {
    let header = header_of((second::VERSION, Sealing::Encrypted), b"bucket/key".repeat(9));
    let bytes = encoded(&header);
    assert!(!bytes.windows(6).any(|window| window == b"bucket"));
    let sealed = encoded(&sealed(b"bucket/key".repeat(9)));
    assert!(sealed.windows(6).any(|window| window == b"bucket"), "the test would see it");
}

/// A header with a field more.
fn with_field(header: &Header, field: u64) -> Vec<u8> {
    let fields = ripstop_form::compose(Vec::new(), |to| to.number(field, 77));
    let Ok(More { unknown }) = ripstop_form::decode(&fields) else { panic!("a record") };
    encoded(&Header { unknown, ..header.clone() })
}

/// A record of which no field is known.
#[derive(Default)]
struct More {
    unknown: Unknown,
}

impl ripstop_form::Record for More {
    fn write(&self, to: &mut ripstop_form::Fields) {
        to.unknown(&self.unknown);
    }

    fn read(&mut self, _: u64, _: &mut ripstop_form::Found<'_>) -> Result<bool, Unreadable> {
        Ok(false)
    }

    fn unknown(&mut self) -> Option<&mut Unknown> {
        Some(&mut self.unknown)
    }
}

#[test]
fn what_a_newer_program_says_is_kept_or_refused_by_its_number() {
    let header = sealed(b"told".to_vec());
    let bytes = with_field(&header, PASSABLE);
    let mut found = read(&bytes).expect("it may be passed over");
    assert_eq!(encoded(&found), bytes, "and is written again");
    assert_ne!(found.rest(), header.rest());
    found.unknown = Unknown::default();
    assert_eq!(found, header);
    // A number below those that may be passed over, sealed by somebody who knows it.
    let mut bytes = with_field(&header, PASSABLE);
    let end = LENS_LEN + word(&Bytes::copy_from_slice(&bytes), 12) as usize;
    // The field's head of two bytes, its value of two, the end of the map.
    assert_eq!(bytes[end - 5..end], [0x18, 128, 0x18, 77, 0xff]);
    bytes[end - 4] = 100;
    let error = read(&bytes).expect_err("its meaning is not known");
    assert_eq!(error, HeaderError::Unreadable(Unreadable::Newer(100)));
}

#[test]
fn short_blocks_are_said_in_a_field_that_cannot_be_passed_over_and_long_ones_are_not() {
    const BLOCK_LEN: u64 = 12;
    const { assert!(BLOCK_LEN < PASSABLE, "a program that does not know it refuses the header") };
    for (kind, len) in KINDS[1..].iter().zip([0, 1, 60]) {
        let long = header_of(*kind, vec![7; len]);
        let said = ripstop_form::compose(Vec::new(), |to| to.number(BLOCK_LEN, 12));
        let said = &said[1..said.len() - 1];
        assert!(!encoded(&long).windows(said.len()).any(|window| window == said));
        for number in 12..16 {
            let block_len = BlockLen::from_number(number).unwrap();
            let short = Header { shape: long.shape.in_blocks(block_len), ..long.clone() };
            let bytes = encoded(&short);
            assert_eq!(read(&bytes), Ok(short));
        }
        // Of lengths that are none, and of the one that is said by saying nothing.
        for number in [1, 11, 16, 17, 255] {
            let shorter = encoded(&with_block_len(&long, number));
            assert_eq!(read(&shorter), Err(HeaderError::Damaged("length of blocks")), "{number}");
        }
    }
}

/// A header with the field that says how long blocks are.
fn with_block_len(header: &Header, number: u64) -> Header {
    let fields = ripstop_form::compose(Vec::new(), |to| to.number(12, number));
    let mut unknown = Unknown::default();
    unknown.keep(&fields[1..fields.len() - 1]);
    Header { unknown, ..header.clone() }
}

proptest! {
    #[test]
    fn headers_round_trip(kind in 0..KINDS.len(), record: Vec<u8>, more: Vec<u8>) {
        let header = header_of(KINDS[kind], record.clone());
        let mut bytes = encoded(&header);
        let len = bytes.len() as u32;
        bytes.extend(more);
        let found = Header::parse(&bytes.into(), &seals());
        prop_assert_eq!(&found, &Ok((header, len)));
        prop_assert_eq!(found.unwrap().0.told(&seals()).unwrap(), record);
    }

    #[test]
    fn no_flipped_bit_passes(
        kind in 0..KINDS.len(), record: Vec<u8>, at: prop::sample::Index, bit in 0..8u8
    ) {
        let mut bytes = encoded(&header_of(KINDS[kind], record));
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        prop_assert!(read(&bytes).is_err());
    }

    #[test]
    fn a_cut_header_asks_for_more(kind in 0..KINDS.len(), cut in 0..128usize) {
        let bytes: Bytes = encoded(&header_of(KINDS[kind], vec![1; 60])).into();
        prop_assert!(bytes.len() >= 128);
        let short = Header::parse(&bytes.slice(..cut), &seals());
        let short = matches!(short, Err(HeaderError::Short { .. }));
        prop_assert!(short);
    }

    #[test]
    fn whatever_the_bytes_are_parsing_ends(bytes: Vec<u8>, version in 1..3u8) {
        let mut bytes = [&[0; 64], &bytes[..]].concat();
        bytes[..7].copy_from_slice(&MAGIC);
        bytes[7] = version;
        let len = bytes.len() / ALIGN * ALIGN;
        bytes[8..12].copy_from_slice(&(len as u32).to_le_bytes());
        prop_assert!(read(&bytes).is_err());
    }
}
