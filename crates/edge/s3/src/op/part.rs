//! Parts of an upload: taking them and listing them.

use super::{
    Desk, Operate, Outcome, Reply, Request,
    list::{ENTRIES_MAX, show_owner},
    multipart::{PART_NUMBER_MAX, UploadName, end_of, show_end},
    put::{announced, with_checksum},
};
use crate::{
    FrontSettings,
    allowance::Held,
    body::Payload,
    date,
    digest::{self, Expectation, Received},
    encryption::{self, Customer, customer, of_upload},
    error::{Code, Failure},
    intake::PartBody,
    lifecycle::UploadEnd,
    metadata, storage_class,
    xml::Element,
};
use http::StatusCode;
use ripstop_catalog::{Checksum, ChecksumAlgorithm, Encryption, Upload, UploadedPart};

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

pub(super) struct Put {
    name: UploadName,
    number: u16,
    len: u64,
    expectation: Outcome<Expectation>,
    customer: Outcome<Option<Customer>>,
    payload: Payload,
}

/// A part that was taken.
pub(super) struct Taken {
    etag: String,
    /// As far as it is shown.
    checksum: Option<Checksum>,
    encryption: Option<Box<Encryption>>,
    /// The digest of the client's key, if it gave one.
    customer_md5: Option<String>,
}

impl Operate for Put {
    type Done = Taken;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        metadata::refuse_unsupported(&request.headers)?;
        metadata::refuse_lists(&request.headers)?;
        let number = number_of(request)?;
        let payload = request.body()?;
        let len = announced(&payload, &request.settings)?;
        let expectation = Expectation::read(&request.headers);
        let (name, customer) = (UploadName::parse(request), customer(&request.headers));
        Ok(Self { name, number, len, expectation, customer, payload })
    }

    async fn run(self, desk: &Desk) -> Outcome<Taken> {
        let upload = self.name.find(desk).await?;
        let (expectation, customer) = (self.expectation?, self.customer?);
        let key = of_upload(&upload, customer.as_ref(), &desk.settings).await?;
        let given = expectation.algorithm();
        let algorithm = part_algorithm(&upload, given)?;
        if given.is_none() && upload.checksum.is_some_and(|(_, composite)| composite) {
            return Err(other_algorithm(algorithm, None));
        }
        let (aside_above, hashing_ns) = (desk.settings.hash_aside_above, desk.hashing_ns.clone());
        let received =
            Received::new(self.payload, expectation, Some(algorithm), aside_above, hashing_ns);
        let body = PartBody::new(received, key);
        let part = desk.store.put_part(&upload, self.number, self.len, body).await?;
        let checksum = part.checksum.filter(|checksum| {
            upload.checksum.is_some() || given.is_none_or(|given| given == checksum.algorithm)
        });
        let customer_md5 = customer.map(|customer| customer.md5);
        let encryption = upload.attributes.encryption;
        Ok(Taken { etag: part.etag, checksum, encryption, customer_md5 })
    }

    fn render(taken: Taken, _: &FrontSettings) -> Reply {
        let reply = Reply::empty(StatusCode::OK).with("etag", &format!("\"{}\"", taken.etag));
        let (encryption, md5) = (taken.encryption.as_deref(), taken.customer_md5.as_deref());
        let reply = encryption::show(reply, encryption, md5);
        with_checksum(reply, taken.checksum.as_ref(), 0, false)
    }
}

/// What a part takes on a page: itself, and its part of the document.
const PART_MEMORY: usize = 768;

/// A page of an upload's parts.
pub(super) struct List {
    name: UploadName,
    max: usize,
    after: usize,
}

pub(super) struct Listed {
    upload: Upload,
    end: Option<UploadEnd>,
    parts: Vec<UploadedPart>,
    max: usize,
    after: usize,
    truncated: bool,
    /// Of the bucket.
    owner: String,
    held: Held,
}

impl List {
    /// Parts after the marker, `max` unless there are fewer, without where their bytes are.
    async fn stored(
        desk: &Desk,
        upload: &Upload,
        after: u16,
        max: usize,
    ) -> Outcome<Vec<UploadedPart>> {
        let mut parts: Vec<UploadedPart> = Vec::new();
        while parts.len() < max {
            let after = parts.last().map_or(after, |part| part.number);
            let page = desk.store.parts(&upload.id, after, max - parts.len()).await?;
            if page.is_empty() {
                break;
            }
            let without_extents = |part| UploadedPart { extents: Vec::new(), ..part };
            parts.extend(page.into_iter().map(without_extents));
        }
        Ok(parts)
    }
}

impl Operate for List {
    type Done = Listed;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let max = request.count("max-parts")?.unwrap_or(ENTRIES_MAX).min(ENTRIES_MAX);
        let after = request.count("part-number-marker")?.unwrap_or(0);
        Ok(Self { name: UploadName::parse(request), max, after })
    }

    async fn run(self, desk: &Desk) -> Outcome<Listed> {
        let Self { name, max, after } = self;
        let upload = name.find(desk).await?;
        let marker = u16::try_from(after).unwrap_or(u16::MAX);
        let held = desk.allowances.pages.take(PART_MEMORY * (max + 1)).await?;
        let mut parts = Self::stored(desk, &upload, marker, max + 1).await?;
        let truncated = parts.len() > max && max > 0;
        parts.truncate(max);
        let owner = desk.gate.bucket_owner().to_owned();
        let end = end_of(&upload, desk).await;
        Ok(Listed { upload, end, parts, max, after, truncated, owner, held })
    }

    fn render(done: Listed, _: &FrontSettings) -> Reply {
        let Listed { upload, end, parts, max, after, truncated, owner, held } = done;
        let mut root = Element::in_namespace("ListPartsResult");
        root.text("Bucket", &upload.bucket).text("Key", &upload.key).text("UploadId", &upload.id);
        show_owner("Initiator", &owner, &mut root);
        show_owner("Owner", &owner, &mut root);
        root.text("StorageClass", storage_class::shown(&upload.attributes.storage_class))
            .value("PartNumberMarker", after);
        root.value("NextPartNumberMarker", parts.last().map_or(after, |part| part.number.into()));
        root.value("MaxParts", max).value("IsTruncated", truncated);
        if let Some((algorithm, composite)) = upload.checksum {
            root.text("ChecksumAlgorithm", digest::word(algorithm));
            root.text("ChecksumType", digest::kind(composite));
        }
        for part in &parts {
            root.child("Part", |element| show_part(part, upload.checksum.is_some(), element));
        }
        show_end(Reply::page(root.document(), held), end.as_ref())
    }
}

fn show_part(part: &UploadedPart, with_checksum: bool, element: &mut Element) {
    element.value("PartNumber", part.number);
    element.text("LastModified", &date::document(part.modified_ms));
    element.text("ETag", &format!("\"{}\"", part.etag)).value("Size", part.len);
    if let Some(checksum) = part.checksum.as_ref().filter(|_| with_checksum) {
        let name = format!("Checksum{}", digest::word(checksum.algorithm));
        element.text(&name, &digest::base64(&checksum.value));
    }
}
