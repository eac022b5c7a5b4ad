//! Requests of callers: how they begin, and how they are answered.

use crate::{
    answer::{CodedMemoryError, Done, StoredValue},
    coder::Coder,
    label,
    name::{CHECK_LEN, KeyDigest, Names, SEAL_LEN},
    open::OpenChunks,
};
use bytes::{Buf as _, Bytes};
use ripstop_model::Timestamp;
use ripstop_tier::{
    ItemLabel, ItemName, KeyHash, Presence, TIER_VALUE_LEN_MAX, TierAnswer, TierEvent, TierTicket,
    TierWrite,
};
use tokio::sync::oneshot;

/// Bytes before an object's value at a server.
pub(crate) const HEAD_LEN: usize = SEAL_LEN + CHECK_LEN;
/// Bytes that a request counts as, besides its value.
const CALL_LEN: usize = 256;
/// Bytes of an item that every memcached server takes, at most: a mebibyte is its usual bound.
const ITEM_LEN_MAX: usize = 1_000_000;

/// Who waits for how a request ended.
pub(crate) type Waiter = oneshot::Sender<Result<Done, CodedMemoryError>>;

/// What a caller asks for.
#[derive(Debug)]
pub(crate) enum Wish {
    Get,
    Put { value: Bytes, presence: Presence, expires: Option<Timestamp> },
    Delete(Presence),
    Flush,
}

/// A caller's request.
#[derive(Debug)]
pub(crate) struct Call {
    check: [u8; CHECK_LEN],
    /// What is written.
    pub(crate) value: Bytes,
    /// What is stored before it, once it has a name; and before its copies.
    heads: [Option<(ItemName, Bytes)>; 2],
    /// A long value in strips: data, then parity.
    strips: Vec<Bytes>,
    /// What was read: the digest of a key, and a value.
    pub(crate) fetched: Option<Bytes>,
    /// Bytes that it counts as.
    pub(crate) held: usize,
    waiter: Waiter,
}

impl Wish {
    /// Bytes that the request counts as.
    pub(crate) fn held(&self, coder: &Coder) -> usize {
        CALL_LEN
            + match self {
                // Most values are no longer; what is fetched counts when that is known.
                Self::Get => crate::coder::CHUNK_LEN,
                Self::Put { value, .. } => (value.len() + HEAD_LEN) * (1 + coder.code().parity()),
                Self::Delete(_) | Self::Flush => 0,
            }
    }

    /// Whether it is a value that no server takes.
    pub(crate) fn is_too_long(&self, coder: &Coder) -> bool {
        let Self::Put { value, .. } = self else { return false };
        let len_max = (TIER_VALUE_LEN_MAX as usize).min(ITEM_LEN_MAX * coder.code().k());
        value.len() + CHECK_LEN > len_max
    }

    /// What the tier is told of it.
    pub(crate) const fn event(&self, ticket: TierTicket, key: KeyHash) -> TierEvent {
        let (write, presence) = match self {
            Self::Get => return TierEvent::ReadArrived { ticket, key },
            Self::Flush => return TierEvent::FlushArrived { ticket },
            Self::Put { value, presence, expires } => {
                let len = (CHECK_LEN + value.len()) as u32;
                (TierWrite::Put { len, expires: *expires }, *presence)
            }
            Self::Delete(presence) => (TierWrite::Delete, *presence),
        };
        TierEvent::WriteArrived { ticket, key, write, presence }
    }
}

impl Call {
    pub(crate) fn new(key: KeyDigest, wish: Wish, held: usize, waiter: Waiter) -> Self {
        let value = match wish {
            Wish::Put { value, .. } => value,
            Wish::Get | Wish::Delete(_) | Wish::Flush => Bytes::new(),
        };
        let (heads, strips, fetched) = ([None, None], Vec::new(), None);
        Self { check: key.check, value, heads, strips, fetched, held, waiter }
    }

    /// What is stored before the value, or before a copy of it: all copies have the same.
    pub(crate) fn head_once(
        &mut self,
        names: &Names,
        (label, is_copy): (&ItemLabel, bool),
        open: Option<&mut OpenChunks>,
    ) -> Bytes {
        let Self { check, value, heads, .. } = self;
        let kept = &mut heads[usize::from(is_copy)];
        if let Some((name, head)) = kept
            && *name == label.name
        {
            return head.clone();
        }
        let head = label::head(names, (label, is_copy), [check, value]);
        if let (Some(open), ItemName::Object { chunk, slot }) = (open, label.name) {
            open.put(chunk, slot, [check, value]);
        }
        *kept = Some((label.name, head.clone()));
        head
    }

    /// A strip of the value.
    pub(crate) fn strip(&mut self, coder: &Coder, strip: u8) -> Bytes {
        if self.strips.is_empty() {
            self.strips = coder.strips([&self.check, &self.value]);
        }
        self.strips[usize::from(strip)].clone()
    }

    /// How it ended.
    pub(crate) fn answer(self, answer: TierAnswer) -> (Waiter, Result<Done, CodedMemoryError>) {
        let done = match answer {
            TierAnswer::Value(version) => {
                // The value of another key of this hash is none of this key's.
                let mut coded = self.fetched.unwrap_or_default();
                let is_its = coded.get(..CHECK_LEN) == Some(&self.check);
                coded.advance(CHECK_LEN.min(coded.len()));
                Ok(Done::Value(is_its.then_some(StoredValue { bytes: coded, version })))
            }
            TierAnswer::Nothing => Ok(Done::Nothing),
            TierAnswer::Written(version) => Ok(Done::Written(version)),
            TierAnswer::Deleted => Ok(Done::Deleted),
            TierAnswer::Flushed => Ok(Done::Flushed),
            TierAnswer::Refused(refusal) => Err(refusal.into()),
        };
        (self.waiter, done)
    }
}
