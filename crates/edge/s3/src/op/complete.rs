//! Making an object of an upload's parts.

use super::{
    Outcome, Reply, Request,
    multipart::{PART_NUMBER_MAX, upload_of},
    put::write_condition,
};
use crate::{
    condition::bare_tag,
    digest,
    error::{Code, Failure},
    xml::{self, Element, Node},
};
use md5::{Digest as _, Md5};
use ripstop_catalog::{Attributes, ChecksumAlgorithm, Object, Part, Upload, UploadedPart};

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

/// The MD5 of the parts' MD5s, and how many there are; `None` if one is no MD5.
fn etag_of<'a>(etags: impl ExactSizeIterator<Item = &'a str>) -> Option<String> {
    let count = etags.len();
    let mut md5 = Md5::new();
    for etag in etags {
        md5.update(hex::decode(etag).ok().filter(|etag| etag.len() == 16)?);
    }
    Some(format!("{}-{count}", hex::encode(md5.finalize())))
}

/// What is known of the whole object.
fn whole(upload: &Upload, parts: &[UploadedPart]) -> Outcome<Attributes> {
    let etag = etag_of(parts.iter().map(|part| part.etag.as_str())).ok_or(Code::InternalError)?;
    let (algorithm, is_composite) = upload.checksum.unwrap_or((digest::DEFAULT_ALGORITHM, false));
    let values: Option<Vec<(&[u8], u64)>> = parts
        .iter()
        .map(|part| {
            let checksum = part.checksum.as_ref().filter(|c| c.algorithm == algorithm)?;
            Some((checksum.value.as_slice(), part.len))
        })
        .collect();
    let checksum = values.and_then(|values| {
        if is_composite {
            Some(digest::composite(algorithm, values.iter().map(|(value, _)| *value)))
        } else {
            digest::combine(algorithm, &values)
        }
    });
    let part = |part: &UploadedPart| Part {
        number: part.number,
        len: part.len,
        checksum: part.checksum.as_ref().map(|checksum| checksum.value.clone()),
    };
    let parts = parts.iter().map(part).collect();
    Ok(Attributes { etag, checksum, parts, ..upload.attributes.clone() })
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

/// What the client says of the whole object.
#[derive(Debug, Default)]
struct Announced {
    len: Option<u64>,
    checksum: Option<(ChecksumAlgorithm, String)>,
}

/// Reads the headers that speak of the whole.
fn announced(request: &Request, upload: &Upload) -> Outcome<Announced> {
    let invalid = |message: String| Err(Failure::new(Code::InvalidRequest, message));
    let len = match request.header("x-amz-mp-object-size") {
        None => None,
        Some(text) => match text.parse() {
            Ok(len) => Some(len),
            Err(_) => {
                return invalid(format!(
                    "Value for x-amz-mp-object-size header is invalid: {text}"
                ));
            }
        },
    };
    let (expected, composite) = upload.checksum.unwrap_or((digest::DEFAULT_ALGORITHM, false));
    match request.header("x-amz-checksum-type") {
        None => {}
        Some(kind) if kind.eq_ignore_ascii_case(digest::kind(composite)) => {}
        Some(kind) if kind.eq_ignore_ascii_case(digest::kind(!composite)) => {
            let kind = digest::kind(composite);
            return invalid(format!(
                "The upload was created using the {kind} checksum mode. The complete request must \
                 use the same checksum mode."
            ));
        }
        Some(_) => return invalid("Value for x-amz-checksum-type header is invalid.".to_owned()),
    }
    let Some((algorithm, value)) = digest::header_checksum(&request.headers)? else {
        return Ok(Announced { len, checksum: None });
    };
    let (bare, count) = value.split_once('-').map_or((value.as_str(), None), |(bare, count)| {
        (bare, Some(count.bytes().all(|b| b.is_ascii_digit()) && !count.is_empty()))
    });
    if digest::unbase64(bare, digest::len(algorithm)).is_none() || count == Some(false) {
        return Err(digest::no_value(algorithm, &value));
    }
    if algorithm != expected {
        let (given, expected) = (digest::word(algorithm), digest::word(expected));
        return invalid(format!(
            "The upload was created using the {expected} checksum, not {given}."
        ));
    }
    Ok(Announced { len, checksum: Some((algorithm, value)) })
}

/// Holds the whole against what the client says of it.
fn check_announced(
    announced: &Announced,
    attributes: &Attributes,
    parts: &[UploadedPart],
) -> Outcome<()> {
    let len: u64 = parts.iter().map(|part| part.len).sum();
    if let Some(given) = announced.len.filter(|given| *given != len) {
        let message = format!(
            "The provided 'x-amz-mp-object-size' header value {given} does not match what was \
             computed: {len}"
        );
        return Err(Failure::new(Code::InvalidRequest, message));
    }
    let Some((algorithm, value)) = &announced.checksum else { return Ok(()) };
    let fits = attributes.checksum.as_ref().is_some_and(|checksum| {
        let shown = digest::shown(checksum, attributes.parts.len());
        *value == shown || *value == digest::base64(&checksum.value)
    });
    if fits { Ok(()) } else { Err(digest::mismatch(*algorithm)) }
}
