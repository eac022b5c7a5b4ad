//! Operations whose answers tell when the object expires that they are about.

use super::{Desk, Operate, Outcome, Reply, Request};
use crate::{
    FrontSettings,
    lifecycle::{Facts, expiry},
    notification::{EventKind, Happened},
};
use ripstop_catalog::ObjectVersion;
use ripstop_store::StoredObject;

const HEADER: &str = "x-amz-expiration";

/// What came of an operation on an object.
pub(super) trait OfObject {
    /// What of the object decides when it expires; `None` where it is not the one that its key
    /// stands for.
    fn facts(&self) -> Option<Facts>;

    /// What it made of the object, if it made it.
    fn made(&self) -> Option<Made> {
        None
    }
}

/// An object that was made.
pub(super) struct Made {
    pub(super) kind: EventKind,
    pub(super) len: u64,
    pub(super) etag: String,
    pub(super) version: Option<ObjectVersion>,
}

impl Made {
    pub(super) fn of(kind: EventKind, stored: &StoredObject) -> Self {
        let StoredObject { object, version } = stored;
        Self { kind, len: object.len, etag: object.attributes.etag.clone(), version: *version }
    }

    fn happened(self, key: &str) -> Happened {
        let Self { kind, len, etag, version } = self;
        let version = version.filter(|version| *version != ObjectVersion::Null);
        let version = version.map(|version| version.to_string());
        Happened { kind, key: key.to_owned(), object: Some((len, etag)), version }
    }
}

/// An operation, and that its answer tells it.
pub(super) struct Expiring<O> {
    operation: O,
    bucket: String,
    key: String,
}

impl<O: Operate<Done: OfObject>> Operate for Expiring<O> {
    type Done = (O::Done, Option<String>);

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let operation = O::parse(request).await?;
        Ok(Self { operation, bucket: request.bucket.clone(), key: request.key.clone() })
    }

    async fn run(self, desk: &Desk) -> Outcome<Self::Done> {
        let Self { operation, bucket, key } = self;
        let done = operation.run(desk).await?;
        let known = desk.known.of(&desk.store, &bucket).await;
        let rules = known.as_ref().and_then(|known| known.rules.as_ref());
        let expiry = rules.and_then(|rules| expiry(rules, &key, &done.facts()?));
        if let Some(made) = done.made() {
            desk.tell(&bucket, || made.happened(&key)).await;
        }
        Ok((done, expiry))
    }

    fn render((done, expiry): Self::Done, settings: &FrontSettings) -> Reply {
        let reply = O::render(done, settings);
        match expiry {
            Some(expiry) => reply.with(HEADER, &expiry),
            None => reply,
        }
    }
}
