//! Which version of a key a request means, and how answers name one.

use super::{Desk, Outcome, Reply, Request};
use crate::{error::Failure, tagging::Tags};
use ripstop_catalog::{Located, ObjectVersion, VersionId};
use std::{ops::RangeInclusive, sync::Arc};

/// Names the version that an answer is about.
pub(super) const VERSION_HEADER: &str = "x-amz-version-id";

/// Lengths of ids that other servers give: S3's own, and ULIDs.
const FOREIGN_ID_LENS: RangeInclusive<usize> = 26..=64;
/// No version has it: none was made in 1970.
const NOBODYS: VersionId = VersionId(0);

/// The version that a client names so. What could be an id somewhere names none here.
pub(super) fn version_of(text: &str, argument: &str) -> Outcome<ObjectVersion> {
    match text {
        "null" => Ok(ObjectVersion::Null),
        "" => Err(Failure::argument("Version id cannot be the empty string", argument, text)),
        _ => {
            let is_foreign = FOREIGN_ID_LENS.contains(&text.len());
            let id = VersionId::parse(text).or(is_foreign.then_some(NOBODYS));
            id.map(ObjectVersion::Id)
                .ok_or_else(|| Failure::argument("Invalid version id specified", argument, text))
        }
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

    /// The same where an empty id means none, as clients write what they were not told.
    pub(super) fn parse_or_latest(request: &Request) -> Outcome<Self> {
        let version = request.query.filled("versionId");
        let version = version.map(|text| version_of(text, "versionId")).transpose()?;
        Ok(Self { bucket: request.bucket.clone(), key: request.key.clone(), version })
    }

    pub(super) async fn find(&self, desk: &Desk) -> Outcome<Arc<Located>> {
        self.find_to_tag(desk, None).await
    }

    /// The same, to give it these tags.
    pub(super) async fn find_to_tag(
        &self,
        desk: &Desk,
        tags: Option<&Tags>,
    ) -> Outcome<Arc<Located>> {
        let Self { bucket, key, version } = self;
        let found = match (version, &desk.gate.ahead) {
            (None, Some(found)) => Ok(found.clone()),
            (None, None) => desk.store.object(bucket, key).await,
            (Some(version), _) => desk.store.version(bucket, key, *version).await,
        };
        let found = found.map_err(|error| desk.gate.hide(bucket, error.into()))?;
        desk.gate.settle(&found.object.attributes, tags)?;
        Ok(found)
    }
}

/// With the id that something was put under, if it was given one.
pub(super) fn show_given(reply: Reply, version: Option<ObjectVersion>) -> Reply {
    show_version(reply, version.filter(|version| *version != ObjectVersion::Null))
}

/// With the version's id, if its bucket keeps any.
pub(super) fn show_version(reply: Reply, version: Option<ObjectVersion>) -> Reply {
    match version {
        Some(version) => reply.with(VERSION_HEADER, &version.to_string()),
        None => reply,
    }
}
