//! Version 1, little-endian: magic 8 | header length 4 | stripe 16 | index, N, K, run | payload
//! length 4 | pool 2 | fragments, 0 | store 8 | record length 4 | record | zeros to a multiple of
//! 64 less 8 | CRC-64/NVME 8. Run and fragments are the stripe's cut; both are 0 where each strip
//! is at a node of its own.

use super::description::{
    ALIGN, Header, HeaderError, MAGIC, Origin, cut_numbers, cut_of, stripe_id, word,
};
use crate::Sealing;
use bytes::{BufMut, Bytes, BytesMut};
use crc_fast::{CrcAlgorithm, Digest, checksum};
use ripstop_form::Unknown;
use ripstop_model::{Code, FragmentId, PoolId, StripeShape};

pub(super) const VERSION: u8 = 1;
/// Everything before the record.
const FIXED_LEN: usize = 52;
const SEAL_LEN: usize = 8;

/// Bytes of a header.
pub(super) fn len(header: &Header) -> usize {
    (FIXED_LEN + SEAL_LEN + header.record.len()).next_multiple_of(ALIGN)
}

/// Before the record, the record, behind it.
pub(super) fn segments(header: &Header) -> Vec<Bytes> {
    let (len, record_len) = (len(header), header.record.len());
    let code = header.shape.code();
    let [run, fragments] = cut_numbers(header);
    let mut out = BytesMut::with_capacity(FIXED_LEN);
    out.put_slice(&MAGIC);
    out.put_u8(VERSION);
    out.put_u32_le(u32::try_from(len).expect("records are far below 4 GiB"));
    out.put_u128_le(header.name.stripe.0);
    out.put_u8(header.name.index);
    out.put_u8(u8::try_from(code.n()).expect("n ≤ 255"));
    out.put_u8(u8::try_from(code.k()).expect("k ≤ 255"));
    out.put_u8(run);
    out.put_u32_le(header.shape.payload_len());
    out.put_u16_le(header.origin.pool.0);
    out.put_slice(&[fragments, 0]);
    out.put_u64_le(header.origin.store);
    out.put_u32_le(u32::try_from(record_len).expect("shorter than the header"));
    let mut end = BytesMut::zeroed(len - FIXED_LEN - record_len - SEAL_LEN);
    let mut seal = Digest::new(CrcAlgorithm::Crc64Nvme);
    for bytes in [&out[..], &header.record, &end] {
        seal.update(bytes);
    }
    end.put_u64_le(seal.finalize());
    vec![out.freeze(), header.record.clone(), end.freeze()]
}

/// The header that is all of `bytes`.
pub(super) fn parse(bytes: &Bytes) -> Result<Header, HeaderError> {
    let (body, seal) = bytes.split_at(bytes.len() - SEAL_LEN);
    if checksum(CrcAlgorithm::Crc64Nvme, body).to_le_bytes() != *seal {
        return Err(HeaderError::Damaged("checksum"));
    }
    let record_len = word(bytes, 48) as usize;
    let shape = Code::new(bytes[29].into(), bytes[30].into())
        .ok()
        .and_then(|code| StripeShape::new(code, word(bytes, 32)))
        .ok_or(HeaderError::Damaged("shape"))?;
    let stripe = stripe_id(bytes[12..28].try_into().expect("16 bytes"));
    let record = FIXED_LEN..FIXED_LEN.saturating_add(record_len);
    let header = Header {
        name: FragmentId { stripe, index: bytes[28] },
        shape,
        cut: cut_of(shape, [bytes[31], bytes[38]])?,
        origin: Origin {
            store: u64::from_le_bytes(bytes[40..48].try_into().expect("8 bytes")),
            pool: PoolId(u16::from_le_bytes([bytes[36], bytes[37]])),
        },
        record: if record.end <= body.len() { bytes.slice(record) } else { Bytes::new() },
        version: VERSION,
        sealing: Sealing::Checksum,
        key: None,
        tag: None,
        unknown: Unknown::default(),
    };
    if header.record.len() != record_len || len(&header) != bytes.len() {
        return Err(HeaderError::Damaged("record length"));
    }
    Ok(header)
}
