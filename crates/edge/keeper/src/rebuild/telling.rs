//! What stripes tell, as bytes that sort by bucket and key, the latest first.

use super::error::RebuildError;
use ripstop_catalog::{Place, Stamp, Stripe};
use ripstop_model::StripeId;
use ripstop_store::{PackEntry, Telling};
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

/// Where that is which a stripe's headers tell of a name.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) enum ToldRecord {
    /// Here.
    Inline(Vec<u8>),
    /// Among the long ones: start and length.
    Apart(u64, u32),
    /// Nothing more is to be told: the name was deleted.
    Deletion,
}

impl ToldRecord {
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Inline(record) => record.is_empty(),
            Self::Apart(_, len) => *len == 0,
            Self::Deletion => false,
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Inline(record) => record.len(),
            Self::Apart(_, len) => *len as usize,
            Self::Deletion => 0,
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
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Name {
    pub(super) bucket: String,
    pub(super) key: Option<String>,
}

impl Name {
    /// The names that a stripe tells of, each with the stamp of what it tells.
    pub(super) fn of(telling: &Telling) -> Vec<(Self, Stamp)> {
        let name = |bucket: &str, key: &str| Self {
            bucket: bucket.to_owned(),
            key: (!key.is_empty()).then(|| key.to_owned()),
        };
        match telling {
            Telling::Bucket(bucket) => vec![(name(&bucket.name, ""), bucket.stamp())],
            Telling::Object { bucket, key, object } => vec![(name(bucket, key), object.stamp())],
            Telling::Deletions { of, .. } => {
                of.iter().map(|one| (name(&one.bucket, &one.key), one.stamp)).collect()
            }
            // What it tells is not in its headers.
            Telling::Pack(_) => Vec::new(),
        }
    }

    /// The name that a pack tells of.
    pub(super) fn of_entry(entry: &PackEntry) -> Self {
        Self { bucket: entry.bucket().to_owned(), key: Some(entry.key().to_owned()) }
    }

    /// The key; empty where it is a bucket.
    pub(super) fn key(&self) -> &str {
        self.key.as_deref().unwrap_or_default()
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = Place::new(&self.bucket, self.key());
        match place.version() {
            Some((key, id)) => write!(f, "{}/{key} (version {id})", place.bucket_name()),
            None => write!(f, "{}/{}", self.bucket, self.key()),
        }
    }
}

impl Told {
    /// As bytes that sort by name, a bucket before its keys, the latest stamp first, and of equal
    /// ones the latest stripe.
    pub(super) fn encode(&self, name: &Name, stamp: Stamp, told_by: StripeId) -> Vec<u8> {
        let mut out = Vec::new();
        append(&mut out, &name.bucket);
        match &name.key {
            None => out.push(BUCKET),
            Some(key) => {
                out.push(OBJECT);
                append(&mut out, key);
            }
        }
        out.extend_from_slice(&(!stamp.when).to_be_bytes());
        out.extend_from_slice(&(!stamp.stripe.0).to_be_bytes());
        out.extend_from_slice(&(!told_by.0).to_be_bytes());
        postcard::to_extend(self, out).expect("plain records always have a form")
    }

    /// Name, stamp, the stripe that tells, and what it tells, from such bytes.
    pub(super) fn decode(bytes: &[u8]) -> Result<(Name, Stamp, StripeId, Self), RebuildError> {
        Self::parse(bytes).ok_or(RebuildError::Scratch)
    }

    fn parse(bytes: &[u8]) -> Option<(Name, Stamp, StripeId, Self)> {
        let (bucket, rest) = name(bytes)?;
        let (kind, rest) = rest.split_first()?;
        let (key, rest) = match *kind {
            BUCKET => (None, rest),
            _ => name(rest).map(|(key, rest)| (Some(key), rest))?,
        };
        let (when, rest) = rest.split_first_chunk()?;
        let (first, rest) = rest.split_first_chunk()?;
        let (told_by, told) = rest.split_first_chunk()?;
        let stamp = Stamp { when: !u64::from_be_bytes(*when), stripe: stripe(first) };
        Some((Name { bucket, key }, stamp, stripe(told_by), postcard::from_bytes(told).ok()?))
    }
}

fn stripe(complement: &[u8; 16]) -> StripeId {
    StripeId(!u128::from_be_bytes(*complement))
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
    use ripstop_catalog::{Bucket, Object};
    use ripstop_store::Deletion;

    fn told(bucket: &str, key: Option<&str>, id: u128) -> (Vec<u8>, Name) {
        let (told_by, bucket) = (StripeId(id), bucket.to_owned());
        // The lower half of the numbers are told again by a later stripe than that of their stamp.
        let stamp = Stamp { when: (id >> 100) as u64, stripe: StripeId(id / 2) };
        let telling = match key {
            None => Telling::Bucket(Bucket {
                name: bucket.clone(),
                created_ms: 1,
                told_by,
                stamp: Some(stamp),
                ..Bucket::default()
            }),
            Some(key) => {
                let object =
                    Object { modified_ms: 1, told_by, stamp: Some(stamp), ..Object::default() };
                Telling::Object { bucket: bucket.clone(), key: key.into(), object }
            }
        };
        let record = ToldRecord::Inline(telling.encode().to_vec());
        let told = Told { standing: Standing::Lost, record };
        let name = Name { bucket, key: key.map(str::to_owned) };
        assert_eq!(Name::of(&telling), [(name.clone(), stamp)]);
        let bytes = told.encode(&name, stamp, told_by);
        assert_eq!(Told::decode(&bytes).unwrap(), (name.clone(), stamp, told_by, told));
        (bytes, name)
    }

    #[test]
    fn deletions_are_told_of_by_name_and_stamp_each() {
        let told_by = StripeId(9);
        let stamp = |when| Stamp { when, stripe: told_by };
        let deletion = |bucket: &str, key: &str, when| Deletion {
            bucket: bucket.into(),
            key: key.into(),
            stamp: stamp(when),
        };
        let of = vec![deletion("b", "k", 3), deletion("b", "", 4)];
        let name = |key: Option<&str>| Name { bucket: "b".into(), key: key.map(str::to_owned) };
        let expected = [(name(Some("k")), stamp(3)), (name(None), stamp(4))];
        assert_eq!(Name::of(&Telling::Deletions { told_by, of }), expected);
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
