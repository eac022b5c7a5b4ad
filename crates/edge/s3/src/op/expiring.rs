//! Operations whose answers tell when the object expires that they are about.

use super::{Desk, Operate, Outcome, Reply, Request};
use crate::{
    FrontSettings,
    lifecycle::{Facts, expiry},
};

const HEADER: &str = "x-amz-expiration";

/// What came of an operation on an object.
pub(super) trait OfObject {
    /// What of the object decides when it expires; `None` where it is not the one that its key
    /// stands for.
    fn facts(&self) -> Option<Facts>;
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
        let rules = desk.expiries.rules(&desk.store, &bucket).await;
        let expiry = rules.and_then(|rules| expiry(&rules, &key, &done.facts()?));
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
