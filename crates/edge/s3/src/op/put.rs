use super::{
    Desk, Operate, Outcome, Reply, Request,
    expiring::{Made, OfObject},
    version::show_given,
};
use crate::{
    FrontSettings,
    body::Payload,
    condition::{self, Demand},
    digest::{self, Expectation, Received},
    encryption::{Wanted, show_written},
    error::{Code, Failure},
    grant::Granting,
    intake::ObjectBody,
    lifecycle::Facts,
    metadata,
    notification::EventKind,
};
use http::StatusCode;
use ripstop_catalog::{Attributes, CatalogError, Checksum, Condition, Refusal};
use ripstop_store::{BodyLen, StoreError, StoredObject, Target};

/// Stores an object.
pub(super) struct Put {
    bucket: String,
    key: String,
    pub(super) attributes: Attributes,
    len: BodyLen,
    expectation: Expectation,
    demand: Demand,
    wanted: Wanted,
    payload: Payload,
    granting: Granting,
}

/// An object that was put.
pub(super) struct PutObject {
    pub(super) stored: StoredObject,
    /// The digest of the client's key, if it is encrypted with one.
    customer_md5: Option<String>,
}

impl Operate for Put {
    type Done = PutObject;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let attributes = metadata::read(&request.headers, &request.settings.storage_classes)?;
        let wanted = Wanted::read(&request.headers)?;
        let granting = Granting::read(&request.headers)?;
        let mut payload = request.body()?;
        let len = announced(&payload, &request.settings)?;
        // Where the file of a form ends is seen as it comes.
        let is_file = payload.as_file().is_some();
        let len = if is_file { BodyLen::AtMost(len) } else { BodyLen::Exactly(len) };
        let expectation = Expectation::read(&request.headers)?;
        let demand = condition::demand(&request.headers)?;
        let (bucket, key) = (request.bucket.clone(), request.key.clone());
        Ok(Self { bucket, key, attributes, len, expectation, demand, wanted, payload, granting })
    }

    async fn run(self, desk: &Desk) -> Outcome<PutObject> {
        let Self { bucket, key, mut attributes, len, expectation, demand, wanted, .. } = self;
        let (payload, granting) = (self.payload, self.granting);
        desk.own(&mut attributes, granting)?;
        let customer_md5 = wanted.customer_md5();
        let condition = demanded(demand, desk, &bucket, &key).await?;
        let conditional = condition != Condition::None;
        let (aside_above, hashing_ns) = (desk.settings.hash_aside_above, desk.hashing_ns.clone());
        let received = Received::new(payload, expectation, None, aside_above, hashing_ns);
        let settings = desk.settings.clone();
        let body = ObjectBody::new(received, attributes, wanted, settings, key.clone());
        let target = Target { bucket, key, condition };
        let stored =
            desk.store.put(target, len, body).await.map_err(|error| match error.into() {
                Failure { code: Code::PreconditionFailed, .. } if conditional => {
                    condition::failed("If-Match or If-None-Match")
                }
                failure => failure,
            })?;
        Ok(PutObject { stored, customer_md5 })
    }

    fn render(done: PutObject, _: &FrontSettings) -> Reply {
        let PutObject { stored: StoredObject { object, version }, customer_md5 } = done;
        let reply = show_given(Reply::empty(StatusCode::OK), version)
            .with("etag", &format!("\"{}\"", object.attributes.etag));
        let encryption = object.attributes.encryption.as_deref();
        let reply = show_written(reply, encryption, customer_md5.as_deref());
        with_checksum(reply, object.attributes.checksum.as_ref(), 0, true)
            .with("x-amz-object-size", &object.len.to_string())
    }
}

impl OfObject for PutObject {
    fn facts(&self) -> Option<Facts> {
        self.stored.facts()
    }

    fn made(&self) -> Option<Made> {
        self.stored.made()
    }
}

impl OfObject for StoredObject {
    fn facts(&self) -> Option<Facts> {
        Some(Facts::of(&self.object))
    }

    fn made(&self) -> Option<Made> {
        Some(Made::of(EventKind::Put, self))
    }
}

/// The announced length, or the most that it may come to, if we take as much.
pub(super) fn announced(payload: &Payload, settings: &FrontSettings) -> Outcome<u64> {
    let len = payload.announced()?;
    let max = settings.put_len_max;
    if len > max {
        return Err(Failure::from(Code::EntityTooLarge)
            .with("ProposedSize", len.to_string())
            .with("MaxSizeAllowed", max.to_string()));
    }
    Ok(len)
}

/// What a write demands of the key's present object, as the catalog checks it.
pub(super) async fn demanded(
    demand: Demand,
    desk: &Desk,
    bucket: &str,
    key: &str,
) -> Outcome<Condition> {
    match demand {
        Demand::Plain(condition) => Ok(condition),
        Demand::NoneOf(tags) => match desk.store.object(bucket, key).await {
            Ok(located) => condition::none_of(&tags, Some(&located.object)),
            Err(
                StoreError::Catalog(CatalogError::Refused(Refusal::NoSuchKey))
                | StoreError::Marker { .. },
            ) => condition::none_of(&tags, None),
            Err(error) => Err(error.into()),
        },
    }
}

/// With the headers of a checksum.
pub(super) fn with_checksum(
    reply: Reply,
    checksum: Option<&Checksum>,
    parts: usize,
    with_kind: bool,
) -> Reply {
    let Some(checksum) = checksum else { return reply };
    let reply = reply.with(digest::header(checksum.algorithm), &digest::shown(checksum, parts));
    if with_kind {
        reply.with("x-amz-checksum-type", digest::kind(checksum.composite))
    } else {
        reply
    }
}
