//! Making an object of an upload's parts.

use super::{
    Desk, Operate, Outcome, Reply, Request,
    expiring::{Made, OfObject},
    multipart::{PART_NUMBER_MAX, UploadName},
    version::show_given,
    whole::{Said, announced, check_checksum, check_len, computed, etag_of},
};
use crate::{
    FrontSettings,
    allowance::Held,
    condition::{self, Demand, bare_tag},
    digest,
    encryption::{self, Customer, check_upload, customer},
    error::{Code, Failure},
    lifecycle::Facts,
    notification::EventKind,
    object_lock,
    xml::{Element, Malformed, Node},
};
use http::HeaderMap;
use ripstop_catalog::{
    Checksum, ChecksumAlgorithm, Condition, Encryption, Extent, Located, Object, ObjectVersion,
    Upload, UploadedPart,
};
use ripstop_store::{EXTENTS_MAX, StoreError};
use std::sync::Arc;

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
    let number = node.text_of("PartNumber")?.ok_or(Malformed)?;
    let number: i64 = number.trim().parse().map_err(|_| Code::MalformedXml)?;
    let known = u16::try_from(number).ok().filter(|number| (1..=PART_NUMBER_MAX).contains(number));
    let number = known.ok_or_else(|| {
        let message = match number {
            ..1 => "PartNumber must be >= 1",
            _ => "Part number must be an integer between 1 and 10000, inclusive",
        };
        Failure::argument(message, "partNumber", &number.to_string())
    })?;
    let etag = bare_tag(node.text_of("ETag")?.ok_or(Malformed)?).to_owned();
    let mut checksums = Vec::new();
    for algorithm in digest::ALL {
        let value = node.text_of(&format!("Checksum{}", digest::word(algorithm)))?;
        checksums.extend(value.map(|value| (algorithm, value.to_owned())));
    }
    let mut checksums = checksums.into_iter();
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
    let mut parts: Vec<Named> = root.all("Part").map(named).collect::<Outcome<_>>()?;
    root.named("CompleteMultipartUpload")?;
    if parts.is_empty() || parts.len() > PART_NUMBER_MAX.into() {
        return Err(Malformed.into());
    }
    if parts.windows(2).any(|pair| pair[0].number > pair[1].number) {
        return Err(Code::InvalidPartOrder.into());
    }
    // A part that was sent again is named again; the later one is meant.
    parts.reverse();
    parts.dedup_by_key(|part| part.number);
    parts.reverse();
    Ok(parts)
}

/// What must hold of the key's present object. Unlike a put, S3 takes no tags in `If-None-Match`.
fn conditioned(headers: &HeaderMap) -> Outcome<Condition> {
    match condition::demand(headers)? {
        Demand::Plain(condition) => Ok(condition),
        Demand::NoneOf(_) => {
            Err(Failure::from(Code::NotImplemented).with("Header", "If-None-Match"))
        }
    }
}

pub(super) struct Complete {
    name: UploadName,
    parts: Vec<Named>,
    said: Said,
    condition: Outcome<Condition>,
    customer: Outcome<Option<Customer>>,
    /// How URLs of this gateway begin.
    origin: String,
}

/// An object, and where it is.
pub(super) struct Completed {
    bucket: String,
    key: String,
    origin: String,
    etag: String,
    checksum: Option<Checksum>,
    parts: usize,
    version: Option<ObjectVersion>,
    encryption: Option<Box<Encryption>>,
    facts: Facts,
}

impl OfObject for Completed {
    fn facts(&self) -> Option<Facts> {
        Some(self.facts.clone())
    }

    fn made(&self) -> Option<Made> {
        let (kind, len) = (EventKind::Complete, self.facts.len());
        Some(Made { kind, len, etag: self.etag.clone(), version: self.version })
    }
}

impl Operate for Complete {
    type Done = Completed;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        // Headers of a checksum are about the object here, not about this document.
        let document = request.bare_document().await?;
        let parts = document.read(Code::MalformedXml, read_parts).await?;
        let (said, condition) = (Said::parse(request), conditioned(&request.headers));
        let host = request.header("host").unwrap_or_default();
        let origin = format!("{}://{host}", request.scheme);
        let customer = customer(&request.headers);
        Ok(Self { name: UploadName::parse(request), parts, said, condition, customer, origin })
    }

    async fn run(self, desk: &Desk) -> Outcome<Completed> {
        let Self { name, parts, said, condition, customer, origin } = self;
        let UploadName { bucket, key, .. } = &name;
        let told = |object: &Object, version| Completed {
            bucket: bucket.clone(),
            key: key.clone(),
            origin: origin.clone(),
            etag: object.attributes.etag.clone(),
            checksum: object.attributes.checksum.clone(),
            parts: object.attributes.parts.len(),
            version,
            encryption: object.attributes.encryption.clone(),
            facts: Facts::of(object),
        };
        let upload = match name.find(desk).await {
            Ok(upload) => upload,
            Err(failure) if failure.code == Code::NoSuchUpload => {
                let before = completed_before(desk, &name, &parts).await;
                return before.map(|it| told(&it.object, it.version)).ok_or(failure);
            }
            Err(failure) => return Err(failure),
        };
        check_upload(&upload, customer?.as_ref())?;
        let announced = announced(said, &upload)?;
        let condition = condition?;
        let (uploaded, _held) = matched(desk, &upload, &parts).await?;
        check_len(&announced, &uploaded)?;
        let (mut attributes, uploaded) = computed(upload.clone(), uploaded).await?;
        check_checksum(&announced, &attributes)?;
        object_lock::apply(&mut attributes, &desk.store.bucket(bucket).await?)?;
        match desk.store.complete_upload(&upload, &uploaded, attributes, condition).await {
            Ok(stored) => Ok(told(&stored.object, stored.version)),
            Err(error) => {
                let failure = Failure::from(error);
                let again = failure.code == Code::NoSuchUpload;
                match completed_before(desk, &name, &parts).await.filter(|_| again) {
                    Some(located) => Ok(told(&located.object, located.version)),
                    None => Err(failure),
                }
            }
        }
    }

    fn render(done: Completed, _: &FrontSettings) -> Reply {
        let mut root = Element::in_namespace("CompleteMultipartUploadResult");
        let path = crate::uri::encode(&done.key, b"/");
        root.text("Location", &format!("{}/{}/{path}", done.origin, done.bucket));
        root.text("Bucket", &done.bucket).text("Key", &done.key);
        root.text("ETag", &format!("\"{}\"", done.etag));
        if let Some(checksum) = &done.checksum {
            let name = format!("Checksum{}", digest::word(checksum.algorithm));
            root.text(&name, &digest::shown(checksum, done.parts));
            root.text("ChecksumType", digest::kind(checksum.composite));
        }
        let reply =
            encryption::show(Reply::document(root.document()), done.encryption.as_deref(), None);
        show_given(reply, done.version)
    }
}

/// A client that missed the answer asks again: if the key stands for just these parts, it is told
/// what it missed.
async fn completed_before(desk: &Desk, name: &UploadName, parts: &[Named]) -> Option<Arc<Located>> {
    let located = desk.store.object(&name.bucket, &name.key).await.ok()?;
    let etag = etag_of(parts.iter().map(|part| part.etag.as_str()))?;
    (located.object.attributes.etag == etag).then_some(located)
}

/// The stored parts that the client names, each as it says; and the memory they are in.
async fn matched(
    desk: &Desk,
    upload: &Upload,
    named: &[Named],
) -> Outcome<(Vec<UploadedPart>, Held)> {
    let mut matched = Vec::with_capacity(named.len());
    let mut held = desk.allowances.extents.nothing();
    let mut extents = 0;
    while let Some(next) = named.get(matched.len()) {
        let page = desk.store.parts(&upload.id, next.number - 1, PARTS_AT_ONCE).await?;
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
                check_part(desk, upload, part, &stored, is_last)?;
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
    desk: &Desk,
    upload: &Upload,
    part: &Named,
    stored: &UploadedPart,
    is_last: bool,
) -> Outcome<()> {
    if stored.etag != part.etag || !checksum_fits(upload, part, stored)? {
        return Err(missing(upload, part));
    }
    let min = desk.settings.part_len_min;
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
