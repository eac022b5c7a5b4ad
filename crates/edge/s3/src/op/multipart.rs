//! Uploads in parts: their beginning and their abandonment.

use super::{Outcome, Reply, Request};
use crate::{
    digest,
    error::{Code, Failure},
    metadata,
    xml::Element,
};
use http::StatusCode;
use ripstop_catalog::{ChecksumAlgorithm, Upload};

/// Highest part number, and so most parts.
pub(super) const PART_NUMBER_MAX: u16 = 10_000;

/// The upload that the query names.
pub(super) async fn upload_of(request: &Request) -> Outcome<Upload> {
    let id = request.query.get("uploadId").unwrap_or_default();
    if id.is_empty() {
        request.store.bucket(&request.bucket).await?;
        return Err(Code::NoSuchUpload.into());
    }
    Ok(request.store.upload(&request.bucket, &request.key, id).await?)
}

pub(super) async fn create(request: Request) -> Outcome<Reply> {
    let attributes = metadata::read(&request.headers)?;
    let checksum = checksum(&request)?;
    request.store.bucket(&request.bucket).await?;
    let upload = Upload {
        id: String::new(),
        bucket: request.bucket,
        key: request.key,
        created_ms: 0,
        attributes,
        checksum,
        ..Upload::default()
    };
    let upload = request.store.create_upload(upload).await?;
    let mut root = Element::in_namespace("InitiateMultipartUploadResult");
    root.text("Bucket", &upload.bucket).text("Key", &upload.key).text("UploadId", &upload.id);
    let mut reply = Reply::document(root.document());
    if let Some((algorithm, composite)) = checksum {
        reply = reply
            .with("x-amz-checksum-algorithm", digest::word(algorithm))
            .with("x-amz-checksum-type", digest::kind(composite));
    }
    Ok(reply)
}

/// The function of the parts' checksums, and whether the object's is over these; `None` if the client
/// leaves it to us.
fn checksum(request: &Request) -> Outcome<Option<(ChecksumAlgorithm, bool)>> {
    let invalid = |message: String| Failure::new(Code::InvalidRequest, message);
    let composite = match request.header("x-amz-checksum-type") {
        None => None,
        Some(kind) if kind.eq_ignore_ascii_case("COMPOSITE") => Some(true),
        Some(kind) if kind.eq_ignore_ascii_case("FULL_OBJECT") => Some(false),
        Some(_) => {
            return Err(invalid("Value for x-amz-checksum-type header is invalid.".to_owned()));
        }
    };
    let Some(name) = request.header("x-amz-checksum-algorithm") else {
        return match composite {
            None => Ok(None),
            Some(_) => Err(invalid(
                "The x-amz-checksum-type header can only be used with the \
                 x-amz-checksum-algorithm header."
                    .to_owned(),
            )),
        };
    };
    let algorithm = digest::parse(name).ok_or_else(|| {
        invalid(
            "Checksum algorithm provided is unsupported. Please try again with any of the valid \
             types: [CRC32, CRC32C, CRC64NVME, SHA1, SHA256]"
                .to_owned(),
        )
    })?;
    let composite = composite.unwrap_or(algorithm != ChecksumAlgorithm::Crc64Nvme);
    let possible = if composite {
        algorithm != ChecksumAlgorithm::Crc64Nvme
    } else {
        digest::full_object_is_possible(algorithm)
    };
    if !possible {
        return Err(invalid(format!(
            "The {} checksum type cannot be used with the {} checksum algorithm.",
            digest::kind(composite),
            digest::word(algorithm).to_lowercase()
        )));
    }
    Ok(Some((algorithm, composite)))
}

pub(super) async fn abort(request: Request) -> Outcome<Reply> {
    let upload = upload_of(&request).await?;
    request.store.abort_upload(&upload.id).await?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}
