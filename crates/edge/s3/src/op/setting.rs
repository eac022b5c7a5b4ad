//! Parts of a bucket's configuration: fixed where S3 has a default, otherwise absent.

use super::{Desk, Operate, Outcome, Reply, Request, bucket_setting};
use crate::{Settings, error::Code, xml::Element};
use http::StatusCode;

pub(super) struct Get {
    bucket: String,
    setting: &'static str,
    /// Of several of its kind, which have names.
    one_of_many: bool,
}

impl Operate for Get {
    /// The setting.
    type Done = &'static str;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        Ok(Self {
            bucket: request.bucket.clone(),
            setting: bucket_setting(&request.query).unwrap_or_default(),
            one_of_many: request.query.has("id"),
        })
    }

    async fn run(self, desk: &Desk) -> Outcome<&'static str> {
        desk.store.bucket(&self.bucket).await?;
        let absent = match self.setting {
            "accelerate" | "logging" | "notification" | "versioning" | "requestPayment"
            | "ownershipControls" => return Ok(self.setting),
            "analytics" | "intelligent-tiering" | "inventory" | "metrics" if self.one_of_many => {
                Code::NoSuchConfiguration
            }
            "cors" => Code::NoSuchCorsConfiguration,
            "encryption" => Code::ServerSideEncryptionConfigurationNotFound,
            "lifecycle" => Code::NoSuchLifecycleConfiguration,
            "object-lock" => Code::ObjectLockConfigurationNotFound,
            "policy" | "policyStatus" => Code::NoSuchBucketPolicy,
            "publicAccessBlock" => Code::NoSuchPublicAccessBlockConfiguration,
            "replication" => Code::ReplicationConfigurationNotFound,
            "tagging" => Code::NoSuchTagSet,
            "website" => Code::NoSuchWebsiteConfiguration,
            _ => Code::NotImplemented,
        };
        Err(absent.into())
    }

    fn render(setting: &'static str, _: &Settings) -> Reply {
        let document = match setting {
            "accelerate" => Element::in_namespace("AccelerateConfiguration").document(),
            "logging" => Element::in_namespace("BucketLoggingStatus").document(),
            "notification" => Element::in_namespace("NotificationConfiguration").document(),
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
            _ => Element::in_namespace("VersioningConfiguration").document(),
        };
        Reply::document(document)
    }
}

/// What is not there is removed already.
pub(super) struct Delete {
    bucket: String,
}

impl Operate for Delete {
    type Done = ();

    async fn parse(request: &mut Request) -> Outcome<Self> {
        Ok(Self { bucket: request.bucket.clone() })
    }

    async fn run(self, desk: &Desk) -> Outcome<()> {
        desk.store.bucket(&self.bucket).await?;
        Ok(())
    }

    fn render((): (), _: &Settings) -> Reply {
        Reply::empty(StatusCode::NO_CONTENT)
    }
}
