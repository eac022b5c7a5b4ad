//! Parts of an upload: taking them and listing them.

use super::{
    Outcome, Reply, Request,
    list::{ENTRIES_MAX, show_owner},
    multipart::{PART_NUMBER_MAX, upload_of},
    put::{announced, with_checksum},
};
use crate::{
    date,
    digest::{self, Expectation, PartBody, Received},
    error::{Code, Failure},
    metadata,
    request::Request as Incoming,
    xml::Element,
};
use http::StatusCode;
use ripstop_catalog::{ChecksumAlgorithm, Upload, UploadedPart};

/// The number that the query gives the part.
pub(super) fn number_of(request: &Request) -> Outcome<u16> {
    let text = request.query.get("partNumber").unwrap_or_default();
    let number = text.parse().ok().filter(|number| (1..=PART_NUMBER_MAX).contains(number));
    number.ok_or_else(|| {
        let message = "Part number must be an integer between 1 and 10000, inclusive";
        Failure::argument(message, "partNumber", text)
    })
}

/// The function that a part of this upload is to be hashed with, given what its client uses.
pub(super) fn part_algorithm(
    upload: &Upload,
    given: Option<ChecksumAlgorithm>,
) -> Outcome<ChecksumAlgorithm> {
    match (upload.checksum, given) {
        (Some((expected, _)), Some(given)) if expected != given => {
            Err(other_algorithm(expected, Some(given)))
        }
        (Some((expected, _)), _) => Ok(expected),
        (None, _) => Ok(digest::DEFAULT_ALGORITHM),
    }
}

fn other_algorithm(expected: ChecksumAlgorithm, given: Option<ChecksumAlgorithm>) -> Failure {
    let message = format!(
        "Checksum Type mismatch occurred, expected checksum Type: {}, actual checksum Type: {}",
        digest::word(expected).to_lowercase(),
        given.map_or("null".to_owned(), |given| digest::word(given).to_lowercase())
    );
    Failure::new(Code::InvalidRequest, message)
}

pub(super) async fn upload(request: Request) -> Outcome<Reply> {
    metadata::refuse_unsupported(&request.headers)?;
    let number = number_of(&request)?;
    let len = announced(&request)?;
    let upload = upload_of(&request).await?;
    let expectation = Expectation::read(&request.headers)?;
    let given = expectation.algorithm();
    let algorithm = part_algorithm(&upload, given)?;
    if given.is_none() && upload.checksum.is_some_and(|(_, composite)| composite) {
        return Err(other_algorithm(algorithm, None));
    }
    let Incoming { store, settings, payload, hashing_ns, .. } = request;
    let aside_above = settings.hash_aside_above;
    let received = Received::new(payload, expectation, Some(algorithm), aside_above, hashing_ns);
    let part = store.put_part(&upload, number, len, PartBody(received)).await?;
    let reply = Reply::empty(StatusCode::OK).with("etag", &format!("\"{}\"", part.etag));
    let shown = part.checksum.as_ref().filter(|checksum| {
        upload.checksum.is_some() || given.is_none_or(|given| given == checksum.algorithm)
    });
    Ok(with_checksum(reply, shown, 0, false))
}

/// What a part takes on a page: itself, and its part of the document.
const PART_MEMORY: usize = 768;

/// Parts with numbers above `after`, `max` unless there are fewer, without where their bytes are.
async fn stored(
    request: &Request,
    upload: &Upload,
    after: u16,
    max: usize,
) -> Outcome<Vec<UploadedPart>> {
    let mut parts: Vec<UploadedPart> = Vec::new();
    while parts.len() < max {
        let after = parts.last().map_or(after, |part| part.number);
        let page = request.store.parts(&upload.id, after, max - parts.len()).await?;
        if page.is_empty() {
            break;
        }
        let without_extents = |part| UploadedPart { extents: Vec::new(), ..part };
        parts.extend(page.into_iter().map(without_extents));
    }
    Ok(parts)
}

/// A page of an upload's parts.
pub(super) async fn list(request: Request) -> Outcome<Reply> {
    let max = request.count("max-parts")?.unwrap_or(ENTRIES_MAX).min(ENTRIES_MAX);
    let after = request.count("part-number-marker")?.unwrap_or(0);
    let upload = upload_of(&request).await?;
    let marker = u16::try_from(after).unwrap_or(u16::MAX);
    let held = request.allowances.pages.take(PART_MEMORY * (max + 1)).await?;
    let mut parts = stored(&request, &upload, marker, max + 1).await?;
    let truncated = parts.len() > max && max > 0;
    parts.truncate(max);
    let mut root = Element::in_namespace("ListPartsResult");
    root.text("Bucket", &upload.bucket).text("Key", &upload.key).text("UploadId", &upload.id);
    show_owner("Initiator", &request, &mut root);
    show_owner("Owner", &request, &mut root);
    root.text("StorageClass", "STANDARD").value("PartNumberMarker", after);
    root.value("NextPartNumberMarker", parts.last().map_or(after, |part| part.number.into()));
    root.value("MaxParts", max).value("IsTruncated", truncated);
    if let Some((algorithm, composite)) = upload.checksum {
        root.text("ChecksumAlgorithm", digest::word(algorithm));
        root.text("ChecksumType", digest::kind(composite));
    }
    for part in &parts {
        root.child("Part", |element| {
            element.value("PartNumber", part.number);
            element.text("LastModified", &date::document(part.modified_ms));
            element.text("ETag", &format!("\"{}\"", part.etag)).value("Size", part.len);
            if let Some(checksum) = part.checksum.as_ref().filter(|_| upload.checksum.is_some()) {
                let name = format!("Checksum{}", digest::word(checksum.algorithm));
                element.text(&name, &digest::base64(&checksum.value));
            }
        });
    }
    Ok(Reply::page(root.document(), held))
}
