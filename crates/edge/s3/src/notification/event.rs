//! Events: their names, and their records in S3's form.
//! <https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-content-structure.html>

use crate::{date, uri};
use serde_json::json;
use std::net::IpAddr;

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum EventKind {
    Put,
    Post,
    Copy,
    Complete,
    Delete,
    Marker,
    Tagged,
    Untagged,
}

impl EventKind {
    pub(crate) const ALL: [Self; 8] = [
        Self::Put,
        Self::Post,
        Self::Copy,
        Self::Complete,
        Self::Delete,
        Self::Marker,
        Self::Tagged,
        Self::Untagged,
    ];

    /// Its name in records; in documents `s3:` stands before it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Put => "ObjectCreated:Put",
            Self::Post => "ObjectCreated:Post",
            Self::Copy => "ObjectCreated:Copy",
            Self::Complete => "ObjectCreated:CompleteMultipartUpload",
            Self::Delete => "ObjectRemoved:Delete",
            Self::Marker => "ObjectRemoved:DeleteMarkerCreated",
            Self::Tagged => "ObjectTagging:Put",
            Self::Untagged => "ObjectTagging:Delete",
        }
    }

    /// Those that a name of a document stands for; none if it is no name.
    pub(super) fn named(name: &str) -> Vec<Self> {
        let Some(name) = name.strip_prefix("s3:") else { return Vec::new() };
        let fits = |kind: &Self| match name.strip_suffix('*') {
            Some(family) => family.ends_with(':') && kind.name().starts_with(family),
            None => kind.name() == name,
        };
        Self::ALL.into_iter().filter(fits).collect()
    }
}

/// What happened to an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Happened {
    pub(crate) kind: EventKind,
    pub(crate) key: String,
    /// Its length and etag, of one that is there.
    pub(crate) object: Option<(u64, String)>,
    pub(crate) version: Option<String>,
}

/// Where, when and by whom.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Setting {
    pub(crate) region: String,
    pub(crate) owner: String,
    pub(crate) bucket: String,
    /// Who asked; nobody in particular without a signature.
    pub(crate) access_key: Option<String>,
    pub(crate) client: Option<IpAddr>,
    pub(crate) request_id: String,
    pub(crate) at_ms: u64,
    /// What orders the events of a key.
    pub(crate) sequencer: u64,
}

/// The record of an event, for who subscribed to it by this name.
pub(crate) fn record(setting: &Setting, happened: &Happened, subscription: &str) -> String {
    let Setting { region, owner, bucket, access_key, client, request_id, at_ms, sequencer } =
        setting;
    // As in a form: a blank is a plus sign.
    let key = uri::encode(&happened.key, b" /").replace(' ', "+");
    let mut object = json!({ "key": key, "sequencer": format!("{sequencer:016X}") });
    if let Some((len, etag)) = &happened.object {
        object["size"] = json!(len);
        object["eTag"] = json!(etag);
    }
    if let Some(version) = &happened.version {
        object["versionId"] = json!(version);
    }
    let principal = access_key.as_deref().unwrap_or("ANONYMOUS");
    json!({ "Records": [{
        "eventVersion": "2.1",
        "eventSource": "aws:s3",
        "awsRegion": region,
        "eventTime": date::document(*at_ms),
        "eventName": happened.kind.name(),
        "userIdentity": { "principalId": principal },
        "requestParameters": {
            "sourceIPAddress": client.map(|client| client.to_string()).unwrap_or_default(),
        },
        "responseElements": { "x-amz-request-id": request_id, "x-amz-id-2": request_id },
        "s3": {
            "s3SchemaVersion": "1.0",
            "configurationId": subscription,
            "bucket": {
                "name": bucket,
                "ownerIdentity": { "principalId": owner },
                "arn": format!("arn:aws:s3:::{bucket}"),
            },
            "object": object,
        },
    }]})
    .to_string()
}

/// What a webhook is told when a bucket is to tell it of events.
pub(crate) fn test_event(bucket: &str, request_id: &str, at_ms: u64) -> String {
    json!({
        "Service": "Amazon S3",
        "Event": "s3:TestEvent",
        "Time": date::document(at_ms),
        "Bucket": bucket,
        "RequestId": request_id,
        "HostId": request_id,
    })
    .to_string()
}
