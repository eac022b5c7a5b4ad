//! Which of S3's actions an operation takes: the one table of them.

use crate::by_name::ByName as _;
use crate::op::S3Operation;
use http::HeaderMap;
use ripstop_access::S3Action;
use std::sync::LazyLock;

/// Operations whose action has another name than themselves. By name, so that an operation need not
/// be there to be in the table; a test demands that each that is there has an action.
const NAMED_OTHERWISE: &[(&str, &str)] = &[
    ("CompleteMultipartUpload", "PutObject"),
    ("CopyObject", "PutObject"),
    ("CreateMultipartUpload", "PutObject"),
    ("DeleteBucketAnalyticsConfiguration", "PutAnalyticsConfiguration"),
    ("DeleteBucketCors", "PutBucketCORS"),
    ("DeleteBucketEncryption", "PutEncryptionConfiguration"),
    ("DeleteBucketIntelligentTieringConfiguration", "PutIntelligentTieringConfiguration"),
    ("DeleteBucketInventoryConfiguration", "PutInventoryConfiguration"),
    ("DeleteBucketLifecycle", "PutLifecycleConfiguration"),
    ("DeleteBucketLifecycleConfiguration", "PutLifecycleConfiguration"),
    ("DeleteBucketMetricsConfiguration", "PutMetricsConfiguration"),
    ("DeleteBucketOwnershipControls", "PutBucketOwnershipControls"),
    ("DeleteBucketReplication", "PutReplicationConfiguration"),
    ("DeleteBucketTagging", "PutBucketTagging"),
    ("DeleteObjects", "DeleteObject"),
    ("DeletePublicAccessBlock", "PutBucketPublicAccessBlock"),
    ("GetBucketAccelerateConfiguration", "GetAccelerateConfiguration"),
    ("GetBucketAnalyticsConfiguration", "GetAnalyticsConfiguration"),
    ("GetBucketEncryption", "GetEncryptionConfiguration"),
    ("GetBucketIntelligentTieringConfiguration", "GetIntelligentTieringConfiguration"),
    ("GetBucketInventoryConfiguration", "GetInventoryConfiguration"),
    ("GetBucketLifecycle", "GetLifecycleConfiguration"),
    ("GetBucketLifecycleConfiguration", "GetLifecycleConfiguration"),
    ("GetBucketMetricsConfiguration", "GetMetricsConfiguration"),
    ("GetBucketNotificationConfiguration", "GetBucketNotification"),
    ("GetBucketReplication", "GetReplicationConfiguration"),
    ("GetObjectLockConfiguration", "GetBucketObjectLockConfiguration"),
    ("GetPublicAccessBlock", "GetBucketPublicAccessBlock"),
    ("HeadBucket", "ListBucket"),
    ("HeadObject", "GetObject"),
    ("ListBucketInventoryConfigurations", "GetInventoryConfiguration"),
    ("ListBuckets", "ListAllMyBuckets"),
    ("ListMultipartUploads", "ListBucketMultipartUploads"),
    ("ListObjectVersions", "ListBucketVersions"),
    ("ListObjects", "ListBucket"),
    ("ListObjectsV2", "ListBucket"),
    ("ListParts", "ListMultipartUploadParts"),
    ("PostObject", "PutObject"),
    ("PutBucketAccelerateConfiguration", "PutAccelerateConfiguration"),
    ("PutBucketEncryption", "PutEncryptionConfiguration"),
    ("PutBucketInventoryConfiguration", "PutInventoryConfiguration"),
    ("PutBucketLifecycle", "PutLifecycleConfiguration"),
    ("PutBucketLifecycleConfiguration", "PutLifecycleConfiguration"),
    ("PutBucketNotificationConfiguration", "PutBucketNotification"),
    ("PutBucketReplication", "PutReplicationConfiguration"),
    ("PutObjectLockConfiguration", "PutBucketObjectLockConfiguration"),
    ("PutPublicAccessBlock", "PutBucketPublicAccessBlock"),
    ("UploadPart", "PutObject"),
    ("UploadPartCopy", "PutObject"),
];

/// Of operations that are for a bucket or for an object: the action of each.
const OF_TWO_LEVELS: &[(&str, &str, &str)] =
    &[("GetAcl", "GetBucketAcl", "GetObjectAcl"), ("PutAcl", "PutBucketAcl", "PutObjectAcl")];

/// Parts of a bucket's configuration, as the query names them, that one operation stands for.
const SETTINGS: &[(&str, &str)] = &[
    ("accelerate", "AccelerateConfiguration"),
    ("analytics", "AnalyticsConfiguration"),
    ("encryption", "EncryptionConfiguration"),
    ("intelligent-tiering", "IntelligentTieringConfiguration"),
    ("lifecycle", "LifecycleConfiguration"),
    ("logging", "BucketLogging"),
    ("metrics", "MetricsConfiguration"),
    ("notification", "BucketNotification"),
    ("object-lock", "BucketObjectLockConfiguration"),
    ("replication", "ReplicationConfiguration"),
    ("requestPayment", "BucketRequestPayment"),
    ("website", "BucketWebsite"),
];

/// Actions of a version, where one is named.
const OF_VERSION: &[(&str, &str)] = &[
    ("DeleteObject", "DeleteObjectVersion"),
    ("DeleteObjectTagging", "DeleteObjectVersionTagging"),
    ("GetObject", "GetObjectVersion"),
    ("GetObjectAcl", "GetObjectVersionAcl"),
    ("GetObjectAttributes", "GetObjectVersionAttributes"),
    ("GetObjectTagging", "GetObjectVersionTagging"),
    ("PutObjectAcl", "PutObjectVersionAcl"),
    ("PutObjectTagging", "PutObjectVersionTagging"),
];

/// Headers that take an action beside the operation's own.
const BY_HEADER: &[(&str, &str)] = &[
    ("x-amz-object-lock-legal-hold", "PutObjectLegalHold"),
    ("x-amz-object-lock-mode", "PutObjectRetention"),
    ("x-amz-object-lock-retain-until-date", "PutObjectRetention"),
    ("x-amz-tagging", "PutObjectTagging"),
];
const BYPASS: &str = "x-amz-bypass-governance-retention";

/// What a request asks for, as far as its action depends on it.
pub(super) struct Sort<'a> {
    pub(super) operation: S3Operation,
    pub(super) is_of_object: bool,
    pub(super) has_version: bool,
    /// The part of the configuration that the query names, if it does.
    pub(super) setting: Option<&'a str>,
    pub(super) headers: &'a HeaderMap,
}

/// All actions that a request takes. Those without any, which no policy can speak of, take none.
pub(super) fn actions(sort: &Sort<'_>) -> Vec<S3Action> {
    let Some(main) = main(sort) else { return Vec::new() };
    let mut actions = vec![versioned(main, sort.has_version)];
    if sort.operation == S3Operation::GetObjectAttributes {
        actions.extend(action("GetObject").map(|read| versioned(read, sort.has_version)));
    }
    if main.name() == "PutObject" && !is_of_upload(sort.operation) {
        let given = BY_HEADER.iter().filter(|(header, _)| sort.headers.named(header).is_some());
        actions.extend(given.filter_map(|(_, name)| action(name)));
    }
    let bypass = sort.headers.named(BYPASS).map(http::HeaderValue::as_bytes);
    if bypass.is_some_and(|value| value.eq_ignore_ascii_case(b"true")) {
        actions.extend(action("BypassGovernanceRetention"));
    }
    actions.dedup();
    actions
}

/// The same of another object than the request names: of what is copied, of one of several that are
/// deleted.
pub(super) fn of_object(name: &str, has_version: bool) -> Vec<S3Action> {
    action(name).map(|action| versioned(action, has_version)).into_iter().collect()
}

/// Whether it fills an upload that was begun: what its object has was said then.
fn is_of_upload(operation: S3Operation) -> bool {
    matches!(
        operation,
        S3Operation::UploadPart
            | S3Operation::UploadPartCopy
            | S3Operation::CompleteMultipartUpload
    )
}

fn main(sort: &Sort<'_>) -> Option<S3Action> {
    static BY_OPERATION: LazyLock<Vec<Option<S3Action>>> = LazyLock::new(|| {
        S3Operation::ALL.iter().map(|operation| plain(operation.name())).collect()
    });
    let name = sort.operation.name();
    if let Some((_, of_bucket, of_object)) = OF_TWO_LEVELS.iter().find(|(it, _, _)| *it == name) {
        return action(if sort.is_of_object { of_object } else { of_bucket });
    }
    if let Some(verb) = setting_verb(sort.operation) {
        let (_, part) = SETTINGS.iter().find(|(setting, _)| Some(*setting) == sort.setting)?;
        return action(&format!("{verb}{part}"));
    }
    BY_OPERATION[sort.operation as usize]
}

/// How the action begins of an operation on whatever part of the configuration.
fn setting_verb(operation: S3Operation) -> Option<&'static str> {
    if operation == S3Operation::GetBucketSetting {
        return Some("Get");
    }
    (operation == S3Operation::DeleteBucketSetting).then_some("Put")
}

fn plain(operation: &str) -> Option<S3Action> {
    let otherwise = NAMED_OTHERWISE.iter().find(|(name, _)| *name == operation);
    action(otherwise.map_or(operation, |(_, name)| name))
}

fn versioned(of: S3Action, has_version: bool) -> S3Action {
    let version = OF_VERSION.iter().find(|(name, _)| has_version && *name == of.name());
    version.and_then(|(_, name)| action(name)).unwrap_or(of)
}

fn action(name: &str) -> Option<S3Action> {
    S3Action::named(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What nobody is asked about.
    const WITHOUT: [&str; 3] = ["Preflight", "SecurityToken", "Unknown"];

    fn of(operation: S3Operation, is_of_object: bool, has_version: bool) -> Vec<&'static str> {
        let headers = HeaderMap::new();
        let setting = Some("lifecycle");
        let sort = Sort { operation, is_of_object, has_version, setting, headers: &headers };
        actions(&sort).into_iter().map(S3Action::name).collect()
    }

    #[test]
    fn every_operation_takes_an_action_that_policies_can_name() {
        for operation in S3Operation::ALL {
            let is_without = WITHOUT.contains(&operation.name());
            for is_of_object in [false, true] {
                assert_eq!(
                    of(*operation, is_of_object, false).is_empty(),
                    is_without,
                    "{operation:?}"
                );
            }
        }
        let names = NAMED_OTHERWISE.iter().map(|(_, name)| *name);
        let two = OF_TWO_LEVELS.iter().flat_map(|(_, one, other)| [*one, *other]);
        let versions = OF_VERSION.iter().flat_map(|(one, other)| [*one, *other]);
        let headers = BY_HEADER.iter().map(|(_, name)| *name);
        for name in names.chain(two).chain(versions).chain(headers) {
            assert_eq!(action(name).map(S3Action::name), Some(name));
        }
        for (setting, part) in SETTINGS {
            assert!(action(&format!("Get{part}")).is_some(), "{setting}");
            assert!(action(&format!("Put{part}")).is_some(), "{setting}");
        }
    }

    #[test]
    fn versions_and_levels_have_actions_of_their_own() {
        assert_eq!(of(S3Operation::GetObject, true, false), ["GetObject"]);
        assert_eq!(of(S3Operation::HeadObject, true, true), ["GetObjectVersion"]);
        assert_eq!(of(S3Operation::GetAcl, false, false), ["GetBucketAcl"]);
        assert_eq!(of(S3Operation::PutAcl, true, true), ["PutObjectVersionAcl"]);
        assert_eq!(of(S3Operation::GetBucketSetting, false, false), ["GetLifecycleConfiguration"]);
        let attributes = of(S3Operation::GetObjectAttributes, true, false);
        assert_eq!(attributes, ["GetObjectAttributes", "GetObject"]);
    }

    #[test]
    fn headers_take_actions_of_their_own() {
        let mut headers = HeaderMap::new();
        headers.insert("x-amz-tagging", "a=b".parse().unwrap());
        headers.insert("x-amz-object-lock-mode", "GOVERNANCE".parse().unwrap());
        headers.insert("x-amz-object-lock-retain-until-date", "2030-01-01".parse().unwrap());
        let operation = S3Operation::PutObject;
        let sort = Sort {
            operation,
            is_of_object: true,
            has_version: false,
            setting: None,
            headers: &headers,
        };
        let names: Vec<_> = actions(&sort).into_iter().map(S3Action::name).collect();
        assert_eq!(names, ["PutObject", "PutObjectRetention", "PutObjectTagging"]);
    }
}
