//! What a request has of what conditions ask for.

use crate::{
    condition::bare_tag,
    date,
    tagging::Tags,
    uri::{self, Query},
};
use http::HeaderMap;
use ripstop_access::{Fact, Facts, Requester};
use std::net::IpAddr;

/// How a request is signed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Signing {
    /// Not at all.
    None,
    /// In headers.
    Header,
    /// In the query.
    Query {
        /// By Version 2.
        is_legacy: bool,
    },
    /// In a form's fields.
    Form {
        /// By Version 2.
        is_legacy: bool,
    },
}

impl Signing {
    /// Of a request whose head says all of it.
    pub(crate) fn of_head(query: &Query, is_signed: bool) -> Self {
        match is_signed {
            false => Self::None,
            true if query.has("Signature") => Self::Query { is_legacy: true },
            true if query.has("X-Amz-Signature") => Self::Query { is_legacy: false },
            true => Self::Header,
        }
    }

    const fn kind(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Header => Some("REST-HEADER"),
            Self::Query { .. } => Some("REST-QUERY-STRING"),
            Self::Form { .. } => Some("POST"),
        }
    }

    const fn version(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Query { is_legacy: true } | Self::Form { is_legacy: true } => Some("AWS"),
            Self::Header | Self::Query { .. } | Self::Form { .. } => Some("AWS4-HMAC-SHA256"),
        }
    }
}

/// What is known of a request beside who sends it and what for.
#[derive(Debug)]
pub(crate) struct Circumstances {
    pub(crate) headers: HeaderMap,
    pub(crate) query: Query,
    /// Where the client is, as far as it is known.
    pub(crate) address: Option<IpAddr>,
    /// Whether nobody on the way can read it.
    pub(crate) secure: bool,
    pub(crate) signing: Signing,
    /// The region that it was sent to.
    pub(crate) region: String,
    /// When it came, seconds since 1970.
    pub(crate) now_s: i64,
    /// Tags that it gives.
    pub(crate) tags: Tags,
}

/// A request's facts, with those of who sends it and of what is there.
pub(crate) struct Seen<'a> {
    pub(crate) circumstances: &'a Circumstances,
    pub(crate) requester: &'a Requester,
    /// When its keys were issued, seconds since 1970, if they are temporary.
    pub(crate) began_s: Option<i64>,
    /// Tags that the body gives, where it is of tags.
    pub(crate) given: Option<&'a Tags>,
    /// Of the object that is there, where it was looked at.
    pub(crate) existing: Option<&'a Tags>,
}

impl Seen<'_> {
    fn header(&self, name: &str, take: &mut dyn FnMut(&str)) {
        let value = self.circumstances.headers.get(name);
        let Some(value) = value.and_then(|value| value.to_str().ok()) else { return };
        match name {
            "if-match" => take(bare_tag(value)),
            // As it is looked up, not as it was sent: spelling it otherwise must not help.
            "x-amz-copy-source" => {
                let path = value.split_once("?versionId=").map_or(value, |(path, _)| path);
                let path = uri::decode(path, false).unwrap_or_default();
                take(path.strip_prefix('/').unwrap_or(&path));
            }
            _ => take(value),
        }
    }

    fn given_tags(&self) -> &Tags {
        self.given.unwrap_or(&self.circumstances.tags)
    }
}

fn tag(tags: &Tags, name: &str, take: &mut dyn FnMut(&str)) {
    if let Some((_, value)) = tags.iter().find(|(key, _)| key == name) {
        take(value);
    }
}

impl Facts for Seen<'_> {
    fn values(&self, fact: &Fact, take: &mut dyn FnMut(&str)) {
        let it = self.circumstances;
        match fact {
            Fact::CurrentTime | Fact::EpochTime => take(&it.now_s.to_string()),
            Fact::PrincipalAccount => _ = self.requester.account().map(take),
            Fact::PrincipalArn => _ = self.requester.arn().as_deref().map(take),
            Fact::PrincipalType => {
                take(if self.requester.account().is_some() { "User" } else { "Anonymous" });
            }
            Fact::SecureTransport => take(if it.secure { "true" } else { "false" }),
            Fact::SourceIp => _ = it.address.map(|address| take(&address.to_string())),
            Fact::UserId | Fact::Username => _ = self.requester.name().map(take),
            Fact::Header(name) => self.header(name, take),
            Fact::Query(name) => _ = it.query.get(name).map(take),
            Fact::AuthType => _ = it.signing.kind().map(take),
            Fact::SignatureVersion => _ = it.signing.version().map(take),
            Fact::SignatureAge => _ = it.signature_age_ms().map(|ms| take(&ms.to_string())),
            Fact::ExistingObjectTag(name) => {
                if let Some(tags) = self.existing {
                    tag(tags, name, take);
                }
            }
            Fact::RequestObjectTag(name) => tag(self.given_tags(), name, take),
            Fact::RequestObjectTagKeys => {
                self.given_tags().iter().for_each(|(key, _)| take(key));
            }
            Fact::RequestedRegion => take(&it.region),
            Fact::TokenIssueTime => _ = self.began_s.map(|at_s| take(&at_s.to_string())),
            Fact::TlsVersion | Fact::Never => {}
        }
    }
}

impl Circumstances {
    /// How long ago a URL was signed.
    fn signature_age_ms(&self) -> Option<i64> {
        let signed = self
            .query
            .get("X-Amz-Date")
            .filter(|_| matches!(self.signing, Signing::Query { is_legacy: false }))?;
        date::parse_basic(signed).map(|signed_s| (self.now_s - signed_s).max(0) * 1000)
    }
}
