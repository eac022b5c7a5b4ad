//! Making an object of an upload's parts.

use super::{
    Outcome, Reply, Request,
    multipart::{PART_NUMBER_MAX, upload_of},
    put::write_condition,
    whole::{announced, check_checksum, check_len, computed, etag_of},
};
use crate::{
    allowance::Held,
    condition::bare_tag,
    digest,
    error::{Code, Failure},
    request::read_document,
    xml::{Element, Node},
};
use ripstop_catalog::{ChecksumAlgorithm, Extent, Object, Upload, UploadedPart};
use ripstop_store::{EXTENTS_MAX, StoreError};

const ALGORITHMS: [ChecksumAlgorithm; 5] = [
    ChecksumAlgorithm::Crc32,
    ChecksumAlgorithm::Crc32c,
    ChecksumAlgorithm::Crc64Nvme,
    ChecksumAlgorithm::Sha1,
    ChecksumAlgorithm::Sha256,
];

/// Parts that are looked up together.
const PARTS_AT_ONCE: usize = 250;

/// What a part takes until the object is there, besides where its bytes are.
const PART_MEMORY: usize = 512;
/// What each piece of its bytes takes: in the part, in the object, and in the object's record.
const EXTENT_MEMORY: usize = 3 * size_of::<Extent>();

/// A part as the client names it.
struct Named {
    number: u16,
    etag: String,
    checksum: Option<(ChecksumAlgorithm, String)>,
}

fn named(node: &Node<'_>) -> Outcome<Named> {
    let number = node.text_of("PartNumber").ok_or(Code::MalformedXml)?;
    let number: i64 = number.trim().parse().map_err(|_| Code::MalformedXml)?;
    let number = u16::try_from(number).ok().filter(|number| (1..=PART_NUMBER_MAX).contains(number));
    let number = number.ok_or_else(|| {
        let message = "PartNumber must be >= 1 and <= 10000";
        Failure::new(Code::InvalidArgument, message)
    })?;
    let etag = bare_tag(node.text_of("ETag").ok_or(Code::MalformedXml)?).to_owned();
    let checksum = |algorithm| {
        let value = node.text_of(&format!("Checksum{}", digest::word(algorithm)))?;
        Some((algorithm, value.to_owned()))
    };
    let mut checksums = ALGORITHMS.into_iter().filter_map(checksum);
    let checksum = checksums.next();
    let readable = checksum.as_ref().is_none_or(|(algorithm, value)| {
        digest::unbase64(value, digest::len(*algorithm)).is_some()
    });
    if !readable || checksums.next().is_some() {
        let message = "Invalid Base64 or multiple checksums present in request";
        return Err(Failure::new(Code::InvalidArgument, message));
    }
    Ok(Named { number, etag, checksum })
}

fn read_parts(root: &Node<'_>) -> Outcome<Vec<Named>> {
    let parts: Vec<Named> = root.all("Part").map(named).collect::<Outcome<_>>()?;
    if root.name != "CompleteMultipartUpload"
        || parts.is_empty()
        || parts.len() > PART_NUMBER_MAX.into()
    {
        return Err(Code::MalformedXml.into());
    }
    if parts.windows(2).any(|pair| pair[0].number >= pair[1].number) {
        return Err(Code::InvalidPartOrder.into());
    }
    Ok(parts)
}

pub(super) async fn complete(mut request: Request) -> Outcome<Reply> {
    // Headers of a checksum are about the object here, not about this document.
    let document = request.bare_document().await?;
    let parts = read_document(document, Code::MalformedXml, read_parts).await?;
    let upload = match upload_of(&request).await {
        Ok(upload) => upload,
        Err(failure) if failure.code == Code::NoSuchUpload => {
            return completed_before(&request, &parts).await.ok_or(failure);
        }
        Err(failure) => return Err(failure),
    };
    let announced = announced(&request, &upload)?;
    let Request { headers, store, bucket, key, .. } = &request;
    let condition = write_condition(headers, store, bucket, key).await?;
    let (uploaded, _held) = matched(&request, &upload, &parts).await?;
    check_len(&announced, &uploaded)?;
    let (attributes, uploaded) = computed(upload.clone(), uploaded).await?;
    check_checksum(&announced, &attributes)?;
    let object = match store.complete_upload(&upload, &uploaded, attributes, condition).await {
        Ok(object) => object,
        Err(error) => {
            let failure = Failure::from(error);
            let again = failure.code == Code::NoSuchUpload;
            return match completed_before(&request, &parts).await.filter(|_| again) {
                Some(reply) => Ok(reply),
                None => Err(failure),
            };
        }
    };
    Ok(reply(&request, &object))
}

/// A client that missed the answer asks again: if the key stands for just these parts, it is told what
/// it missed.
async fn completed_before(request: &Request, parts: &[Named]) -> Option<Reply> {
    let located = request.store.object(&request.bucket, &request.key).await.ok()?;
    let etag = etag_of(parts.iter().map(|part| part.etag.as_str()))?;
    (located.object.attributes.etag == etag).then(|| reply(request, &located.object))
}

fn reply(request: &Request, object: &Object) -> Reply {
    let host = request.header("host").unwrap_or_default();
    let mut root = Element::in_namespace("CompleteMultipartUploadResult");
    let path = crate::uri::encode(&request.key, b"/");
    root.text("Location", &format!("{}://{host}/{}/{path}", request.scheme, request.bucket));
    root.text("Bucket", &request.bucket).text("Key", &request.key);
    root.text("ETag", &format!("\"{}\"", object.attributes.etag));
    if let Some(checksum) = &object.attributes.checksum {
        let name = format!("Checksum{}", digest::word(checksum.algorithm));
        root.text(&name, &digest::shown(checksum, object.attributes.parts.len()));
        root.text("ChecksumType", digest::kind(checksum.composite));
    }
    Reply::document(root.document())
}

/// The stored parts that the client names, each as it says; and the memory they are in.
async fn matched(
    request: &Request,
    upload: &Upload,
    named: &[Named],
) -> Outcome<(Vec<UploadedPart>, Held)> {
    let mut matched = Vec::with_capacity(named.len());
    let mut held = request.allowances.extents.nothing();
    let mut extents = 0;
    while let Some(next) = named.get(matched.len()) {
        let page = request.store.parts(&upload.id, next.number - 1, PARTS_AT_ONCE).await?;
        if page.is_empty() {
            return Err(missing(upload, next));
        }
        let pieces: usize = page.iter().map(|part| part.extents.len()).sum();
        held.grow(page.len() * PART_MEMORY + pieces * EXTENT_MEMORY).await?;
        for stored in page {
            let Some(part) = named.get(matched.len()) else { break };
            if stored.number > part.number {
                return Err(missing(upload, part));
            }
            if stored.number == part.number {
                let is_last = matched.len() + 1 == named.len();
                check_part(request, upload, part, &stored, is_last)?;
                extents += stored.extents.len();
                if extents > EXTENTS_MAX {
                    return Err(StoreError::Extents { extents }.into());
                }
                matched.push(stored);
            }
        }
    }
    Ok((matched, held))
}

fn missing(upload: &Upload, part: &Named) -> Failure {
    Failure::from(Code::InvalidPart)
        .with("UploadId", &upload.id)
        .with("PartNumber", part.number.to_string())
        .with("ETag", &part.etag)
}

/// Refuses a part that is not as the client says, or too small where others follow.
fn check_part(
    request: &Request,
    upload: &Upload,
    part: &Named,
    stored: &UploadedPart,
    is_last: bool,
) -> Outcome<()> {
    if stored.etag != part.etag || !checksum_fits(upload, part, stored)? {
        return Err(missing(upload, part));
    }
    let min = request.settings.part_len_min;
    if is_last || stored.len >= min {
        return Ok(());
    }
    Err(Failure::from(Code::EntityTooSmall)
        .with("ETag", &stored.etag)
        .with("MinSizeAllowed", min.to_string())
        .with("ProposedSize", stored.len.to_string())
        .with("PartNumber", part.number.to_string()))
}

/// Whether the checksum that the client gives a part is the stored one.
fn checksum_fits(upload: &Upload, part: &Named, stored: &UploadedPart) -> Outcome<bool> {
    let number = part.number;
    match (&part.checksum, upload.checksum) {
        (Some((algorithm, _)), Some((expected, _))) if *algorithm != expected => {
            let word = digest::word(*algorithm).to_lowercase();
            let message = format!(
                "The {word} you specified for part {number} did not match what we received."
            );
            Err(Failure::new(Code::BadDigest, message))
        }
        // Of others we know no more than that they were right when the part came.
        (Some((algorithm, value)), _) => Ok(stored.checksum.as_ref().is_none_or(|kept| {
            kept.algorithm != *algorithm || digest::base64(&kept.value) == *value
        })),
        (None, Some((algorithm, true))) => {
            let word = digest::word(algorithm).to_lowercase();
            let message = format!(
                "The upload was created using a {word} checksum. The complete request must include \
                 the checksum for each part. It was missing for part {number} in the request."
            );
            Err(Failure::new(Code::InvalidRequest, message))
        }
        (None, _) => Ok(true),
    }
}
