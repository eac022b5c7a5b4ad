use super::description::{
    ALIGN, Header, HeaderError, MAGIC, Origin, REST_LEN_MAX, RecordTag, cut_numbers, cut_of,
    stripe_id, word,
};
use crate::{Sealing, Seals};
use bytes::Bytes;
use crc_fast::{CrcAlgorithm, Digest};
use ripstop_form::{Fields, Found, Record, Unknown, Unreadable};
use ripstop_model::{BlockLen, Code, FragmentId, PoolId, StripeShape};
use ripstop_seal::{HEADER_SEAL_LEN, KeyId};

pub(super) const VERSION: u8 = 2;
/// Magic, length of the header, length of the fields.
pub(super) const LENS_LEN: usize = 16;
const CHECKSUM_LEN: usize = 8;
/// Stripe and index.
const NAME_LEN: usize = 17;

/// Bytes of the seal that ends a header.
const fn seal_len(sealing: Sealing) -> usize {
    match sealing {
        Sealing::Checksum => CHECKSUM_LEN,
        Sealing::Keyed | Sealing::Encrypted | Sealing::Unverified => HEADER_SEAL_LEN,
    }
}

/// The fields, by their numbers: for ever. What differs among the headers of a stripe, or is not
/// known before its length must be, takes as many bytes whatever it is.
#[derive(Debug, Default)]
struct Numbered {
    /// 1: stripe, index.
    name: [u8; NAME_LEN],
    /// 2.
    n: u8,
    /// 3.
    k: u8,
    /// 4: run, fragments.
    cut: [u8; 2],
    /// 5.
    payload_len: u32,
    /// 6.
    store: u64,
    /// 7.
    pool: u16,
    /// 8: bytes of the record, which stands behind the fields: long ones are shared.
    record_len: u32,
    /// 9.
    sealing: u8,
    /// 10.
    key: Option<KeyId>,
    /// 11: the tag of an encrypted record.
    tag: Option<RecordTag>,
    /// 12: the length of blocks, where they are not the longest.
    block_len: u8,
    unknown: Unknown,
}

impl Record for Numbered {
    fn write(&self, to: &mut Fields) {
        to.bytes(1, &self.name);
        to.number(2, self.n.into());
        to.number(3, self.k.into());
        to.bytes(4, &self.cut);
        to.number(5, self.payload_len.into());
        to.number(6, self.store);
        to.number(7, self.pool.into());
        to.number(8, self.record_len.into());
        to.number(9, self.sealing.into());
        to.bytes(10, self.key.map(KeyId::to_bytes).as_ref().map_or(&[], |key| &key[..]));
        to.bytes(11, self.tag.as_ref().map_or(&[], |tag| &tag[..]));
        to.number(12, self.block_len.into());
        to.unknown(&self.unknown);
    }

    fn read(&mut self, field: u64, from: &mut Found<'_>) -> Result<bool, Unreadable> {
        match field {
            1 => self.name = from.array()?,
            2 => self.n = from.small()?,
            3 => self.k = from.small()?,
            4 => self.cut = from.array()?,
            5 => self.payload_len = from.small()?,
            6 => self.store = from.number()?,
            7 => self.pool = from.small()?,
            8 => self.record_len = from.small()?,
            9 => self.sealing = from.small()?,
            10 => self.key = Some(KeyId::from_bytes(from.array()?)),
            11 => self.tag = Some(from.array()?),
            12 => self.block_len = from.small()?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn unknown(&mut self) -> Option<&mut Unknown> {
        Some(&mut self.unknown)
    }
}

/// Bytes of a header.
pub(super) fn len(header: &Header) -> usize {
    let rest = fields(header, vec![0; LENS_LEN]).len() + seal_len(header.sealing);
    (rest + header.record.len()).next_multiple_of(ALIGN)
}

/// The fields of a header, behind the bytes of `after`.
fn fields(header: &Header, after: Vec<u8>) -> Vec<u8> {
    let mut name = [header.name.index; NAME_LEN];
    name[..16].copy_from_slice(&header.name.stripe.0.to_le_bytes());
    let numbered = Numbered {
        name,
        n: u8::try_from(header.shape.code().n()).expect("n ≤ 255"),
        k: u8::try_from(header.shape.code().k()).expect("k ≤ 255"),
        cut: cut_numbers(header),
        payload_len: header.shape.payload_len(),
        store: header.origin.store,
        pool: header.origin.pool.0,
        record_len: u32::try_from(header.record.len()).expect("records are far below 4 GiB"),
        sealing: header.sealing.number(),
        key: header.key,
        tag: header.tag,
        block_len: header.shape.block_len().number(),
        unknown: header.unknown.clone(),
    };
    ripstop_form::encode(&numbered, after)
}

/// The header, its record a piece of its own if `is_shared`; `None` if the key is not known.
pub(super) fn segments(header: &Header, seals: &Seals, is_shared: bool) -> Option<Vec<Bytes>> {
    let keys = match header.key {
        Some(key) => Some(seals.of(key)?),
        None if header.sealing == Sealing::Checksum => None,
        None => return None,
    };
    let seal = |out: &mut Vec<u8>, before: [&[u8]; 2]| {
        let pieces = [before[0], before[1], &out[..]];
        match keys {
            Some(keys) => out.extend(keys.sealer.header(pieces)),
            None => out.extend(checksum(pieces)),
        }
    };
    let (record, seal_len) = (&header.record, seal_len(header.sealing));
    let copied = if is_shared { 0 } else { record.len() };
    let mut out = Vec::with_capacity(REST_LEN_MAX + copied);
    out.extend(MAGIC);
    out.push(VERSION);
    let lens_at = out.len();
    out.resize(LENS_LEN, 0);
    let mut out = fields(header, out);
    let fields_len = out.len() - LENS_LEN;
    let rest = out.len() + record.len() + seal_len;
    let len = rest.next_multiple_of(ALIGN);
    let lens = [len, fields_len]
        .map(|len| u32::try_from(len).expect("records are far below 4 GiB").to_le_bytes());
    out[lens_at..LENS_LEN].copy_from_slice(lens.as_flattened());
    if is_shared {
        let mut end = vec![0; len - rest];
        end.reserve_exact(seal_len);
        seal(&mut end, [&out, record]);
        return Some(vec![out.into(), record.clone(), end.into()]);
    }
    out.extend_from_slice(record);
    out.resize(len - seal_len, 0);
    seal(&mut out, [&[], &[]]);
    Some(vec![out.into()])
}

fn checksum(pieces: [&[u8]; 3]) -> [u8; CHECKSUM_LEN] {
    let mut digest = Digest::new(CrcAlgorithm::Crc64Nvme);
    for piece in pieces {
        digest.update(piece);
    }
    digest.finalize().to_le_bytes()
}

/// The header that is all of `bytes`.
pub(super) fn parse(bytes: &Bytes, seals: &Seals) -> Result<Header, HeaderError> {
    let record_at = LENS_LEN.saturating_add(word(bytes, 12) as usize);
    let fields = bytes.get(LENS_LEN..record_at).ok_or(HeaderError::Damaged("length of fields"))?;
    let fields: Numbered = ripstop_form::decode(fields)?;
    let sealing = Sealing::from_number(fields.sealing).filter(|it| *it == it.in_headers());
    let sealing = sealing.ok_or(HeaderError::Damaged("sealing"))?;
    // Before anything of it is used but what says how it is sealed.
    verify(bytes, sealing, fields.key, seals)?;
    let record_end = record_at.saturating_add(fields.record_len as usize);
    let seal_len = seal_len(sealing);
    if record_end.saturating_add(seal_len).next_multiple_of(ALIGN) != bytes.len() {
        return Err(HeaderError::Damaged("record length"));
    }
    let shape = Code::new(fields.n.into(), fields.k.into())
        .ok()
        .and_then(|code| StripeShape::new(code, fields.payload_len))
        .ok_or(HeaderError::Damaged("shape"))?;
    let block_len = BlockLen::from_number(fields.block_len);
    let shape = shape.in_blocks(block_len.ok_or(HeaderError::Damaged("length of blocks"))?);
    let (stripe, index) = fields.name.split_first_chunk().expect("longer than a stripe's id");
    Ok(Header {
        name: FragmentId { stripe: stripe_id(*stripe), index: index[0] },
        shape,
        cut: cut_of(shape, fields.cut)?,
        origin: Origin { store: fields.store, pool: PoolId(fields.pool) },
        record: bytes.slice(record_at..record_end),
        version: VERSION,
        sealing,
        key: fields.key,
        tag: fields.tag,
        unknown: fields.unknown,
    })
}

/// Verifies the seal that ends a header.
fn verify(
    bytes: &Bytes,
    sealing: Sealing,
    key: Option<KeyId>,
    seals: &Seals,
) -> Result<(), HeaderError> {
    let (body, seal) = bytes.split_at(bytes.len() - seal_len(sealing));
    if (sealing == Sealing::Checksum) != key.is_none() {
        return Err(HeaderError::Damaged("key"));
    }
    let holds = match (key, key.and_then(|key| seals.of(key))) {
        (None, _) => checksum([body, &[], &[]]) == *seal,
        (Some(_), Some(keys)) => keys.sealer.header_holds([body], seal),
        (Some(key), None) if !seals.is_unsealed() => return Err(HeaderError::Key(key)),
        (Some(_), None) => true,
    };
    if holds { Ok(()) } else { Err(HeaderError::Damaged("seal")) }
}
