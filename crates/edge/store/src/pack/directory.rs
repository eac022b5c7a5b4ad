//! What a pack tells: of each key an object or that it was deleted.

use crate::deletion::Deletion;
use ripstop_catalog::{Extent, Object, Stamp, Stripe};
use ripstop_form::{Found, PASSABLE, Unreadable};
use ripstop_model::StripeId;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;

/// Most members of a pack.
pub const MEMBERS_MAX: usize = 4096;
/// Most bytes of a directory.
pub const DIRECTORY_LEN_MAX: usize = 4 << 20;
/// Bytes of a digest.
pub(crate) const DIGEST_LEN: usize = 32;
/// Bytes of an offset.
const OFFSET_LEN: usize = 4;
/// First byte of every directory: the format's version.
const VERSION: u8 = 1;

/// Numbers of a directory's fields: for ever. Lists have an element for each member.
mod field {
    pub(super) const TOLD_BY: u64 = 1;
    /// Buckets' names, each once.
    pub(super) const BUCKETS: u64 = 2;
    /// Which of them a member's is.
    pub(super) const BUCKET: u64 = 3;
    pub(super) const KEYS: u64 = 4;
    pub(super) const WHEN: u64 = 5;
    /// The stripes of the stamps, where one is another than this.
    pub(super) const FIRST_BY: u64 = 6;
    pub(super) const IS_DELETION: u64 = 7;
    /// Objects without what follows from the pack: who tells of them, their stamps, and, of those
    /// whose bytes are here, extents. Of a deletion, nothing.
    pub(super) const OBJECTS: u64 = 8;
    /// Where an object's bytes begin in the payload: as many bytes whatever it is, so that the
    /// directory's length is known before members have places. The last field.
    pub(super) const OFFSETS: u64 = 9;
}

/// What a pack's headers tell of its directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PackMark {
    /// The pack.
    pub told_by: StripeId,
    /// Members that the directory tells of, for reports on packs that are lost.
    pub members: u32,
    /// Bytes of objects in it.
    pub member_bytes: u32,
    /// Bytes of the directory, the first of the payload.
    pub directory_len: u32,
    /// Its SHA-256: what single nodes make of it is not believed.
    pub digest: [u8; DIGEST_LEN],
}

impl PackMark {
    /// Has a pack's record say how much is in it.
    pub fn note(&self, stripe: &mut Stripe) {
        (stripe.members, stripe.member_bytes) = (self.members, self.member_bytes);
    }

    /// Whether these bytes are the directory.
    pub fn is_of(&self, bytes: &[u8]) -> bool {
        bytes.len() == self.directory_len as usize && Sha256::digest(bytes)[..] == self.digest
    }
}

/// What a pack tells, each key once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PackDirectory {
    /// The pack.
    pub told_by: StripeId,
    /// Of each key.
    pub entries: Vec<PackEntry>,
}

/// What a pack tells of one key.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(clippy::large_enum_variant, reason = "most are objects")]
pub enum PackEntry {
    /// That it stands for an object.
    Object {
        /// The bucket's name.
        bucket: String,
        /// The key.
        key: String,
        /// The object, told by the pack; its bytes are one extent there, or elsewhere.
        object: Object,
    },
    /// That it was deleted.
    Deletion(Deletion),
}

impl PackEntry {
    /// The bucket's name.
    pub fn bucket(&self) -> &str {
        match self {
            Self::Object { bucket, .. } => bucket,
            Self::Deletion(deletion) => &deletion.bucket,
        }
    }

    /// The key.
    pub fn key(&self) -> &str {
        match self {
            Self::Object { key, .. } => key,
            Self::Deletion(deletion) => &deletion.key,
        }
    }

    /// When it was first told.
    pub fn stamp(&self) -> Stamp {
        match self {
            Self::Object { object, .. } => object.stamp(),
            Self::Deletion(deletion) => deletion.stamp,
        }
    }

    /// The extent of an object whose bytes are in the pack.
    pub(crate) fn extent(&self, pack: StripeId) -> Option<&Extent> {
        match self {
            Self::Object { object, .. } => match &object.extents[..] {
                [extent] if extent.stripe == pack => Some(extent),
                _ => None,
            },
            Self::Deletion(_) => None,
        }
    }

    /// The object, with nothing that follows from the pack.
    fn bare(&self, pack: StripeId) -> Object {
        let Self::Object { object, .. } = self else { return Object::default() };
        let is_here = self.extent(pack).is_some();
        Object {
            len: object.len,
            modified_ms: object.modified_ms,
            attributes: object.attributes.clone(),
            extents: if is_here { Vec::new() } else { object.extents.clone() },
            is_marker: object.is_marker,
            born: object.born,
            unknown: object.unknown.clone(),
            ..Object::default()
        }
    }
}

impl PackDirectory {
    /// As bytes, the offsets last: `place` changes them.
    pub fn encode(&self) -> Vec<u8> {
        let Self { told_by, entries } = self;
        let names: BTreeSet<&str> = entries.iter().map(PackEntry::bucket).collect();
        let names: Vec<&str> = names.into_iter().collect();
        let of = |entry: &PackEntry| {
            let at = names.binary_search(&entry.bucket()).expect("it is among them");
            (at as u16).to_le_bytes()
        };
        let is_deletion = |entry: &PackEntry| [u8::from(matches!(entry, PackEntry::Deletion(_)))];
        ripstop_form::compose(vec![VERSION], |to| {
            to.bytes(field::TOLD_BY, &told_by.0.to_be_bytes());
            to.texts(field::BUCKETS, names.iter().copied());
            to.sparse_column(field::BUCKET, entries.iter().map(of));
            to.texts(field::KEYS, entries.iter().map(PackEntry::key));
            to.column(field::WHEN, entries.iter().map(|entry| entry.stamp().when.to_be_bytes()));
            if entries.iter().any(|entry| entry.stamp().stripe != *told_by) {
                let first = entries.iter().map(|entry| entry.stamp().stripe.0.to_be_bytes());
                to.column(field::FIRST_BY, first);
            }
            to.sparse_column(field::IS_DELETION, entries.iter().map(is_deletion));
            let objects = entries.iter().map(|entry| entry.bare(*told_by));
            to.records(field::OBJECTS, objects);
            let offset =
                |entry: &PackEntry| entry.extent(*told_by).map_or(0, |extent| extent.offset);
            to.column(field::OFFSETS, entries.iter().map(|entry| offset(entry).to_le_bytes()));
        })
    }

    /// Gives members their places: here, and in the bytes that were encoded before they had them.
    pub(crate) fn place(&mut self, offsets: &[u32], encoded: &mut [u8]) {
        debug_assert_eq!(offsets.len(), self.entries.len());
        // Behind the column is the end of the map.
        let column = encoded.len() - 1 - OFFSET_LEN * offsets.len();
        let (places, _) = encoded[column..].as_chunks_mut::<OFFSET_LEN>();
        for ((entry, &offset), place) in self.entries.iter_mut().zip(offsets).zip(places) {
            if entry.extent(self.told_by).is_none() {
                continue;
            }
            *place = offset.to_le_bytes();
            if let PackEntry::Object { object, .. } = entry {
                object.extents[0].offset = offset;
            }
        }
    }

    /// What the headers of the pack are to tell of it, `encoded` being its bytes.
    pub fn mark(&self, encoded: &[u8]) -> PackMark {
        let lens = self.entries.iter().filter_map(|entry| entry.extent(self.told_by));
        PackMark {
            told_by: self.told_by,
            members: self.entries.len() as u32,
            member_bytes: lens.map(|extent| extent.len).sum(),
            directory_len: encoded.len() as u32,
            digest: Sha256::digest(encoded).into(),
        }
    }

    /// The directory that these bytes are, if it is the one that headers tell of, and one that
    /// could have been written in a payload of this length.
    pub fn decode(mark: &PackMark, payload_len: u32, bytes: &[u8]) -> Result<Self, Unreadable> {
        let is_it = mark.is_of(bytes) && bytes.len() <= DIRECTORY_LEN_MAX;
        let wrong = |why: &str| Err(Unreadable::Form(why.into()));
        let Some((&version, fields)) = bytes.split_first().filter(|_| is_it) else {
            return wrong("it is not the directory that the pack's headers tell of");
        };
        if version != VERSION {
            return Err(Unreadable::Version(version));
        }
        let mut columns = Columns::default();
        ripstop_form::scan(fields, |field, from| {
            if columns.read(field, from)? {
                return Ok(Some(true));
            }
            if field < PASSABLE { Err(Unreadable::Newer(field)) } else { Ok(Some(false)) }
        })?;
        if columns.told_by != mark.told_by {
            return wrong("it is another pack's directory");
        }
        columns.entries(mark.directory_len..payload_len)
    }
}

/// The fields of a directory, as they are read.
#[derive(Default)]
struct Columns {
    told_by: StripeId,
    buckets: Vec<String>,
    bucket: Vec<u16>,
    keys: Vec<String>,
    when: Vec<u64>,
    first_by: Vec<StripeId>,
    is_deletion: Vec<u8>,
    objects: Vec<Object>,
    offsets: Vec<u32>,
}

impl Columns {
    fn read(&mut self, field: u64, from: &mut Found<'_>) -> Result<bool, Unreadable> {
        match field {
            field::TOLD_BY => self.told_by = StripeId(u128::from_be_bytes(from.array()?)),
            field::BUCKETS => self.buckets = from.texts(MEMBERS_MAX)?,
            field::BUCKET => {
                self.bucket = from.column()?.iter().map(|at| u16::from_le_bytes(*at)).collect();
            }
            field::KEYS => self.keys = from.texts(MEMBERS_MAX)?,
            field::WHEN => {
                self.when = from.column()?.iter().map(|when| u64::from_be_bytes(*when)).collect();
            }
            field::FIRST_BY => {
                let ids = from.column()?.iter().map(|id| StripeId(u128::from_be_bytes(*id)));
                self.first_by = ids.collect();
            }
            field::IS_DELETION => {
                self.is_deletion = from.column::<1>()?.iter().map(|[is_it]| *is_it).collect();
            }
            field::OBJECTS => self.objects = from.records(MEMBERS_MAX)?,
            field::OFFSETS => {
                let offsets = from.column()?.iter().map(|at| u32::from_le_bytes(*at));
                self.offsets = offsets.collect();
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// What is told, of objects whose bytes, if they are in the pack, are within `room`.
    fn entries(self, room: std::ops::Range<u32>) -> Result<PackDirectory, Unreadable> {
        let wrong = |why: &str| Unreadable::Form(why.into());
        let Self { told_by, buckets, bucket, keys, when, first_by, is_deletion, .. } = self;
        let count = keys.len();
        let full = [when.len(), self.objects.len(), self.offsets.len()];
        let sparse = [bucket.len(), first_by.len(), is_deletion.len()];
        if full.iter().any(|len| *len != count)
            || sparse.iter().any(|len| *len != count && *len != 0)
        {
            return Err(wrong("its columns have different lengths"));
        }
        let mut entries = Vec::with_capacity(count);
        let objects = self.objects.into_iter().zip(self.offsets);
        for (at, (key, (mut object, offset))) in keys.into_iter().zip(objects).enumerate() {
            let of = bucket.get(at).copied().unwrap_or_default();
            let bucket = buckets.get(usize::from(of)).filter(|name| !name.is_empty());
            let bucket = bucket.ok_or_else(|| wrong("a member has no bucket"))?.clone();
            if key.is_empty() {
                return Err(wrong("a member has no key"));
            }
            let stripe = first_by.get(at).copied().unwrap_or(told_by);
            let stamp = Stamp { when: when[at], stripe };
            if is_deletion.get(at).is_some_and(|is_it| *is_it != 0) {
                entries.push(PackEntry::Deletion(Deletion { bucket, key, stamp }));
                continue;
            }
            if object.extents.iter().any(|extent| extent.stripe == told_by) {
                return Err(wrong("a member's bytes are said to be elsewhere, and are not"));
            }
            let stored = object.stored_len();
            if object.extents.is_empty() && stored > 0 {
                let end = u64::from(offset).saturating_add(stored);
                if offset < room.start || end > room.end.into() {
                    return Err(wrong("a member is not within the pack"));
                }
                object.extents = vec![Extent { stripe: told_by, offset, len: stored as u32 }];
            }
            (object.told_by, object.stamp) = (told_by, Some(stamp));
            entries.push(PackEntry::Object { bucket, key, object });
        }
        let distinct: BTreeSet<_> = entries.iter().map(|it| (it.bucket(), it.key())).collect();
        if distinct.len() < count {
            return Err(wrong("it tells of a key twice"));
        }
        Ok(PackDirectory { told_by, entries })
    }
}

#[cfg(test)]
mod tests;
