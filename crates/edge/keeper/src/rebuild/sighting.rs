use super::scratch::{Records, ScratchError};
use ripstop_model::{BlockLen, Code, FragmentId, NodeId, PoolId, StripeId, StripeShape};
use ripstop_runtime::{Cut, Header, Origin, Sealing, Seals};
use sha2::{Digest as _, Sha256};

/// Bytes of a longer record are kept apart from what is sorted.
const INLINE_MAX: usize = 1024;
/// Bytes of a sighting before what its header says: stripe, node, index.
const KEY_LEN: usize = 19;
const FACTS_LEN: usize = 28;
const DIGEST_LEN: usize = 32;

/// What a header says but for its index, in short: equal exactly when all of it is equal.
pub(super) type Digest = [u8; DIGEST_LEN];

/// What a header says of its stripe, but for the record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Facts {
    pub(super) shape: StripeShape,
    pub(super) cut: Cut,
    pub(super) origin: Origin,
    pub(super) record_len: u32,
    pub(super) header_len: u32,
    /// How the catalog is to say that it is sealed.
    pub(super) sealing: Sealing,
}

/// Where the record is that a header tells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Kept {
    /// Here.
    Inline(Vec<u8>),
    /// Among the long ones, from this byte on.
    Apart(u64),
    /// With another fragment whose header says the same: of any K, one has an index that is at most
    /// N−K, and only those keep their records.
    Elsewhere,
}

/// One fragment that a node has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Sighting {
    pub(super) name: FragmentId,
    pub(super) node: NodeId,
    /// What its header says; nothing where it has no whole one.
    pub(super) said: Option<Said>,
}

/// What one whole header says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Said {
    pub(super) digest: Digest,
    pub(super) facts: Facts,
    pub(super) kept: Kept,
}

impl Facts {
    fn of(header: &Header, seals: &Seals) -> Self {
        let Header { shape, cut, origin, ref record, .. } = *header;
        let is_known = header.key.is_none_or(|key| seals.knows(key));
        let sealing = if is_known { header.sealing } else { Sealing::Unverified };
        let (record_len, header_len) = (record.len() as u32, header.len() as u32);
        Self { shape, cut, origin, record_len, header_len, sealing }
    }

    fn encode(&self) -> [u8; FACTS_LEN] {
        let code = self.shape.code();
        let mut out = [0; FACTS_LEN];
        out[0] = code.n() as u8;
        out[1] = code.k() as u8;
        out[2] = self.cut.number(code);
        out[3] = self.cut.fragments(code) as u8;
        out[4..8].copy_from_slice(&self.shape.payload_len().to_be_bytes());
        out[8..10].copy_from_slice(&self.origin.pool.0.to_be_bytes());
        out[10..18].copy_from_slice(&self.origin.store.to_be_bytes());
        out[18..22].copy_from_slice(&self.record_len.to_be_bytes());
        out[22..26].copy_from_slice(&self.header_len.to_be_bytes());
        out[26] = self.sealing.number();
        out[27] = self.shape.block_len().number();
        out
    }

    fn decode(bytes: &[u8; FACTS_LEN]) -> Option<Self> {
        let code = Code::new(bytes[0].into(), bytes[1].into()).ok()?;
        let pool = PoolId(u16::from_be_bytes([bytes[8], bytes[9]]));
        Some(Self {
            shape: StripeShape::new(code, u32::from_be_bytes(bytes[4..8].try_into().ok()?))?
                .in_blocks(BlockLen::from_number(bytes[27])?),
            cut: Cut::new(code, bytes[2], bytes[3].into())?,
            origin: Origin { store: u64::from_be_bytes(bytes[10..18].try_into().ok()?), pool },
            record_len: u32::from_be_bytes(bytes[18..22].try_into().ok()?),
            header_len: u32::from_be_bytes(bytes[22..26].try_into().ok()?),
            sealing: Sealing::from_number(bytes[26])?,
        })
    }
}

impl Said {
    /// What `header` says, whose record is `record` in plain text; a long one goes to `records`.
    pub(super) fn by(
        header: &Header,
        record: &[u8],
        seals: &Seals,
        records: &mut Records,
    ) -> Result<Self, ScratchError> {
        let facts = Facts::of(header, seals);
        let mut hash = Sha256::new();
        hash.update(facts.encode());
        hash.update(record);
        hash.update(header.rest());
        let fragments = facts.cut.fragments(facts.shape.code());
        // Of a stripe without payload any fragment would do, but K are asked for.
        let needed = agreeing(&facts);
        let keeps = usize::from(header.name.index) + needed <= fragments;
        let kept = match record.len() {
            0..=INLINE_MAX if keeps => Kept::Inline(record.to_vec()),
            0 => Kept::Inline(Vec::new()),
            _ if keeps => Kept::Apart(records.append(record)?),
            _ => Kept::Elsewhere,
        };
        Ok(Self { digest: hash.finalize().into(), facts, kept })
    }
}

/// Fragments whose headers must agree: K; where all are at one node, as many as hold the payload.
pub(super) fn agreeing(facts: &Facts) -> usize {
    let code = facts.shape.code();
    match facts.cut {
        Cut::Spread => code.k(),
        Cut::Shared | Cut::Unique { .. } => facts.cut.needed(facts.shape),
    }
}

impl Sighting {
    /// As bytes that sort by stripe, node and index.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(&self.name.stripe.0.to_be_bytes());
        out.extend_from_slice(&self.node.0.to_be_bytes());
        out.push(self.name.index);
        let Some(said) = &self.said else { return };
        out.extend_from_slice(&said.digest);
        out.extend_from_slice(&said.facts.encode());
        match &said.kept {
            Kept::Elsewhere => out.push(0),
            Kept::Inline(record) => {
                out.push(1);
                out.extend_from_slice(record);
            }
            Kept::Apart(at) => {
                out.push(2);
                out.extend_from_slice(&at.to_be_bytes());
            }
        }
    }

    /// From such bytes; `None` if they are none.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (key, said) = bytes.split_first_chunk::<KEY_LEN>()?;
        let stripe = StripeId(u128::from_be_bytes(key[..16].try_into().ok()?));
        let node = NodeId(u16::from_be_bytes([key[16], key[17]]));
        let name = FragmentId { stripe, index: key[18] };
        if said.is_empty() {
            return Some(Self { name, node, said: None });
        }
        let (digest, rest) = said.split_first_chunk::<DIGEST_LEN>()?;
        let (facts, rest) = rest.split_first_chunk::<FACTS_LEN>()?;
        let kept = match rest.split_first()? {
            (0, _) => Kept::Elsewhere,
            (1, record) => Kept::Inline(record.to_vec()),
            (_, at) => Kept::Apart(u64::from_be_bytes(at.try_into().ok()?)),
        };
        let said = Said { digest: *digest, facts: Facts::decode(facts)?, kept };
        Some(Self { name, node, said: Some(said) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rebuild::scratch::Scratch;
    use bytes::Bytes;

    #[test]
    fn sightings_survive_their_bytes_and_of_any_k_one_keeps_the_record() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        let mut records = Records::create(&scratch).unwrap();
        let code = Code::new(6, 4).unwrap();
        for (record_len, payload_len) in [(0, 0), (9, 0), (1024, 5), (1025, 5)] {
            let record = Bytes::from(vec![3; record_len]);
            let mut keep = 0;
            for index in 0..6 {
                let shape = StripeShape::new(code, payload_len).unwrap();
                let name = FragmentId { stripe: StripeId::new(9, 8), index };
                let origin = Origin { store: 5, pool: PoolId(6) };
                let record = record.clone();
                let header = Header::new(name, shape, Cut::Spread, origin, record);
                let (told, seals) = (header.record.clone(), Seals::default());
                let said = Said::by(&header, &told, &seals, &mut records).unwrap();
                keep += usize::from(said.kept != Kept::Elsewhere);
                let sighting = Sighting { name, node: NodeId(7), said: Some(said) };
                let mut bytes = Vec::new();
                sighting.encode(&mut bytes);
                assert_eq!(Sighting::decode(&bytes), Some(sighting.clone()));
                assert_eq!(Sighting::decode(&bytes[..20]), None);
                let damaged = Sighting { said: None, ..sighting };
                damaged.encode(&mut bytes);
                assert_eq!(Sighting::decode(&bytes), Some(damaged));
            }
            assert_eq!(keep, if record_len == 0 { 6 } else { 3 });
        }
        assert_eq!(records.read(1025, 1025).unwrap(), vec![3; 1025]);
    }
}
