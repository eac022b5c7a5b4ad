//! Which version of a key a request means, and how answers name one.

use super::{Desk, Outcome, Reply, Request};
use crate::error::Failure;
use ripstop_catalog::{Located, ObjectVersion, VersionId};
use std::sync::Arc;

/// Names the version that an answer is about.
pub(super) const VERSION_HEADER: &str = "x-amz-version-id";

/// The version that a client names so. Ids that were never given name none, as S3 has it.
pub(super) fn version_of(text: &str, argument: &str) -> Outcome<ObjectVersion> {
    match text {
        "null" => Ok(ObjectVersion::Null),
        "" => Err(Failure::argument("Version id cannot be the empty string", argument, text)),
        _ => VersionId::parse(text)
            .map(ObjectVersion::Id)
            .ok_or_else(|| Failure::argument("Invalid version id specified", argument, text)),
    }
}

/// An object that a request names, in the latest version or in one that it says.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub(super) bucket: String,
    pub(super) key: String,
    pub(super) version: Option<ObjectVersion>,
}

impl Subject {
    pub(super) fn parse(request: &Request) -> Outcome<Self> {
        let version = request.query.get("versionId");
        let version = version.map(|text| version_of(text, "versionId")).transpose()?;
        Ok(Self { bucket: request.bucket.clone(), key: request.key.clone(), version })
    }

    pub(super) async fn find(&self, desk: &Desk) -> Outcome<Arc<Located>> {
        let Self { bucket, key, version } = self;
        let found = match version {
            None => desk.store.object(bucket, key).await,
            Some(version) => desk.store.version(bucket, key, *version).await,
        };
        Ok(found?)
    }
}

/// With the version's id, if its bucket keeps any.
pub(super) fn show_version(reply: Reply, version: Option<ObjectVersion>) -> Reply {
    match version {
        Some(version) => reply.with(VERSION_HEADER, &version.to_string()),
        None => reply,
    }
}
