//! The words of the table of operations.

use super::settings::named_setting;
use crate::{
    by_name::ByName as _,
    uri::{Query, Target},
    xml::Limits,
};
use http::{HeaderMap, Method, header};

/// Stands for whatever method.
const ANY: &str = "ANY";

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

    /// S3's word for it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Service => "SERVICE",
            Self::Bucket => "BUCKET",
            Self::Object | Self::BucketOrObject => "OBJECT",
        }
    }

    pub(crate) const fn of(target: &Target) -> Self {
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
    /// A body that is a form's fields.
    Form,
    /// A body that is a call's parameters.
    Call,
}

impl Selector {
    fn holds(self, query: &Query, headers: &HeaderMap) -> bool {
        match self {
            Self::Has(name) => query.has(name),
            Self::Is(name, value) => query.get(name) == Some(value),
            Self::NamesSetting => named_setting(query).is_some(),
            Self::Header(name) => headers.named(name).is_some(),
            Self::Form => has_type(headers, "multipart/form-data"),
            Self::Call => has_type(headers, "application/x-www-form-urlencoded"),
        }
    }
}

fn has_type(headers: &HeaderMap, wanted: &str) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default();
    kind.trim().eq_ignore_ascii_case(wanted)
}

/// Which requests a row is about: all of it must hold.
#[derive(Debug)]
pub(crate) struct When {
    /// By which method they ask.
    pub(crate) method: &'static str,
    /// What they are about.
    pub(crate) level: Level,
    /// What they have.
    pub(crate) selectors: &'static [Selector],
}

impl When {
    /// Whether a request is one of them.
    pub(crate) fn holds(
        &self,
        method: &Method,
        level: Level,
        query: &Query,
        headers: &HeaderMap,
    ) -> bool {
        self.level.includes(level)
            && (self.method == ANY || self.method == method.as_str())
            && self.selectors.iter().all(|selector| selector.holds(query, headers))
    }
}

/// What an operation takes from a request's body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Input {
    /// Nothing: a body that comes is not looked at.
    Nothing,
    /// A document in XML, and how much it may be.
    Document(Limits),
    /// The bytes of an object or of a part.
    Bytes,
}

impl Input {
    /// How much the document may be, where it is one.
    pub(crate) const fn limits(self) -> Option<Limits> {
        match self {
            Self::Document(limits) => Some(limits),
            Self::Nothing | Self::Bytes => None,
        }
    }
}

/// Who may send an operation, as far as its row decides: rights decide the rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Signer {
    /// Anybody: a signature is not looked at, nor are rights. What is answered tells of nothing
    /// that is stored.
    Anybody,
    /// Whose signature is in the body, among a form's fields: neither that nor rights can be looked
    /// at before these are read. Or anybody without a signature who was given rights.
    Form,
    /// The owner of an access key, whose signature covers the body: it is read before.
    Caller,
    /// The owner of an access key.
    Key,
    /// The same, or anybody without a signature who was given rights.
    KeyOrNobody,
}
