//! The words of the table of operations (`op::table`), and how a request finds its row there.

#[cfg(test)]
mod tests;

use crate::{
    error::{Code, Failure, Outcome},
    op::{Operation, ROWS},
    uri::{Query, Target},
};
use http::{HeaderMap, Method};
use ripstop_identity::Action;

/// What an operation is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Level {
    /// All buckets.
    Service,
    /// A bucket.
    Bucket,
    /// An object, whether it is there or not.
    Object,
    /// Either of both.
    BucketOrObject,
}

impl Level {
    const fn includes(self, other: Self) -> bool {
        match self {
            Self::Service => matches!(other, Self::Service),
            Self::Bucket => matches!(other, Self::Bucket),
            Self::Object => matches!(other, Self::Object),
            Self::BucketOrObject => matches!(other, Self::Bucket | Self::Object),
        }
    }

    const fn of(target: &Target) -> Self {
        match (&target.bucket, &target.key) {
            (None, _) => Self::Service,
            (Some(_), None) => Self::Bucket,
            (Some(_), Some(_)) => Self::Object,
        }
    }
}

/// What a request must have, beside method and level, to be for an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Selector {
    /// A parameter of the query, with whatever value.
    Has(&'static str),
    /// A parameter of the query with just this value.
    Is(&'static str, &'static str),
    /// A parameter that names a part of a bucket's configuration.
    NamesSetting,
    /// A header.
    Header(&'static str),
}

impl Selector {
    fn holds(self, query: &Query, headers: &HeaderMap) -> bool {
        match self {
            Self::Has(name) => query.has(name),
            Self::Is(name, value) => query.get(name) == Some(value),
            Self::NamesSetting => bucket_setting(query).is_some(),
            Self::Header(name) => headers.contains_key(name),
        }
    }
}

/// What an operation takes from a request's body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Input {
    /// Nothing: a body that comes is not looked at.
    Nothing,
    /// A document in XML.
    Document,
    /// The bytes of an object or of a part.
    Bytes,
}

/// Who may send an operation, as far as its row decides: rights decide the rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Signer {
    /// The owner of an access key.
    Key,
    /// The same, or anybody without a signature who was given rights.
    KeyOrNobody,
}

/// A row of the table: one operation.
#[derive(Debug)]
pub(crate) struct Row {
    /// Which one.
    pub(crate) operation: Operation,
    /// By which method it is asked for.
    pub(crate) method: &'static str,
    /// What it is about.
    pub(crate) level: Level,
    /// What else selects it: all must hold.
    pub(crate) selectors: &'static [Selector],
    /// What it takes from the body.
    pub(crate) input: Input,
    /// Who may send it.
    pub(crate) signer: Signer,
    /// What must be allowed to its sender.
    pub(crate) action: Action,
}

/// Parts of a bucket's configuration that can be asked for.
pub(crate) const BUCKET_SETTINGS: [&str; 20] = [
    // First: where a query names several, the answer is about this one.
    "website",
    "accelerate",
    "analytics",
    "cors",
    "encryption",
    "intelligent-tiering",
    "inventory",
    "lifecycle",
    "logging",
    "metrics",
    "notification",
    "object-lock",
    "ownershipControls",
    "policy",
    "policyStatus",
    "publicAccessBlock",
    "replication",
    "requestPayment",
    "tagging",
    "versioning",
];

/// Which part of a bucket's configuration a query asks for.
pub(crate) fn bucket_setting(query: &Query) -> Option<&'static str> {
    BUCKET_SETTINGS.into_iter().find(|setting| query.has(setting))
}

/// Sub-resources of objects that S3 has and this face has not.
const OBJECT_SETTINGS_ABSENT: [&str; 6] =
    ["legal-hold", "retention", "restore", "select", "torrent", "encryption"];

/// Refuses what no row is for and a row would be found for.
fn refuse(method: &Method, level: Level, query: &Query) -> Outcome<()> {
    let is = |name: &Method| method == name;
    match level {
        Level::Bucket if is(&Method::PUT) && !query.has("acl") => {
            let setting = bucket_setting(query);
            setting.map_or(Ok(()), |_| Err(Code::NotImplemented.into()))
        }
        Level::Object if OBJECT_SETTINGS_ABSENT.iter().any(|name| query.has(name)) => {
            Err(Code::NotImplemented.into())
        }
        Level::Object if is(&Method::PUT) => {
            let other = ["uploadId", "tagging", "acl"].iter().any(|name| query.has(name));
            let Some(number) = query.get("partNumber").filter(|_| !other) else { return Ok(()) };
            let message = "This operation does not accept partNumber without uploadId";
            Err(Failure::argument(message, "partNumber", number))
        }
        Level::Service | Level::Bucket | Level::Object | Level::BucketOrObject => Ok(()),
    }
}

/// What is answered where there is no row.
fn nothing_for(method: &Method, level: Level) -> Code {
    match (level, method) {
        (Level::Bucket, &Method::POST) => Code::NotImplemented,
        (Level::Bucket | Level::Object, &Method::OPTIONS) => Code::AccessForbidden,
        _ => Code::MethodNotAllowed,
    }
}

/// Finds out what a request asks for: the first row that fits.
pub(crate) fn route(
    method: &Method,
    target: &Target,
    query: &Query,
    headers: &HeaderMap,
) -> Outcome<&'static Row> {
    let level = Level::of(target);
    refuse(method, level, query)?;
    let fits = |row: &&Row| {
        row.method == method.as_str()
            && row.level.includes(level)
            && row.selectors.iter().all(|selector| selector.holds(query, headers))
    };
    ROWS.iter().find(fits).ok_or_else(|| nothing_for(method, level).into())
}
