use super::{Outcome, Reply, Request};
use crate::{
    condition::{self, Demand},
    digest::{self, Expectation, ObjectBody, Received},
    error::{Code, Failure},
    metadata,
    request::Request as Incoming,
};
use http::{HeaderMap, StatusCode};
use ripstop_catalog::{CatalogError, Checksum, Condition, Refusal};
use ripstop_store::{Store, StoreError, Target};

/// Stores an object.
pub(super) async fn put(request: Request) -> Outcome<Reply> {
    let attributes = metadata::read(&request.headers)?;
    let len = announced(&request)?;
    let expectation = Expectation::read(&request.headers)?;
    let condition =
        write_condition(&request.headers, &request.store, &request.bucket, &request.key).await?;
    let conditional = condition != Condition::None;
    let Incoming { store, settings, bucket, key, payload, hashing_ns, .. } = request;
    let received = Received::new(payload, expectation, None, settings.hash_aside_above, hashing_ns);
    let body = ObjectBody { received, attributes };
    let target = Target { bucket, key, condition };
    let object = store.put(target, len, body).await.map_err(|error| match error.into() {
        Failure { code: Code::PreconditionFailed, .. } if conditional => {
            condition::failed("If-Match or If-None-Match")
        }
        failure => failure,
    })?;
    let reply =
        Reply::empty(StatusCode::OK).with("etag", &format!("\"{}\"", object.attributes.etag));
    Ok(with_checksum(reply, object.attributes.checksum.as_ref(), 0, true)
        .with("x-amz-object-size", &object.len.to_string()))
}

/// The announced length, if we take as much.
pub(super) fn announced(request: &Request) -> Outcome<u64> {
    let len = request.payload.announced()?;
    let max = request.settings.put_len_max;
    if len > max {
        return Err(Failure::from(Code::EntityTooLarge)
            .with("ProposedSize", len.to_string())
            .with("MaxSizeAllowed", max.to_string()));
    }
    Ok(len)
}

/// What a write's headers demand of the key's present object, as the catalog checks it.
pub(super) async fn write_condition(
    headers: &HeaderMap,
    store: &Store,
    bucket: &str,
    key: &str,
) -> Outcome<Condition> {
    match condition::demand(headers)? {
        Demand::Plain(condition) => Ok(condition),
        Demand::NoneOf(tags) => match store.object(bucket, key).await {
            Ok(located) => condition::none_of(&tags, Some(&located.object)),
            Err(StoreError::Catalog(CatalogError::Refused(Refusal::NoSuchKey))) => {
                condition::none_of(&tags, None)
            }
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
