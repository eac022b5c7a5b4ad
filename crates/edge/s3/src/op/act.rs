//! What an operation is made of: parse, run, render.

use crate::{
    FrontSettings,
    allowance::Allowances,
    error::Outcome,
    gate::Gate,
    grant::{self, Granting},
    known::KnownBuckets,
    request::{Reply, Request},
};
use ripstop_catalog::Attributes;
use ripstop_identity::Keyring;
use ripstop_store::Store;
use std::{
    net::IpAddr,
    sync::{Arc, atomic::AtomicU64},
};

/// What operations are done with.
pub(crate) struct Desk {
    pub(crate) store: Store,
    pub(crate) settings: Arc<FrontSettings>,
    pub(crate) allowances: Arc<Allowances>,
    /// What is configured of buckets.
    pub(crate) known: Arc<KnownBuckets>,
    /// Where who asks is, as far as it is known.
    pub(crate) client: Option<IpAddr>,
    /// The request's id.
    pub(crate) request_id: String,
    /// Who asks, what for it was let in, and what depends on the object yet.
    pub(crate) gate: Gate,
    /// Who there is.
    pub(crate) keyring: Keyring,
    /// Nanoseconds spent hashing.
    pub(crate) hashing_ns: Arc<AtomicU64>,
}

impl Desk {
    /// Has a bucket have this document of that name; with `None`, none. What was known of it before
    /// is forgotten, whether it was set or not.
    pub(crate) async fn set_document(
        &self,
        bucket: &str,
        name: &str,
        document: Option<&str>,
    ) -> Outcome<()> {
        let set = self.store.set_bucket_document(bucket, name, document).await;
        self.known.forget(bucket);
        Ok(set?)
    }

    /// Gives an object that is put to whom it belongs there, with what they grant.
    pub(crate) fn own(&self, attributes: &mut Attributes, granting: Granting) -> Outcome<()> {
        // Most buckets take no lists, and most requests bring none.
        let has_lists = self.gate.access.as_ref().is_some_and(|it| it.ownership.has_lists());
        if !has_lists && granting.is_unsaid() {
            return Ok(());
        }
        grant::own(attributes, granting, &self.gate, &self.keyring.credentials())
    }
}

/// An operation that was asked for: what is wanted, as plain data, however it came.
pub(crate) trait Operate: Sized + Send {
    /// What came of it, as plain data.
    type Done: Send;

    /// Reads a request. What S3 complains of only once it has looked at the bucket or the object is
    /// handed on as an error, and told by [`Self::run`] in its turn.
    fn parse(request: &mut Request) -> impl Future<Output = Outcome<Self>> + Send;

    /// Does it.
    fn run(self, desk: &Desk) -> impl Future<Output = Outcome<Self::Done>> + Send;

    /// Makes the answer.
    fn render(done: Self::Done, settings: &FrontSettings) -> Reply;
}

/// Does what a request asks for.
pub(super) async fn perform<O: Operate>(
    mut request: Box<Request>,
    desk: Box<Desk>,
) -> Outcome<Reply> {
    request.check_owner(&desk.gate)?;
    let asked = O::parse(&mut request).await?;
    let done = asked.run(&desk).await?;
    Ok(O::render(done, &desk.settings))
}
