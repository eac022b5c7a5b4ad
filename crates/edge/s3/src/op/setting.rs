//! Parts of a bucket's configuration: fixed where S3 has a default, otherwise absent.

use super::{Outcome, Reply, Request};
use crate::{error::Code, operation::bucket_setting, xml::Element};
use http::StatusCode;

pub(super) async fn get(request: Request) -> Outcome<Reply> {
    request.store.bucket(&request.bucket).await?;
    let one_of_many = request.query.has("id");
    let document = match bucket_setting(&request.query).unwrap_or_default() {
        "accelerate" => Element::in_namespace("AccelerateConfiguration").document(),
        "logging" => Element::in_namespace("BucketLoggingStatus").document(),
        "notification" => Element::in_namespace("NotificationConfiguration").document(),
        "versioning" => Element::in_namespace("VersioningConfiguration").document(),
        "requestPayment" => {
            let mut root = Element::in_namespace("RequestPaymentConfiguration");
            root.text("Payer", "BucketOwner");
            root.document()
        }
        "ownershipControls" => {
            let mut root = Element::in_namespace("OwnershipControls");
            root.child("Rule", |rule| {
                rule.text("ObjectOwnership", "BucketOwnerEnforced");
            });
            root.document()
        }
        "analytics" | "intelligent-tiering" | "inventory" | "metrics" if one_of_many => {
            return Err(Code::NoSuchConfiguration.into());
        }
        "cors" => return Err(Code::NoSuchCorsConfiguration.into()),
        "encryption" => return Err(Code::ServerSideEncryptionConfigurationNotFound.into()),
        "lifecycle" => return Err(Code::NoSuchLifecycleConfiguration.into()),
        "object-lock" => return Err(Code::ObjectLockConfigurationNotFound.into()),
        "policy" | "policyStatus" => return Err(Code::NoSuchBucketPolicy.into()),
        "publicAccessBlock" => return Err(Code::NoSuchPublicAccessBlockConfiguration.into()),
        "replication" => return Err(Code::ReplicationConfigurationNotFound.into()),
        "tagging" => return Err(Code::NoSuchTagSet.into()),
        "website" => return Err(Code::NoSuchWebsiteConfiguration.into()),
        _ => return Err(Code::NotImplemented.into()),
    };
    Ok(Reply::document(document))
}

/// What is not there is removed already.
pub(super) async fn delete(request: Request) -> Outcome<Reply> {
    request.store.bucket(&request.bucket).await?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}
