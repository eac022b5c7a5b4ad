use super::{Outcome, Reply, Request};
use crate::{
    date,
    digest::{self, base64},
    error::{Code, Failure},
    xml::Element,
};
use ripstop_catalog::{Checksum, Object};

/// Most parts on a page.
const PARTS_MAX: usize = 1000;
const KNOWN: [&str; 5] = ["ETag", "Checksum", "ObjectParts", "StorageClass", "ObjectSize"];

/// What is known of an object, as far as it was asked for.
pub(super) async fn get(request: Request) -> Outcome<Reply> {
    request.check_version()?;
    let asked: Vec<&str> = request
        .headers
        .get_all("x-amz-object-attributes")
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|text| text.split(','))
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .collect();
    if asked.is_empty() {
        request.store.bucket(&request.bucket).await?;
        return Err(Failure::new(
            Code::InvalidRequest,
            "The x-amz-object-attributes header specifying the attributes to be retrieved is \
             either missing or empty",
        ));
    }
    if let Some(unknown) = asked.iter().find(|name| !KNOWN.contains(name)) {
        let message = "Invalid attribute name specified.";
        return Err(Failure::argument(message, "x-amz-object-attributes", unknown));
    }
    let located = request.store.object(&request.bucket, &request.key).await?;
    let object = &located.object;
    let wants = |name: &str| asked.contains(&name);
    let mut root = Element::in_namespace("GetObjectAttributesResponse");
    if wants("ETag") {
        root.text("ETag", &object.attributes.etag);
    }
    if let Some(checksum) = object.attributes.checksum.as_ref().filter(|_| wants("Checksum")) {
        root.child("Checksum", |element| show_checksum(element, checksum, object));
    }
    if wants("ObjectParts") && !object.attributes.parts.is_empty() {
        show_parts(&request, object, &mut root)?;
    }
    if wants("StorageClass") {
        root.text("StorageClass", "STANDARD");
    }
    if wants("ObjectSize") {
        root.value("ObjectSize", object.len);
    }
    Ok(Reply::document(root.document()).with("last-modified", &date::http(object.modified_ms)))
}

fn show_checksum(element: &mut Element, checksum: &Checksum, object: &Object) {
    let name = format!("Checksum{}", digest::word(checksum.algorithm));
    element.text(&name, &digest::shown(checksum, object.attributes.parts.len()));
    element.text("ChecksumType", digest::kind(checksum.composite));
}

fn header_count(request: &Request, name: &str) -> Outcome<Option<usize>> {
    let Some(text) = request.header(name).filter(|text| !text.is_empty()) else { return Ok(None) };
    let count = text.parse().map_err(|_| Failure::argument("Invalid number", name, text))?;
    Ok(Some(count))
}

fn show_parts(request: &Request, object: &Object, root: &mut Element) -> Outcome<()> {
    let max = header_count(request, "x-amz-max-parts")?.unwrap_or(PARTS_MAX).min(PARTS_MAX);
    let after = header_count(request, "x-amz-part-number-marker")?.unwrap_or(0);
    let parts = &object.attributes.parts;
    let following: Vec<_> = parts.iter().filter(|part| usize::from(part.number) > after).collect();
    let page = &following[..max.min(following.len())];
    let last = page.last().map_or(after, |part| part.number.into());
    let checksum = object.attributes.checksum.as_ref();
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
    Ok(())
}
