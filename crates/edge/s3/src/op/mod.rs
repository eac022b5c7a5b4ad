//! One file per family of operations.

mod acl;
mod attributes;
mod bucket;
mod complete;
mod copy;
mod delete;
mod list;
mod list_uploads;
mod multipart;
mod object;
mod part;
mod put;
mod setting;
mod source;
mod tags;
mod whole;

use crate::{
    Operation,
    error::{Code, Failure, Outcome},
    request::{Reply, Request},
};
use ripstop_catalog::{CatalogError, Refusal};
use ripstop_store::{StoreError, WriteError};

/// Does what a request asks for.
pub(crate) async fn run(operation: Operation, request: Request) -> Outcome<Reply> {
    request.check_owner()?;
    match operation {
        Operation::AbortMultipartUpload => multipart::abort(request).await,
        Operation::CompleteMultipartUpload => complete::complete(request).await,
        Operation::CopyObject => copy::copy(request).await,
        Operation::CreateBucket => bucket::create(request).await,
        Operation::CreateMultipartUpload => multipart::create(request).await,
        Operation::DeleteBucket => bucket::delete(request).await,
        Operation::DeleteBucketSetting => setting::delete(request).await,
        Operation::DeleteObject => delete::one(request).await,
        Operation::DeleteObjectTagging => tags::delete(request).await,
        Operation::DeleteObjects => delete::many(request).await,
        Operation::GetAcl => acl::get(request).await,
        Operation::GetBucketLocation => bucket::location(request).await,
        Operation::GetBucketSetting => setting::get(request).await,
        Operation::GetObject => object::get(request, true).await,
        Operation::GetObjectAttributes => attributes::get(request).await,
        Operation::GetObjectTagging => tags::get(request).await,
        Operation::HeadBucket => bucket::head(request).await,
        Operation::HeadObject => object::get(request, false).await,
        Operation::ListBuckets => bucket::list(request).await,
        Operation::ListMultipartUploads => list_uploads::list(request).await,
        Operation::ListObjectVersions => list::versions(request).await,
        Operation::ListObjects => list::version_1(request).await,
        Operation::ListObjectsV2 => list::version_2(request).await,
        Operation::ListParts => part::list(request).await,
        Operation::PutAcl => acl::put(request).await,
        Operation::PutObject => put::put(request).await,
        Operation::PutObjectTagging => tags::put(request).await,
        Operation::UploadPart => part::upload(request).await,
        Operation::UploadPartCopy => copy::part(request).await,
        Operation::Unknown => Err(Code::MethodNotAllowed.into()),
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let code = match &error {
            StoreError::Catalog(CatalogError::Refused(refusal)) => match refusal {
                Refusal::NoSuchBucket => Code::NoSuchBucket,
                Refusal::BucketExists => Code::BucketAlreadyOwnedByYou,
                Refusal::BucketNotEmpty => Code::BucketNotEmpty,
                Refusal::NoSuchKey => Code::NoSuchKey,
                Refusal::NoSuchUpload => Code::NoSuchUpload,
                Refusal::PartChanged { .. } => Code::InvalidPart,
                Refusal::ConditionFailed => Code::PreconditionFailed,
                Refusal::QuotaExceeded { .. } => Code::QuotaExceeded,
                Refusal::StripeGone { .. } | Refusal::Behind { .. } => {
                    Code::ConditionalRequestConflict
                }
                Refusal::NodesExhausted => Code::ServiceUnavailable,
            },
            StoreError::Catalog(CatalogError::Corrupt { .. }) => Code::InternalError,
            StoreError::Catalog(CatalogError::Unavailable(_)) => Code::ServiceUnavailable,
            StoreError::Busy { .. } => Code::SlowDown,
            StoreError::Unavailable { .. } | StoreError::NoSuchPool { .. } => {
                Code::ServiceUnavailable
            }
            StoreError::Lost { .. } => Code::InternalError,
            StoreError::Length { .. } => Code::IncompleteBody,
            StoreError::Extents { .. } | StoreError::RecordTooLong { .. } => Code::EntityTooLarge,
        };
        if let StoreError::Busy { retry_after } = error {
            // As many as a tenant that asks for too much likes: no matter for the log.
            let seconds = retry_after.as_secs_f64().ceil().max(1.0);
            return Self::from(code).header(http::header::RETRY_AFTER, &seconds.to_string());
        }
        if let StoreError::Catalog(CatalogError::Refused(Refusal::QuotaExceeded { limit })) = error
        {
            let message = format!("The bucket may hold {limit}, and would hold more with this.");
            return Self::new(code, message);
        }
        if code == Code::EntityTooLarge {
            return Self::new(code, format!("The object cannot be kept: {error}."));
        }
        if code.status().is_server_error() {
            tracing::error!(error = &error as &dyn std::error::Error, "the store failed");
        }
        code.into()
    }
}

impl From<WriteError<Failure>> for Failure {
    fn from(error: WriteError<Failure>) -> Self {
        match error {
            WriteError::Body(failure) => failure,
            WriteError::Store(error) => error.into(),
        }
    }
}
