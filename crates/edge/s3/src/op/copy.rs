//! Copies: of objects, and of ranges as parts.

use super::{
    Desk, Operate, Outcome, Reply, Request,
    expiring::{Made, OfObject},
    multipart::UploadName,
    part::{number_of, part_algorithm},
    put::demanded,
    recrypt::{Passage, copy_part},
    source::{self, Source},
    version::{Subject, show_given},
};
use crate::{
    FrontSettings,
    condition::{self, Demand},
    date, digest,
    encryption::{self, Customer, Wanted, begin, customer, of_upload},
    error::{Code, Failure},
    grant::Granting,
    lifecycle::Facts,
    metadata,
    notification::EventKind,
    object_lock, range, storage_class,
    xml::Element,
};
use ripstop_catalog::{
    Attributes, Checksum, ChecksumAlgorithm, Encryption, Located, ObjectVersion, UploadedPart,
};
use ripstop_envelope::DataKey;
use ripstop_store::{PartSeal, StoredObject, Target};
use std::sync::Arc;

/// Whether something is taken from the source or from the request.
fn replaces(request: &Request, directive: &'static str) -> Outcome<bool> {
    match request.header(directive) {
        None | Some("COPY") => Ok(false),
        Some("REPLACE") => Ok(true),
        Some(other) => {
            let what = if directive == "x-amz-tagging-directive" { "tagging" } else { "metadata" };
            Err(Failure::argument(format!("Unknown {what} directive."), directive, other))
        }
    }
}

/// The checksum function that the client asks for.
fn wanted_algorithm(request: &Request) -> Outcome<Option<ChecksumAlgorithm>> {
    request.header("x-amz-checksum-algorithm").map(digest::named).transpose()
}

/// A copy, and which version it was made of.
pub(super) struct CopiedObject {
    copy: StoredObject,
    source: Option<ObjectVersion>,
    /// The digest of the client's key, if the copy is encrypted with one.
    customer_md5: Option<String>,
}

impl OfObject for CopiedObject {
    fn facts(&self) -> Option<Facts> {
        self.copy.facts()
    }

    fn made(&self) -> Option<Made> {
        Some(Made::of(EventKind::Copy, &self.copy))
    }
}

pub(super) struct Copy {
    source: Source,
    bucket: String,
    key: String,
    changed: Changed,
    granting: Granting,
    algorithm: Option<ChecksumAlgorithm>,
    demand: Demand,
    wanted: Wanted,
}

/// What a copy has otherwise than its source.
struct Changed {
    given: Attributes,
    new_metadata: bool,
    new_tags: bool,
}

impl Changed {
    /// The copy's attributes, but for its checksum.
    fn of(self, old: &Attributes) -> Attributes {
        let Self { given, new_metadata, new_tags } = self;
        let mut attributes =
            Attributes { etag: old.etag.clone(), parts: old.parts.clone(), ..given };
        if !new_metadata {
            attributes.headers = metadata::copied(&old.headers, attributes.headers);
            attributes.user.clone_from(&old.user);
        }
        if !new_tags {
            attributes.tags.clone_from(&old.tags);
        }
        attributes
    }
}

impl Operate for Copy {
    type Done = CopiedObject;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let given = metadata::read(&request.headers, &request.settings.storage_classes)?;
        let granting = Granting::read(&request.headers)?;
        let new_metadata = replaces(request, "x-amz-metadata-directive")?;
        let new_tags = replaces(request, "x-amz-tagging-directive")?;
        let algorithm = wanted_algorithm(request)?;
        let wanted = Wanted::read(&request.headers)?;
        let source = Source::parse(request)?;
        let (bucket, key) = (request.bucket.clone(), request.key.clone());
        let Subject { bucket: of, key: named, version } = &source.subject;
        // Of a version it makes another one.
        let onto_itself = *of == bucket && *named == key && version.is_none();
        let changes_more = request.headers.contains_key(storage_class::HEADER)
            || metadata::names_redirect(&request.headers)
            || wanted.is_said();
        if onto_itself && !new_metadata && !new_tags && algorithm.is_none() && !changes_more {
            return Err(Failure::new(
                Code::InvalidRequest,
                "This copy request is illegal because it is trying to copy an object to itself without \
                 changing the object's metadata, storage class, website redirect location or \
                 encryption attributes.",
            ));
        }
        let demand = condition::demand(&request.headers)?;
        let changed = Changed { given, new_metadata, new_tags };
        Ok(Self { source, bucket, key, changed, granting, algorithm, demand, wanted })
    }

    async fn run(self, desk: &Desk) -> Outcome<CopiedObject> {
        let Self { source, bucket, key, changed, granting, algorithm, demand, wanted } = self;
        let condition = demanded(demand, desk, &bucket, &key).await?;
        let located = source.find(desk).await?;
        source::check_len(desk, located.object.len)?;
        let _held = desk.allowances.extents_of(&located.object).await?;
        let of = desk.store.bucket(&bucket).await?;
        let fresh = begin(&wanted, &desk.settings, &of, &key).await?;
        let opened = source.open(desk, &located).await?;
        let passage =
            Passage { source: &source, located: &located, opened, wanted: &wanted, fresh };
        let old = &located.object.attributes;
        let mut attributes = changed.of(old);
        desk.own(&mut attributes, granting)?;
        if !passage.is_tagged_again() {
            let key = passage.opened.as_ref();
            attributes.checksum = copied_checksum(desk, &located, algorithm, key).await?;
        }
        if attributes.checksum.as_ref().is_some_and(|new| Some(new) != old.checksum.as_ref()) {
            // The parts' own checksums are of another function.
            attributes.parts.iter_mut().for_each(|part| part.checksum = None);
        }
        object_lock::apply(&mut attributes, &of)?;
        let target = Target { bucket, key, condition };
        let copy = Box::pin(passage.copy(desk, target, attributes, algorithm)).await?;
        let customer_md5 = wanted.customer_md5();
        Ok(CopiedObject { copy, source: located.version, customer_md5 })
    }

    fn render(copied: CopiedObject, _: &FrontSettings) -> Reply {
        let CopiedObject { copy: StoredObject { object, version }, source, customer_md5 } = copied;
        let mut root = Element::in_namespace("CopyObjectResult");
        root.text("LastModified", &date::document(object.modified_ms));
        root.text("ETag", &format!("\"{}\"", object.attributes.etag));
        if let Some(checksum) = &object.attributes.checksum {
            let name = format!("Checksum{}", digest::word(checksum.algorithm));
            root.text(&name, &digest::shown(checksum, object.attributes.parts.len()));
            root.text("ChecksumType", digest::kind(checksum.composite));
        }
        let encryption = object.attributes.encryption.as_deref();
        let reply = show_given(Reply::document(root.document()), version);
        show_source(encryption::show_written(reply, encryption, customer_md5.as_deref()), source)
    }
}

/// With the id of the version that was copied, if its bucket keeps any.
fn show_source(reply: Reply, version: Option<ObjectVersion>) -> Reply {
    match version {
        Some(version) => reply.with("x-amz-copy-source-version-id", &version.to_string()),
        None => reply,
    }
}

/// The source's checksum, unless the client wants another: that takes reading the bytes.
async fn copied_checksum(
    desk: &Desk,
    located: &Arc<Located>,
    wanted: Option<ChecksumAlgorithm>,
    key: Option<&DataKey>,
) -> Outcome<Option<Checksum>> {
    let present = located.object.attributes.checksum.as_ref();
    match (present, wanted) {
        (Some(present), Some(wanted)) if present.algorithm == wanted && !present.composite => {
            Ok(Some(present.clone()))
        }
        (present, None) => Ok(present.cloned()),
        (_, Some(wanted)) => {
            let len = located.object.len;
            let verdict = source::hashed(desk, located.clone(), 0..len, wanted, key).await?;
            Ok(verdict.checksums.into_iter().next())
        }
    }
}

/// Makes a range of an object a part.
pub(super) struct Part {
    source: Outcome<Source>,
    name: UploadName,
    number: u16,
    range: Option<String>,
    customer: Outcome<Option<Customer>>,
}

/// A part that was copied, with its checksum if it is shown.
pub(super) struct Copied {
    part: UploadedPart,
    with_checksum: bool,
    source: Option<ObjectVersion>,
    encryption: Option<Box<Encryption>>,
    customer_md5: Option<String>,
}

impl Operate for Part {
    type Done = Copied;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        metadata::refuse_unsupported(&request.headers)?;
        metadata::refuse_lists(&request.headers)?;
        let number = number_of(request)?;
        let source = Source::parse(request);
        let range = request.header("x-amz-copy-source-range").map(str::to_owned);
        let customer = customer(&request.headers);
        Ok(Self { source, name: UploadName::parse(request), number, range, customer })
    }

    async fn run(self, desk: &Desk) -> Outcome<Copied> {
        desk.store.bucket(&self.name.bucket).await?;
        let source = self.source?;
        let customer = self.customer?;
        let upload = self.name.find(desk).await?;
        let key = of_upload(&upload, customer.as_ref(), &desk.settings).await?;
        let located = source.find(desk).await?;
        let opened = source.open(desk, &located).await?;
        let len = located.object.len;
        let range = match &self.range {
            Some(range) => range::of_source(range, len)?,
            None => 0..len,
        };
        source::check_len(desk, range.end - range.start)?;
        let _held = desk.allowances.extents_of(&located.object).await?;
        let algorithm = part_algorithm(&upload, None)?;
        let part = if key.is_none() && opened.is_none() {
            let seal = seal(desk, &located, range.clone(), algorithm).await?;
            desk.store.copy_part(&located, range, &upload, self.number, seal).await?
        } else {
            let to = (&upload, self.number);
            let source = (&located, range);
            Box::pin(copy_part(desk, source, opened.as_ref(), to, algorithm, key)).await?
        };
        Ok(Copied {
            part,
            with_checksum: upload.checksum.is_some(),
            source: located.version,
            encryption: upload.attributes.encryption,
            customer_md5: customer.map(|customer| customer.md5),
        })
    }

    fn render(copied: Copied, _: &FrontSettings) -> Reply {
        let Copied { part, with_checksum, source, encryption, customer_md5 } = copied;
        let mut root = Element::in_namespace("CopyPartResult");
        root.text("LastModified", &date::document(part.modified_ms));
        root.text("ETag", &format!("\"{}\"", part.etag));
        if let Some(checksum) = part.checksum.as_ref().filter(|_| with_checksum) {
            let name = format!("Checksum{}", digest::word(checksum.algorithm));
            root.text(&name, &digest::base64(&checksum.value));
        }
        let reply = Reply::document(root.document());
        let md5 = customer_md5.as_deref();
        show_source(encryption::show(reply, encryption.as_deref(), md5), source)
    }
}

/// MD5 and checksum of a range: read, unless it is a whole object of which both are known.
async fn seal(
    desk: &Desk,
    located: &Arc<Located>,
    range: std::ops::Range<u64>,
    algorithm: ChecksumAlgorithm,
) -> Outcome<PartSeal> {
    let attributes = &located.object.attributes;
    let whole = range == (0..located.object.len) && attributes.parts.is_empty();
    let known = attributes.checksum.as_ref();
    if let Some(checksum) = known.filter(|c| whole && c.algorithm == algorithm && !c.composite) {
        let (etag, checksum) = (attributes.etag.clone(), Some(checksum.clone()));
        return Ok(PartSeal { etag, checksum, salt: None });
    }
    let verdict = source::hashed(desk, located.clone(), range, algorithm, None).await?;
    let checksum = verdict.checksums.into_iter().next();
    Ok(PartSeal { etag: hex::encode(verdict.md5), checksum, salt: None })
}
