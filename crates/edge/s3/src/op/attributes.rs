use super::{
    Desk, Operate, Outcome, Reply, Request,
    version::{Subject, show_version},
};
use crate::{
    FrontSettings, date,
    digest::{self, base64},
    encryption::{self, Customer, customer, refuse_on_reads},
    error::{Code, Failure},
    request::count,
    storage_class,
    xml::Element,
};
use ripstop_catalog::{Checksum, Located, Object};
use std::sync::Arc;

/// Most parts on a page.
const PARTS_MAX: usize = 1000;
const KNOWN: [&str; 5] = ["ETag", "Checksum", "ObjectParts", "StorageClass", "ObjectSize"];

/// What is known of an object, as far as it was asked for.
pub(super) struct Get {
    subject: Subject,
    /// Names out of [`KNOWN`].
    wanted: Vec<&'static str>,
    parts_max: Outcome<Option<usize>>,
    parts_after: Outcome<Option<usize>>,
    customer: Option<Customer>,
}

/// What is told of an object.
pub(super) struct Told {
    located: Arc<Located>,
    wanted: Vec<&'static str>,
    parts_max: usize,
    parts_after: usize,
}

impl Told {
    fn wants(&self, name: &str) -> bool {
        self.wanted.contains(&name)
    }
}

impl Operate for Get {
    type Done = Told;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let subject = Subject::parse(request)?;
        refuse_on_reads(&request.headers)?;
        let asked = request.headers.get_all("x-amz-object-attributes").iter();
        let asked = asked.filter_map(|value| value.to_str().ok());
        let asked = asked.flat_map(|text| text.split(',')).map(str::trim);
        let known = |name: &str| {
            let known = KNOWN.into_iter().find(|known| *known == name);
            known.ok_or_else(|| {
                let message = "Invalid attribute name specified.";
                Failure::argument(message, "x-amz-object-attributes", name)
            })
        };
        let wanted = asked.filter(|name| !name.is_empty()).map(known);
        Ok(Self {
            wanted: wanted.collect::<Outcome<_>>()?,
            subject,
            parts_max: header_count(request, "x-amz-max-parts"),
            parts_after: header_count(request, "x-amz-part-number-marker"),
            customer: customer(&request.headers)?,
        })
    }

    async fn run(self, desk: &Desk) -> Outcome<Told> {
        if self.wanted.is_empty() {
            desk.store.bucket(&self.subject.bucket).await?;
            return Err(Failure::new(
                Code::InvalidRequest,
                "The x-amz-object-attributes header specifying the attributes to be retrieved is \
                 either missing or empty",
            ));
        }
        let located = self.subject.find(desk).await.map_err(|failure| {
            // Of a delete marker there is nothing to tell, whether it is named or not.
            let is_marker = failure.code == Code::MethodNotAllowed;
            let headers = failure.headers.clone();
            if is_marker { Failure { headers, ..Code::NoSuchKey.into() } } else { failure }
        })?;
        let encryption = located.object.attributes.encryption.as_deref();
        let name = (self.subject.bucket.as_str(), self.subject.key.as_str());
        encryption::check(encryption, name, self.customer.as_ref())?;
        let mut told = Told { located, wanted: self.wanted, parts_max: PARTS_MAX, parts_after: 0 };
        if told.wants("ObjectParts") && !told.located.object.attributes.parts.is_empty() {
            told.parts_max = self.parts_max?.unwrap_or(PARTS_MAX).min(PARTS_MAX);
            told.parts_after = self.parts_after?.unwrap_or(0);
        }
        Ok(told)
    }

    fn render(told: Told, _: &FrontSettings) -> Reply {
        let object = &told.located.object;
        let attributes = &object.attributes;
        let mut root = Element::in_namespace("GetObjectAttributesResponse");
        if told.wants("ETag") {
            root.text("ETag", &attributes.etag);
        }
        if let Some(checksum) = attributes.checksum.as_ref().filter(|_| told.wants("Checksum")) {
            root.child("Checksum", |element| show_checksum(element, checksum, object));
        }
        if told.wants("ObjectParts") && !attributes.parts.is_empty() {
            show_parts(&told, &mut root);
        }
        if told.wants("StorageClass") {
            root.text("StorageClass", storage_class::shown(&attributes.storage_class));
        }
        if told.wants("ObjectSize") {
            root.value("ObjectSize", object.len);
        }
        show_version(Reply::document(root.document()), told.located.version)
            .with("last-modified", &date::http(object.modified_ms))
    }
}

fn show_checksum(element: &mut Element, checksum: &Checksum, object: &Object) {
    let name = format!("Checksum{}", digest::word(checksum.algorithm));
    element.text(&name, &digest::shown(checksum, object.attributes.parts.len()));
    element.text("ChecksumType", digest::kind(checksum.composite));
}

fn header_count(request: &Request, name: &str) -> Outcome<Option<usize>> {
    let Some(text) = request.header(name).filter(|text| !text.is_empty()) else { return Ok(None) };
    count(name, text).map(Some)
}

fn show_parts(told: &Told, root: &mut Element) {
    let (max, after) = (told.parts_max, told.parts_after);
    let attributes = &told.located.object.attributes;
    let parts = &attributes.parts;
    let following: Vec<_> = parts.iter().filter(|part| usize::from(part.number) > after).collect();
    let page = &following[..max.min(following.len())];
    let last = page.last().map_or(after, |part| part.number.into());
    let checksum = attributes.checksum.as_ref();
    root.child("ObjectParts", |element| {
        element.value("PartsCount", parts.len());
        element.value("PartNumberMarker", after);
        element.value("NextPartNumberMarker", last);
        element.value("MaxParts", max);
        element.value("IsTruncated", page.len() < following.len());
        for part in page {
            element.child("Part", |element| {
                element.value("PartNumber", part.number).value("Size", part.len);
                if let (Some(checksum), Some(value)) = (checksum, &part.checksum) {
                    let name = format!("Checksum{}", digest::word(checksum.algorithm));
                    element.text(&name, &base64(value));
                }
            });
        }
    });
}
