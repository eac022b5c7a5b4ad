//! What stripes tell, as bytes that sort by bucket and key, the latest first.

use super::RebuildError;
use crate::record::Telling;
use ripstop_catalog::Stripe;
use ripstop_model::StripeId;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What comes after a name: lower than what stands for any byte of one.
const END: [u8; 2] = [0, 1];
/// Stands for a zero byte in a name.
const ZERO: [u8; 2] = [0, 255];
const BUCKET: u8 = 0;
const OBJECT: u8 = 1;

/// What is believed of a stripe.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) enum Standing {
    /// There are enough fragments, and they agree.
    Believed(#[serde(with = "super::stripe_form")] Stripe),
    /// It never had enough: a write that was not answered, or a deletion that was under way.
    Unfinished,
    /// It may have had enough.
    Lost,
    /// Its fragments contradict one another.
    Disputed,
}

impl Standing {
    pub(super) fn encode(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("plain records always have a form")
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, RebuildError> {
        postcard::from_bytes(bytes).map_err(|_| RebuildError::Scratch)
    }
}

/// Where the record is that a stripe's headers tell.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) enum ToldRecord {
    /// Here.
    Inline(Vec<u8>),
    /// Among the long ones: start and length.
    Apart(u64, u32),
}

impl ToldRecord {
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Inline(record) => record.is_empty(),
            Self::Apart(_, len) => *len == 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Inline(record) => record.len(),
            Self::Apart(_, len) => *len as usize,
        }
    }
}

/// What one stripe tells, and what is believed of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Told {
    pub(super) standing: Standing,
    pub(super) record: ToldRecord,
}

/// Of what: a bucket, or a key in one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Name {
    pub(super) bucket: String,
    pub(super) key: Option<String>,
}

impl Name {
    pub(super) fn of(telling: &Telling) -> Self {
        match telling {
            Telling::Bucket(bucket) => Self { bucket: bucket.name.clone(), key: None },
            Telling::Object { bucket, key, .. } => {
                Self { bucket: bucket.clone(), key: Some(key.clone()) }
            }
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.bucket, self.key.as_deref().unwrap_or_default())
    }
}

impl Told {
    /// As bytes that sort by name, a bucket before its keys, and the latest stripe first.
    pub(super) fn encode(&self, telling: &Telling) -> Vec<u8> {
        let mut out = Vec::new();
        let Name { bucket, key } = Name::of(telling);
        append(&mut out, &bucket);
        match key {
            None => out.push(BUCKET),
            Some(key) => {
                out.push(OBJECT);
                append(&mut out, &key);
            }
        }
        out.extend_from_slice(&(!telling.told_by().0).to_be_bytes());
        postcard::to_extend(self, out).expect("plain records always have a form")
    }

    /// From such bytes.
    pub(super) fn decode(bytes: &[u8]) -> Result<(Name, StripeId, Self), RebuildError> {
        Self::parse(bytes).ok_or(RebuildError::Scratch)
    }

    fn parse(bytes: &[u8]) -> Option<(Name, StripeId, Self)> {
        let (bucket, rest) = name(bytes)?;
        let (kind, rest) = rest.split_first()?;
        let (key, rest) = match *kind {
            BUCKET => (None, rest),
            _ => name(rest).map(|(key, rest)| (Some(key), rest))?,
        };
        let (id, told) = rest.split_first_chunk::<16>()?;
        let id = StripeId(!u128::from_be_bytes(*id));
        Some((Name { bucket, key }, id, postcard::from_bytes(told).ok()?))
    }
}

fn append(out: &mut Vec<u8>, name: &str) {
    for &byte in name.as_bytes() {
        if byte == 0 { out.extend_from_slice(&ZERO) } else { out.push(byte) }
    }
    out.extend_from_slice(&END);
}

/// The name that begins these bytes, and what follows it.
fn name(bytes: &[u8]) -> Option<(String, &[u8])> {
    let (mut name, mut rest) = (Vec::new(), bytes);
    loop {
        let zero = rest.iter().position(|&byte| byte == 0)?;
        name.extend_from_slice(&rest[..zero]);
        let (mark, more) = rest[zero..].split_first_chunk::<2>()?;
        rest = more;
        if *mark == END {
            return Some((String::from_utf8(name).ok()?, rest));
        }
        name.push(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_catalog::{Attributes, Bucket, Object};

    fn told(bucket: &str, key: Option<&str>, id: u128) -> (Vec<u8>, Name) {
        let told_by = StripeId(id);
        let telling = match key {
            None => Telling::Bucket(Bucket {
                name: bucket.into(),
                created_ms: 1,
                told_by,
                ..Bucket::default()
            }),
            Some(key) => {
                let attributes = Attributes::default();
                let object = Object {
                    len: 0,
                    modified_ms: 1,
                    attributes,
                    extents: vec![],
                    told_by,
                    ..Object::default()
                };
                Telling::Object { bucket: bucket.into(), key: key.into(), object }
            }
        };
        let record = ToldRecord::Inline(telling.encode().to_vec());
        let told = Told { standing: Standing::Lost, record };
        let bytes = told.encode(&telling);
        let name = Name { bucket: bucket.into(), key: key.map(str::to_owned) };
        assert_eq!(Told::decode(&bytes).unwrap(), (name.clone(), told_by, told));
        (bytes, name)
    }

    #[test]
    fn names_keep_together_and_the_latest_comes_first() {
        let mut all = Vec::new();
        for bucket in ["a", "ab", "b"] {
            for key in [None, Some("k"), Some("k\0"), Some("k\0\u{1}"), Some("k\u{1}"), Some("kk")]
            {
                for id in [u128::MAX, 1 << 127, 0x0100_0000, 1] {
                    all.push(told(bucket, key, id));
                }
            }
        }
        let wanted = all.clone();
        all.reverse();
        all.sort_by(|one, other| one.0.cmp(&other.0));
        assert_eq!(all, wanted);
    }
}
