//! Making an object of an upload's parts.

use super::{
    Outcome, Reply, Request,
    multipart::{PART_NUMBER_MAX, upload_of},
    put::write_condition,
    whole::{announced, check_announced, etag_of, whole},
};
use crate::{
    condition::bare_tag,
    digest,
    error::{Code, Failure},
    xml::{self, Element, Node},
};
use ripstop_catalog::{ChecksumAlgorithm, Object, Upload, UploadedPart};

const ALGORITHMS: [ChecksumAlgorithm; 5] = [
    ChecksumAlgorithm::Crc32,
    ChecksumAlgorithm::Crc32c,
    ChecksumAlgorithm::Crc64Nvme,
    ChecksumAlgorithm::Sha1,
    ChecksumAlgorithm::Sha256,
];

/// A part as the client names it.
struct Named {
    number: u16,
    etag: String,
    checksum: Option<(ChecksumAlgorithm, String)>,
}

fn named(node: &Node) -> Outcome<Named> {
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

fn read_parts(document: &[u8]) -> Outcome<Vec<Named>> {
    let root = xml::parse(document).map_err(|_| Code::MalformedXml)?;
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
    let document = request.payload.document(request.settings.document_len_max).await?;
    let parts = read_parts(&document)?;
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
    let uploaded = matched(&request, &upload, &parts).await?;
    let attributes = whole(&upload, &uploaded)?;
    check_announced(&announced, &attributes, &uploaded)?;
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
    root.text("Location", &format!("http://{host}/{}/{path}", request.bucket));
    root.text("Bucket", &request.bucket).text("Key", &request.key);
    root.text("ETag", &format!("\"{}\"", object.attributes.etag));
    if let Some(checksum) = &object.attributes.checksum {
        let name = format!("Checksum{}", digest::word(checksum.algorithm));
        root.text(&name, &digest::shown(checksum, object.attributes.parts.len()));
        root.text("ChecksumType", digest::kind(checksum.composite));
    }
    Reply::document(root.document())
}

/// The stored parts that the client names, each as it says.
async fn matched(
    request: &Request,
    upload: &Upload,
    named: &[Named],
) -> Outcome<Vec<UploadedPart>> {
    let stored = all_parts(request, upload).await?;
    let mut matched = Vec::with_capacity(named.len());
    for (at, part) in named.iter().enumerate() {
        let missing = || {
            Failure::from(Code::InvalidPart)
                .with("UploadId", &upload.id)
                .with("PartNumber", part.number.to_string())
                .with("ETag", &part.etag)
        };
        let found = stored.binary_search_by_key(&part.number, |stored| stored.number);
        let found = found.map_err(|_| missing())?;
        let stored = &stored[found];
        if stored.etag != part.etag || !checksum_fits(upload, part, stored)? {
            return Err(missing());
        }
        let min = request.settings.part_len_min;
        if at + 1 < named.len() && stored.len < min {
            return Err(Failure::from(Code::EntityTooSmall)
                .with("ETag", &stored.etag)
                .with("MinSizeAllowed", min.to_string())
                .with("ProposedSize", stored.len.to_string())
                .with("PartNumber", part.number.to_string()));
        }
        matched.push(stored.clone());
    }
    Ok(matched)
}

async fn all_parts(request: &Request, upload: &Upload) -> Outcome<Vec<UploadedPart>> {
    let mut parts: Vec<UploadedPart> = Vec::new();
    loop {
        let after = parts.last().map_or(0, |part| part.number);
        let page = request.store.parts(&upload.id, after, 1000).await?;
        if page.is_empty() {
            return Ok(parts);
        }
        parts.extend(page);
    }
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
