//! What is written together.

use super::MEMBERS_MAX;
use crate::Target;
use bytes::Bytes;
use ripstop_catalog::{Attributes, Encryption, Object, Stamp, Versioning};
use ripstop_model::STRIPE_PAYLOAD_MAX;
use std::collections::BTreeSet;

/// What a member takes in a directory besides its names and what a client said of it, about.
const ENTRY_LEN: usize = 64;
/// What the name of a version takes besides its key.
const VERSION_LEN: usize = 40;
/// Most bytes of names and records in a batch: its directory is shorter than one may be, however
/// little each member has to say.
pub(crate) const ENTRIES_LEN_MAX: usize = super::DIRECTORY_LEN_MAX / 2;
/// Most bytes of objects in a batch: with a directory they fit a stripe, however they lie.
const PAYLOAD_LEN_MAX: usize = STRIPE_PAYLOAD_MAX as usize / 2;

/// What is to become of one key.
#[derive(Clone, Debug)]
pub struct Member {
    /// The key, and what must hold of it as the batch is committed.
    pub target: Target,
    /// What is done.
    pub deed: Deed,
}

/// What a member of a batch does.
#[derive(Clone, Debug)]
pub enum Deed {
    /// Puts an object of these bytes, which are all there.
    Put {
        /// The bytes.
        bytes: Bytes,
        /// What the client said of them.
        attributes: Attributes,
        /// How its bucket keeps versions.
        versioning: Versioning,
    },
    /// Puts a delete marker where versions are kept like this.
    Mark(Versioning),
    /// Puts an object whose bytes are stored already, with other attributes (its tags, say).
    Retell(Object),
    /// Tells again of an object as it is, with its stamp, and brings its bytes if they are given:
    /// what told of it before may go.
    Move {
        /// The object.
        object: Object,
        /// Its bytes; else they stay where they are.
        bytes: Option<Bytes>,
    },
    /// Removes what the key stands for.
    Delete {
        /// Whether a retention in governance mode is passed by.
        bypass: bool,
    },
    /// Tells again that the key was deleted, with this stamp: what told of it before may go.
    Rebury(Stamp),
}

impl Deed {
    /// Whether something that is told already is told elsewhere: it is only of use in a pack.
    pub(super) fn is_again(&self) -> bool {
        matches!(self, Self::Move { .. } | Self::Rebury(_))
    }

    /// The class of storage of what it puts; empty for the standard one.
    pub(crate) fn storage_class(&self) -> &str {
        match self {
            Self::Put { attributes, .. } => &attributes.storage_class,
            Self::Retell(object) | Self::Move { object, .. } => &object.attributes.storage_class,
            Self::Mark(_) | Self::Delete { .. } | Self::Rebury(_) => "",
        }
    }

    /// How versions are kept where it puts something new.
    pub(super) fn versioning(&self) -> Versioning {
        match self {
            Self::Put { versioning, .. } | Self::Mark(versioning) => *versioning,
            Self::Retell(_) | Self::Move { .. } | Self::Delete { .. } | Self::Rebury(_) => {
                Versioning::Never
            }
        }
    }

    /// Whether it puts a version with an id, under a name of its own.
    pub(crate) fn is_version(&self) -> bool {
        self.versioning() == Versioning::Enabled
    }
}

/// What became of a member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Done {
    /// The object is what the key stands for, or was for a moment.
    Put(Object),
    /// The key's object is deleted; this is what it was, if there was one.
    Deleted(Option<Object>),
}

impl Member {
    /// The bytes that it brings, if it is to bring any.
    pub(super) fn bytes(&self) -> Option<&Bytes> {
        match &self.deed {
            Deed::Put { bytes, .. } => Some(bytes),
            Deed::Move { bytes, .. } => bytes.as_ref(),
            Deed::Retell(_) | Deed::Mark(_) | Deed::Delete { .. } | Deed::Rebury(_) => None,
        }
    }

    /// Bytes of payload that it brings, besides what is told of it.
    pub fn payload_len(&self) -> usize {
        self.bytes().map_or(0, Bytes::len)
    }

    /// Bytes of payload that it takes with what is told of it, about, and rather more.
    pub(crate) fn weight(&self) -> usize {
        self.payload_len() + self.entry_len()
    }

    /// Bytes that telling of it takes, about, and rather more.
    fn entry_len(&self) -> usize {
        let Target { bucket, key, .. } = &self.target;
        let said = match &self.deed {
            Deed::Put { attributes, .. } => said(attributes),
            Deed::Retell(object) | Deed::Move { object, .. } => {
                said(&object.attributes) + 32 * object.extents.len()
            }
            Deed::Mark(_) | Deed::Delete { .. } | Deed::Rebury(_) => 0,
        };
        let key_len = if self.deed.is_version() { VERSION_LEN + 2 * key.len() } else { key.len() };
        ENTRY_LEN + bucket.len() + key_len + said
    }
}

/// Bytes that attributes take in a record, about, and rather more.
fn said(attributes: &Attributes) -> usize {
    let Attributes { etag, headers, user, tags, checksum, parts, .. } = attributes;
    let Attributes { encryption, owner, grants, storage_class, unknown, lock: _, .. } = attributes;
    let pairs = headers.iter().chain(user).chain(tags);
    let pairs = pairs.map(|(name, value)| name.len() + value.len() + 8).sum::<usize>();
    let checksum = checksum.as_ref().map_or(0, |checksum| checksum.value.len() + 8);
    let part = |part: &ripstop_catalog::Part| part.checksum.as_ref().map_or(0, Vec::len) + 16;
    let parts = parts.iter().map(part).sum::<usize>();
    let encryption = encryption.as_ref().map_or(0, |encryption| {
        let Encryption { key, wrapped, context, salts, .. } = &**encryption;
        key.len() + wrapped.len() + context.len() + size_of_val(&salts[..]) + 32
    });
    let rest = owner.len() + grants.len() + storage_class.len() + unknown.bytes().len();
    etag.len() + pairs + checksum + parts + encryption + rest + 40
}

/// Members that are written together, each of another key, or a version of its own.
#[derive(Debug)]
pub struct Batch {
    pub(super) members: Vec<Member>,
    /// Most bytes of objects and what is told of them, unless one member alone is more.
    room: usize,
    keys: BTreeSet<(String, String)>,
    payload_len: usize,
    entries_len: usize,
}

impl Default for Batch {
    fn default() -> Self {
        Self::within(PAYLOAD_LEN_MAX)
    }
}

impl Batch {
    /// An empty one, for this many bytes of objects and what is told of them.
    pub fn within(room: usize) -> Self {
        let (members, keys) = Default::default();
        Self { members, room: room.min(PAYLOAD_LEN_MAX), keys, payload_len: 0, entries_len: 0 }
    }

    /// Takes a member; hands it back if it must go in another batch, because one of its key is in
    /// this one or because there is no room.
    pub fn add(&mut self, member: Member) -> Result<(), Box<Member>> {
        let name = (member.target.bucket.clone(), member.target.key.clone());
        let entries_len = self.entries_len + member.entry_len();
        let payload_len = self.payload_len + member.payload_len();
        let is_small = entries_len <= ENTRIES_LEN_MAX && payload_len + entries_len <= self.room;
        let has_room = self.members.len() < MEMBERS_MAX && (is_small || self.members.is_empty());
        if !has_room || !member.deed.is_version() && self.keys.contains(&name) {
            return Err(Box::new(member));
        }
        if !member.deed.is_version() {
            self.keys.insert(name);
        }
        self.entries_len = entries_len;
        self.payload_len = payload_len;
        self.members.push(member);
        Ok(())
    }

    /// Whether a member of this key is in it.
    pub fn has(&self, bucket: &str, key: &str) -> bool {
        self.keys.contains(&(bucket.to_owned(), key.to_owned()))
    }

    /// Members in it.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Most bytes of objects and what is told of them, unless one member alone is more.
    pub fn room(&self) -> usize {
        self.room
    }

    /// Bytes of its objects, and about as many as a directory takes.
    pub fn bytes(&self) -> usize {
        self.payload_len + self.entries_len
    }
}
