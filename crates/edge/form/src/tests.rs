use super::*;
use proptest::prelude::*;

#[derive(Clone, Debug, Default, PartialEq)]
struct Inner {
    number: u64,
    unknown: Unknown,
}

impl Record for Inner {
    fn write(&self, to: &mut Fields) {
        to.number(1, self.number);
        to.unknown(&self.unknown);
    }

    fn read(&mut self, field: u64, from: &mut Found<'_>) -> Result<bool, Unreadable> {
        match field {
            1 => self.number = from.number()?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn unknown(&mut self) -> Option<&mut Unknown> {
        Some(&mut self.unknown)
    }
}

/// A record with a field of every kind.
#[derive(Clone, Debug, Default, PartialEq)]
struct Every {
    small: u16,
    truth: bool,
    text: String,
    bytes: Vec<u8>,
    column: Vec<u32>,
    pairs: Vec<(String, String)>,
    options: Vec<Option<u16>>,
    blobs: Vec<Option<Vec<u8>>>,
    inner: Inner,
    unknown: Unknown,
}

impl Record for Every {
    fn write(&self, to: &mut Fields) {
        to.number(1, self.small.into());
        to.truth(2, self.truth);
        to.text(3, &self.text);
        to.bytes(4, &self.bytes);
        to.column(5, self.column.iter().map(|it| it.to_le_bytes()));
        to.pairs(6, &self.pairs);
        to.options(7, self.options.iter().map(|it| it.map(u64::from)));
        to.blobs(8, self.blobs.iter().map(Option::as_deref));
        to.record(130, &self.inner);
        to.unknown(&self.unknown);
    }

    fn read(&mut self, field: u64, from: &mut Found<'_>) -> Result<bool, Unreadable> {
        match field {
            1 => self.small = from.small()?,
            2 => self.truth = from.truth()?,
            3 => self.text = from.text()?.into(),
            4 => self.bytes = from.bytes()?.to_vec(),
            5 => self.column = from.column()?.iter().map(|it| u32::from_le_bytes(*it)).collect(),
            6 => self.pairs = from.pairs()?,
            7 => self.options = from.options()?,
            8 => self.blobs = from.blobs()?,
            130 => self.inner = from.record()?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn unknown(&mut self) -> Option<&mut Unknown> {
        Some(&mut self.unknown)
    }
}

/// An [`Inner`] of a later version.
#[derive(Clone, Debug, Default, PartialEq)]
struct Later {
    now: Inner,
    word: String,
    latest: Vec<(String, String)>,
}

impl Record for Later {
    fn write(&self, to: &mut Fields) {
        to.number(1, self.now.number);
        to.text(129, &self.word);
        to.pairs(1000, &self.latest);
        to.unknown(&self.now.unknown);
    }

    fn read(&mut self, field: u64, from: &mut Found<'_>) -> Result<bool, Unreadable> {
        match field {
            129 => self.word = from.text()?.into(),
            1000 => self.latest = from.pairs()?,
            _ => return self.now.read(field, from),
        }
        Ok(true)
    }

    fn unknown(&mut self) -> Option<&mut Unknown> {
        self.now.unknown()
    }
}

type Parts = (u16, bool, String, Vec<u8>, Vec<u32>, Vec<(String, String)>, Vec<Option<u16>>);

fn every(parts: Parts, mut blobs: Vec<Option<Vec<u8>>>, number: u64) -> Every {
    let (small, truth, text, bytes, column, pairs, options) = parts;
    if blobs.iter().all(Option::is_none) {
        blobs.clear();
    }
    let inner = Inner { number, ..Inner::default() };
    let unknown = Unknown::default();
    Every { small, truth, text, bytes, column, pairs, options, blobs, inner, unknown }
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        parts: Parts, blobs: Vec<Option<Vec<u8>>>, number: u64, before: Vec<u8>,
    ) {
        let record = every(parts, blobs, number);
        let bytes = encode(&record, before.clone());
        prop_assert!(bytes.starts_with(&before));
        prop_assert_eq!(decode(&bytes[before.len()..]), Ok(record));
    }

    #[test]
    fn no_bytes_are_more_than_an_error(bytes: Vec<u8>) {
        drop(decode::<Every>(&bytes));
        drop(scan(&bytes, |_, _| Ok(Some(false))));
    }

    #[test]
    fn no_change_of_a_record_is_more_than_an_error(
        parts: Parts, blobs: Vec<Option<Vec<u8>>>, at: prop::sample::Index, to: u8, cut: bool,
    ) {
        let mut bytes = encode(&every(parts, blobs, 7), vec![]);
        let at = at.index(bytes.len());
        if cut {
            bytes.truncate(at);
            prop_assert!(decode::<Every>(&bytes).is_err());
        } else {
            bytes[at] = to;
            drop(decode::<Every>(&bytes));
        }
    }

    #[test]
    fn what_a_later_version_wrote_outlives_an_earlier_one(
        number: u64, other: u64, word: String, latest: Vec<(String, String)>,
    ) {
        let now = Inner { number, ..Inner::default() };
        let record = Later { now, word, latest };
        let mut earlier = decode::<Inner>(&encode(&record, vec![])).unwrap();
        prop_assert_eq!(earlier.number, number);
        earlier.number = other;
        let again = decode::<Later>(&encode(&earlier, vec![])).unwrap();
        let expected = Later { now: Inner { number: other, ..Inner::default() }, ..record };
        prop_assert_eq!(again, expected);
    }
}

#[test]
fn a_record_in_a_record_keeps_what_is_unknown_too() {
    let later = Later { word: "x".into(), ..Later::default() };
    let outer = |inner: &[u8]| [&[0xbf, 0x18, 130], inner, &[0xff]].concat();
    let bytes = outer(&encode(&later, vec![]));
    let read = decode::<Every>(&bytes).unwrap();
    assert!(!read.inner.unknown.is_empty() && read.unknown.is_empty());
    let written = encode(&read, vec![]);
    assert!(written.windows(2).any(|it| it == b"ax"), "{written:?}");
}

#[test]
fn what_must_be_known_is_refused_by_its_number() {
    let newer = |field| decode::<Inner>(&[0xbf, 0x18, field, 0x01, 0xff]);
    assert_eq!(newer(127), Err(Unreadable::Newer(127)));
    assert!(newer(128).is_ok());
    let message = newer(127).unwrap_err().to_string();
    assert_eq!(message, "it has the field 127, which a newer program must have written");
}

#[test]
fn a_map_that_says_how_long_it_is_reads_the_same() {
    let expected = Inner { number: 7, ..Inner::default() };
    assert_eq!(decode(&[0xa1, 1, 7]), Ok(expected));
}

#[test]
fn values_of_other_kinds_and_bytes_behind_are_refused() {
    let number_as_text = [0xbf, 1, 0x61, b'x', 0xff];
    assert!(matches!(decode::<Every>(&number_as_text), Err(Unreadable::Form(_))));
    let mut behind = encode(&Every::default(), vec![]);
    behind.push(0);
    assert!(matches!(decode::<Every>(&behind), Err(Unreadable::Form(_))));
    let wrong = |bytes: &[u8]| decode::<Every>(bytes).unwrap_err().to_string();
    assert_eq!(wrong(&[0xbf, 1, 0x1a, 0, 1, 0, 0, 0xff]), "its field 1 is too large");
    assert_eq!(wrong(&[0xbf, 5, 0x43, 0, 0, 0, 0xff]), "its field 5 has half a number");
    assert_eq!(wrong(&[0xbf, 6, 0x81, 0x61, b'x', 0xff]), "its field 6 has a name without a value");
}

proptest! {
    #[test]
    fn a_sequence_is_read_record_by_record(
        records: Vec<(u64, Vec<u64>, i64, u64, f64)>, wide: u128,
    ) {
        let mut bytes = Vec::new();
        for (kind, numbers, signed, given, real) in &records {
            bytes = append(bytes, *kind, |to| {
                to.maps(1, numbers.iter(), |number, to| to.given(9, *number));
                to.signed(2, *signed);
                to.nest(3, |to| to.given(1, *given));
                to.real(4, *real);
                to.wide(5, wide);
            });
        }
        let mut rest = &bytes[..];
        for (kind, numbers, signed, given, real) in records {
            let mut seen = 0;
            let (len, known) = first(rest, |number, found| {
                assert_eq!(number, kind);
                found.fields(|field, found| {
                    seen += 1;
                    match field {
                        1 => {
                            let read = found.maps(|it| {
                                let mut number = 0;
                                it.fields(|_, it| it.number().map(|it| number = it).map(|()| true))?;
                                Ok(number)
                            })?;
                            assert_eq!(&read, &numbers);
                        }
                        2 => assert_eq!(found.signed()?, signed),
                        3 => found.fields(|_, it| {
                            assert_eq!(it.number()?, given);
                            Ok(true)
                        })?,
                        4 => assert_eq!(found.real()?.to_bits(), real.to_bits()),
                        _ => assert_eq!(found.wide()?, wide),
                    }
                    Ok(true)
                })?;
                Ok(true)
            })
            .unwrap();
            prop_assert!(known && seen == 5);
            rest = &rest[len..];
        }
        prop_assert!(rest.is_empty());
    }

    #[test]
    fn a_map_of_few_fields_has_a_head_of_one_byte_and_one_of_many_an_end(count in 0..60_u64) {
        let bytes = append(vec![], 7, |to| (1..=count).for_each(|field| to.given(field, 1)));
        let mut seen = 0;
        first(&bytes, |_, found| {
            found.fields(|_, found| {
                seen += found.number()?;
                Ok(true)
            })?;
            Ok(true)
        })
        .unwrap();
        prop_assert_eq!(seen, count);
        prop_assert_eq!(bytes.last() == Some(&0xff), count > 23);
    }
}

#[test]
fn kinds_and_fields_of_a_sequence_are_passed_over_or_refused_by_their_numbers() {
    let bytes = |kind, field| append(vec![], kind, |to| to.text(field, "new"));
    let read = |bytes: &[u8]| {
        first(bytes, |kind, found| {
            if kind == 1 {
                found.fields(|_, _| Ok(false))?;
            }
            Ok(kind == 1)
        })
    };
    let passed = bytes(1, 128);
    assert_eq!(read(&passed), Ok((passed.len(), true)));
    assert_eq!(read(&bytes(1, 127)), Err(Unreadable::Newer(127)));
    let passed = bytes(128, 1);
    assert_eq!(read(&passed), Ok((passed.len(), false)));
    let refused = read(&bytes(127, 1)).unwrap_err().to_string();
    assert_eq!(refused, "it is of kind 127, which a newer program must have written");
}

#[test]
fn what_is_unknown_is_kept_in_a_short_map_too() {
    let later = Later { word: "x".into(), ..Later::default() };
    let earlier = decode::<Inner>(&encode(&later, vec![])).unwrap();
    let bytes = append(vec![], 1, |to| earlier.write(to));
    let (_, known) = first(&bytes, |_, found| {
        assert_eq!(found.record::<Later>()?, later);
        Ok(true)
    })
    .unwrap();
    assert!(known);
}

#[test]
fn a_scan_reads_what_it_wants_and_ends_where_it_wants() {
    let record = every((5, true, "text".into(), vec![1; 9], vec![], vec![], vec![]), vec![], 7);
    let bytes = encode(&record, vec![]);
    let mut seen = Vec::new();
    let mut text = "";
    scan(&bytes, |field, found| {
        seen.push(field);
        if field == 3 {
            text = found.text()?;
            return Ok(Some(true));
        }
        Ok((field < 4).then_some(false))
    })
    .unwrap();
    assert_eq!((seen, text), (vec![1, 2, 3, 4], "text"));
}

#[test]
fn a_stripe_says_how_long_its_blocks_are_only_where_they_are_not_the_longest() {
    use ripstop_object::Stripe;
    let stripe = Stripe { n: 6, k: 4, payload_len: 100, run: 1, ..Stripe::default() };
    let longest = encode(&stripe, vec![]);
    let short = Stripe { block_len: 12, ..stripe.clone() };
    let bytes = encode(&short, vec![]);
    // The field's number is one that must be known.
    assert_eq!(bytes, [&longest[..longest.len() - 1], &[9, 12, 0xff]].concat());
    assert_eq!((decode(&longest), decode(&bytes)), (Ok(stripe.clone()), Ok(short.clone())));
    assert_eq!(stripe.shape().expect("a shape").block_len().bytes(), 64 << 10);
    assert_eq!(short.shape().expect("a shape").block_len().bytes(), 4 << 10);
    for block_len in [1, 11, 16, 17, 255] {
        assert_eq!(Stripe { block_len, ..stripe.clone() }.shape(), None, "{block_len}");
    }
}

#[test]
fn every_function_of_checksums_is_written_as_its_number_and_read_again() {
    use ripstop_object::{
        Attributes, Checksum,
        ChecksumAlgorithm::{
            Crc32, Crc32c, Crc64Nvme, Md5, Sha1, Sha256, Sha512, XxHash3, XxHash64, XxHash128,
        },
    };
    let functions =
        [Crc32, Crc32c, Crc64Nvme, Sha1, Sha256, Sha512, Md5, XxHash64, XxHash3, XxHash128];
    for (number, algorithm) in (1..).zip(functions) {
        let checksum = Some(Checksum { algorithm, value: vec![7; 4], composite: true });
        let written = encode(&Attributes { checksum, ..Attributes::default() }, Vec::new());
        assert_eq!(decode::<Attributes>(&written).unwrap().checksum.unwrap().algorithm, algorithm);
        let bare = compose(Vec::new(), |to| to.number(1, number));
        let mut read = None;
        scan(&bare, |_, from| {
            read = Some(checksum_algorithm(from)?);
            Ok(Some(true))
        })
        .unwrap();
        assert_eq!(read, Some(algorithm), "{number}");
    }
}

#[test]
fn a_class_of_storage_is_written_as_ever_and_none_is_not_written() {
    use ripstop_object::Attributes;
    let attributes = Attributes { storage_class: "COLD".into(), ..Attributes::default() };
    let written = encode(&attributes, Vec::new());
    assert_eq!(written, [0xbf, 22, 0x64, b'C', b'O', b'L', b'D', 0xff]);
    assert_eq!(decode(&written), Ok(attributes));
    assert_eq!(encode(&Attributes::default(), Vec::new()), [0xbf, 0xff]);
}
