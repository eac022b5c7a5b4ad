//! What clients asked for, and what came of it.

use crate::lock::Locks;
use bytes::Bytes;
use serde::Serialize;
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// What is asked of one key.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) enum Deed {
    /// An object with this ETag, if the condition holds.
    Put {
        etag: String,
        when: When,
    },
    Delete,
    DeleteVersion {
        version: String,
    },
    Tag {
        tag: String,
    },
    /// What a rule of the bucket does to this version: none is asked for it.
    Expire {
        etag: Option<String>,
        version: Option<String>,
    },
    /// What the key stands for.
    See,
    SeeTag,
    SeeVersion {
        version: String,
    },
}

/// Of what the key has to stand for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) enum When {
    Always,
    Absent,
    Matches { etag: String },
}

/// What came of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) enum Came {
    /// Nobody knows: it may happen at any time after it was asked for, or never.
    Unknown,
    /// It is done; with the version that it made.
    Done { version: Option<String> },
    /// The condition did not hold.
    Refused,
    /// There is no such thing.
    Missing,
    /// An object with this ETag.
    Found { etag: String },
    /// Tagged so.
    Tagged { tag: Option<String> },
}

/// One thing that was asked of one key.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Call {
    pub(crate) client: u8,
    pub(crate) bucket: &'static str,
    pub(crate) key: String,
    pub(crate) deed: Deed,
    pub(crate) came: Came,
    /// When it was asked for, and answered, in the order of all that happens.
    pub(crate) begun: u64,
    pub(crate) ended: Option<u64>,
}

/// Everything that was asked for in a drill.
#[derive(Debug, Default)]
pub(crate) struct History {
    state: Mutex<State>,
    locks: Mutex<Locks>,
}

#[derive(Debug, Default)]
struct State {
    now: u64,
    calls: BTreeMap<u64, Call>,
    /// What was ever to be stored, by its ETag.
    contents: BTreeMap<String, Bytes>,
    complaints: Vec<String>,
    /// Versions that were told of.
    versions: Vec<(&'static str, String, String)>,
    requests: u64,
}

impl History {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What keeps versions.
    pub(crate) fn locks(&self) -> MutexGuard<'_, Locks> {
        self.locks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The moment now, which no other has.
    pub(crate) fn moment(&self) -> u64 {
        let mut state = self.state();
        state.now += 1;
        state.now
    }

    pub(crate) fn begin(&self, client: u8, bucket: &'static str, key: &str, deed: Deed) -> u64 {
        let begun = self.moment();
        let came = Came::Unknown;
        let call = Call { client, bucket, key: key.into(), deed, came, begun, ended: None };
        self.state().calls.insert(begun, call);
        begun
    }

    pub(crate) fn end(&self, call: u64, came: Came) {
        let ended = self.moment();
        let mut state = self.state();
        let call = state.calls.get_mut(&call).expect("it was begun");
        let made = if let Came::Done { version } = &came { version.clone() } else { None };
        (call.came, call.ended) = (came, Some(ended));
        let (bucket, key) = (call.bucket, call.key.clone());
        state.versions.extend(made.map(|version| (bucket, key, version)));
    }

    /// It did not happen, or told nothing.
    pub(crate) fn forget(&self, call: u64) {
        self.state().calls.remove(&call);
    }

    /// Notes something that may not be.
    pub(crate) fn complain(&self, what: String) {
        self.state().complaints.push(what);
    }

    pub(crate) fn complaints(&self) -> Vec<String> {
        self.state().complaints.clone()
    }

    /// Remembers a content by its ETag.
    pub(crate) fn store(&self, etag: &str, content: Bytes) {
        self.state().contents.insert(etag.to_owned(), content);
    }

    pub(crate) fn content(&self, etag: &str) -> Option<Bytes> {
        self.state().contents.get(etag).cloned()
    }

    /// A version of some key of this bucket that was told of, by a number that is drawn.
    pub(crate) fn version(&self, of: &str, pick: u64) -> Option<(String, String)> {
        let state = self.state();
        let all: Vec<_> = state.versions.iter().filter(|(bucket, ..)| *bucket == of).collect();
        let at = (pick as usize).checked_rem(all.len())?;
        Some((all[at].1.clone(), all[at].2.clone()))
    }

    pub(crate) fn requested(&self) {
        self.state().requests += 1;
    }

    pub(crate) fn requests(&self) -> u64 {
        self.state().requests
    }

    /// All of it; what only looked and was not answered tells nothing.
    pub(crate) fn calls(&self) -> Vec<Call> {
        let looks = |deed: &Deed| match deed {
            Deed::See | Deed::SeeTag | Deed::SeeVersion { .. } => true,
            Deed::Put { .. }
            | Deed::Delete
            | Deed::DeleteVersion { .. }
            | Deed::Tag { .. }
            | Deed::Expire { .. } => false,
        };
        let told = |call: &&Call| call.came != Came::Unknown || !looks(&call.deed);
        self.state().calls.values().filter(told).cloned().collect()
    }

    /// A line of JSON for each call.
    pub(crate) fn lines(&self) -> Vec<String> {
        let line = |call: &Call| serde_json::to_string(call).unwrap_or_default();
        self.calls().iter().map(line).collect()
    }
}
