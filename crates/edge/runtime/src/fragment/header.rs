use crate::Cut;
use bytes::{BufMut, Bytes, BytesMut};
use crc_fast::{CrcAlgorithm, Digest, checksum};
use ripstop_model::{Code, FragmentId, PoolId, StripeId, StripeShape};
use thiserror::Error;

const MAGIC: [u8; 8] = *b"RIPSTOP\x01";
/// Everything before the record.
const FIXED_LEN: usize = 52;
const SEAL_LEN: usize = 8;
/// Headers are padded to this, so that strips begin aligned.
const ALIGN: usize = 64;
/// Longest header: bounds what a rebuild reads of a fragment that may not be one.
const HEADER_LEN_MAX: usize = 16 << 20;
/// Records this long are not copied into each header that tells them.
const SHARED_RECORD_MIN: usize = 16 << 10;

/// Longest record that a header can tell.
pub const RECORD_LEN_MAX: usize = HEADER_LEN_MAX - FIXED_LEN - SEAL_LEN;

/// Bytes to read first when a header's length is not known: enough for most.
pub const HEADER_PROBE_LEN: u64 = 4096;

/// The start of every fragment (and, where all of a stripe are at one node, its end too): which it is, how its stripe is coded, what the stripe holds.
///
/// Little-endian: magic 8 | header length 4 | stripe 16 | index, N, K, run | payload length 4 |
/// pool 2 | fragments, 0 | store 8 | record length 4 | record | zeros to a multiple of 64 less 8 | CRC-64/NVME 8.
/// Run and fragments are the stripe's [`Cut`]; both are 0 where each strip is at a node of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    /// Which fragment.
    pub name: FragmentId,
    /// How the stripe is coded.
    pub shape: StripeShape,
    /// How its strips lie in fragments.
    pub cut: Cut,
    /// Who wrote it.
    pub origin: Origin,
    /// What the stripe holds, in the store's words; empty where another stripe says it.
    pub record: Bytes,
}

/// Who wrote a stripe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origin {
    /// The number of the store: random, so that no store takes another's fragments for its own.
    pub store: u64,
    /// The pool it was written to.
    pub pool: PoolId,
}

/// The bytes are not a whole header.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum HeaderError {
    /// More bytes are needed.
    #[error("header of {len} bytes, {got} at hand")]
    Short {
        /// Bytes that the header has.
        len: u64,
        /// Bytes that were given.
        got: u64,
    },
    /// Not a header, or a damaged one.
    #[error("not a fragment's header: {0}")]
    Damaged(&'static str),
}

impl Header {
    /// Bytes of a header with a record of `record_len` bytes.
    pub const fn len_with(record_len: usize) -> usize {
        (FIXED_LEN + record_len + SEAL_LEN).next_multiple_of(ALIGN)
    }

    /// The header as bytes.
    ///
    /// # Panics
    /// If the record is longer than [`RECORD_LEN_MAX`].
    pub fn encode(&self) -> Bytes {
        self.segments().concat().into()
    }

    /// The header as bytes in one or more pieces: headers that tell the same long record share its
    /// memory.
    ///
    /// # Panics
    /// If the record is longer than [`RECORD_LEN_MAX`].
    pub fn segments(&self) -> Vec<Bytes> {
        let record_len = self.record.len();
        assert!(
            record_len <= RECORD_LEN_MAX,
            "a record of {record_len} bytes: nobody could read its header"
        );
        let len = Self::len_with(record_len);
        let padding = len - FIXED_LEN - record_len - SEAL_LEN;
        let is_shared = record_len >= SHARED_RECORD_MIN;
        let mut out = BytesMut::with_capacity(if is_shared { FIXED_LEN } else { len });
        out.put_slice(&MAGIC);
        out.put_u32_le(u32::try_from(len).expect("records are far below 4 GiB"));
        out.put_u128_le(self.name.stripe.0);
        out.put_u8(self.name.index);
        out.put_u8(u8::try_from(self.shape.code().n()).expect("n ≤ 255"));
        out.put_u8(u8::try_from(self.shape.code().k()).expect("k ≤ 255"));
        let code = self.shape.code();
        out.put_u8(self.cut.number(code));
        out.put_u32_le(self.shape.payload_len());
        out.put_u16_le(self.origin.pool.0);
        let fragments = if self.cut.is_together() { self.cut.fragments(code) } else { 0 };
        out.put_u8(u8::try_from(fragments).expect("at most N"));
        out.put_u8(0);
        out.put_u64_le(self.origin.store);
        out.put_u32_le(u32::try_from(record_len).expect("shorter than the header"));
        if !is_shared {
            out.put_slice(&self.record);
            out.put_bytes(0, padding);
            let seal = checksum(CrcAlgorithm::Crc64Nvme, &out);
            out.put_u64_le(seal);
            return vec![out.freeze()];
        }
        let mut end = BytesMut::zeroed(padding);
        let mut seal = Digest::new(CrcAlgorithm::Crc64Nvme);
        for bytes in [&out[..], &self.record, &end] {
            seal.update(bytes);
        }
        end.put_u64_le(seal.finalize());
        vec![out.freeze(), self.record.clone(), end.freeze()]
    }

    /// The header at the start of `bytes`, and its length.
    pub fn parse(bytes: &Bytes) -> Result<(Self, u32), HeaderError> {
        let got = bytes.len() as u64;
        if bytes.len() < FIXED_LEN {
            return Err(HeaderError::Short { len: FIXED_LEN as u64, got });
        }
        if bytes[..8] != MAGIC {
            return Err(HeaderError::Damaged("magic"));
        }
        let len = word(bytes, 8) as usize;
        if !(FIXED_LEN + SEAL_LEN..=HEADER_LEN_MAX).contains(&len) || !len.is_multiple_of(ALIGN) {
            return Err(HeaderError::Damaged("length"));
        }
        if bytes.len() < len {
            return Err(HeaderError::Short { len: len as u64, got });
        }
        let (body, seal) = bytes[..len].split_at(len - SEAL_LEN);
        if checksum(CrcAlgorithm::Crc64Nvme, body).to_le_bytes() != *seal {
            return Err(HeaderError::Damaged("checksum"));
        }
        let record_len = word(bytes, 48) as usize;
        if Self::len_with(record_len) != len {
            return Err(HeaderError::Damaged("record length"));
        }
        let shape = Code::new(bytes[29].into(), bytes[30].into())
            .ok()
            .and_then(|code| StripeShape::new(code, word(bytes, 32)))
            .ok_or(HeaderError::Damaged("shape"))?;
        let (run, fragments) = (bytes[31], usize::from(bytes[38]));
        let fragments = if run == 0 { shape.code().n() } else { fragments };
        let cut = Cut::new(shape.code(), run, fragments).ok_or(HeaderError::Damaged("cut"))?;
        let stripe = StripeId(u128::from_le_bytes(bytes[12..28].try_into().expect("16 bytes")));
        let header = Self {
            name: FragmentId { stripe, index: bytes[28] },
            shape,
            cut,
            origin: Origin {
                store: u64::from_le_bytes(bytes[40..48].try_into().expect("8 bytes")),
                pool: PoolId(u16::from_le_bytes([bytes[36], bytes[37]])),
            },
            record: bytes.slice(FIXED_LEN..FIXED_LEN + record_len),
        };
        Ok((header, len as u32))
    }

    /// The header that ends `bytes`, the end of a fragment of a stripe at one node, and its length.
    pub fn parse_end(bytes: &Bytes) -> Option<(Self, u32)> {
        let starts = (1..=bytes.len() / ALIGN).map(|aligned| bytes.len() - aligned * ALIGN);
        let mut headers = starts.filter(|&start| bytes[start..].starts_with(&MAGIC));
        headers.find_map(|start| {
            let (header, len) = Self::parse(&bytes.slice(start..)).ok()?;
            let is_end = start + len as usize == bytes.len() && header.cut.is_together();
            is_end.then_some((header, len))
        })
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header(record: Vec<u8>) -> Header {
        let cuts = [Cut::Spread, Cut::Shared, Cut::Unique { run: 2, fragments: 3 }];
        let cut = cuts[record.len() % cuts.len()];
        let shape = StripeShape::new(Code::new(6, 4).unwrap(), 1000).unwrap();
        let name = FragmentId { stripe: StripeId::new(123_456, 789), index: 5 };
        let origin = Origin { store: 0x1234_5678_9abc_def0, pool: PoolId(3) };
        Header { name, shape, cut, origin, record: record.into() }
    }

    #[test]
    fn the_header_at_the_end_of_a_fragment_is_found() {
        for (record, found) in [(0, false), (1, true), (10_000, true), (2, true), (3, false)] {
            let header = header(vec![7; record]);
            let bytes: Bytes = [vec![1; 1001], header.encode().to_vec()].concat().into();
            assert_eq!(
                Header::parse_end(&bytes).map(|(header, _)| header),
                found.then_some(header)
            );
            assert_eq!(Header::parse_end(&bytes.slice(..bytes.len() - 1)), None);
        }
    }

    #[test]
    fn the_longest_record_can_be_read_and_long_ones_are_not_copied() {
        for len in [SHARED_RECORD_MIN - 1, SHARED_RECORD_MIN, 100_001, RECORD_LEN_MAX] {
            let header = header(vec![7; len]);
            let segments = header.segments();
            assert_eq!(segments.len() == 3, len >= SHARED_RECORD_MIN);
            if let [_, record, _] = &segments[..] {
                assert_eq!(record.as_ptr(), header.record.as_ptr());
            }
            let bytes: Bytes = segments.concat().into();
            assert_eq!(bytes.len(), Header::len_with(len));
            assert_eq!(Header::parse(&bytes).map(|(header, _)| header), Ok(header));
        }
    }

    #[test]
    #[should_panic(expected = "nobody could read its header")]
    fn a_header_that_could_not_be_read_is_never_made() {
        header(vec![7; RECORD_LEN_MAX + 1]).segments();
    }

    proptest! {
        #[test]
        fn headers_round_trip(record: Vec<u8>, more: Vec<u8>) {
            let header = header(record);
            let mut bytes = header.encode().to_vec();
            let len = bytes.len() as u32;
            bytes.extend(more);
            prop_assert_eq!(Header::parse(&bytes.into()), Ok((header, len)));
        }

        #[test]
        fn no_flipped_bit_passes(record: Vec<u8>, at: prop::sample::Index, bit in 0..8u8) {
            let mut bytes = header(record).encode().to_vec();
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            prop_assert!(Header::parse(&bytes.into()).is_err());
        }

        #[test]
        fn a_cut_header_asks_for_more(cut in 0..128usize) {
            let bytes = header(vec![1; 60]).encode();
            prop_assert_eq!(bytes.len(), 128);
            let short = matches!(Header::parse(&bytes.slice(..cut)), Err(HeaderError::Short { .. }));
            prop_assert!(short);
        }
    }
}
