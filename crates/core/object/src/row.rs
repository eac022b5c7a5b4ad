use crate::{
    Object, ObjectVersion, Stripe, Unknown, UploadedPart, Usage, VersionId, bucket_of,
    split_version_name, version_name, versions_of,
};
use alloc::borrow::{Cow, ToOwned};
use alloc::string::String;

/// Where an object is: its bucket and its key. With an empty key, it stands for the bucket itself.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place<'a> {
    /// The bucket's name.
    pub bucket: Cow<'a, str>,
    /// The key.
    pub key: Cow<'a, str>,
}

impl<'a> Place<'a> {
    /// Of a key in a bucket.
    pub const fn new(bucket: &'a str, key: &'a str) -> Self {
        Self { bucket: Cow::Borrowed(bucket), key: Cow::Borrowed(key) }
    }

    /// The same, of what is a bucket's own.
    pub const fn of_bucket(bucket: &'a str) -> Self {
        Self::new(bucket, "")
    }

    /// The same, with names of its own.
    pub fn into_owned(self) -> Place<'static> {
        Place {
            bucket: Cow::Owned(self.bucket.into_owned()),
            key: Cow::Owned(self.key.into_owned()),
        }
    }
}

impl<'a> Place<'a> {
    /// Of a version of a key.
    pub fn of_version(bucket: &'a str, key: &'a str, version: ObjectVersion) -> Self {
        match version {
            ObjectVersion::Null => Self::new(bucket, key),
            ObjectVersion::Id(id) => Self {
                bucket: Cow::Owned(versions_of(bucket)),
                key: Cow::Owned(version_name(key, id)),
            },
        }
    }

    /// The name of its bucket, where this is a version's too.
    pub fn bucket_name(&self) -> Cow<'a, str> {
        match &self.bucket {
            Cow::Borrowed(space) => Cow::Borrowed(bucket_of(space)),
            Cow::Owned(space) => Cow::Owned(bucket_of(space).to_owned()),
        }
    }

    /// Key and id, if it is the place of a version that has one.
    pub fn version(&self) -> Option<(String, VersionId)> {
        let is_space = bucket_of(&self.bucket) != self.bucket;
        is_space.then(|| split_version_name(&self.key))?
    }
}

/// A stripe in force, and what holds it: objects, parts of uploads, buckets, tombstones.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Held {
    /// How many hold it.
    pub holders: u64,
    /// Bytes of its payload that they hold: the lengths of their extents in it, added up.
    pub live: u64,
    /// The stripe.
    pub stripe: Stripe,
    /// What a newer program wrote of it.
    pub unknown: Unknown,
}

impl Held {
    /// Bytes of its payload that are of use: those of objects that hold it, and, of a pack, of what
    /// else is in it (what it tells, and what lies between) the share of the keys that still hold
    /// it.
    pub fn useful(&self) -> u64 {
        let Stripe { payload_len, members, member_bytes, .. } = self.stripe;
        let rest = u64::from(payload_len.saturating_sub(member_bytes));
        let told = match u64::from(members) {
            0 => 0,
            members => rest * self.holders.min(members) / members,
        };
        (self.live + told).min(payload_len.into())
    }
}

/// A stripe that nothing holds any more.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Garbage {
    /// Since when, in milliseconds since 1970.
    pub since_ms: u64,
    /// The stripe.
    pub stripe: Stripe,
}

/// What a bucket holds; [`Usage`] in its parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Account {
    /// How many keys stand for an object.
    pub objects: u64,
    /// Their lengths, in bytes.
    pub object_bytes: u64,
    /// Lengths of the parts of uploads under way, in bytes.
    pub part_bytes: u64,
}

impl Account {
    /// The sum.
    pub fn usage(self) -> Usage {
        let bytes = self.object_bytes.saturating_add(self.part_bytes);
        Usage { bytes, objects: self.objects }
    }

    /// With one object in the place of another. A figure that is too small already, as only an
    /// audit can tell, ends at zero.
    #[must_use]
    pub fn exchange(mut self, old: Option<&Object>, new: Option<&Object>) -> Self {
        if let Some(old) = old {
            self.objects = self.objects.saturating_sub(1);
            self.object_bytes = self.object_bytes.saturating_sub(old.len);
        }
        if let Some(new) = new {
            self.objects = self.objects.saturating_add(1);
            self.object_bytes = self.object_bytes.saturating_add(new.len);
        }
        self
    }

    /// With one part in the place of others.
    #[must_use]
    pub fn exchange_parts<'p>(
        mut self,
        old: impl IntoIterator<Item = &'p UploadedPart>,
        new: Option<&UploadedPart>,
    ) -> Self {
        for part in old {
            self.part_bytes = self.part_bytes.saturating_sub(part.len);
        }
        self.part_bytes = self.part_bytes.saturating_add(new.map_or(0, |part| part.len));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_tells_its_bucket_and_its_version() {
        let id = VersionId(5);
        let at = Place::of_version("b", "k", ObjectVersion::Id(id));
        assert_eq!((&*at.bucket_name(), at.version()), ("b", Some(("k".into(), id))));
        let null = Place::of_version("b", "k", ObjectVersion::Null);
        assert_eq!((&*null.bucket_name(), null.version()), ("b", None));
        assert_eq!(Place::new("b", &at.key).version(), None);
    }
}
