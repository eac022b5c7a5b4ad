//! What conditions ask about: keys of conditions, and the actions that have them.

use crate::action::{ActionSet, S3Action};
use alloc::boxed::Box;
use alloc::string::String;

/// What a condition asks of a request. Names are S3's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fact {
    /// `aws:CurrentTime`, as seconds since 1970 or as ISO 8601.
    CurrentTime,
    /// `aws:EpochTime`, seconds since 1970.
    EpochTime,
    /// `aws:PrincipalAccount`.
    PrincipalAccount,
    /// `aws:PrincipalArn`.
    PrincipalArn,
    /// `aws:PrincipalType`: `User` or `Anonymous`.
    PrincipalType,
    /// `aws:SecureTransport`, a truth.
    SecureTransport,
    /// `aws:SourceIp`.
    SourceIp,
    /// `aws:TokenIssueTime`, as seconds since 1970 or as ISO 8601.
    TokenIssueTime,
    /// `aws:userid`.
    UserId,
    /// `aws:username`.
    Username,
    /// A header of the request, in lower case.
    Header(&'static str),
    /// A parameter of the request's query.
    Query(&'static str),
    /// `s3:authType`: `REST-HEADER`, `REST-QUERY-STRING` or `POST`.
    AuthType,
    /// `s3:signatureversion`: `AWS` or `AWS4-HMAC-SHA256`.
    SignatureVersion,
    /// `s3:signatureAge`, milliseconds.
    SignatureAge,
    /// `s3:TlsVersion`.
    TlsVersion,
    /// `s3:ExistingObjectTag/…`: of the object that is there.
    ExistingObjectTag(Box<str>),
    /// `s3:RequestObjectTag/…`: of those that the request gives.
    RequestObjectTag(Box<str>),
    /// `s3:RequestObjectTagKeys`, each of them.
    RequestObjectTagKeys,
    /// `aws:RequestedRegion`.
    RequestedRegion,
    /// A key that there is at S3 and that no request to anybody else has.
    Never,
}

/// What a request answers to facts that are asked for.
pub trait Facts {
    /// Tells `take` each value that the request has of a fact; none if it has none.
    fn values(&self, fact: &Fact, take: &mut dyn FnMut(&str));
}

/// Nothing is known.
impl Facts for () {
    fn values(&self, _: &Fact, _: &mut dyn FnMut(&str)) {}
}

/// Which actions have a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Of {
    All,
    These(&'static [&'static str]),
}

const LISTS: Of = Of::These(&["ListBucket", "ListBucketVersions"]);
const PUTS: Of = Of::These(&["PutObject"]);
const CONDITIONAL: Of = Of::These(&["PutObject", "DeleteObject"]);
const LISTED: Of = Of::These(&[
    "CreateBucket",
    "PutObject",
    "PutBucketAcl",
    "PutObjectAcl",
    "PutObjectVersionAcl",
]);
const VERSIONED: Of = Of::These(&[
    "DeleteObjectVersion",
    "DeleteObjectVersionTagging",
    "GetObjectVersion",
    "GetObjectVersionAcl",
    "GetObjectVersionAttributes",
    "GetObjectVersionTagging",
    "GetObjectVersionTorrent",
    "PutObjectVersionAcl",
    "PutObjectVersionTagging",
]);

/// Keys by their names in lower case, and the header or parameter where they are just that.
const KEYS: &[(&str, Of, Fact)] = &[
    ("aws:currenttime", Of::All, Fact::CurrentTime),
    ("aws:epochtime", Of::All, Fact::EpochTime),
    ("aws:multifactorauthage", Of::All, Fact::Never),
    ("aws:multifactorauthpresent", Of::All, Fact::Never),
    ("aws:principalaccount", Of::All, Fact::PrincipalAccount),
    ("aws:principalarn", Of::All, Fact::PrincipalArn),
    ("aws:principalorgid", Of::All, Fact::Never),
    ("aws:principaltype", Of::All, Fact::PrincipalType),
    ("aws:referer", Of::All, Fact::Header("referer")),
    ("aws:requestedregion", Of::All, Fact::RequestedRegion),
    ("aws:securetransport", Of::All, Fact::SecureTransport),
    ("aws:sourceaccount", Of::All, Fact::Never),
    ("aws:sourcearn", Of::All, Fact::Never),
    ("aws:sourceip", Of::All, Fact::SourceIp),
    ("aws:sourceorgid", Of::All, Fact::Never),
    ("aws:sourcevpc", Of::All, Fact::Never),
    ("aws:sourcevpce", Of::All, Fact::Never),
    ("aws:tokenissuetime", Of::All, Fact::TokenIssueTime),
    ("aws:useragent", Of::All, Fact::Header("user-agent")),
    ("aws:userid", Of::All, Fact::UserId),
    ("aws:username", Of::All, Fact::Username),
    ("aws:viaawsservice", Of::All, Fact::Never),
    ("aws:vpcsourceip", Of::All, Fact::Never),
    ("s3:authtype", Of::All, Fact::AuthType),
    ("s3:dataaccesspointaccount", Of::All, Fact::Never),
    ("s3:dataaccesspointarn", Of::All, Fact::Never),
    ("s3:delimiter", LISTS, Fact::Query("delimiter")),
    ("s3:if-match", CONDITIONAL, Fact::Header("if-match")),
    ("s3:if-none-match", PUTS, Fact::Header("if-none-match")),
    ("s3:locationconstraint", Of::These(&["CreateBucket"]), Fact::Never),
    ("s3:max-keys", LISTS, Fact::Query("max-keys")),
    ("s3:object-lock-legal-hold", Of::All, Fact::Header("x-amz-object-lock-legal-hold")),
    ("s3:object-lock-mode", Of::All, Fact::Header("x-amz-object-lock-mode")),
    ("s3:object-lock-remaining-retention-days", Of::All, Fact::Never),
    (
        "s3:object-lock-retain-until-date",
        Of::All,
        Fact::Header("x-amz-object-lock-retain-until-date"),
    ),
    ("s3:objectcreationoperation", Of::All, Fact::Never),
    ("s3:prefix", LISTS, Fact::Query("prefix")),
    ("s3:requestobjecttagkeys", Of::All, Fact::RequestObjectTagKeys),
    ("s3:resourceaccount", Of::All, Fact::Never),
    ("s3:signatureage", Of::All, Fact::SignatureAge),
    ("s3:signatureversion", Of::All, Fact::SignatureVersion),
    ("s3:tlsversion", Of::All, Fact::TlsVersion),
    ("s3:versionid", VERSIONED, Fact::Query("versionId")),
    ("s3:x-amz-acl", LISTED, Fact::Header("x-amz-acl")),
    ("s3:x-amz-content-sha256", Of::All, Fact::Header("x-amz-content-sha256")),
    ("s3:x-amz-copy-source", PUTS, Fact::Header("x-amz-copy-source")),
    ("s3:x-amz-grant-full-control", LISTED, Fact::Header("x-amz-grant-full-control")),
    ("s3:x-amz-grant-read", LISTED, Fact::Header("x-amz-grant-read")),
    ("s3:x-amz-grant-read-acp", LISTED, Fact::Header("x-amz-grant-read-acp")),
    ("s3:x-amz-grant-write", LISTED, Fact::Header("x-amz-grant-write")),
    ("s3:x-amz-grant-write-acp", LISTED, Fact::Header("x-amz-grant-write-acp")),
    ("s3:x-amz-metadata-directive", PUTS, Fact::Header("x-amz-metadata-directive")),
    ("s3:x-amz-object-ownership", Of::All, Fact::Header("x-amz-object-ownership")),
    ("s3:x-amz-server-side-encryption", PUTS, Fact::Header("x-amz-server-side-encryption")),
    (
        "s3:x-amz-server-side-encryption-aws-kms-key-id",
        PUTS,
        Fact::Header("x-amz-server-side-encryption-aws-kms-key-id"),
    ),
    (
        "s3:x-amz-server-side-encryption-customer-algorithm",
        Of::All,
        Fact::Header("x-amz-server-side-encryption-customer-algorithm"),
    ),
    ("s3:x-amz-storage-class", PUTS, Fact::Header("x-amz-storage-class")),
    ("s3:x-amz-website-redirect-location", PUTS, Fact::Header("x-amz-website-redirect-location")),
];

/// Room for the name of a key, bytes.
const SHORT_LEN: usize = 64;
/// Beginnings of keys that name a tag.
const EXISTING: &str = "s3:existingobjecttag/";
const REQUESTED: &str = "s3:requestobjecttag/";
/// Beginnings of keys whose tags nothing here has.
const TAGS_OF_OTHERS: [&str; 4] =
    ["aws:principaltag/", "aws:requesttag/", "aws:resourcetag/", "s3:accesspointtag/"];

impl Fact {
    /// What the key of a condition asks for; `None` if there is no such key. Names of keys may be
    /// in whatever case, those of tags not.
    pub(crate) fn named(key: &str) -> Option<Self> {
        // The names of all keys but tags are shorter; conditions are asked often.
        let mut short = [0_u8; SHORT_LEN];
        let long;
        let lower = if let Some(room) = short.get_mut(..key.len()) {
            room.copy_from_slice(key.as_bytes());
            room.make_ascii_lowercase();
            core::str::from_utf8(room).ok()?
        } else {
            long = key.to_ascii_lowercase();
            long.as_str()
        };
        let tag = |beginning: &str| -> Option<Box<str>> {
            lower.starts_with(beginning).then(|| key[beginning.len()..].into())
        };
        if let Some((_, _, fact)) = known(lower) {
            return Some(fact.clone());
        }
        if let Some(tag) = tag(EXISTING) {
            return Some(Self::ExistingObjectTag(tag));
        }
        if let Some(tag) = tag(REQUESTED) {
            return Some(Self::RequestObjectTag(tag));
        }
        let is_of_others = TAGS_OF_OTHERS.iter().any(|beginning| lower.starts_with(beginning));
        is_of_others.then_some(Self::Never)
    }

    /// The one value that a request has; `None` if it has none, or several.
    pub(crate) fn only(&self, facts: &dyn Facts) -> Option<String> {
        let mut only = None;
        let mut count = 0;
        facts.values(self, &mut |value| {
            count += 1;
            only = Some(value.into());
        });
        only.filter(|_| count == 1)
    }
}

/// Whether all of these actions have the key, in lower case.
pub(crate) fn all_have(key: &str, actions: ActionSet) -> bool {
    match known(key) {
        Some((_, Of::These(names), _)) => {
            let having: ActionSet = names.iter().filter_map(|name| S3Action::named(name)).collect();
            actions.iter().all(|action| having.contains(action))
        }
        Some((_, Of::All, _)) | None => true,
    }
}

fn known(lower: &str) -> Option<&'static (&'static str, Of, Fact)> {
    KEYS.binary_search_by(|(name, _, _)| (*name).cmp(lower)).ok().map(|at| &KEYS[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_in_whatever_case() {
        assert!(KEYS.is_sorted_by(|(a, _, _), (b, _, _)| a < b));
        assert_eq!(Fact::named("AWS:SourceIp"), Some(Fact::SourceIp));
        assert_eq!(Fact::named("s3:Prefix"), Some(Fact::Query("prefix")));
        let tag = Fact::named("s3:ExistingObjectTag/Project");
        assert_eq!(tag, Some(Fact::ExistingObjectTag("Project".into())));
        assert_eq!(Fact::named("s3:FakeKey"), None);
        for (_, of, _) in KEYS {
            if let Of::These(names) = of {
                assert!(names.iter().all(|name| S3Action::named(name).is_some()), "{names:?}");
            }
        }
    }
}
