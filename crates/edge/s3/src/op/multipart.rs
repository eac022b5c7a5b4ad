//! Uploads in parts: their beginning and their abandonment.

use super::{Desk, Operate, Outcome, Reply, Request};
use crate::{
    FrontSettings, condition, date, digest,
    encryption::{Wanted, begin, show_written},
    error::{Code, Failure},
    grant::Granting,
    lifecycle::UploadEnd,
    metadata, object_lock,
    xml::Element,
};
use http::StatusCode;
use ripstop_catalog::{Attributes, ChecksumAlgorithm, ObjectLock, Upload};

/// Highest part number, and so most parts.
pub(super) const PART_NUMBER_MAX: u16 = 10_000;

/// Which upload is meant.
pub(super) struct UploadName {
    pub(super) bucket: String,
    pub(super) key: String,
    /// Empty where none is named.
    id: String,
}

impl UploadName {
    /// The one that the query names.
    pub(super) fn parse(request: &Request) -> Self {
        Self {
            bucket: request.bucket.clone(),
            key: request.key.clone(),
            id: request.query.get("uploadId").unwrap_or_default().to_owned(),
        }
    }

    /// What is known of it.
    pub(super) async fn find(&self, desk: &Desk) -> Outcome<Upload> {
        if self.id.is_empty() {
            desk.store.bucket(&self.bucket).await?;
            return Err(Code::NoSuchUpload.into());
        }
        Ok(desk.store.upload(&self.bucket, &self.key, &self.id).await?)
    }
}

/// When an upload ends by its bucket's rules.
pub(super) async fn end_of(upload: &Upload, desk: &Desk) -> Option<UploadEnd> {
    let known = desk.known.of(&desk.store, &upload.bucket).await?;
    UploadEnd::of(known.rules.as_ref()?, upload)
}

/// The answer that tells so.
pub(super) fn show_end(reply: Reply, end: Option<&UploadEnd>) -> Reply {
    match end {
        Some(end) => {
            reply.with("x-amz-abort-date", &end.date).with("x-amz-abort-rule-id", &end.rule)
        }
        None => reply,
    }
}

pub(super) struct Create {
    bucket: String,
    key: String,
    attributes: Attributes,
    checksum: Option<(ChecksumAlgorithm, bool)>,
    wanted: Wanted,
    granting: Granting,
}

/// An upload that has begun.
pub(super) struct Created {
    upload: Upload,
    end: Option<UploadEnd>,
    /// The digest of the client's key, if it is encrypted with one.
    customer_md5: Option<String>,
}

impl Operate for Create {
    type Done = Created;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let attributes = metadata::read(&request.headers, &request.settings.storage_classes)?;
        let granting = Granting::read(&request.headers)?;
        let checksum = checksum(request)?;
        let wanted = Wanted::read(&request.headers)?;
        let (bucket, key) = (request.bucket.clone(), request.key.clone());
        Ok(Self { bucket, key, attributes, checksum, wanted, granting })
    }

    async fn run(self, desk: &Desk) -> Outcome<Created> {
        let Self { bucket, key, mut attributes, checksum, wanted, granting } = self;
        let of = desk.store.bucket(&bucket).await?;
        if attributes.lock != ObjectLock::default() {
            object_lock::must_be_on(&of)?;
        }
        desk.own(&mut attributes, granting)?;
        let fresh = begin(&wanted, &desk.settings, &of, &key).await?;
        attributes.encryption = fresh.map(|fresh| Box::new(fresh.recorded(Vec::new())));
        let (id, created_ms) = (String::new(), 0);
        let upload =
            Upload { id, bucket, key, created_ms, attributes, checksum, ..Upload::default() };
        let upload = desk.store.create_upload(upload).await?;
        let end = end_of(&upload, desk).await;
        Ok(Created { upload, end, customer_md5: wanted.customer_md5() })
    }

    fn render(created: Created, _: &FrontSettings) -> Reply {
        let Created { upload, end, customer_md5 } = created;
        let mut root = Element::in_namespace("InitiateMultipartUploadResult");
        root.text("Bucket", &upload.bucket).text("Key", &upload.key).text("UploadId", &upload.id);
        let reply = show_end(Reply::document(root.document()), end.as_ref());
        let encryption = upload.attributes.encryption.as_deref();
        let reply = show_written(reply, encryption, customer_md5.as_deref());
        match upload.checksum {
            None => reply,
            Some((algorithm, composite)) => reply
                .with("x-amz-checksum-algorithm", digest::word(algorithm))
                .with("x-amz-checksum-type", digest::kind(composite)),
        }
    }
}

/// The function of the parts' checksums, and whether the object's is over these; `None` if the
/// client leaves it to us.
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
    let algorithm = digest::named(name)?;
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

pub(super) struct Abort {
    name: UploadName,
    /// When it began, if its client says so; seconds since 1970.
    initiated_s: Option<i64>,
}

impl Operate for Abort {
    type Done = ();

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let initiated = request.header("x-amz-if-match-initiated-time");
        let initiated_s = initiated.and_then(date::parse_http);
        Ok(Self { name: UploadName::parse(request), initiated_s })
    }

    async fn run(self, desk: &Desk) -> Outcome<()> {
        let upload = self.name.find(desk).await?;
        let now_s = (date::now_ms() / 1000).cast_signed();
        // As with other conditions, a date that is still to come is as if it were not there.
        let demanded = self.initiated_s.filter(|initiated_s| *initiated_s <= now_s);
        if demanded.is_some_and(|at_s| at_s != (upload.created_ms / 1000).cast_signed()) {
            return Err(condition::failed("If-Match-Initiated-Time"));
        }
        Ok(desk.store.abort_upload(&upload.id).await?)
    }

    fn render((): (), _: &FrontSettings) -> Reply {
        Reply::empty(StatusCode::NO_CONTENT)
    }
}
