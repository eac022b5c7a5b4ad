//! What clients are told of what the store says.

use super::{Code, Failure};
use http::{HeaderName, header};
use ripstop_catalog::{CatalogError, Refusal};
use ripstop_store::{StoreError, WriteError};

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let code = match &error {
            StoreError::Catalog(CatalogError::Refused(refusal)) => match refusal {
                Refusal::NoSuchBucket => Code::NoSuchBucket,
                Refusal::BucketExists => Code::BucketAlreadyOwnedByYou,
                Refusal::BucketNotEmpty => Code::BucketNotEmpty,
                Refusal::DocumentsTooLong { .. } => Code::MaxMessageLengthExceeded,
                Refusal::NoSuchKey => Code::NoSuchKey,
                Refusal::NoSuchUpload => Code::NoSuchUpload,
                Refusal::PartChanged { .. } => Code::InvalidPart,
                Refusal::ConditionFailed => Code::PreconditionFailed,
                Refusal::QuotaExceeded { .. } => Code::QuotaExceeded,
                Refusal::Locked => Code::AccessDenied,
                Refusal::StripeGone { .. } | Refusal::Behind { .. } => {
                    Code::ConditionalRequestConflict
                }
                Refusal::NodesExhausted
                | Refusal::Leased { .. }
                | Refusal::Fenced { .. }
                | Refusal::Retired { .. } => Code::ServiceUnavailable,
            },
            StoreError::Catalog(CatalogError::Unavailable(_)) => Code::ServiceUnavailable,
            StoreError::Busy { .. } => Code::SlowDown,
            StoreError::Unavailable { .. } | StoreError::NoSuchPool { .. } => {
                Code::ServiceUnavailable
            }
            StoreError::Lost { .. } | StoreError::Catalog(CatalogError::Corrupt { .. }) => {
                Code::InternalError
            }
            StoreError::Length { .. } => Code::IncompleteBody,
            StoreError::NoSuchVersion => Code::NoSuchVersion,
            StoreError::Marker { is_latest: true, .. } => Code::NoSuchKey,
            StoreError::Marker { is_latest: false, .. } => Code::MethodNotAllowed,
            StoreError::Extents { .. } | StoreError::RecordTooLong { .. } => Code::EntityTooLarge,
        };
        if let StoreError::Busy { retry_after } = error {
            // As many as a tenant that asks for too much likes: no matter for the log.
            let seconds = retry_after.as_secs_f64().ceil().max(1.0);
            return Self::from(code).header(header::RETRY_AFTER, &seconds.to_string());
        }
        if let StoreError::Catalog(CatalogError::Refused(Refusal::QuotaExceeded { limit })) = error
        {
            let message = format!("The bucket may hold {limit}, and would hold more with this.");
            return Self::new(code, message);
        }
        if let StoreError::Catalog(CatalogError::Refused(Refusal::Locked)) = error {
            return Self::new(code, "Access Denied because object protected by object lock.");
        }
        if let StoreError::Marker { version, modified_ms, is_latest } = error {
            let failure = Self::from(code)
                .header(HeaderName::from_static("x-amz-delete-marker"), "true")
                .header(HeaderName::from_static("x-amz-version-id"), &version.to_string());
            if is_latest {
                return failure;
            }
            return failure
                .header(header::ALLOW, "DELETE")
                .header(header::LAST_MODIFIED, &crate::date::http(modified_ms));
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
